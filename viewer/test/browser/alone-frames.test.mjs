/** A page of one file has the list of frames and the causes of the slowest, as the server's page has them. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { opened, openedFile, servedText, skip } from "./support.mjs";

/** Lengths of the frames, in ms; in each, another thread takes the CPU for `TAKEN` ms. */
const FRAMES = [10, 14, 30, 11, 12];
const TAKEN = 4;

function text() {
  const lines = ["# tracer: nop", "#"];
  let now = 100;
  const line = (ms, what) => {
    now += ms / 1000;
    lines.push(`             app-10      [000] d..2.   ${now.toFixed(6)}: ${what}`);
  };
  const of = (name, pid, which) => `${which}_comm=${name} ${which}_pid=${pid} ${which}_prio=120`;
  const change = (a, state, b) => `sched_switch: ${of(...a, "prev")} prev_state=${state} ==> ${of(...b, "next")}`;
  const [idle, app, other] = [["swapper/0", 0], ["app", 10], ["other", 20]];
  line(0, change(idle, "R", app));
  for (const ms of FRAMES) {
    line(1, "tracing_mark_write: B|10|frame");
    line((ms - TAKEN) / 2, change(app, "R", other));
    line(TAKEN, change(other, "S", app));
    line((ms - TAKEN) / 2, "tracing_mark_write: E|10");
  }
  line(1, change(app, "S", idle));
  return [...lines, ""].join("\n");
}

let at;
before(async () => {
  if (!skip) at = await servedText(text());
});
after(() => at?.end());

const listed = async (page) => {
  await page.click("#tab-frames");
  await page.waitForSelector("#frames[data-busy=false] table.list tbody tr");
};

test("the page lists the frames and their causes as the server's page does", { skip, timeout: 300_000 }, async () => {
  const { file } = at.file("frames.html");
  const { page: its, wrong } = await openedFile(at, file);
  const { page: own } = await opened(at);
  for (const page of [its, own]) await listed(page);
  const text = (page, of) => page.textContent(`#frames ${of}`);
  assert.equal(await its.textContent("#tab-frames"), `Frames (${FRAMES.length})`);
  assert.equal(await text(its, "> [role=status]"), await text(own, "> [role=status]"));
  assert.equal(await text(its, "table.list"), await text(own, "table.list"));
  for (const page of [its, own]) {
    await page.click("#frames table.list tbody tr:first-child button");
    await page.waitForSelector("#frames [data-busy=false] .causes");
  }
  const causes = await text(its, "table.explained");
  assert.match(causes, /other/, "what took the CPU");
  assert.equal(causes, await text(own, "table.explained"));
  // All frames are in the page, so that it can count those over another budget; the causes are those of its own budget.
  for (const page of [its, own]) {
    await page.fill("#frames input", "13ms");
    await page.press("#frames input", "Enter");
    await page.waitForFunction(() => /over the budget of 13\./.test(document.querySelector("#frames > [role=status]").textContent));
  }
  assert.match(await text(its, "> [role=status]"), /^2 of 5 over/);
  assert.equal(await text(its, "table.list"), await text(own, "table.list"));
  await its.click("#frames table.list tbody tr:first-child button");
  await its.waitForSelector("#frames :text('open the recording with `corewise view`')");
  assert.deepEqual(wrong, []);
  await its.context().close();
  await own.context().close();
});
