import assert from "node:assert/strict";
import test from "node:test";
import type { ThreadTracks } from "../../src/generated/tables";
import type { Cpu } from "../../src/model/layout";
import { made, type Facts } from "../../src/model/ranges";

/** Thread 1 runs on CPU 0 for 10, waits for 20 until thread 2 wakes it, is ready for 5 while 2 runs there, then runs on CPU 1 for 15. */
const ROWS: [number, number, number, number, number, number, string | null][] = [
  // start, end, thread, state, cpu, waker, reason
  [0, 10, 1, 0, 0, -1, null],
  [0, 35, 2, 0, 0, -1, null],
  [10, 30, 1, 2, 0, -1, "S"],
  [30, 35, 1, 1, 0, 2, null],
  [35, 50, 1, 0, 1, -1, null],
  [35, 50, 2, 2, 0, -1, "D"],
];

function facts(change: Partial<Facts> = {}): Facts {
  const column = (at: number) => Float64Array.from(ROWS, (row) => Number(row[at]));
  const time = Float64Array.from(ROWS, (row) => row[1] - row[0]);
  const cpu = (id: number, type: string) => ({ cpu: id, core_class: 1 - id, core_type: type }) as unknown as Cpu;
  return {
    threads: {
      start: column(0),
      end: column(1),
      thread: column(2),
      state: Uint8Array.from(ROWS, (row) => row[3]),
      cpu: column(4),
      stateNs: time,
      cpuNs: time,
      causes: { waker: column(5), reason: (at) => ROWS[at]![6] },
    },
    cpus: { start: Float64Array.from([0, 10, 35, 0, 35]), end: Float64Array.from([10, 35, 50, 35, 50]), cpu: Float64Array.from([0, 0, 0, 1, 1]), thread: Float64Array.from([1, 2, 0, -1, 1]) },
    thread: (key) => ({ tid: 100 + key, pid: 7, name: `t${key}` }) as ThreadTracks,
    cpu: (id) => [cpu(0, "performance"), cpu(1, "efficient")][id],
    readyKnown: true,
    finest: 0,
    ...change,
  };
}

function rows(name: string, from: number, to: number, of = facts()) {
  const table = made(name, of, { from, to }, []);
  assert.notEqual(typeof table, "string", String(table));
  return (table as Exclude<typeof table, string>).rows;
}

test("states are summed inside the part", () => {
  assert.deepEqual(rows("threads", 5, 40), [
    [1, 101, 7, "t1", 10, 5, 20, 0, 0, 0, 5],
    [2, 102, 7, "t2", 30, 0, 5, 0, 0, 0, 0],
  ]);
  assert.deepEqual(rows("threads", 32, 33), [
    [1, 101, 7, "t1", 0, 1, 0, 0, 0, 0, 1],
    [2, 102, 7, "t2", 1, 0, 0, 0, 0, 0, 0],
  ]);
  // Without recorded wakeups, blocked time may be ready time.
  assert.deepEqual(rows("threads", 5, 40, facts({ readyKnown: false }))[0], [1, 101, 7, "t1", 10, 5, 20, 20, 0, 0, 5]);
});

test("running time is divided by core class", () => {
  assert.deepEqual(rows("thread_by_core_type", 0, 50), [
    [1, 101, 0, "efficient", 15, 0.6],
    [1, 101, 1, "performance", 10, 0.4],
    [2, 102, 1, "performance", 35, 1],
  ]);
});

test("CPUs tile the part", () => {
  const all = rows("cpus", 5, 40);
  assert.deepEqual(all, [[0, "performance", 30, 5, 0], [1, "efficient", 5, 0, 30]]);
  assert.ok(all.every((row) => Number(row[2]) + Number(row[3]) + Number(row[4]) === 35));
});

test("a wait counts with the part inside, and only if it ends there", () => {
  assert.deepEqual(rows("waits", 0, 50), [[1, 101, 2, "S", 1, 20]]);
  assert.deepEqual(rows("waits", 15, 50), [[1, 101, 2, "S", 1, 15]]);
  assert.deepEqual(rows("waits", 0, 30), []);
});

test("what ran instead is what the CPU of the run queue did", () => {
  assert.deepEqual(rows("ran_instead", 0, 50), [[1, 101, "thread", 2, 102, 1, "performance", 5]]);
  assert.deepEqual(rows("ran_instead", 33, 50), [[1, 101, "thread", 2, 102, 1, "performance", 2]]);
});

test("a merged slice counts with the least that its state can have inside the part, and the rest is unknown", () => {
  const one = (value: number) => Float64Array.from([value]);
  const threads = { start: one(0), end: one(10), thread: one(1), state: Uint8Array.from([0]), cpu: one(0), stateNs: one(7), cpuNs: one(6), causes: null };
  const merged = facts({ threads, cpus: null, finest: 10 });
  assert.deepEqual(rows("threads", 0, 10, merged)[0]!.slice(4), [7, 0, 0, 0, 3, 0, 0]);
  assert.deepEqual(rows("threads", 0, 8, merged)[0]!.slice(4), [5, 0, 0, 0, 3, 0, 0]);
  assert.deepEqual(rows("threads", 0, 2, merged)[0]!.slice(4), [0, 0, 0, 0, 2, 0, 0]);
  assert.deepEqual(rows("thread_by_core_type", 0, 10, merged), [[1, 101, 1, "performance", 6, 1]]);
  const table = made("threads", merged, { from: 0, to: 10 }, []);
  assert.match(typeof table === "string" ? table : table.caution, /times are at least these/);
  assert.equal(made("waits", merged, { from: 0, to: 10 }, []), "wakeups and causes of waits");
  assert.equal(made("cpus", merged, { from: 0, to: 10 }, []), "the stretches of CPUs");
});
