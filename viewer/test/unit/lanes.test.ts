/** The arrangement of tracks. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ThreadTracks } from "../../src/generated/tables";
import { Arrangement, type Arranged } from "../../src/model/arrange";
import { fromWord, inHash, moved, NONE, toWord, type Choices } from "../../src/model/choices";
import { isTrack, lineOn, topOf, visibleOf, type Group, type KindInfo } from "../../src/model/layout";
import { addBusy, paintSummary } from "../../src/model/folded";
import { idOf, Lanes } from "../../src/ui/lanes";
import { Cutter } from "../../src/ui/cut";

const cpu = (number: number) => ({ cpu: number, package: null, die: null, cluster: null, core: null, siblings: [], core_class: 0, core_type: "uniform", vendor_type: null });
const thread = (key: number, tid: number, pid: number | null, name: string, of: Partial<ThreadTracks> = {}): ThreadTracks => ({
  track: key, thread: key, tid, pid, name, running_ns: 1e6, ready_ns: 0, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null, ...of,
});
const kind = (name: string): KindInfo => ({ kind: name, title: name, unit: "", values: false, states: [], lanes: [{ track: 0, label: `${name} 0`, most: 0 }], note: "", line: null });

/** A game with two threads of which one ran on efficient cores, a shell that was busier, a kernel thread, and one that only waited. */
const RECORDING = {
  cpus: [cpu(0), cpu(1)],
  threads: [
    thread(1, 30, 30, "shell", { running_ns: 9e8 }),
    thread(2, 20, 20, "game", { running_ns: 2e8, ready_ns: 1e6, group: 0, efficient_ns: 1e8 }),
    thread(3, 21, 20, "Render", { running_ns: 1e8, ready_ns: 5e8, group: 0, efficient_ns: 9e7 }),
    thread(4, 22, 20, "Sleeper", { running_ns: 0, group: 0 }),
    thread(5, 7, 7, "kworker/0:1", { is_kernel: true }),
  ],
  kinds: [kind("marks"), kind("idle"), kind("parking"), { ...kind("groups"), lanes: [{ track: 0, label: "running", most: 2 }, { track: 1, label: "ready", most: 1 }] }],
  span_ns: 1e9,
  focus: 20,
};
const lined = (choices: Partial<Choices> = {}): Arranged => new Arrangement(RECORDING).arrange({ ...NONE, ...choices });
const words = ({ lines }: Arranged) => lines.map((line) => (isTrack(line) ? `  ${line.label}` : `${line.open ? "-" : "+"} ${line.label}`));
const group = ({ lines }: Arranged, id: string) => lines.find((line): line is Group => line.kind === "group" && line.id === id);

test("the recorded command follows the CPUs; idle, parking, kernel threads and what did not run are folded", () => {
  assert.deepEqual(words(lined()), [
    "- CPUs", "  CPU 0", "  CPU 1",
    "- game · process 20", "  game 20", "  Render 21",
    "- marks", "  marks 0", "+ idle", "+ parking",
    "- shell · process 30", "  shell 30",
    "+ Kernel threads", "+ Threads that did not run",
  ]);
  const game = group(lined(), "process:20");
  assert.equal(game?.busy, "0.3 CPUs busy, 0.5 threads ready");
  assert.deepEqual(game?.counts?.map((lane) => lane?.track), [0, 1]);
  // What did not run has no picture: the track of its process shows the others.
  assert.equal(group(lined(), "threads:empty")?.counts, null);
  // Where no thread runs, that is not known.
  const unknown = new Arrangement({ ...RECORDING, threads: [thread(1, 30, 30, "shell", { running_ns: 0, ready_ns: null })] }).arrange(NONE);
  assert.deepEqual(words(unknown).slice(-2), ["- shell · process 30", "  shell 30"]);
});

test("a kind with very many tracks is folded, since the threads after it would be far down; without threads, its tracks are higher", () => {
  const lanes = Array.from({ length: 30 }, (_, track) => ({ track, label: `mark ${track}`, most: 0 }));
  const of = (recording: Partial<typeof RECORDING>) => new Arrangement({ ...RECORDING, kinds: [{ ...kind("marks"), lanes }], ...recording }).arrange(NONE);
  assert.equal(group(of({}), "kind:marks")?.open, false);
  const alone = of({ cpus: [], threads: [] });
  assert.equal(group(alone, "kind:marks")?.open, true);
  const few = lined().lines.find((line) => line.kind === "marks");
  assert.ok((alone.lines.find((line) => line.kind === "marks")?.height ?? 0) > (few?.height ?? 0));
});

test("threads are sorted by running, ready, share on efficient cores and name, with the value", () => {
  const threads = (choices: Partial<Choices>) => lined(choices).lines.filter(isTrack).filter((line) => line.kind === "thread").map((line) => [line.label, line.value]);
  assert.deepEqual(threads({ sort: "running" }), [["shell 30", "900 ms"], ["game 20", "200 ms"], ["Render 21", "100 ms"]]);
  assert.deepEqual(threads({ sort: "ready" }), [["Render 21", "500 ms"], ["game 20", "1 ms"], ["shell 30", "0 ns"]]);
  assert.deepEqual(threads({ sort: "efficient" }), [["Render 21", "90 %"], ["game 20", "50 %"], ["shell 30", ""]]);
  assert.deepEqual(threads({ sort: "name" }).map(([label]) => label), ["game 20", "Render 21", "shell 30"]);
});

test("tracks are pinned, hidden, moved and filtered", () => {
  const pinned = lined({ pinned: ["thread:3", "cpu:1"] });
  assert.deepEqual(words(pinned).slice(0, 6), ["- Pinned", "  Render 21", "  CPU 1", "- CPUs", "  CPU 0", "- game · process 20"]);
  assert.equal(pinned.fixed, 20 + 18 + 22);
  assert.deepEqual(words(lined({ hidden: new Set(["cpus:0", "thread:2", "kind:marks"]) })).slice(0, 4), ["- game · process 20", "  Render 21", "+ idle", "+ parking"]);
  assert.equal(group(lined({ hidden: new Set(["thread:2"]) }), "process:20")?.count, 1);
  const turned = lined({ moves: [["process:30", "cpus:0"], ["thread:3", "thread:2"], ["cpu:0", ""], ["thread:9", "thread:2"], ["thread:1", "cpu:0"]] });
  assert.deepEqual(words(turned).slice(0, 8), ["- shell · process 30", "  shell 30", "- CPUs", "  CPU 1", "  CPU 0", "- game · process 20", "  Render 21", "  game 20"]);
  // A filter opens folded groups, and finds by name, by group, and as the search does.
  assert.deepEqual(words(lined({ filter: "kwork" })), ["- Kernel threads", "  kworker/0:1 7"]);
  assert.deepEqual(words(lined({ filter: "GAME" })), ["- game · process 20", "  game 20", "  Render 21"]);
  assert.deepEqual(words(lined({ filter: "pid:20 name:slee" })), ["- Threads that did not run", "  Sleeper 22"]);
  assert.deepEqual(words(lined({ filter: "cpu:1" })), ["- CPUs", "  CPU 1"]);
  assert.deepEqual(words(lined({ filter: "nothing has this" })), []);
  assert.deepEqual(moved([{ id: "a" }, { id: "b" }], [["a", "b"]]).map((of) => of.id), ["a", "b"]);
});

test("heights follow the choice; by itself, groups of many tracks are compact", () => {
  const height = (choices: Partial<Choices>, recording = RECORDING) => new Arrangement(recording).arrange({ ...NONE, ...choices }).lines.filter(isTrack).map((line) => line.height).slice(0, 1)[0];
  assert.deepEqual([height({}), height({ size: "compact" }), height({ size: "normal" }), height({ size: "tall" })], [22, 15, 22, 35]);
  const many = { ...RECORDING, cpus: Array.from({ length: 64 }, (_, at) => cpu(at)) };
  assert.deepEqual([height({}, many), height({ size: "normal" }, many)], [15, 22]);
});

test("choices are written to an address and read from it; what is not valid is left out", () => {
  const choices: Choices = {
    sort: "ready", size: "tall", filter: "a;b&c=d #,%", pinned: ["thread:5", "cpu:0"], hidden: new Set(["kind:idle"]),
    open: new Map([["process:12", true], ["process:none", false]]), moves: [["thread:6", "thread:5"], ["kind:marks", ""]],
  };
  const word = toWord(choices);
  assert.match(word, /^[^&=#\s]+$/);
  assert.deepEqual(fromWord(word), choices);
  assert.equal(toWord(NONE), "");
  assert.deepEqual(fromWord(""), NONE);
  for (const bad of ["sort.weather", "pin.<b>,thread", "hide.thread:1%00", "only.%", "move.thread:1-<b>", "open", "size.9;;;", "pin.thread:12345678901234567"]) assert.deepEqual(fromWord(bad), NONE, bad);
  assert.equal(fromWord(`pin.${Array.from({ length: 900 }, (_, at) => `thread:${at}`).join(",")}`).pinned.length, 200);
  assert.equal(inHash("#t=0..1&tracks=sort.name&sel=cpu:0@1"), "sort.name");
  assert.equal(inHash("#tracks=sort.name"), "sort.name");
  assert.equal(inHash("#t=0..1&xtracks=sort.name"), null);
});

test("pinned lines stay on top while the others scroll below them", () => {
  const made = lined({ pinned: ["thread:3"] });
  const scrolled = { ...made, scroll: 30 };
  const [head, first, ...others] = made.lines;
  assert.deepEqual([topOf(head!, scrolled), topOf(first!, scrolled), topOf(others[0]!, scrolled)], [0, 20, 8]);
  assert.equal(lineOn(scrolled, 25), first);
  assert.equal(lineOn(scrolled, 38), others[1]);
  const visible = visibleOf(scrolled, 60);
  assert.deepEqual(visible.slice(-2), [head, first], "they are drawn last");
  assert.ok(!visible.includes(others[0]!), "a line below them is not drawn");
  // Without room for them, all lines scroll.
  assert.equal(topOf(first!, { ...scrolled, fixed: 0 }), -10);
});

function lanes(): { lanes: Lanes; changes: () => number } {
  let changes = 0;
  return { lanes: new Lanes(RECORDING, "stamp", "", { before: () => null, after: () => void changes++ }), changes: () => changes };
}

test("a selected track is shown: its group opens, and a filter ends", () => {
  const { lanes: of } = lanes();
  const shows = (id: string) => of.lines.some((line) => isTrack(line) && idOf(line) === id);
  assert.ok(!shows("thread:5"));
  assert.ok(of.reveal("thread:5") && shows("thread:5"));
  of.hide("process:20");
  of.set({ filter: "CPU" });
  assert.ok(of.reveal("thread:2") && shows("thread:2"));
  assert.ok(!of.reveal("thread:99"));
  assert.match(of.hash, /^&tracks=/);
});

test("the same object stands for a track after every change", () => {
  const { lanes: of, changes } = lanes();
  const render = of.lines.find((line) => isTrack(line) && line.id === 3);
  of.pin("thread:3");
  of.set({ sort: "name" });
  assert.ok(of.lines.includes(render!));
  assert.equal(changes(), 2);
  of.reset();
  assert.equal(of.hash, "");
});

test("tracks move among those of their group, groups among groups, pinned ones among pinned ones", () => {
  const { lanes: of } = lanes();
  const at = (id: string) => words({ lines: of.lines, height: 0, fixed: 0 }).findIndex((word) => word.includes(id));
  of.shift("thread:3", -1);
  assert.ok(at("Render") < at("game 20"));
  of.shift("thread:3", -1);
  assert.equal(at("Render"), 4, "it is the first of its group already");
  of.shift("process:20", -1);
  assert.equal(at("game · process"), 0);
  of.shift("process:20", 1);
  assert.ok(at("game · process") > at("CPU 1"));
  of.pin("cpu:0");
  of.pin("cpu:1");
  of.shift("cpu:1", -1);
  assert.deepEqual(of.choices.pinned, ["cpu:1", "cpu:0"]);
  // Dragging: over the upper half of a sibling, before it; over another group, nowhere.
  const line = (label: string) => of.lines.find((line) => line.label === label)!;
  assert.equal(of.place("thread:2", line("Render 21"), false)?.before, "thread:3");
  assert.equal(of.place("thread:3", line("game 20"), true)?.before, "");
  assert.equal(of.place("thread:3", line("shell 30"), true), null);
  assert.equal(of.place("process:30", line("marks 0"), false)?.before, "kind:marks");
});

test("all groups fold, and open if all are folded", () => {
  const { lanes: of } = lanes();
  of.toggleAll();
  assert.ok(of.groups.every((group) => !group.open));
  of.toggleAll();
  assert.ok(of.groups.every((group) => group.open));
  assert.equal(of.hash, "&tracks=open.all:groups");
  of.toggle("process:20");
  assert.equal(of.groups.find((group) => group.id === "process:20")?.open, false);
  assert.equal(of.hash, "&tracks=open.all:groups;fold.process:20");
});

test("a folded group of CPUs shows the share that is busy, and one of threads what runs below what is ready", () => {
  // 10 ns a pixel: busy for 2 pixels, then merged with 3 of 10 ns busy, then idle for 8 of 10.
  const slices = {
    start: Float64Array.of(0, 20, 30), end: Float64Array.of(20, 30, 40), state: Uint8Array.of(0, 0, 1), stateNs: Float64Array.of(20, 3, 8), what: Float64Array.of(1, 1, 0),
    whatNs: Float64Array.of(20, 3, 8), stretches: Int32Array.of(1, 2, 2), begins: Int32Array.of(0, 3),
  };
  const sum = new Float32Array(5);
  addBusy(sum, slices, 0, { from: 0, perPixel: 10 }, 0, 5, 0.5);
  assert.deepEqual([...sum].map((share) => Number(share.toFixed(3))), [0.5, 0.5, 0.15, 0.1, 0]);
  const image = new Uint32Array(3 * 4);
  paintSummary(image, 3, 0, Float32Array.of(0.5, 0.01, -1), Float32Array.of(0.25, 0, 0.01), { top: 0, height: 4, tick: 0 }, { busy: 1, ready: 2, page: 9 });
  const column = (x: number) => [0, 1, 2, 3].map((y) => image[y * 3 + x]).join("");
  assert.deepEqual([column(0), column(1), column(2)], ["9211", "9991", "9992"]);
});

test("long labels are cut with an ellipsis, and kept", () => {
  let measured = 0;
  const pen = { measureText: (text: string) => ({ width: (measured++, 10 * [...text].length) }) };
  const cutter = new Cutter();
  assert.equal(cutter.cut(pen, "Render", 60), "Render");
  assert.equal(cutter.cut(pen, "Render", 55), "Rend…");
  assert.equal(cutter.cut(pen, "a 😀😀b", 40), "a 😀…");
  assert.equal(cutter.cut(pen, "Render", 10), "");
  const before = measured;
  cutter.cut(pen, "Render", 55.4);
  assert.equal(measured, before);
});
