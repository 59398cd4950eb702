/** The tracks of what the CPUs counted: their groups, what tips say, and instructions per cycle in a summary. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { countedFacts, countingFacts, type Drawn } from "../../src/model/counted";
import { fromWord } from "../../src/model/choices";
import { isTrack, type Counter, type KindInfo, type Lane } from "../../src/model/layout";
import type { Slice } from "../../src/model/slices";
import { ipcInWords, ipcOf } from "../../src/model/summary_ipc";
import { short } from "../../src/tracks/kind";
import type { ThreadTracks } from "../../src/generated/tables";
import { arranged } from "./support";

const lane = (track: number, label: string, counter: Counter, thread: number | null = null): Lane => ({ track, label, most: 2, thread, counter });
const cpu = (event: string, part: string | null = null): Counter => ({ cpu: 0, event, part });
const KINDS: KindInfo[] = [
  { kind: "ipc", title: "IPC", unit: "", values: true, states: [], note: "", line: null, lanes: [lane(0, "CPU 0 IPC", cpu("")), lane(1, "a 7 IPC", { cpu: null, event: "", part: null }, 3)] },
  { kind: "rates", title: "Rates", unit: "/s", values: true, states: [], note: "only some", line: null, lanes: [lane(0, "CPU 0 cycles per s", cpu("cycles", "cycles")), lane(1, "CPU 0 instructions per s", cpu("instructions", "instructions"))] },
  { kind: "counting", title: "Counting", unit: "", values: false, states: ["counted", "multiplexed", "short", "not counted", "unknown"], note: "", line: null, lanes: [lane(1, "CPU 0 instructions counted", cpu("instructions", "instructions"))] },
];
const slice = (start: number, end: number, of: Partial<Slice>): Slice => ({ start, end, state: 0, stateNs: 0, what: 0, whatNs: 0, stretches: 1, ...of });

/** 2 ms with 3 000 cycles a second, and half of the instructions seen. */
const DRAWN: Drawn = {
  slice: (kind, track) => (kind === "counting" ? slice(0, 2e6, { state: 1, what: 50 }) : slice(0, 2e6, { mean: track === 0 ? 3e6 : 1.5e6 })),
  cpu: (thread) => (thread === 3 ? 0 : null),
};
const facts = (kind: number, track: number, of: Slice, drawn = DRAWN) => countedFacts(KINDS[kind]!, KINDS[kind]!.lanes[track]!, of, KINDS, drawn);

test("counters are in a folded group, those of threads under the group of these", () => {
  const thread = { track: 0, thread: 3, tid: 7, pid: 7, name: "a", running_ns: 1e6, ready_ns: 0, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null } satisfies ThreadTracks;
  const words = (choices = {}) => arranged([], [thread], KINDS, null, choices).lines.map((line) => (isTrack(line) ? `  ${line.label}` : `${line.open ? "-" : "+"} ${line.label}`));
  assert.deepEqual(words(), ["+ Counters · only some", "- a · process 7", "  a 7", "+ Counters · a · process 7"]);
  const open = fromWord("open.counted:cpus,counted:7").open;
  assert.deepEqual(words({ open }).filter((line) => line.startsWith("  ")), [
    "  CPU 0 IPC", "  CPU 0 cycles per s", "  CPU 0 instructions per s", "  CPU 0 instructions counted", "  a 7", "  a 7 IPC",
  ]);
});

test("a reading has its event, count, length, share and value", () => {
  assert.deepEqual(facts(1, 0, slice(0, 2e6, { mean: 3e6 })), [["event", "cycles"], ["count", "6 000"], ["rate", "3 M/s"], ["length", "2 ms"], ["counted for", "100 % of the time"]]);
  assert.deepEqual(facts(1, 1, slice(0, 2e6, { mean: 1.5e6 })), [["event", "instructions"], ["count", "about 1 500"], ["rate", "1.5 M/s"], ["length", "2 ms"], ["counted for", "50 % of the time"]]);
  const ipc = [["IPC", "0.5"], ["instructions", "about 1 500"], ["cycles", "6 000"], ["length", "2 ms"], ["counted for", "100 % of the time"]];
  assert.deepEqual(facts(0, 0, slice(0, 2e6, { mean: 0.5 })), ipc);
  assert.deepEqual(facts(0, 1, slice(0, 2e6, { mean: 0.5 })), ipc, "of the CPU on which the thread ran");
});

test("what is not drawn, or of another interval, is left out", () => {
  const none = { slice: () => null, cpu: () => null };
  assert.deepEqual(facts(0, 0, slice(0, 2e6, { mean: 0.5 }), none), [["IPC", "0.5"], ["length", "2 ms"]]);
  assert.deepEqual(facts(0, 0, slice(0, 9e6, { mean: 0.5 })), [["IPC", "0.5"], ["length", "9 ms"]]);
  // The sum of several readings; how much of the time was counted is not known of them together.
  assert.deepEqual(facts(1, 0, slice(0, 2e6, { mean: 3e6, least: 1e6, most: 4e6, stretches: 3 })).slice(1, 3), [["count", "6 000"], ["mean rate", "3 M/s"]]);
  const mixed: Drawn = { ...DRAWN, slice: () => slice(0, 2e6, { state: 1, what: 50, stretches: 3 }) };
  assert.deepEqual(facts(1, 1, slice(0, 2e6, { mean: 3e6, least: 1e6, most: 4e6, stretches: 3 }), mixed).map(([name]) => name), ["event", "mean rate", "minimum", "maximum", "readings", "length"]);
});

test("how much was counted is in words", () => {
  const of = (what: Partial<Slice>) => countingFacts(KINDS[2]!, KINDS[2]!.lanes[0]!, slice(0, 2e6, what));
  assert.deepEqual(of({ state: 1, what: 50 }), [["event", "instructions"], ["state", "multiplexed"], ["length", "2 ms"], ["counted for", "50 % of the time"]]);
  assert.deepEqual(of({ state: 4, what: 100 }), [["event", "instructions"], ["state", "unknown"], ["length", "2 ms"]]);
  assert.deepEqual([short(0), short(12.345), short(2.345e3), short(1e6), short(2.3456e9)], ["0", "12.3", "2.35 k", "1 M", "2.35 G"]);
});

test("instructions per cycle of a thread are of all types of cores together, weighted by cycles", () => {
  const names = "thread tid core_type sibling instructions cycles ipc ipc_low ipc_high coverage";
  const rows = [
    [3, 7, "performance", "all", 200, 100, 2, 2, 2, 0.9], [3, 7, "performance", "idle", 9, 9, 1, 1, 1, null],
    [3, 7, "efficient", "all", 100, 200, 0.5, 0.4, 0.6, 0.9], [4, 8, "performance", "all", 5, 0, null, null, null, 0.01],
    [null, 9, "performance", "all", 5, 5, 1, null, null, null],
  ];
  const all = ipcOf({ columns: names.split(" ").map((name) => ({ name, unit: "", doc: "", thread: false })), rows, all: rows.length });
  assert.deepEqual([...all.keys()], [3]);
  assert.equal(all.get(3)?.ipc, 1);
  assert.equal(ipcInWords(all.get(3)!), "on performance cores: 2.000 instructions per cycle\non efficient cores: 0.500 instructions per cycle (95 %: 0.400 to 0.600)\ncounted for 90.0 % of its running time");
});
