/** Accessibility of every panel, wide and narrow, light and dark; and two of the questions by keyboard alone. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { assertSeen, found, lacking, ms, picture, printed, viewing } from "./questions.mjs";
import { openTables, settled, summarised } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LISA = "trace-dat/lisa__trace_txt.txt";
const JUNO = "trace-dat/lisa__trace_txt_plat_info.yml";

const SIZES = [[1280, 800], [390, 844]];

/** Returns what axe finds in a page or frame. */
async function violations(frame) {
  await frame.evaluate(AXE);
  const all = await frame.evaluate(() => globalThis.axe.run(document, { iframes: false }).then((of) => of.violations));
  return all.map((of) => `${of.id} (${of.impact}): ${of.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
}

/** The panels, and how each is opened. */
const PANELS = {
  details: async (page) => {
    await page.focus("#timeline");
    for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
    await settled(page);
  },
  findings: async (page) => {
    await page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
    await page.click("#tab-findings");
    await page.$$eval("#findings details", (all) => all.forEach((of) => (of.open = true)));
  },
  frames: async (page) => {
    await page.click("#tab-frames");
    await page.waitForSelector("#frames[data-busy=false] table.list", { timeout: 60_000 });
    await page.click("#frames tbody tr:first-child button");
    await page.waitForSelector("#frames [data-busy=false] .causes", { timeout: 60_000 });
    await settled(page);
    await page.keyboard.press("Escape");
    await page.focus("#timeline");
    await page.keyboard.press("Escape");
  },
  tracks: (page) => page.click("#tab-tracks"),
  hits: async (page) => {
    await page.fill("#search", "state:ready >1us");
    await page.press("#search", "Enter");
    await page.waitForSelector("#hits tbody tr");
  },
  notes: async (page) => {
    await page.focus("#timeline");
    await page.keyboard.press("Shift+M");
    await page.waitForSelector("#tab-notes:not([hidden])");
    await page.click("#tab-notes");
  },
  range: async (page) => {
    await page.focus("#timeline");
    await page.keyboard.press("r");
    await summarised(page);
    await openTables(page);
  },
};

for (const [width, height] of SIZES) {
  for (const theme of ["light", "dark"]) {
    test(`axe finds nothing in any panel at ${width} pixels, ${theme}`, { skip: lacking(LISA, JUNO), timeout: 240_000 }, async () => {
      const { page, wrong, end } = await viewing([found(LISA)], { width, height, theme, words: ["--machine", found(JUNO)] });
      try {
        for (const [panel, open] of Object.entries(PANELS)) {
          await open(page);
          if (panel !== "range") assert.ok(await page.isVisible(`#${panel}`), `${panel} is open`);
          await picture(page, `panel-${panel}-${width}-${theme}`);
          assert.deepEqual(await violations(page), [], `${panel} at ${width}, ${theme}`);
        }
        await page.keyboard.press("?");
        await page.focus("#timeline");
        await page.keyboard.press("?");
        await page.waitForSelector("#help[open]");
        assert.deepEqual(await violations(page), [], "help");
        assert.deepEqual(wrong, []);
      } finally {
        await end();
      }
    });

    test(`axe finds nothing in what changed at ${width} pixels, ${theme}`, { skip: lacking(LISA), timeout: 300_000 }, async () => {
      const { page, wrong, end } = await viewing([found(LISA), found(LISA)], { width, height, theme });
      try {
        await page.waitForSelector("#roles:not([hidden])", { timeout: 60_000 });
        await page.focus("#roles summary");
        await page.keyboard.press("Enter");
        await page.waitForSelector("#roles tbody tr");
        await picture(page, `panel-roles-${width}-${theme}`);
        assert.deepEqual(await violations(page), []);
        // By keyboard: sorted by another metric, then a role is selected in its trace.
        await page.focus("#roles thead button");
        await page.keyboard.press("Tab");
        const label = await page.evaluate(() => document.activeElement.textContent);
        await page.keyboard.press("Enter");
        assert.equal(await page.textContent("#roles th[aria-sort]"), label);
        assert.equal(await page.evaluate(() => document.activeElement.textContent), label, "the focus stays");
        await page.focus("#roles tbody button");
        await page.keyboard.press("Enter");
        const second = await (await page.waitForSelector('iframe[title="Second trace"]')).contentFrame();
        await second.waitForFunction(() => location.hash.includes("sel=thread:"));
        assert.deepEqual(wrong, []);
      } finally {
        await end();
      }
    });
  }
}

test("at 390 pixels, the names of the threads stay when the summary is moved sideways to the answer", { skip: lacking(LISA), timeout: 300_000 }, async () => {
  const { page, end } = await viewing([found(LISA)], { width: 390, height: 844 });
  try {
    await page.focus("#timeline");
    await page.keyboard.press("r");
    await summarised(page);
    const heads = await page.$$eval("#range .summary thead th", (all) => all.map((of) => of.textContent));
    const row = page.locator("#range .summary tbody tr").first();
    const answer = row.locator(`:scope > :nth-child(${heads.indexOf("preempted by (ms)") + 1})`);
    await page.evaluate((answer) => answer.scrollIntoView({ inline: "end", block: "nearest" }), await answer.elementHandle());
    assert.ok((await page.$eval("#range .summary", (of) => of.scrollLeft)) > 0, "the answer is to the right");
    await picture(page, "preempted-390");
    await assertSeen(row.locator("th"));
    await assertSeen(answer.locator("span").last());
  } finally {
    await end();
  }
});

/** Presses Tab until an element has the focus; fails if it is not reached. */
async function tabTo(page, selector) {
  for (let n = 0; n < 200; n++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector)) return;
  }
  assert.fail(`${selector} is not reached by Tab`);
}

test("why a period was slow, by keyboard alone", { skip: lacking(LISA), timeout: 300_000 }, async () => {
  const rows = printed("table", found(LISA), "slow_intervals", "--slowest", "1").filter((of) => of.thread_name === "ramp");
  const { page, wrong, end } = await viewing([found(LISA)]);
  try {
    await tabTo(page, "[role=tab]");
    for (const key of ["ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    assert.equal(await page.getAttribute("#tab-frames", "aria-selected"), "true");
    await page.waitForSelector("#frames[data-busy=false] table.list", { timeout: 60_000 });
    await page.keyboard.press("]");
    await page.waitForSelector("#frames [data-busy=false] .causes", { timeout: 60_000 });
    assert.ok((await page.textContent("#frames h2")).startsWith(`${ms(rows[0].took_ns)} ms`));
    const largest = rows.sort((a, b) => b.time_ns - a.time_ns)[0];
    assert.equal(await page.textContent("#frames table.explained tbody td.time"), ms(largest.time_ns));
    assert.deepEqual(wrong, []);
  } finally {
    await end();
  }
});

test("who preempted a thread, by keyboard alone", { skip: lacking(LISA), timeout: 300_000 }, async () => {
  const causes = printed("table", found(LISA), "switch_causes").filter((of) => of.cause === "preempted");
  const times = new Map();
  const tids = new Map(printed("table", found(LISA), "threads").map((of) => [of.thread, of.tid]));
  for (const of of causes) {
    const pair = `${of.thread} ${of.preemptor_name} ${tids.get(of.preemptor)}`;
    times.set(pair, (times.get(pair) ?? 0) + of.ready_ns);
  }
  const [most, time] = [...times].sort((a, b) => b[1] - a[1])[0];
  const { page, wrong, end } = await viewing([found(LISA)]);
  try {
    await page.keyboard.press("r");
    await summarised(page);
    await tabTo(page, "#range .summary thead th:first-child button");
    const heads = await page.$$eval("#range .summary thead th", (all) => all.map((of) => of.textContent));
    const at = heads.indexOf("preempted by (ms)");
    // Not all headers are buttons: shares are not sorted by.
    while ((await page.evaluate(() => document.activeElement.textContent)) !== "preempted by (ms)") await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const [thread, preemptor] = most.split(/ (.*)/);
    assert.equal(await page.getAttribute("#range .summary tbody tr:first-child", "data-thread"), thread);
    assert.equal(await page.textContent(`#range .summary tbody tr:first-child > :nth-child(${at + 1})`), `${preemptor}${ms(time)}`);
    // From there to the thread's row, which selects it on the timeline.
    await tabTo(page, "#range .summary tbody tr:first-child th button");
    await page.keyboard.press("Enter");
    await page.waitForFunction((thread) => location.hash.includes(`sel=thread:${thread}@`), thread);
    assert.deepEqual(wrong, []);
  } finally {
    await end();
  }
});
