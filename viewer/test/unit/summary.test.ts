/** The summary of a time range, and tables as text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cell, Part } from "../../src/api";
import { csv, markdown } from "../../src/model/export";
import { header, shown, words } from "../../src/model/headers";
import { addBlockers, addCores, addInstead, addPreemptors, addSiblings, asTable, exactMs, percent, slowestTime, sortedBy, threadsOf } from "../../src/model/summary";

function part(names: string, ...rows: Cell[][]): Part {
  return { columns: names.split(" ").map((name) => ({ name, unit: "", doc: "", thread: false })), rows, all: rows.length };
}

const THREADS = part("thread tid name running_ns ready_ns blocked_ns max_ready_ns", [1, 101, "a", 600, 100, 300, 60], [2, 102, null, 0, null, 1000, null], [3, 103, "b", 300, 700, 0, 400]);

function rows() {
  const all = threadsOf(THREADS);
  const types = addCores(all, part("thread core_class core_type running_ns", [1, 0, "efficient", 450], [1, 1, "performance", 150], [3, 1, "performance", 300], [3, 0, "efficient", 0]));
  // Thread 3 waited twice for thread 1, each time shorter than once for an interrupt, in sum longer.
  addBlockers(all, part("thread waker blocked_ns", [3, 0, 50], [3, 1, 40], [3, 1, 30], [1, null, 9], [2, 0, 0]));
  addInstead(all, part("thread queued_behind ran_instead ready_ns", [1, "thread", 3, 60], [1, "idle", 0, 40], [3, "idle", 0, 500], [3, "throttled", null, 200]));
  addSiblings(all, part("thread alone_ns sibling_busy_ns", [1, 500, 100], [2, 0, 0], [3, 300, 0]));
  // Blocked and preempted switches: only the latter have a preemptor, and the idle task is none.
  addPreemptors(all, part("thread cause preemptor ready_ns", [1, "preempted", 3, 30], [1, "preempted", 2, 20], [1, "preempted", 2, 25], [1, "preempted", 0, 99], [1, "blocked", null, 90], [3, "preempted", null, 5]));
  return { all, types };
}

test("a thread's figures are those of the tables, and causes are summed", () => {
  const { all, types } = rows();
  assert.deepEqual(types, ["performance", "efficient"], "the fastest first");
  assert.deepEqual(all[0], {
    thread: 1, tid: 101, name: "a", running: 600, ready: 100, blocked: 300, longest: 60,
    cores: [{ type: "performance", ns: 150 }, { type: "efficient", ns: 450 }],
    sibling: 100,
    ipc: null,
    blocker: { thread: null, what: "not recorded", ns: 9 },
    preemptor: { thread: 2, what: "", ns: 45 },
    instead: { thread: 3, what: "", ns: 60 },
  });
  assert.deepEqual(all[1]?.ready, null, "no wakeups are not 0");
  assert.equal(all[1]?.blocker, null, "a sum of 0 is no cause");
  assert.deepEqual(all[2]?.blocker, { thread: 1, what: "", ns: 70 });
  assert.deepEqual(all[2]?.instead, { thread: null, what: "idle CPU", ns: 500 });
  assert.deepEqual(all.map((row) => slowestTime(row, types)), [450, null, 0]);
  assert.deepEqual(all.map((row) => row.sibling), [100, null, 0], "no sibling is not 0");
  assert.deepEqual(all.map((row) => row.preemptor?.ns ?? null), [45, null, 5]);
  assert.equal(all[2]?.preemptor?.what, "not recorded");
});

test("rows are sorted by any column, missing values last in both directions", () => {
  const { all, types } = rows();
  const order = (key: Parameters<typeof sortedBy>[1], down: boolean) => sortedBy(all, key, down, types).map((row) => row.thread);
  assert.deepEqual(order("running", true), [1, 3, 2]);
  assert.deepEqual(order("ready", true), [3, 1, 2]);
  assert.deepEqual(order("ready", false), [1, 3, 2]);
  assert.deepEqual(order("cores", true), [1, 3, 2]);
  assert.deepEqual(order("cores", false), [3, 1, 2]);
  assert.deepEqual(order("blocker", true), [3, 1, 2]);
  assert.deepEqual(order("preemptor", true), [1, 3, 2]);
  assert.deepEqual(order("sibling", false), [3, 1, 2]);
  assert.deepEqual(order("name", false), [2, 1, 3]);
});

test("times are exact in ms, and shares are of the range", () => {
  assert.deepEqual([0, 1, 999_999, 1_000_000, 1_234_567_890_123_456].map(exactMs), ["0.000000", "0.000001", "0.999999", "1.000000", "1234567890.123456"]);
  assert.equal(percent(125, 1000), "12.5");
  assert.equal(percent(1, 0), "");
  const { all, types } = rows();
  const table = asTable(all, types, 1000, (thread) => `name ${thread}`);
  assert.equal(table.head.length, table.rows[0]?.length);
  assert.deepEqual(table.rows[2], ["b", "103", "0.000300", "30.0", "0.000700", "70.0", "0.000000", "0.0", "0.000300", "0.000000", "0.000000", "0.000400", "name 1", "0.000070", "not recorded", "0.000005", "idle CPU", "0.000500"]);
});

test("names of threads stay texts in CSV and Markdown", () => {
  const hostile = ['=cmd|"calc"', "a,b", "-1.5", "-rm", "x\ny", "<b>|`*"];
  assert.equal(csv(["thread"], hostile.map((name) => [name])), 'thread\r\n"\'=cmd|""calc"""\r\n"a,b"\r\n-1.5\r\n\'-rm\r\n"x\ny"\r\n<b>|`*\r\n');
  assert.equal(markdown(["thread", "n"], [["<b>|`*\n", "1.5"], ["a_b", ""]]), "| thread | n |\n| --- | --: |\n| &lt;b>\\|\\`\\*  | 1.5 |\n| a\\_b |  |\n");
});

test("headers are words with the unit, and cells have that unit", () => {
  const column = (name: string, unit: string) => ({ name, unit, doc: "", thread: false });
  assert.deepEqual([column("max_ready_ns", "ns"), column("share", "ratio"), column("migrations", "count"), column("tid", ""), column("size_bytes", "bytes")].map(header), ["max ready (ms)", "share (%)", "migrations", "TID", "size (bytes)"]);
  assert.equal(words("ready_wait"), "ready wait");
  assert.deepEqual([shown(column("a_ns", "ns"), 1_500_000), shown(column("a_ns", "ns"), -5), shown(column("s", "ratio"), 0.1234), shown(column("s", ""), null), shown(column("s", "kHz"), 2.345678912)], ["1.500000", "-0.000005", "12.3", "", "2.34568"]);
});
