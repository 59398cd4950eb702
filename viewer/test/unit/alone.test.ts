/** What a page without a server computes from its data. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ThreadState } from "../../src/generated/tables";
import { cut, finer } from "../../src/model/detail";
import type { Columns, Slices } from "../../src/model/slices";
import { chainOf, hitsOf, overlapping, type Stored } from "../../src/model/stored";

/** Slices by track, start and end; the state identifies them. */
function columns(rows: readonly [track: number, start: number, end: number, state: number][]): Columns {
  const column = (at: 0 | 1 | 2 | 3) => rows.map((row) => row[at]);
  const lengths = Float64Array.from(rows, (row) => row[2] - row[1]);
  return {
    track: Int32Array.from(column(0)),
    start: Float64Array.from(column(1)),
    end: Float64Array.from(column(2)),
    state: Uint8Array.from(column(3)),
    stateNs: lengths,
    what: new Float64Array(rows.length),
    whatNs: lengths,
    stretches: new Int32Array(rows.length).fill(1),
  };
}

function rows(of: Slices): number[][] {
  const tracks = [...of.begins.keys()].slice(0, -1);
  return tracks.flatMap((track) => {
    const all = [];
    for (let i = of.begins[track]!; i < of.begins[track + 1]!; i++) all.push([track, of.start[i]!, of.end[i]!, of.state[i]!]);
    return all;
  });
}

test("a finer level replaces what it overlaps, track by track, including gaps", () => {
  // Track 17 is the second of the block that starts at 16; track 16 does not change, track 18 changes completely.
  const coarser = cut(columns([[3, 0, 99, 9], [16, 0, 50, 1], [17, 0, 10, 1], [17, 10, 40, 2], [17, 45, 60, 3], [18, 0, 60, 4], [40, 0, 9, 9]]), 16, 4);
  const own = cut(columns([[17, 10, 20, 5], [17, 20, 40, 6], [18, 0, 30, 7], [18, 30, 60, 8]]), 16, 4);
  const wanted = [[0, 0, 50, 1], [1, 0, 10, 1], [1, 10, 20, 5], [1, 20, 40, 6], [1, 45, 60, 3], [2, 0, 30, 7], [2, 30, 60, 8]];
  assert.deepEqual(rows(finer(coarser, own)), wanted);
  assert.equal(finer(coarser, cut(columns([]), 16, 4)), coarser, "without new slices the coarser level is returned");
});

/** Thread 1 runs to 10; it wakes 2 at 3, which runs from 5 on and wakes 3 at 7; at 9 an interrupt wakes 4. */
const STRETCHES: [thread: number, start: number, end: number, state: string, cpu: number, waker: number | null][] = [
  [1, 0, 10, "running", 0, null],
  [2, 3, 5, "ready", 1, 1],
  [2, 5, 12, "running", 1, null],
  [3, 7, 12, "ready", 1, 2],
  [4, 9, 12, "ready", 0, 0],
];
const stored: Stored<ThreadState> = {
  start: Float64Array.from(STRETCHES, (row) => row[1]),
  end: Float64Array.from(STRETCHES, (row) => row[2]),
  keys: {
    thread: Float64Array.from(STRETCHES, (row) => row[0]),
    cpu: Float64Array.from(STRETCHES, (row) => row[4]),
    waker: Float64Array.from(STRETCHES, (row) => row[5] ?? -1),
  },
  row: (at) => ({ thread: STRETCHES[at]![0], state: STRETCHES[at]![3] }) as ThreadState,
};
const threads = (of: readonly ThreadState[]) => of.map((row) => row.thread);

test("rows overlap the requested time and have the requested keys", () => {
  assert.deepEqual(threads(overlapping(stored, 5, 7, {})), [1, 2], "rows that only touch the edges are not included");
  assert.deepEqual(threads(overlapping(stored, 0, 20, { cpu: 1 })), [2, 2, 3]);
  assert.deepEqual(threads(overlapping(stored, 0, 20, { waker: 1 })), [2]);
});

test("a chain goes from wakeup to wakeup, and ends at an interrupt or at a thread without a wakeup", () => {
  const chain = (thread: number, at: number) => chainOf(stored, thread, at).map((w) => [w.thread, w.waker, w.at_ns, w.ready_ns]);
  assert.deepEqual(chain(3, 11), [[3, 2, 7, 5], [2, 1, 3, 2]]);
  assert.deepEqual(chain(3, 6), [], "not woken yet");
  assert.deepEqual(chain(4, 11), [[4, 0, 9, 3]]);
});

test("a search continues where the previous answer stopped, and misses no row", () => {
  const known = { thread: (key: number) => ({ name: `T${key}`, tid: key, pid: null }) as never, cpu: () => undefined };
  const first = hitsOf(stored, { state: "ready" }, 0, 20, 1, known);
  assert.deepEqual([threads(first.rows), first.until], [[2], 5]);
  const next = hitsOf(stored, { state: "ready" }, first.until, 20, 9, known);
  assert.deepEqual([threads(next.rows), next.until], [[3, 4], 20]);
  assert.deepEqual(threads(hitsOf(stored, { state: "ready", longer: "3" }, 0, 20, 9, known).rows), [3], "longer means strictly longer");
  assert.deepEqual(threads(hitsOf(stored, { name: "t4" }, 0, 20, 9, known).rows), [4]);
  assert.deepEqual(threads(hitsOf(stored, { cpu: "1", tid: "2" }, 0, 20, 9, known).rows), [2, 2]);
});
