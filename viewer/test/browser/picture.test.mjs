/**
 * A picture of a thread that was woken and then waited for a CPU. It is written to the file that COREWISE_PICTURE names:
 *   COREWISE_TRACE=run.cw COREWISE_PICTURE=/tmp/view.png COREWISE=…/corewise node --test test/browser/picture.test.mjs
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { opened, rows, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

/** The number of parts in which ready stretches are requested, since the rows of an answer are limited. */
const PARTS = 16;

test("a picture shows tracks, a chain of wakeups and the findings' tab", { skip, timeout: 300_000 }, async () => {
  const { page } = await opened(at);
  const whole = Number((await page.evaluate(() => location.hash)).match(/\.\.(\d+)/)[1]);
  let longest = null;
  for (let n = 0; n < PARTS; n++) {
    const [from, to] = [Math.floor((whole * n) / PARTS), Math.ceil((whole * (n + 1)) / PARTS)];
    const ready = (await rows(page, "thread_state", { from, to })).filter((row) => row.state === "ready" && row.waker > 0n && row.cpu !== null);
    for (const row of ready) if (!longest || row.end_ns - row.start_ns > longest.end_ns - longest.start_ns) longest = row;
  }
  const [start, end] = [Number(longest.start_ns), Number(longest.end_ns)];
  const margin = (end - start) * 2;
  const hash = `#t=${Math.max(0, start - margin)}..${Math.min(whole, end + margin)}&sel=thread:${longest.thread}@${start}`;
  const { page: there, wrong } = await opened(at, { hash });
  await there.waitForSelector("#details :text('Chain of wakeups')");
  await there.waitForFunction(() => /\(\d+\)/.test(document.getElementById("tab-findings").textContent), null, { timeout: 60_000 });
  await settled(there);
  const picture = await there.screenshot(process.env.COREWISE_PICTURE ? { path: process.env.COREWISE_PICTURE } : {});
  assert.deepEqual([...picture.subarray(1, 4)], [..."PNG"].map((char) => char.charCodeAt(0)));
  // Tracks are drawn: there are more colours than those of the page and its lines.
  const colours = await there.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(190, 24, canvas.width - 190, canvas.height - 24);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 8, `${colours} colours`);
  assert.deepEqual(wrong, []);
  await page.context().close();
  await there.context().close();
});
