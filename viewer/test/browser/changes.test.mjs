/** Two traces on one page, coloured by what changed. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { pictures, servedBoth, skip } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** `app` runs, and `Worker` is ready from 20 ms until `until`; in one of the traces a thread `Old` runs after both. */
function text(until, old) {
  const line = (ms, what) => `             app-10      [000] d..2.   ${(100 + ms / 1000).toFixed(6)}: ${what}`;
  const task = (name, pid, which) => `${which}_comm=${name} ${which}_pid=${pid} ${which}_prio=120`;
  const change = ([a, b], [c, d], state = "S") => `sched_switch: ${task(a, b, "prev")} prev_state=${state} ==> ${task(c, d, "next")}`;
  const [idle, app, worker, last] = [["swapper/0", 0], ["app", 10], ["Worker", 11], ["Old", 12]];
  return [
    "# tracer: nop",
    "#",
    line(0, change(idle, app, "R")),
    line(20, "sched_wakeup: comm=Worker pid=11 prio=120 target_cpu=000"),
    line(until, change(app, worker)),
    line(until + 40, change(worker, old ? last : idle)),
    ...(old ? [line(until + 60, change(last, idle))] : []),
    line(250, change(idle, app, "R")),
    line(251, change(app, idle)),
    "",
  ].join("\n");
}

let at;
before(async () => {
  if (!skip) at = await servedBoth({ before: text(60, true), after: text(120, false) });
});
after(() => at?.end());

async function opened(colorScheme) {
  const context = await at.browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  await page.goto(at.address);
  const frames = await Promise.all(["First trace", "Second trace"].map(async (title) => (await page.waitForSelector(`iframe[title="${title}"]`)).contentFrame()));
  for (const frame of frames) await frame.waitForSelector("#timeline[data-busy=false]");
  await page.waitForSelector("#colour-threads optgroup option", { state: "attached" });
  return { page, frames, wrong };
}

/** Chooses a colouring, and waits until both traces show it. */
async function choose(page, frames, label, legend) {
  await page.selectOption("#colour-threads", { label });
  for (const frame of frames) {
    await frame.waitForFunction((text) => document.getElementById("legend").textContent.startsWith(text), legend);
    await pictures(frame);
  }
}

/** Moves the pointer over the tracks from the top at this share of the width, and returns the tooltip of the thread with this name. */
async function tooltip(frame, name, share) {
  const box = await frame.locator("#timeline").boundingBox();
  for (let y = 30; y < box.height; y += 6) {
    await frame.page().mouse.move(box.x + 190 + (box.width - 190) * share, box.y + y);
    const { kind, colour, text, hidden } = await frame.evaluate(() => {
      const tip = document.getElementById("tip");
      return { ...tip.dataset, text: tip.textContent, hidden: tip.hidden };
    });
    if (!hidden && kind === "thread" && text.startsWith(`${name} `)) return { colour, lines: text.split("\n"), y };
  }
  assert.fail(`no tooltip of ${name}`);
}

test("threads have the colour of what changed, with both values in words", { skip, timeout: 180_000 }, async () => {
  for (const [theme, more, swatch] of [["light", "#8c2d04", 6], ["dark", "#ffc58a", 6]]) {
    const { page, frames, wrong } = await opened(theme);
    const [first, second] = frames;
    await first.waitForFunction(() => document.getElementById("legend").textContent.startsWith("Threads:"));
    assert.ok(await page.isDisabled("#order"));
    await choose(page, frames, "change of ready time", "Ready time by role, second / first, in these two recordings; may be chance:");
    const colours = await second.$$eval("#legend .swatch", (all) => all.map((of) => of.dataset.colour));
    assert.equal(colours[swatch], more);
    // 40 ms → 100 ms, as drawn above: at 12 % of 251 ms it is ready.
    const ready = await tooltip(second, "Worker", 0.12);
    assert.equal(ready.colour, more);
    assert.equal(ready.lines.at(-1), "?/Worker: ready time 40 ms → 100 ms, 2.50 ×; role matched by name");
    // A running slice is not about ready time.
    assert.notEqual((await tooltip(second, "Worker", 0.55)).colour, more);
    await choose(page, frames, "change of running time", "Running time");
    assert.match((await tooltip(first, "Old", 0.43)).lines.at(-1), /^\?\/Old: running time 20 ms; gone: no such role in the second trace/);
    await choose(page, frames, "state", "Threads:");
    assert.deepEqual(wrong, []);
    await page.context().close();
  }
});

test("a selected thread is framed in the other trace, and can be selected there", { skip, timeout: 180_000 }, async () => {
  const { page, frames, wrong } = await opened("light");
  const [first, second] = frames;
  await choose(page, frames, "change of ready time", "Ready time");
  await page.selectOption("#order", "change");
  await first.waitForFunction(() => document.getElementById("timeline").dataset.order.includes("largest change of ready time first"));
  await pictures(first);
  const { y } = await tooltip(first, "Worker", 0.12);
  const box = await first.locator("#timeline").boundingBox();
  await page.mouse.click(box.x + 190 + (box.width - 190) * 0.12, box.y + y);
  await second.waitForSelector("#timeline[data-marked='1']");
  const link = await first.waitForSelector("#details button:text('Select this role in the other trace')");
  assert.match(await first.textContent("#details"), /Role\?\/WorkerMatchrole matched by nameFirst → second1 thread → 1 thread.*ready time40 ms → 100 ms, 2\.50 ×/);
  assert.match(await first.textContent("#status"), /Worker 11: ready.*2\.50 ×/);
  await link.press("Enter");
  await second.waitForFunction(() => location.hash.includes("sel=thread:"));
  assert.match(await second.textContent("#status"), /^Worker 11/);
  // Without a counterpart there is nothing to select.
  const old = await tooltip(first, "Old", 0.43);
  await page.mouse.click(box.x + 190 + (box.width - 190) * 0.43, box.y + old.y);
  await second.waitForSelector("#timeline[data-marked='0']");
  await first.waitForFunction(() => /gone: no such role/.test(document.getElementById("details").textContent));
  assert.equal(await first.locator("#details button:text('other trace')").count(), 0);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the keyboard reaches all of it, and names and contrasts meet WCAG", { skip, timeout: 180_000 }, async () => {
  for (const theme of ["light", "dark"]) {
    const { page, frames } = await opened(theme);
    await frames[0].focus("#timeline");
    await page.keyboard.press("v");
    await frames[1].waitForFunction(() => document.getElementById("legend").textContent.startsWith("Running time"));
    await page.keyboard.press("v");
    await frames[1].waitForFunction(() => document.getElementById("legend").textContent.startsWith("Ready time"));
    assert.equal(await page.$eval("#colour-threads", (of) => of.selectedOptions[0].label), "change of ready time");
    await page.focus("#align");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "colour-threads");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.id), "order");
    for (const frame of [page.mainFrame(), ...frames]) {
      await frame.evaluate(AXE);
      const found = await frame.evaluate(() => window.axe.run(document, { iframes: false }).then(({ violations }) => violations.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" ")}`)));
      assert.deepEqual(found, []);
    }
    await page.context().close();
  }
});
