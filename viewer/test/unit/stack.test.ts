/** Tracks of stacked values. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isTrack, type KindInfo, type Layer } from "../../src/model/layout";
import type { Slice } from "../../src/model/slices";
import { LIGHT } from "../../src/model/palette";
import { layerFacts, paintStack } from "../../src/tracks/stack";
import { extraStyle } from "../../src/tracks/list";
import { arranged } from "./support";

const LAYERS: readonly Layer[] = [{ track: 0, label: "idle state 0", tone: 1 }, { track: 2, label: "idle state 2", tone: 3 }];
const slice = (mean: number, stretches = 1): Slice => ({ start: 0, end: 10, state: 0, stateNs: 0, what: 0, whatNs: 0, stretches, least: mean, most: mean, mean });

test("layers are drawn from the bottom up, the lowest in front; what is 0 has a line, and what is unknown has nothing", () => {
  const image = new Uint32Array(4 * 4);
  // Sums of four pixels: 3 of 4 with 1 of 4 in front; only the lower layer; 0; unknown.
  const rows = [Float32Array.from([0.75, 0.5, 0, -1]), Float32Array.from([0.25, 0.5, 0, -1])];
  paintStack(image, 4, 0, rows, { top: 0, height: 4, tick: 0 }, { layers: [7, 8], none: 5, page: 1 });
  const column = (x: number) => [0, 1, 2, 3].map((y) => image[y * 4 + x]);
  assert.deepEqual([0, 1, 2, 3].map(column), [[1, 7, 7, 8], [1, 1, 8, 8], [1, 1, 1, 5], [1, 1, 1, 1]]);
  // What is less than a line high is seen in the lowest one.
  paintStack(image, 4, 0, [Float32Array.from([0.01, 0, 0, 0])], { top: 0, height: 4, tick: 0 }, { layers: [7], none: 5, page: 1 });
  assert.deepEqual(column(0), [1, 1, 1, 7]);
});

test("the value of a layer is what its sum has more than the one below it", () => {
  const of = (...sums: (Slice | null)[]) => layerFacts(extraStyle("idle_types")!, "CPUs", LAYERS, sums);
  assert.deepEqual(of(slice(3), slice(1)), [["all", "3 CPUs"], ["idle state 0", "2 CPUs"], ["idle state 2", "1 CPU"]]);
  assert.deepEqual(of(slice(1), slice(1)), [["all", "1 CPU"], ["idle state 2", "1 CPU"]], "layers of 0 are left out");
  assert.deepEqual(of(slice(1.5, 7), slice(0.25)), [["all", "about 1.5 CPUs"], ["idle state 0", "about 1.25 CPUs"], ["idle state 2", "about 0.25 CPUs"]], "merged slices are means");
  assert.deepEqual(of(null, null), []);
});

test("a lane with layers is one track, in the colours of its layers", () => {
  const info: KindInfo = { kind: "idle_types", title: "Idle", unit: "CPUs", values: true, states: [], lanes: [{ track: 0, label: "CPUs (4)", most: 4, layers: LAYERS }], note: "", line: null };
  const tracks = arranged([], [], [info]).lines.filter(isTrack);
  assert.deepEqual(tracks.map(({ track, most, layers }) => [track, most, layers]), [[0, 4, LAYERS]]);
  const colours = LAYERS.map(({ tone }) => extraStyle("idle_types")!.colourOf(LIGHT, tone));
  assert.equal(new Set([...colours, LIGHT.page]).size, 3);
});
