/** The flame graph of a time range, in a real browser, compared with the table from which it is drawn. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { opened, openTables, part, servedFile, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await servedFile("perf_data/profile.data");
});
after(() => at?.end());

/** The frames that are shown: name, class, and position in percent. */
const frames = (page) =>
  page.$$eval("#range .flame .rows svg svg:not(.out)", (all) =>
    all.map((frame) => {
      const [x, width, y] = ["x", "width", "y"].map((name) => parseFloat(frame.getAttribute(name)));
      return { name: frame.querySelector("text").textContent, title: frame.querySelector("title").textContent, kind: frame.classList[0], x, width, y };
    }),
  );
const status = (page) => page.textContent("#range .flame [role=status]");

test("a flame graph has the samples of the range; it can be searched, zoomed and compared", { skip, timeout: 300_000 }, async () => {
  const { page, wrong } = await opened(at);
  await page.keyboard.press("r");
  await settled(page);
  await openTables(page);
  const [from, to] = (await page.evaluate(() => location.hash)).match(/range=(\d+)\.\.(\d+)/).slice(1).map(Number);
  const { rows } = await part(page, "folded_stacks", { from, to, most: 10_000 });
  const samples = rows.reduce((sum, row) => sum + Number(row.samples), 0);
  assert.ok(samples > 10);
  await page.selectOption("#range select", "flame graph");
  await openTables(page);
  await page.waitForSelector("#range .flame .rows svg svg");
  assert.equal(await status(page), `${samples} samples`);
  const whole = await frames(page);
  assert.equal(whole.filter((frame) => frame.kind === "root" && frame.width === 100).length, 1);
  // The outermost functions of the threads of one name have their samples.
  const outermost = (row) => `${row.comm} \n${row.callchain.split(";")[0]}`;
  for (const key of new Set(rows.map(outermost))) {
    const share = (100 * rows.filter((row) => outermost(row) === key).reduce((sum, row) => sum + Number(row.samples), 0)) / samples;
    const name = key.split("\n")[1];
    const drawn = whole.filter((frame) => frame.name === name).map((frame) => frame.width);
    assert.ok(share < 0.1 || drawn.some((width) => Math.abs(width - share) < 0.01), `${key}: ${share} of ${drawn}`);
  }
  // A click lets a frame fill the width; its callers do too, and its siblings are not shown.
  const narrow = whole.find((frame) => frame.kind !== "root" && frame.width < 60 && frame.width > 5);
  await page.locator("#range .flame .rows svg svg", { has: page.locator(`title:text-is("${narrow.title}")`) }).first().click();
  const zoomed = await frames(page);
  assert.ok(zoomed.length < whole.length);
  assert.equal(zoomed.find((frame) => frame.title === narrow.title).width, 100);
  assert.ok(zoomed.filter((frame) => frame.y > narrow.y).every((frame) => frame.width === 100));
  await page.click("#range .flame button:text-is('Show all')");
  assert.deepEqual(await frames(page), whole);
  // A search marks the frames with the words.
  await page.fill("#range .flame input[type=search]", "LIBC");
  const marked = await page.$$eval("#range .flame .hit text", (all) => all.map((text) => text.textContent));
  assert.ok(marked.length > 0 && marked.every((name) => name.includes("libc")));
  assert.match(await status(page), new RegExp(`^${marked.length} frames, \\d+\\.\\d % of the samples$`));
  await page.fill("#range .flame input[type=search]", "");
  // Compared with itself, nothing changed.
  await page.click("#range .flame button:text-is('Use as baseline')");
  assert.ok((await frames(page)).every((frame) => frame.kind === "same" && frame.title.endsWith("+0.0 points")));
  assert.match(await status(page), new RegExp(`^${samples} samples, compared with ${samples} from `));
  await page.click("#range .flame button:text-is('Clear baseline')");
  assert.deepEqual(await frames(page), whole);
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => (await window.axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`));
  assert.deepEqual(violations, []);
  // Another table takes its place.
  await page.selectOption("#range select", "threads");
  await page.waitForSelector("#range .flame", { state: "hidden" });
  assert.deepEqual(wrong, []);
  await page.context().close();
});
