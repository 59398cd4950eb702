/** Tracks of locks, and throttled threads. The fixture is drawn in crates/export/tests/it/waits.rs. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hash, opened, openedFile, rows, served, settled, skip } from "./support.mjs";

const FIXTURE = new URL("locks.pftrace", import.meta.url).pathname;

let at;
let folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-locks-"));
  const trace = join(folder, "locks.cw");
  execFileSync(process.env.COREWISE, ["import", FIXTURE, "-o", trace], { stdio: "ignore" });
  at = await served(trace);
});
after(async () => {
  await at?.end();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const text = (page, id) => page.evaluate((id) => document.getElementById(id).textContent, id);

/** Selects a place and waits until its details say this. */
async function details(page, to, what) {
  await page.evaluate((to) => (location.hash = to), to);
  await page.waitForFunction((what) => new RegExp(what).test(document.getElementById("details").textContent), what.source);
}

/** Returns the colours in the rows of pixels of a selected track at the time of the selection: the frame of the selection is around it. */
async function coloursAt(page, x, from, to) {
  return page.evaluate(
    ([x, from, to]) => {
      const { data } = document.getElementById("timeline").getContext("2d").getImageData(x, from, 1, to - from);
      const hex = (at) => `#${[0, 1, 2].map((of) => data[at + of].toString(16).padStart(2, "0")).join("")}`;
      return [...new Set(Array.from({ length: to - from }, (_, y) => hex(4 * y)))];
    },
    [x, from, to],
  );
}

test("a blocked slice leads to its lock's track, which shows the holder as far as it is known and who waits", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const waits = await rows(page, "lock_waits", { from: 0, to: 18e6 });
  const [first] = waits.toSorted((a, b) => Number(a.start_ns - b.start_ns));
  const whole = (await hash(page)).match(/t=\d+\.\.\d+/)[0];
  await details(page, `${whole}&sel=thread:${first.thread}@${Number(first.start_ns) + 1}`, /Waits formutex 0x1000.*Held byB/);
  await page.click("#details button:text-matches('^mutex 0x1000$')");
  await settled(page);
  assert.match(await hash(page), /sel=locks:0@.*tracks=pin\.locks:0/, "the lock's track is pinned and selected");
  // Both holders in turn: the first one is known from the begin, the other one at the end.
  const held = Number(first.start_ns) + Number(first.held_ns);
  await details(page, `${whole}&sel=locks:0@${held - 1}`, /Held byB.*Meanwhile\d threads wait.*Waiting at.*A.*C/);
  await details(page, `${whole}&sel=locks:0@${held + 1}`, /Held byC.*Since whenunknown.*Meanwhile1 thread waits.*Waiting at.*A/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the search finds locks", { skip }, async () => {
  const { page, wrong } = await opened(at);
  for (const [query, count] of [["lock:mutex", 1], ["mutex", 1], ["0x1000", 1], ["lock:rwlock", 0], ["lock:mutex pid:99", 0]]) {
    await page.fill("#search", query);
    await page.waitForFunction(([count]) => document.getElementById("found").textContent === `${count} tracks`, [count]);
  }
  await page.fill("#search", "lock:mutex");
  await page.press("#search", "Enter");
  await settled(page);
  assert.match(await hash(page), /sel=locks:0@/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("throttled time has a colour, words and a place in the legend", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const [row] = await rows(page, "throttled", { from: 0, to: 18e6 });
  assert.match(await text(page, "legend"), /throttled \(CPU quota\)/);
  const colour = await page.evaluate(() => [...document.querySelectorAll("#legend .swatch")].find((of) => of.nextSibling.textContent.startsWith("throttled")).dataset.colour);
  const middle = Math.round((Number(row.start_ns) + Number(row.end_ns)) / 2);
  const whole = (await hash(page)).match(/t=\d+\.\.\d+/)[0];
  await details(page, `${whole}&sel=thread:${row.thread}@${middle}&tracks=pin.thread:${row.thread}`, /D: \w+Thread.*Throttled.*by its cgroup's CPU quota/);
  await settled(page);
  assert.match(await text(page, "status"), /throttled, by its cgroup's CPU quota/);
  // The track is pinned, so it is the first one: 24 px of the axis and 20 of the head of its group are above it.
  const share = middle / 18e6;
  const x = await page.evaluate((share) => Math.round(190 + share * (document.getElementById("timeline").clientWidth - 190)), share);
  assert.ok((await coloursAt(page, x, 46, 58)).includes(colour), `${await coloursAt(page, x, 46, 58)} without ${colour}`);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("a page without a server has the tracks of locks, who waited, and throttled time", { skip }, async () => {
  const { page, wrong } = await openedFile(at, at.file("alone.html").file);
  const whole = (await hash(page)).match(/t=\d+\.\.\d+/)[0];
  await details(page, `${whole}&sel=locks:0@4000000`, /mutex 0x1000.*Held byB.*Waiting at.*A.*C/);
  await page.click("#details button:text-matches('^C$')");
  await page.waitForFunction(() => /Waits formutex 0x1000/.test(document.getElementById("details").textContent));
  await page.click("#details button:text-matches('^mutex 0x1000$')");
  await settled(page);
  assert.match(await hash(page), /sel=locks:0@/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
