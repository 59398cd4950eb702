/** The additional tracks: what is drawn matches what is stored. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { opened, served, settled, skip } from "./support.mjs";

/** Two CPUs, 5 ms: drawn in crates/serve/tests/it/kinds.rs. */
const DRAWN = new URL("../../../crates/serve/tests/tracks.txt", import.meta.url).pathname;

let at;
let folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-tracks-"));
  const trace = join(folder, "tracks.cw");
  execFileSync(process.env.COREWISE, ["import", DRAWN, "-o", trace], { stdio: "ignore" });
  at = await served(trace);
});
after(async () => {
  await at?.end();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Returns the tip at a place, and the lowest pixel of its track. */
async function tipAt(page, box, x, y) {
  await page.mouse.move(box.x + x, box.y + y);
  return page.evaluate((x) => {
    const tip = document.getElementById("tip");
    if (tip.hidden) return null;
    const pixel = document.getElementById("timeline").getContext("2d").getImageData(x, Number(tip.dataset.base), 1, 1).data;
    return { text: tip.textContent, ...tip.dataset, pixel: `#${[...pixel.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}` };
  }, x);
}

test("each kind of track shows its values and states at their times, in their colours", { skip }, async () => {
  const { page, wrong } = await opened(at, { width: 1280, hash: "#tracks=open.kind:idle" });
  const box = await page.locator("#timeline").boundingBox();
  const found = new Map();
  let base = 0;
  // The middle of each of the 5 ms, down all tracks.
  for (let ms = 0; ms < 5; ms++) {
    const x = Math.round(190 + ((ms + 0.5) / 5) * (box.width - 190));
    for (let y = 26; y < Math.min(box.height, 540); y += 8) {
      const tip = await tipAt(page, box, x, y);
      if (!tip) continue;
      // Moments are lines with nothing drawn between them.
      if (tip.kind !== "moments") assert.equal(tip.pixel, tip.colour, `${tip.text} at ${x}, ${y}`);
      else base = Number(tip.base);
      found.set(`${tip.kind} ${tip.id} ${ms}`, tip.text.split("\n")[1]);
    }
  }
  const row = (kind, id) => [0, 1, 2, 3, 4].map((ms) => found.get(`${kind} ${id} ${ms}`) ?? "");
  assert.deepEqual(row("concurrency", 4), ["value 1", "value 1", "value 2", "value 2", "value 1"]);
  assert.deepEqual(row("frequency", 0), ["value 1 GHz", "value 3 GHz", "value 3 GHz", "value 3 GHz", "value 3 GHz"]);
  assert.deepEqual(row("counters", 0), ["", "", "", "", "value 7"]);
  assert.deepEqual(row("idle", 0), ["", "", "", "", "idle state 2, 1 ms"]);
  assert.deepEqual(row("idle_types", 2), ["", "", "idle state 2 0 CPUs", "idle state 2 0 CPUs", "idle state 2 1 CPU"]);
  assert.deepEqual(row("marks", 0), ["", "", "", "mark, 1 ms", "no mark, 1 ms"]);
  assert.deepEqual(row("moments", 0), ["", "after this instant, 2 ms", "after this instant, 2 ms", "after this instant, 2 ms", "after this instant, 2 ms"]);
  // In their track, the pixels at 1 ms and 3 ms are dark.
  const dark = await page.evaluate((y) => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(190, y, canvas.width - 190, 1);
    return [...new Uint8Array(data)].filter((_, at) => at % 4 === 0).flatMap((red, x) => (red < 128 ? [x] : []));
  }, base);
  const at_ = (ms) => Math.floor((ms / 5) * (Math.round(box.width) - 190));
  assert.deepEqual(dark, [at_(1), at_(3)]);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the details of a slice have units, and the address keeps the selection", { skip }, async () => {
  const { page } = await opened(at, { hash: "#t=0..5000000&sel=frequency:0@500000" });
  await settled(page);
  assert.match(await page.textContent("#details"), /CPU 0.*Frequency.*value1 GHz.*Length1 ms/s);
  assert.match(await page.evaluate(() => location.hash), /sel=frequency:0@500000/);
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.match(await page.textContent("#details"), /value3 GHz/);
  await page.context().close();
});

/** An interrupt wakes a every 4 ms, and a works for 1 ms. */
function periodic() {
  const lines = ["cpus=1", "a-10 [000] 1.000000: sched_switch: a:10 [120] S ==> swapper/0:0 [120]"];
  for (let period = 1; period <= 11; period++) {
    const at = (us) => `[000] 1.${String(4000 * period + us).padStart(6, "0")}:`;
    lines.push(`<idle>-0 ${at(0)} sched_wakeup: a:10 [120] CPU:000`);
    lines.push(`<idle>-0 ${at(10)} sched_switch: swapper/0:0 [120] R ==> a:10 [120]`);
    lines.push(`a-10 ${at(1000)} sched_switch: a:10 [120] S ==> swapper/0:0 [120]`);
  }
  return `${lines.join("\n")}\n`;
}

test("the details of a period lead to its thread and have what --range takes", { skip }, async () => {
  const [text, trace] = ["periodic.txt", "periodic.cw"].map((name) => join(folder, name));
  writeFileSync(text, periodic());
  execFileSync(process.env.COREWISE, ["import", text, "-o", trace], { stdio: "ignore" });
  const own = await served(trace);
  const { page, wrong } = await opened(own, { hash: "#t=8000000..16000000&sel=periods:0@12500000" });
  await settled(page);
  const details = page.locator("#details");
  // What --range takes is a query of its own.
  await page.locator("#details", { hasText: "--range" }).waitFor();
  assert.match(await details.textContent(), /a \(thread 10\).*Periods.*Stateat work.*Length1 ms.*--range 'period:10#3'/s);
  await details.getByText("a", { exact: true }).click();
  await settled(page);
  assert.match(await page.evaluate(() => location.hash), /sel=thread:1@12000000/);
  assert.deepEqual(wrong, []);
  await page.context().close();
  await own.end();
});
