/** The layout of flame graphs. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { flame, found, step, zoomed, type FoldedStack } from "../../src/model/flame";

const stack = (chain: string, samples: number, coreType = "uniform", thread = "A"): FoldedStack => ({ chain, samples, coreType, thread });

test("a frame is as wide as its samples and above its caller", () => {
  const frames = flame([stack("main;work", 5), stack("main;spin", 3), stack("main", 2), stack("[lib.so];read_[k]", 10)], null, true);
  const drawn = frames.map(({ label, kind, depth, x, width }) => [label, kind, depth, x, width]);
  assert.deepEqual(drawn.sort((a, b) => Number(a[2]) - Number(b[2]) || Number(a[3]) - Number(b[3])), [
    ["all", "root", 0, 0, 1],
    ["A", "thread", 1, 0, 1],
    ["[lib.so]", "unnamed", 2, 0, 0.5],
    ["main", "program", 2, 0.5, 0.5],
    ["read", "kernel", 3, 0, 0.5],
    ["spin", "program", 3, 0.5, 0.15],
    ["work", "program", 3, 0.65, 0.25],
  ]);
});

test("outermost frames without names hide no others", () => {
  const truncated = "[truncated: no unwind table];[game];[game.so];load;[game];read";
  const frames = flame([stack(truncated, 4), stack("[game];[lib.so]", 4)], null, true);
  const drawn = frames.filter(({ depth }) => depth > 1).map(({ label, kind, depth }) => `${depth} ${label} ${kind}`);
  assert.deepEqual(drawn.sort(), [
    "2 [game] unnamed",
    "2 [truncated: no unwind table] unnamed",
    "3 [lib.so] unnamed",
    "3 load program",
    "4 [game] unnamed",
    "5 read program",
  ]);
});

test("by core type on request, never if all cores are of one type", () => {
  const stacks = [stack("f", 3, "performance"), stack("f", 1, "efficient")];
  const labels = (byCore: boolean) => flame(stacks, null, byCore).map(({ label, width }) => `${label} ${width}`).sort();
  assert.deepEqual(labels(true), ["A 0.25", "A 0.75", "all 1", "efficient 0.25", "f 0.25", "f 0.75", "performance 0.75"]);
  assert.deepEqual(labels(false), ["A 1", "all 1", "f 1"]);
  assert.deepEqual(flame([stack("f", 1)], null, true).length, 3);
});

test("a difference is of shares", () => {
  const frames = flame([stack("work", 48), stack("spin", 88), stack("rest", 64)], [stack("work", 20), stack("spin", 50), stack("rest", 30)], true);
  const steps = Object.fromEntries(frames.map(({ label, points }) => [label, step(points!)]));
  assert.deepEqual(steps, { all: 0, A: 0, work: 2, spin: -3, rest: 2 });
});

test("a frame that is zoomed to fills the width, its callers too, and others are not shown", () => {
  const frames = flame([stack("main;a;b", 2), stack("main;a", 2), stack("main;c", 4)], null, true);
  const of = (label: string) => frames.find((frame) => frame.label === label)!;
  const shown = Object.fromEntries(frames.map((frame) => [frame.label, zoomed(frame, of("a"))]));
  const whole = { x: 0, width: 1 };
  assert.deepEqual(shown, { all: whole, A: whole, main: whole, a: whole, b: { x: 0, width: 0.5 }, c: null });
});

test("found frames have the share of their samples, a function that called itself once", () => {
  const frames = flame([stack("f;g;f", 4), stack("f", 1), stack("h", 5)], null, true);
  assert.deepEqual([found(frames, "F").hits.length, found(frames, "F").share], [2, 0.5]);
  assert.deepEqual(found(frames, ""), { hits: [], share: 0 });
});
