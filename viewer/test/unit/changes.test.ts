/** What changed between two traces: classes, words, orders. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { about, byThread, classOf, CLASSES, matched, order, short, words, type Changes, type Role, type Value } from "../../src/model/changes";
import { arranged } from "./support";
import { factsOf } from "../../src/model/facts";
import { DARK, ink, LIGHT, pixel } from "../../src/model/palette";
import { hatch } from "../../src/model/raster";
import { colourOf, Looks, type ChangeColours } from "../../src/ui/colours";

function value(a: number | null, b: number | null, more: Partial<Value> = {}): Value {
  return { values: [a, b], is_small: false, verdict: null, ...more };
}

function role(name: string, first: number[], second: number[], ...values: Value[]): Role {
  const matched_by = first.length > 0 && second.length > 0 ? "name" : null;
  return { name, matched_by, confidence: "high", is_own: true, threads: [first, second], values };
}

const READY = { id: "ready_ns", title: "ready time", is_time: true };
const SWITCHES = { id: "switches", title: "context switches", is_time: false };

function changes(...roles: Role[]): Changes {
  return { answer: "", notes: [], span_ns: [1e9, 1e9], metrics: [READY, SWITCHES], roles };
}

test("classes of ratios are symmetric, and the rest has no ratio", () => {
  const of = (a: number | null, b: number | null, more = {}) => CLASSES[classOf(role("r", [1], [1], value(a, b, more)), 0)];
  const pairs: [number, string, string][] = [
    [2.1, "more than 2 ×", "less than half"],
    [2, "1.25 to 2 ×", "0.5 to 0.8 ×"],
    [1.3, "1.25 to 2 ×", "0.5 to 0.8 ×"],
    [1.2, "1.05 to 1.25 ×", "0.8 to 0.95 ×"],
    [1.04, "within 5 %", "within 5 %"],
    [1, "within 5 %", "within 5 %"],
  ];
  for (const [ratio, more, less] of pairs) assert.deepEqual([of(100, 100 * ratio), of(100 * ratio, 100)], [more, less], String(ratio));
  assert.equal(of(0, 5e6), "more than 2 ×");
  assert.equal(of(5e6, 0), "less than half");
  assert.equal(of(1, 9, { is_small: true }), "too little to compare");
  assert.equal(of(null, 9), "not recorded");
  assert.equal(of(100, 107, { verdict: "same" }), "within 5 %");
  assert.equal(CLASSES[classOf(role("r", [1], [], value(9, null)), 0)], "only in this trace");
  assert.equal(CLASSES[classOf(undefined, 0)], "not recorded");
});

test("a change is words with both values", () => {
  const worker = role("game/Worker", [1, 2], [3], value(240e6, 488.6e6), value(20, 10));
  const all = changes(worker);
  assert.equal(words(all, worker, 0), "240 ms → 488.6 ms, 2.04 ×");
  assert.equal(words(all, worker, 1), "20 → 10, 0.50 ×");
  assert.equal(matched(worker, 0), "role matched by name");
  assert.deepEqual([0, 1].map((metric) => short(worker, metric, 0)), ["2.04 ×", "0.50 ×"]);
  const gone = role("game/Old", [4], [], value(3e6, null), value(2, null));
  assert.equal(words(changes(gone), gone, 0), "3 ms");
  assert.equal(matched({ ...gone, confidence: "low" }, 0), "gone: no such role in the second trace (confidence low)");
  assert.deepEqual([short(gone, 0, 0), short(role("New", [], [1], value(null, 1)), 0, 1), short(undefined, 0, 0)], ["gone", "new", ""]);
  const small = role("s", [1], [1], value(1000, 3000, { is_small: true }), value(0, 300, { verdict: "changed" }));
  assert.deepEqual([words(all, small, 0), short(small, 0, 0)], ["1 µs → 3 µs, too little to compare", ""]);
  assert.deepEqual([words(all, small, 1), short(small, 1, 0)], ["0 → 300, more than chance", "from 0"]);
  const large = role("l", [1], [1], value(1, 12345), value(1e6, 1));
  assert.deepEqual([short(large, 0, 0), short(large, 1, 0)], ["12345 ×", "0.000001 ×"]);
});

test("the legend says that two recordings are compared, and if their lengths differ", () => {
  const same = changes(role("r", [1], [1], value(1e6, 2e6)));
  assert.equal(about(same, 0), "Ready time by role, second / first, in these two recordings; may be chance:");
  assert.equal(about({ ...same, span_ns: [1e9, 2e9] }, 0), "Ready time by role, second / first, in these two recordings (1 s and 2 s long; sums, not per second); may be chance:");
  assert.equal(about(changes(role("r", [1], [1], value(1e6, 2e6, { verdict: "changed" }))), 0), "Ready time by role, second / first, in these two recordings:");
});

test("threads are ordered by the difference of their role, the largest first", () => {
  const [little, much, gone] = [role("little", [1], [1], value(100, 101)), role("much", [2, 4], [2], value(10, 50)), role("gone", [3], [], value(20, null))];
  const all = changes(little, much, gone);
  const places = order(all, 0);
  assert.deepEqual([much, gone, little].map((of) => places.get(of)), [0, 1, 2]);
  // Other programs follow.
  const mixed = order(changes({ ...much, is_own: false }, little), 0);
  assert.deepEqual([...mixed.keys()].map((of) => of.name), ["little", "much"]);
  const roles = byThread(all, 0);
  const thread = (key: number) => ({ track: key, thread: key, tid: key, pid: key, name: `t${key}`, running_ns: 0, ready_ns: null, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null });
  const of = (key: number) => places.get(roles.get(key)!)!;
  const { lines } = arranged([], [1, 2, 3, 4].map(thread), [], { label: "Largest first", of });
  assert.deepEqual(lines.map((line) => line.label), ["Largest first", "t2 2", "t4 4", "t3 3", "t1 1"]);
  assert.deepEqual(arranged([], [1, 2].map(thread)).lines.map((line) => line.label), ["t1 · process 1", "t1 1", "t2 · process 2", "t2 2"]);
});

test("only the state of the metric has the colour of the change, and CPUs that of their thread", () => {
  const changed: ChangeColours = { state: 1, classOf: (thread) => (thread === 7 ? 6 : 3), short: () => "" };
  const colouring = { palette: LIGHT, by: "thread" as const, facts: factsOf([], []), changed };
  const thread = (state: number, key: number) => colourOf(colouring, { kind: "thread", state, what: 0, id: key });
  assert.deepEqual([thread(1, 7), thread(0, 7), thread(1, 8)], [LIGHT.changes[6], LIGHT.others[0], LIGHT.changes[3]]);
  assert.equal(colourOf(colouring, { kind: "cpu", state: 0, what: 7, id: 0 }), LIGHT.changes[6]);
  assert.equal(colourOf({ ...colouring, changed: null }, { kind: "thread", state: 1, what: 0, id: 7 }), LIGHT.thread[1]);
  // The pixels are the same, and follow the palette.
  const looks = new Looks();
  assert.equal(looks.get(colouring, "thread", 7).pixel(1, 0), pixel(LIGHT.changes[6]!));
  assert.equal(looks.get(colouring, "cpu", 0).pixel(0, 7), pixel(LIGHT.changes[6]!));
  assert.equal(looks.get({ ...colouring, palette: DARK }, "thread", 8).pixel(1, 0), pixel(DARK.changes[3]!));
  assert.equal(looks.get({ ...colouring, changed: null }, "thread", 7).pixel(1, 0), pixel(LIGHT.thread[1]!));
});

test("every class has a colour of its own, on which text can be read", () => {
  for (const palette of [LIGHT, DARK]) {
    assert.equal(palette.changes.length, CLASSES.length);
    assert.equal(palette.others.length, palette.thread.length);
    // Too little and not recorded look alike.
    assert.equal(new Set(palette.changes).size, CLASSES.length - 1);
    for (const colour of palette.changes) assert.ok(contrast(colour, ink(colour)) >= 4.5, colour);
  }
});

/** The contrast of two colours (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio). */
function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

test("stripes are cut out of a bar only, also where it leaves the image", () => {
  const [width, height] = [14, 6];
  const image = new Uint32Array(width * height).fill(9);
  hatch(image, width, 2, { top: -1, height: 3, tick: 0 }, 1);
  const row = (y: number) => [...image.subarray(y * width, (y + 1) * width)].join("");
  // Distance 6, width 3, moved by one pixel per line: the bar has the lines 0 and 1.
  assert.deepEqual([0, 1, 2].map(row), ["99199911199911", "99999111999111", "9".repeat(14)]);
  hatch(image, width, 2, { top: 5, height: 3, tick: 0 }, 1);
  assert.equal(image.length, width * height);
});
