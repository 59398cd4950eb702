/** The viewer's computations that need no page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { numbers } from "../../src/model/columns";
import { arranged } from "./support";
import { firstBelow, lineAt, type Cpu } from "../../src/model/layout";
import { eachWide } from "../../src/model/names";
import { DARK, LIGHT, pixel } from "../../src/model/palette";
import { emptyRow, fill, inkOf, paint, Rows } from "../../src/model/raster";
import { parse } from "../../src/model/search";
import { at, bytesOf, firstEndingAfter, type Slices } from "../../src/model/slices";
import { covering, levelOf, spanOf, Tiles, type Place } from "../../src/model/tiles";
import { copy, eachReady } from "../../src/model/instead";
import { length, point, step } from "../../src/model/time";
import { clamped, fromHash, moved, toHash, zoomed } from "../../src/model/view";

/** One track: begin, end, state, share of the state. */
function track(...of: [number, number, number, number?][]): Slices {
  return {
    start: Float64Array.from(of, (s) => s[0]),
    end: Float64Array.from(of, (s) => s[1]),
    state: Uint8Array.from(of, (s) => s[2]),
    stateNs: Float64Array.from(of, (s) => (s[1] - s[0]) * (s[3] ?? 1)),
    what: new Float64Array(of.length),
    whatNs: new Float64Array(of.length),
    stretches: new Int32Array(of.length).fill(1),
    begins: Int32Array.from([0, of.length]),
  };
}

test("a pixel shows the slice at the time of its middle", () => {
  // Pixels of 10 ns: the middles 5, 15, 25, 35, 45. The second slice covers 15 and 25, none covers 35, the last one 45.
  const slices = track([0, 12, 0], [12, 30, 1], [40, 90, 2]);
  const row = emptyRow(5);
  fill(row, slices, inkOf(slices, (state) => state + 1), 0, { from: 0, perPixel: 10 }, 0, 5, 0);
  assert.deepEqual([...row.colour], [1, 2, 2, 0, 3]);
  assert.deepEqual([...row.tick], [0, 0, 0, 0, 0]);
});

test("a slice that ran between two middles is shown by a tick", () => {
  // State 0 runs from 16 to 18, between the middles 15 and 25: pixel 2, the first after it, has the tick.
  const row = emptyRow(4);
  const slices = track([0, 16, 2], [16, 18, 0], [18, 40, 2]);
  fill(row, slices, inkOf(slices, (state) => state + 1), 0, { from: 0, perPixel: 10 }, 0, 4, 0);
  assert.deepEqual([...row.colour], [3, 3, 3, 3]);
  assert.deepEqual([...row.tick], [0, 0, 1, 0]);
});

test("a bar is as high as the share, with a minimum height", () => {
  const row = emptyRow(3);
  row.colour.set([7, 7, 7]);
  row.share.set([1, 0.5, 0.01]);
  const image = new Uint32Array(4 * 10);
  paint(image, 4, 1, row, { top: 0, height: 10, tick: 0 });
  const height = (x: number) => Array.from({ length: 10 }, (_, y) => image[y * 4 + x]).filter((c) => c === 7).length;
  assert.deepEqual([height(0), height(1), height(2), height(3)], [0, 10, 5, 3]);
});

test("ready slices are mapped to the CPU of their queue, by pixel", () => {
  // Pixels of 10 ns: the middles 5, 15, 25, 35, 45. Ready (1) on CPU 3 from 12 to 30: pixels 1 and 2; from 40 to 60 on CPU 4: pixel 4.
  const slices = track([0, 12, 0], [12, 30, 1], [30, 40, 2], [40, 60, 1], [60, 70, 1]);
  slices.what.set([3, 3, 3, 4, -1]);
  const got: number[][] = [];
  eachReady(slices, 0, { from: 0, perPixel: 10 }, 0, 5, 1, (cpu, from, to) => got.push([cpu, from, to]));
  assert.deepEqual(got, [[3, 1, 3], [4, 4, 5]]);
  // For merged stretches, the queue is unknown.
  slices.stretches[1] = 2;
  got.length = 0;
  eachReady(slices, 0, { from: 0, perPixel: 10 }, 0, 5, 1, (cpu, from, to) => got.push([cpu, from, to]));
  assert.deepEqual(got, [[4, 4, 5]]);
  const [band, cpu] = [emptyRow(4), emptyRow(4)];
  cpu.colour.set([1, 2, 0, 4]);
  copy(band, cpu, 1, 3);
  assert.deepEqual([[...band.colour], [...band.share]], [[0, 2, 0, 0], [0, 1, 1, 0]]);
});

test("ticks are drawn over a bar, and empty pixels do not change", () => {
  const row = emptyRow(3);
  row.colour.set([7, 0, 7]);
  row.share.set([1, 1, 0.5]);
  row.tick.set([0, 9, 9]);
  const image = new Uint32Array(3 * 4).fill(1);
  paint(image, 3, 0, row, { top: 0, height: 4, tick: 1 });
  // Four lines: the first has the ticks, the last pixel fills the lower three because of the minimum height.
  assert.deepEqual([...image], [7, 9, 9, 7, 1, 7, 7, 1, 7, 7, 1, 7]);
});

test("empty pixels are set to the page's colour, over an earlier frame", () => {
  const row = emptyRow(3);
  row.colour.set([7, 0, 7]);
  row.share.set([1, 1, 0.5]);
  const image = new Uint32Array(3 * 4).fill(5);
  paint(image, 3, 0, row, { top: 0, height: 4, tick: 0 }, 1);
  // The last pixel has the minimum height, three of four lines.
  assert.deepEqual([...image], [7, 1, 1, 7, 1, 7, 7, 1, 7, 7, 1, 7]);
});

test("a reused row is empty", () => {
  const rows = new Rows();
  const [first, second] = [rows.take(2), rows.take(2)];
  assert.notEqual(first, second);
  for (const part of [first.colour, first.share, first.tick]) part.fill(1);
  rows.giveBack();
  assert.equal(rows.take(2), first);
  assert.deepEqual([first.colour, first.share, first.tick].map((part) => [...part]), [[0, 0], [0, 0], [0, 0]]);
  rows.giveBack();
  assert.equal(rows.take(3).colour.length, 3, "another width gets a new row");
});

test("64-bit integers are converted exactly", () => {
  const of = [0n, 1n, -1n, 4294967295n, 4294967296n, -4294967297n, 2n ** 53n, -(2n ** 53n)];
  assert.deepEqual([...numbers(BigInt64Array.from(of))], of.map(Number));
  // A part of a buffer, like columns.
  assert.deepEqual([...numbers(BigInt64Array.from(of).subarray(3, 5))], [4294967295, 4294967296]);
  assert.deepEqual([...numbers(Int32Array.of(-5, 6))], [-5, 6]);
});

test("a name is written once into a stretch that is wide enough", () => {
  // Pixels of 10 ns. State 0 from 5 to 95 (9 pixels), 100 to 120 (2), 130 to 400; the minimum is 4 of 30 pixels.
  const slices = track([5, 95, 0], [100, 120, 0], [130, 400, 0], [400, 500, 1]);
  slices.what.set([1, 2, 3, 4]);
  const wide = (first: number, last: number) => {
    const got: number[][] = [];
    eachWide(slices, 0, { from: 0, perPixel: 10 }, { first, last, width: 30 }, 0, 4, (what, from, to) => got.push([what, from, to]));
    return got;
  };
  assert.deepEqual(wide(0, 30), [[1, 0.5, 9.5], [3, 13, 30]]);
  // The third begins before pixel 16, so the previous tile handles it.
  assert.deepEqual(wide(16, 30), []);
  slices.stretches[0] = 2;
  assert.deepEqual(wide(0, 16), [[3, 13, 30]]);
});

test("lines outside the image are skipped", () => {
  const row = emptyRow(2);
  row.colour.fill(7);
  row.share.fill(1);
  const image = new Uint32Array(2 * 4);
  paint(image, 2, 0, row, { top: -2, height: 4, tick: 0 });
  paint(image, 2, 0, row, { top: 3, height: 4, tick: 0 });
  assert.deepEqual([...image], [7, 7, 7, 7, 0, 0, 7, 7]);
});

test("slices are found by time", () => {
  const slices = track([0, 10, 0], [10, 20, 1], [30, 40, 2]);
  assert.deepEqual([0, 9, 10, 25, 40].map((t) => firstEndingAfter(slices, 0, t)), [0, 0, 1, 2, 3]);
  assert.equal(at(slices, 0, 10)?.state, 1);
  assert.equal(at(slices, 0, 25), null);
  assert.equal(at(slices, 0, 40), null);
});

test("a view stays within the recording and above the shortest span", () => {
  assert.deepEqual(clamped({ from: -50, to: 950 }, 5000), { from: 0, to: 1000 });
  assert.deepEqual(clamped({ from: 4800, to: 5800 }, 5000), { from: 4000, to: 5000 });
  assert.deepEqual(clamped({ from: 10, to: 11 }, 5000), { from: 10, to: 110 });
  assert.deepEqual(zoomed({ from: 1000, to: 2000 }, 1500, 0.5, 5000), { from: 1250, to: 1750 });
  assert.deepEqual(moved({ from: 1000, to: 2000 }, 500, 5000), { from: 1500, to: 2500 });
});

test("an address has the view and the selection; invalid parts are ignored", () => {
  const selected = { kind: "thread", id: 7, at: 1234 } as const;
  assert.equal(toHash({ from: 1000.4, to: 2000 }, selected), "#t=1000..2000&sel=thread:7@1234");
  assert.deepEqual(fromHash("#t=1000..2000&sel=thread:7@1234", 5000), { span: { from: 1000, to: 2000 }, selected, range: null });
  const range = { from: 1200, to: 1300 };
  assert.equal(toHash({ from: 1000, to: 2000 }, null, range), "#t=1000..2000&range=1200..1300");
  assert.deepEqual(fromHash("#t=1000..2000&range=1200..1300", 5000).range, range);
  assert.deepEqual(fromHash("#range=1200..99999", 5000).range, { from: 1200, to: 5000 }, "within the recording");
  assert.equal(fromHash("#range=6000..7000", 5000).range, null, "outside the recording");
  for (const bad of ["", "#", "#t=5..1", "#t=a..b&sel=disk:1@2", "#t=1..99999999999999999999", "#sel=cpu:-1@0"]) {
    assert.deepEqual(fromHash(bad, 5000), { span: null, selected: null, range: null }, bad);
  }
});

test("tiles cover a span, at a level not coarser than a pixel", () => {
  assert.deepEqual([0.3, 1, 1.9, 2, 1000].map(levelOf), [0, 0, 0, 1, 9]);
  assert.deepEqual(covering({ from: 1024, to: 2048 }, 0), { first: 1, last: 1 });
  assert.deepEqual(covering({ from: 1023, to: 2049 }, 0), { first: 0, last: 2 });
  assert.deepEqual(spanOf({ kind: "cpu", block: 0, level: 1, index: 2 }), { from: 4096, to: 6144 });
});

test("a coarser tile substitutes for a missing one, and each is fetched once", async () => {
  const asked: string[] = [];
  const tiles = new Tiles(
    (place) => {
      asked.push(`${place.level}/${place.index}`);
      return Promise.resolve(track([0, 1, place.level]));
    },
    () => undefined,
  );
  const fine: Place = { kind: "cpu", block: 0, level: 3, index: 9 };
  assert.equal(tiles.best(fine), null);
  tiles.want([{ ...fine, level: 5, index: 2 }]);
  await new Promise((done) => setImmediate(done));
  assert.equal(tiles.best(fine)?.place.level, 5);
  tiles.want([fine]);
  tiles.want([fine]);
  await new Promise((done) => setImmediate(done));
  assert.equal(tiles.best(fine)?.place.level, 3);
  assert.deepEqual(asked, ["5/2", "3/9"]);
});

test("the cache is limited, and drops the least recently used tile", async () => {
  // A tile of one slice takes 53 bytes: seven numbers of 8, 4 or 1 bytes, and two indices of 4. There is room for two tiles.
  const slices = track([0, 1, 0]);
  assert.equal(bytesOf(slices), 53);
  const tiles = new Tiles(() => Promise.resolve(slices), () => undefined, () => undefined, 2 * 53 + 1);
  const place = (index: number): Place => ({ kind: "cpu", block: 0, level: 30, index });
  const fetched = async (index: number) => {
    tiles.want([place(index)]);
    await new Promise((done) => setImmediate(done));
  };
  await fetched(1);
  await fetched(2);
  assert.ok(tiles.best(place(1)));
  await fetched(3);
  assert.deepEqual([1, 2, 3].map((index) => tiles.best(place(index)) !== null), [true, false, true]);
});

test("times are formatted in a suitable unit", () => {
  assert.deepEqual([0, 999, 1500, 2e6, 61e9].map(length), ["0 ns", "999 ns", "1.5 µs", "2 ms", "61 s"]);
  assert.deepEqual([1, 3, 60, 1001].map(step), [1, 5, 100, 2000]);
  assert.equal(point(1_234_567_890, 1e6), "1.235 s");
});

const CPU = { package: 0, die: 0, cluster: null, core_class: 1, core_type: "performance", vendor_type: "cpu_core" };

function thread(at: number, key: number, tid: number, pid: number | null, name: string) {
  return { track: at, thread: key, tid, pid, name, running_ns: 0, ready_ns: null, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null };
}

test("CPUs are grouped by package and type, threads by process, and lines are found by height", () => {
  const cpus: Cpu[] = [
    { ...CPU, cpu: 0, core: 0, siblings: [0, 1] },
    { ...CPU, cpu: 1, core: 0, siblings: [0, 1] },
    { ...CPU, cpu: 2, core: 4, siblings: [2], core_class: 0, core_type: "efficient", vendor_type: null },
  ];
  const { lines, height } = arranged(cpus, [thread(0, 5, 21, 20, "pool"), thread(1, 6, 20, 20, "game"), thread(2, 9, 30, null, "x")]);
  assert.deepEqual(
    lines.map((line) => line.label),
    ["CPUs · package 0 · performance (cpu_core)", "CPU 0 core 0", "CPU 1 ┘ same core", "CPUs · package 0 · efficient", "CPU 2 core 4",
      "game · process 20", "pool 21", "game 20", "unknown process", "x 30"],
  );
  for (const line of lines) assert.equal(lineAt(lines, line.top + 1), line);
  assert.equal(lineAt(lines, height), null);
  assert.equal(firstBelow(lines, 0), 0);
});

test("a search has filters, and unknown ones are reported", () => {
  const wanted = parse("name:ren pid:20");
  assert.ok(wanted !== null && typeof wanted === "object");
  assert.equal(wanted.thread(thread(0, 1, 2, 20, "Render")), true);
  assert.equal(wanted.thread(thread(0, 1, 2, 21, "Render")), false);
  assert.equal(parse("  "), null);
  assert.equal(wanted.stretches, null, "the search is for tracks");
  for (const bad of ["colour:red", "name:", "tid:x", ">1", ">-1ms", ">1h"]) assert.equal(typeof parse(bad), "string", bad);
  const core = parse("core:4");
  assert.ok(core !== null && typeof core === "object");
  assert.deepEqual([4, 5].map((of) => core.cpu({ ...CPU, cpu: 0, core: of, siblings: [] })), [true, false]);
  // With a state or a duration, the search is for stretches, and all filters go to the server.
  const slow = parse("name:render type:efficient state:ready >1.5ms");
  assert.ok(slow !== null && typeof slow === "object");
  assert.deepEqual(slow.stretches, { name: "render", type: "efficient", state: "ready", longer: "1500000" });
  const long = parse(">20us");
  assert.deepEqual(long !== null && typeof long === "object" && long.stretches, { longer: "20000" });
  const efficient = parse("type:eff");
  assert.ok(efficient !== null && typeof efficient === "object");
  assert.equal(efficient.cpu({ ...CPU, cpu: 0, core: 0, siblings: [], core_type: "efficient" }), true);
});

/** CIE lightness of a colour, 0 to 100. */
function lightness(colour: string): number {
  const part = (at: number) => {
    const c = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  const y = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  return y <= 0.008856 ? 903.3 * y : 116 * Math.cbrt(y) - 16;
}

test("states differ in lightness too, not only in hue", () => {
  for (const palette of [LIGHT, DARK]) {
    const levels = [...palette.thread.slice(0, 4)].map(lightness).sort((a, b) => a - b);
    for (let i = 1; i < levels.length; i++) assert.ok(levels[i]! - levels[i - 1]! > 5, `${levels.join(" ")}`);
  }
  assert.equal(pixel("#102030"), 0xff302010);
});

test("tiles around the view are fetched after the visible ones, and do not count as busy", async () => {
  const answers: (() => void)[] = [];
  const asked: number[] = [];
  let arrived = 0;
  const tiles = new Tiles(
    (place) => {
      asked.push(place.index);
      return new Promise((done) => answers.push(() => done(track([0, 1, 0]))));
    },
    () => arrived++,
  );
  const place = (index: number): Place => ({ kind: "cpu", block: 0, level: 3, index });
  tiles.want([place(1), place(2)], [place(3), place(4), place(5)]);
  // Two are visible; those around wait, as at most two are requested while these are pending.
  assert.deepEqual([asked, tiles.busy], [[1, 2], true]);
  const answer = async () => {
    answers.shift()!();
    await new Promise((done) => setImmediate(done));
  };
  await answer();
  assert.deepEqual([asked, tiles.busy, arrived], [[1, 2, 3], true, 1]);
  await answer();
  assert.deepEqual([asked, tiles.busy, arrived], [[1, 2, 3, 4], false, 2]);
  await answer();
  assert.equal(arrived, 2, "tiles that are not visible do not change the picture");
});

test("a failed request is repeated once a second, and the error is shown until an answer arrives", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const errors: (string | null)[] = [];
  const seen: Place[] = [{ kind: "cpu", block: 0, level: 3, index: 1 }];
  let [asked, answers] = [0, false];
  const tiles: Tiles = new Tiles(
    () => (asked++, answers ? Promise.resolve(track([0, 1, 0])) : Promise.reject(new Error("it has ended"))),
    () => tiles.want(seen),
    (why) => errors.push(why && why.message),
  );
  const pause = async (ms: number) => {
    t.mock.timers.tick(ms);
    await new Promise((done) => setImmediate(done));
  };
  tiles.want(seen);
  await pause(0);
  await pause(999);
  tiles.want(seen);
  assert.deepEqual([asked, errors, tiles.busy], [1, ["it has ended"], true]);
  await pause(1);
  assert.deepEqual([asked, errors], [2, ["it has ended"]]);
  answers = true;
  await pause(1000);
  assert.deepEqual([asked, errors, tiles.busy], [3, ["it has ended", null], false]);
});

test("during a motion one tile is fetched at a time, and more at rest", () => {
  const asked: number[] = [];
  const tiles = new Tiles(
    (place) => {
      asked.push(place.index);
      return new Promise(() => undefined);
    },
    () => undefined,
  );
  const places = [1, 2, 3].map((index): Place => ({ kind: "cpu", block: 0, level: 3, index }));
  tiles.want(places, [], true);
  tiles.want(places, [], true);
  assert.deepEqual(asked, [1]);
  tiles.want(places);
  assert.deepEqual(asked, [1, 2, 3]);
});
