/** The additional kinds of tracks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isTrack, type KindInfo } from "../../src/model/layout";
import { arranged } from "./support";
import { DARK, ink, LIGHT, paler } from "../../src/model/palette";
import { emptyRow } from "../../src/model/raster";
import { at, type Slices } from "../../src/model/slices";
import { KINDS, extraStyle, styleOf } from "../../src/tracks/list";
import { fillBegins } from "../../src/tracks/moments";
import { emptyHeights, fillHeights, paintHeights } from "../../src/tracks/values";
import { extraFacts, rangeOf, valueFacts } from "../../src/ui/extra";

/** One track of values: begin, end, mean, most. */
function values(...of: [number, number, number, number][]): Slices {
  const none = new Float64Array(0);
  return {
    start: Float64Array.from(of, (s) => s[0]),
    end: Float64Array.from(of, (s) => s[1]),
    state: new Uint8Array(0),
    stateNs: none,
    what: none,
    whatNs: none,
    stretches: new Int32Array(of.length).fill(1),
    values: { least: Float64Array.from(of, (s) => s[2]), mean: Float64Array.from(of, (s) => s[2]), most: Float64Array.from(of, (s) => s[3]) },
    begins: Int32Array.from([0, of.length]),
  };
}

test("a pixel of values shows the mean at its middle, and the maximum since the previous middle", () => {
  // Pixels of 10 ns: the middles 5, 15, 25, 35. From 16 to 18 the value is 8, which no middle shows: the third pixel includes it.
  const row = emptyHeights(4);
  fillHeights(row, values([0, 16, 2, 4], [16, 18, 8, 8], [18, 30, 4, 4]), 0, { from: 0, perPixel: 10 }, 0, 4, 8);
  assert.deepEqual([...row.mean], [0.25, 0.25, 0.5, -1]);
  assert.deepEqual([...row.most], [0.5, 0.5, 1, -1]);
});

test("values are bars up to the mean, paler up to the maximum; unknown values are not drawn", () => {
  const row = emptyHeights(3);
  row.mean.set([0.5, 0, -1]);
  row.most.set([0.75, 0, -1]);
  const image = new Uint32Array(3 * 4);
  paintHeights(image, 3, 0, row, { top: 0, height: 4, tick: 0 }, { mean: 7, most: 8, line: 9, page: 1 }, null);
  const column = (x: number) => [0, 1, 2, 3].map((y) => image[y * 3 + x]);
  assert.deepEqual([column(0), column(1), column(2)], [[1, 8, 7, 7], [1, 1, 1, 7], [1, 1, 1, 1]]);
  // A line at half the height: the third of four lines from the top.
  paintHeights(image, 3, 0, row, { top: 0, height: 4, tick: 0 }, { mean: 7, most: 8, line: 9, page: 1 }, 0.5);
  assert.deepEqual(column(2), [1, 1, 9, 1]);
});

function info(kind: string, over: Partial<KindInfo> = {}): KindInfo {
  return { kind, title: kind, unit: "", values: true, states: [], lanes: [{ track: 3, label: "CPU 3", most: 5 }], note: "", line: null, ...over };
}

test("kinds are in the server's order, and one without a look of its own is drawn", () => {
  const { lines } = arranged([], [], [info("concurrency"), info("frequency", { note: "some are left out" }), info("weather")]);
  assert.deepEqual(lines.map((line) => line.label), ["concurrency", "CPU 3", "frequency (some are left out)", "CPU 3", "weather", "CPU 3"]);
  for (const line of lines) if (isTrack(line)) assert.deepEqual([line.track, line.most], [3, 5]);
  assert.deepEqual(arranged([], [], []).lines, []);
});

test("threads whose process is unknown are one group", () => {
  const thread = (track: number, pid: number | null) => ({ track, thread: track + 1, tid: track + 10, pid, name: "x", running_ns: 0, ready_ns: null, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null });
  const { lines } = arranged([], [thread(0, 5), thread(1, null), thread(2, null), thread(3, null)]);
  assert.deepEqual(lines.filter((line) => !isTrack(line)).map((line) => line.label), ["x · process 5", "unknown process"]);
});

test("every kind has a colour for its states or values, and values have units", () => {
  for (const kind of KINDS.values()) assert.match(kind.colourOf(LIGHT, 1), /^#[0-9a-f]{6}$/, kind.kind);
  const weather = styleOf("weather");
  assert.deepEqual([weather.colourOf(LIGHT, 1), weather.words(2.5, "mm"), extraStyle("cpu")], [LIGHT.threads[1], "2.5 mm", undefined]);
  const slice = at(values([10, 20, 2_500_000, 3_000_000]), 0, 12);
  assert.ok(slice);
  const frequency = KINDS.get("frequency")!;
  assert.deepEqual(valueFacts(frequency, "kHz", slice), [["value", "2.5 GHz"]]);
  assert.deepEqual(valueFacts(frequency, "kHz", { ...slice, stretches: 2 }).slice(0, 3), [["mean", "2.5 GHz"], ["minimum", "2.5 GHz"], ["maximum", "3 GHz"]]);
  assert.deepEqual(valueFacts(KINDS.get("frames")!, "ns", { ...slice, mean: 16_700_000 }), [["value", "16.7 ms"]]);
  const idle = { start: 0, end: 10, state: 1, stateNs: 7, what: -1, whatNs: 7, stretches: 2 };
  const facts = extraFacts(KINDS.get("idle")!, info("idle", { states: ["awake", "idle state 0"] }), idle);
  assert.deepEqual(facts[0], ["Time in state idle state 0", "7 ns"]);
  assert.equal(paler("#000000", "#ffffff"), "#7f7f7f");
});

test("an interval that is drawn by itself has the name that --range takes", () => {
  const lane = { track: 0, label: "a (thread 10)", most: 0, thread: 3, range: "period:10" };
  const slice = { start: 0, end: 10, state: 2, stateNs: 10, what: 17, whatNs: 10, stretches: 1 };
  assert.equal(rangeOf(lane, slice), "period:10#17");
  // Merged, between two intervals, and on a track whose slices have no such names.
  for (const of of [{ ...slice, stretches: 2 }, { ...slice, what: -1 }]) assert.equal(rangeOf(lane, of), null);
  assert.equal(rangeOf({ ...lane, range: null }, slice), null);
  assert.equal(rangeOf(undefined, slice), null);
});

test("moments are drawn where slices begin, also at the edge of a tile, and nothing after that", () => {
  // Pixels of 10 ns: 0 is in the first, 27 and 28 are in the third, 30 begins the fourth. A tile that ends at 30 has the first three.
  const moments = values([0, 27, 0, 0], [27, 28, 0, 0], [28, 30, 0, 0], [30, 99, 0, 0]);
  const row = emptyRow(5);
  fillBegins(row, moments, 0, { from: 0, perPixel: 10 }, 0, 5, 7);
  assert.deepEqual([...row.colour], [7, 0, 7, 7, 0]);
  // A moment is drawn by whichever tile has it, even if the pixel at the border belongs to the other tile.
  const edge = emptyRow(5);
  fillBegins(edge, values([27, 28, 0, 0]), 0, { from: 0, perPixel: 10 }, 3, 5, 7);
  assert.deepEqual([...edge.colour], [0, 0, 7, 0, 0]);
});

test("names are readable on every thread colour, with a contrast of at least 4.5 to 1", () => {
  const luminance = (colour: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  for (const colour of [...LIGHT.threads, ...DARK.threads]) {
    const [low, high] = [luminance(colour), luminance(ink(colour))].sort((a, b) => a - b);
    assert.ok((high! + 0.05) / (low! + 0.05) >= 4.5, `${ink(colour)} on ${colour}`);
  }
});

test("siblings share a core even without a core number, and a line across values comes from the recording", () => {
  const none = { package: null, die: null, cluster: null, core: null, core_class: 0, core_type: "uniform", vendor_type: null };
  const { lines } = arranged([{ ...none, cpu: 0, siblings: [0, 2] }, { ...none, cpu: 2, siblings: [0, 2] }, { ...none, cpu: 1, siblings: [] }], [], [info("frames", { line: 2e7 })]);
  assert.deepEqual(lines.map((line) => line.label), ["CPUs", "CPU 0", "CPU 2 ┘ same core", "CPU 1", "frames", "CPU 3"]);
  const frames = lines.at(-1);
  assert.equal(frames?.kind === "frames" && frames.line, 2e7);
});
