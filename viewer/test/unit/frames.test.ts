/** Lists of frames, their causes, and the places of findings. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListedFrames, ThreadTracks } from "../../src/generated/tables";
import { placeOf, selectable, threadsOf, viewOf, worstOf, type Placed } from "../../src/model/findings";
import { budgetOf, ms, nameOfSource, neighbour, ordered, piecesOf, threadsOnPath, type CauseRow, type FrameSource } from "../../src/model/frames";
import { Jumps } from "../../src/ui/jumps";
import { Lanes } from "../../src/ui/lanes";

const frame = (rank: number, start_ns: number, frame_ns: number): ListedFrames => ({ rank, start_ns, end_ns: start_ns + frame_ns, frame_ns, over_ns: 0, thread: 1, name: "frame", number: null });
const nameOf = (thread: number) => `T${thread}`;

test("a budget is a time with or without a unit, or a rate", () => {
  for (const [text, ns] of [["16.7ms", 16_700_000], ["16.7", 16_700_000], [" 250 us", 250_000], ["60Hz", 16_666_667], ["120 fps", 8_333_333], [".5s", 500_000_000], ["", null], ["  ", null]] as const) assert.equal(budgetOf(text), ns, text);
  for (const text of ["x", "16.7 m", "-1ms", "0", "0Hz", "1e3ms", "9".repeat(40)]) assert.equal(budgetOf(text), undefined, text);
});

test("times are in ms with three decimals, as in the report", () => {
  assert.deepEqual([1_500_000, 499, 500, -1, -1_500_400, 0].map(ms), ["1.500", "0.000", "0.001", "0.000", "-1.500", "0.000"]);
});

test("frames are listed by length or time, and have neighbours in that order", () => {
  const frames = [frame(1, 500, 90), frame(2, 100, 80), frame(3, 300, 80)];
  const starts = (by: "length" | "time") => ordered(frames, by).map((of) => of.start_ns);
  assert.deepEqual([starts("length"), starts("time")], [[500, 100, 300], [100, 300, 500]]);
  const byTime = ordered(frames, "time");
  assert.equal(neighbour(byTime, null, 1), byTime[0], "the first one");
  assert.equal(neighbour(byTime, frames[0]!, -1)?.start_ns, 300);
  assert.equal(neighbour(byTime, frames[0]!, 1), null, "the last one");
  assert.equal(neighbour([], null, 1), null);
});

const cause = (of: Partial<CauseRow>): CauseRow => ({ thread: 1, cause: "running", core_type: null, queued_behind: null, queued_behind_name: null, time_ns: 0, typical_ns: 0, excess_ns: 0, ...of });

test("the pieces of a frame are named by state, core type and threads, the longest first, and sum to its time", () => {
  const rows = [
    cause({ cause: "ready", queued_behind: 7, queued_behind_name: "<b>noise", time_ns: 3, excess_ns: 3 }),
    cause({ core_type: "efficient", time_ns: 5, typical_ns: 4, excess_ns: 1 }),
    cause({ cause: "blocked", typical_ns: 2, excess_ns: -2 }),
    cause({ cause: "ready", time_ns: 1, excess_ns: 1 }),
    cause({ cause: "running_sibling_busy", core_type: "uniform", path_thread: 9, path_thread_name: null, time_ns: 2, excess_ns: 2 }),
  ];
  const pieces = piecesOf(rows, nameOf);
  assert.deepEqual(pieces.map((piece) => [piece.label, piece.ns]), [
    ["running on efficient cores", 5],
    ["ready, queued behind <b>noise", 3],
    ["T9 running with a busy SMT sibling", 2],
    ["ready, what ran is unknown", 1],
    ["blocked", 0],
  ]);
  assert.equal(pieces.reduce((sum, piece) => sum + piece.ns, 0), rows.reduce((sum, row) => sum + row.time_ns, 0));
  const own = piecesOf([cause({ path_thread: 1, path_thread_name: "game", time_ns: 1 })], nameOf);
  assert.equal(own[0]!.label, "running", "the frame's own thread is not named");
});

test("the threads of a path are the one at its end, then those that took most of it", () => {
  const piece = (thread: number, from: number, to: number) => ({ thread, from, to });
  assert.deepEqual(threadsOnPath([piece(2, 0, 10), piece(-1, 10, 90), piece(3, 90, 120), piece(2, 120, 125), piece(1, 125, 126)], 1), [1, 3, 2]);
});

test("sources have names", () => {
  const of = (of: Partial<FrameSource>): FrameSource => ({ of: "", kind: "mark", thread: null, pid: null, name: null, count: 1, frames: false, ...of });
  const all = [of({ kind: "log" }), of({ name: "frame" }), of({ kind: "region", name: "omp", pid: 3 }), of({ kind: "region", name: "omp" }), of({ kind: "period", thread: 4 })];
  assert.deepEqual(all.map((source) => nameOfSource(source, nameOf)), ["frame log", "frame", "omp (process 3)", "omp", "T4"]);
});

const finding = (of: Partial<Placed>): Placed => ({ threads: [{ thread: 1, tid: 11, name: "game" }], spans: [{ start: 0, end: 1000 }], worst: [], evidence: [], ...of });
const row = (key: Record<string, number>, cells: Record<string, number | string> = {}, threads: Record<string, string> = {}) => ({ table: "waits", key, cells, threads });

test("the worst intervals of a finding are those of the diagnosis, else of its evidence, else its times; three at most", () => {
  const interval = (start_ns: number, end_ns: number) => ({ start_ns, end_ns, thread: 1, tid: 11, name: "game", state: "ready", cause: "queued behind x" });
  const waits = [row({ thread: 2, start_ns: 5, end_ns: 6 }), row({ thread: 3, start_ns: 10, end_ns: 30 }, { waker: 9 }, { thread: "c 3", waker: "w 9" }), row({ thread: 3, start_ns: 10, end_ns: 30 }, { more: 1 })];
  const places = (of: Placed) => worstOf(of, 1000).map(({ from, to, track, threads }) => [from, to, track?.id ?? null, threads]);
  assert.deepEqual(places(finding({ worst: [interval(1, 2), interval(7, 9), interval(20, 30), interval(40, 41)], evidence: waits })), [[20, 30, 1, [1, 2, 3, 9]], [7, 9, 1, [1, 2, 3, 9]], [1, 2, 1, [1, 2, 3, 9]]]);
  assert.deepEqual(places(finding({ evidence: waits })), [[10, 30, 3, [3, 9, 1]], [5, 6, 2, [2, 1]]], "equal intervals of a thread once");
  assert.deepEqual(places(finding({ spans: [{ start: 3, end: 4 }, { start: 10, end: 20 }] })), [[10, 20, 1, [1]], [3, 4, 1, [1]]]);
  assert.deepEqual(places(finding({ threads: [], spans: [] })), []);
  assert.deepEqual(places(finding({ threads: [], evidence: [row({ cpu: 3, start_ns: 1, end_ns: 2 })] })), [[1, 2, 3, []]], "on a CPU's track");
});

test("a row of evidence without a time is at that of the finding, on the track of its thread", () => {
  const of = row({ thread: 4 }, { preemptor: 6, ready_ns: 7 }, { preemptor: "x 6" });
  assert.deepEqual(threadsOf(of), [4, 6]);
  const goal = placeOf(of, finding({}), 5000);
  assert.deepEqual([goal.from, goal.to, goal.track, goal.threads], [0, 1000, { kind: "thread", id: 4 }, [4, 6, 1]]);
});

test("an interval takes two fifths of its view, within the recording", () => {
  assert.deepEqual(viewOf({ from: 1000, to: 2000 }, 10_000), { from: 250, to: 2750 });
  assert.deepEqual(viewOf({ from: 0, to: 10 }, 10_000), { from: 0, to: 60 });
  assert.deepEqual(viewOf({ from: 0, to: 10_000 }, 10_000), { from: 0, to: 10_000 });
});

test("nothing is selected before its thread exists", () => {
  assert.equal(selectable({ from: 10, to: 20 }, 0), 10);
  assert.equal(selectable({ from: 10, to: 20 }, 15), 15);
  assert.equal(selectable({ from: 10, to: 20 }, 20), null);
});

test("a jump pins its threads instead of those of the last jump, and keeps what the user pinned", () => {
  const thread = (key: number, begin_ns = 0): ThreadTracks => ({ track: key, thread: key, tid: key, pid: 1, name: `t${key}`, running_ns: 1, ready_ns: 0, begin_ns, is_kernel: false, efficient_ns: null, group: null });
  const threads = [thread(1), thread(2), thread(3, 500), thread(4)];
  const lanes = new Lanes({ cpus: [], threads, kinds: [], span_ns: 1000, focus: null }, "frames test", "", { before: () => null, after: () => {} });
  const done: string[] = [];
  const page = { show: (span: object) => done.push(JSON.stringify(span)), select: (to: object | null) => done.push(JSON.stringify(to)), highlight: (of: object | null) => done.push(JSON.stringify(of)), changed: () => {} };
  const jumps = new Jumps(page, lanes, new Map(threads.map((t) => [t.thread, t])), 1000);
  lanes.pin("thread:4");
  jumps.to({ from: 100, to: 200, track: { kind: "thread", id: 1 }, threads: [1, 99, 2], words: "" });
  assert.deepEqual(lanes.choices.pinned, ["thread:4", "thread:1", "thread:2"], "a thread without a track is left out");
  jumps.to({ from: 400, to: 600, track: { kind: "thread", id: 3 }, threads: [3, 4], words: "" });
  assert.deepEqual(lanes.choices.pinned, ["thread:3", "thread:4"]);
  jumps.to({ from: 400, to: 450, track: { kind: "thread", id: 3 }, threads: [], words: "" });
  assert.deepEqual(lanes.choices.pinned, ["thread:4"], "what the user pinned stays");
  assert.deepEqual(done.slice(3), [
    '{"from":250,"to":750}', '{"kind":"thread","id":3,"at":500}', '{"from":400,"to":600,"thread":3}',
    '{"from":350,"to":500}', "null", '{"from":400,"to":450,"thread":3}',
  ]);
});
