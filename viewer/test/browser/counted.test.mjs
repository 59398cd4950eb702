/** The tracks of what the CPUs counted. The fixture is drawn in crates/export/tests/it/counters.rs. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { opened, served, settled, skip } from "./support.mjs";

const FIXTURE = new URL("counted.pftrace", import.meta.url).pathname;
/** The recording has 8 ms. */
const MS = 8;

let at;
let folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-counted-"));
  const trace = join(folder, "counted.cw");
  execFileSync(process.env.COREWISE, ["import", FIXTURE, "-o", trace], { stdio: "ignore" });
  at = await served(trace);
});
after(async () => {
  await at?.end();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Returns the tips of all tracks of counters: the first line and the ms of each, with the second line. */
async function tips(page) {
  const found = await page.evaluate((count) => {
    const [canvas, tip] = [document.getElementById("timeline"), document.getElementById("tip")];
    const box = canvas.getBoundingClientRect();
    const all = [];
    for (let ms = 0; ms < count; ms++) {
      const clientX = box.x + Math.round(190 + ((ms + 0.5) / count) * (box.width - 190));
      for (let y = 26; y < box.height; y += 6) {
        canvas.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY: box.y + y, bubbles: true }));
        const [label, facts] = tip.hidden ? [] : tip.textContent.split("\n");
        if (label && facts) all.push([`${label} ${ms}`, facts]);
      }
    }
    return all;
  }, MS);
  return new Map(found);
}

test("counters are folded at first; a tip has event, count, length, share and IPC, and unknown time has none", { skip }, async () => {
  const folded = await opened(at, {});
  const first = await tips(folded.page);
  assert.ok(first.has("A 1 0") && !first.has("CPU 0 IPC 0"), [...first.keys()].join());
  await folded.page.context().close();
  const { page, wrong } = await opened(at, { height: 1400, hash: "#tracks=open.counted:cpus,counted:all,counted:none,counted:1" });
  const found = await tips(page);
  const of = (label) => Array.from({ length: MS }, (_, ms) => found.get(`${label} ${ms}`) ?? "");
  const [fast, slow] = ["IPC 2; instructions 800; cycles 400; length 2 ms; counted for 100 % of the time", "IPC 0.5; instructions 250; cycles 500; length 1 ms; counted for 100 % of the time"];
  assert.deepEqual(of("CPU 0 IPC"), [fast, fast, "", "IPC 1; instructions 300; cycles 300; length 1 ms; counted for 100 % of the time", "", "", "", ""]);
  const [alone, half] = ["IPC 0.5; instructions 50; cycles 100; length 3 ms; counted for 100 % of the time", "IPC 0.15; instructions about 30; cycles about 200; length 2 ms; counted for 50 % of the time"];
  assert.deepEqual(of("CPU 1 IPC"), [alone, alone, alone, half, half, "", slow, ""]);
  assert.deepEqual(of("A 1 IPC on performance"), [fast, fast, "", "", "", "", "", ""]);
  assert.deepEqual(of("A 1 IPC on efficient"), ["", "", "", "", "", "", slow, ""]);
  assert.deepEqual(of("CPU 1 faults counted")[4], "event faults; state unknown: a switch between two readings is missing; length 1 ms");
  assert.equal(of("CPU 1 cycles counted")[3], "event cycles; state multiplexed: counted for a part of the time; length 2 ms; counted for 50 % of the time");
  assert.equal(of("CPU 0 cycles per s")[0], "event cycles; count 400; rate 200 k/s; length 2 ms; counted for 100 % of the time");
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the details of a reading have the same, and the summary of a range has a column with the figures of thread_ipc", { skip }, async () => {
  const { page, wrong } = await opened(at, { hash: "#t=0..8000000&tracks=open.counted:cpus&sel=ipc:0@1000000&range=0..8000000" });
  await settled(page);
  assert.match(await page.textContent("#details"), /CPU 0 IPC.*Instructions per cycle.*IPC2.*instructions800.*cycles400.*length2 ms/s);
  await page.locator("#range .summary th", { hasText: "IPC" }).waitFor();
  const cell = page.locator("#range .summary tbody tr").filter({ has: page.getByRole("rowheader", { name: "A 1", exact: true }) }).locator("td[title*='instructions per cycle']");
  await cell.waitFor();
  // 800 + 250 instructions in 400 + 500 cycles.
  assert.equal(await cell.textContent(), (1050 / 900).toFixed(3));
  assert.match(await cell.getAttribute("title"), /on performance cores: 2\.000 .*\non efficient cores: 0\.500/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
