/** What ended idle time, in words. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KindInfo, Track } from "../../src/model/layout";
import type { Slice } from "../../src/model/slices";
import { breakEven, endOf, endWords } from "../../src/tracks/idle_ends";
import { Words } from "../../src/ui/words";
import { arranged } from "./support";

const ENDS: KindInfo = {
  kind: "idle_ends",
  title: "What ended idle time",
  unit: "",
  values: false,
  states: ["timer", "thread"],
  lanes: [{ track: 3, label: "CPU 3", most: 0 }],
  note: "",
  line: null,
  ends: [
    { label: "timer hrtimer_wakeup", waker: null, thread: 7, target_ns: null, too_short: null },
    { label: "ipi Rescheduling interrupts", waker: 8, thread: 7, target_ns: 4e6, too_short: true },
  ],
};
const IDLE: KindInfo = { ...ENDS, kind: "idle", states: ["awake", "idle state 0", "idle state 1 (C1)"], ends: [] };
const slice = (state: number, what: number, stretches = 1): Slice => ({ start: 0, end: 2e6, state, stateNs: 2e6, what, whatNs: 2e6, stretches });

test("an end has its cause and interrupt; several stretches drawn as one have none", () => {
  assert.equal(endWords(endOf(ENDS, slice(0, 0))!), "timer: hrtimer_wakeup");
  assert.equal(endWords({ cause: "device", what: { label: "", waker: null, thread: null, target_ns: 4e6, too_short: null } }), "device");
  for (const none of [null, slice(0, 0, 2), slice(9, 0), slice(0, 9)]) assert.equal(endOf(ENDS, none), null);
  assert.equal(endOf(undefined, slice(0, 0)), null);
});

test("the tip of an idle state says what ended it, and what ran then", () => {
  const drawn = (end: Slice | null) => ({ slice: (kind: string, track: number) => (kind === "idle_ends" && track === 3 ? end : null), cpu: () => null });
  const line = { kind: "idle", id: 3, track: 3, label: "CPU 3" } as Track;
  const words = (end: Slice | null, state = 2) => new Words({ kinds: [IDLE, ENDS] }, (thread) => `t${thread}`, drawn(end)).describe(line, slice(state, -1), 5);
  assert.equal(words(slice(1, 1)), "idle state 1 (C1), 2 ms, break-even of 4 ms, not reached, ended by thread: Rescheduling interrupts, woken by t8, then ran t7");
  assert.equal(words(slice(1, 1), 0), "awake, 2 ms");
  assert.equal(words(null), "idle state 1 (C1), 2 ms");
});

test("a break-even was reached or not, if the length of the stay is known", () => {
  const of = (too_short: boolean | null) => breakEven({ cause: "device", what: { label: "", waker: null, thread: null, target_ns: 20_000, too_short } });
  assert.deepEqual([of(true), of(false), of(null)], ["20 µs, not reached", "20 µs, reached", ""]);
});

test("the ends have no tracks of their own", () => {
  assert.deepEqual(arranged([], [], [ENDS]).lines, []);
});
