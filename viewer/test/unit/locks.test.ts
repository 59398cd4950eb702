/** Tracks of locks, throttled time within tracks of threads, and rows in order of start. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KindInfo, Lock } from "../../src/model/layout";
import { factsOf } from "../../src/model/facts";
import { LIGHT, ofHash, pixel } from "../../src/model/palette";
import { emptyRow } from "../../src/model/raster";
import { parse } from "../../src/model/search";
import { sectionsOf } from "../../src/model/sections";
import type { Slice } from "../../src/model/slices";
import { byStart, overlapping } from "../../src/model/stored";
import { HELD, laneOf, LAST, lockWords, searched } from "../../src/tracks/locks";
import { divide } from "../../src/tracks/throttled";
import { colourOf, Looks, type Colouring } from "../../src/ui/colours";

const lock = (pid: number | null, object: string, waited_ns: number): Lock => ({ pid, object, kind: pid === null ? "kernel_mutex" : "mutex", waits: 2, waited_ns, max_waited_ns: waited_ns, waiters: 1, holders: 1 });

function info(locks: readonly Lock[]): KindInfo {
  const lanes = locks.map((of, track) => ({ track, label: `${of.kind} ${of.object} (process ${of.pid})`, most: 0, lock: of }));
  return { kind: "locks", title: "Locks", unit: "", values: false, states: [], lanes, note: "", line: null };
}

test("a wait leads to the track of its own lock only", () => {
  const kinds = [info([lock(7, "0x10", 5), lock(8, "0x10", 4), lock(null, "3", 3)])];
  assert.equal(laneOf(kinds, { kind: "mutex", object: "0x10" }, 8)?.track, 1);
  // The same address of another process is another lock.
  assert.equal(laneOf(kinds, { kind: "mutex", object: "0x10" }, 9), undefined);
  assert.equal(laneOf(kinds, { kind: "rwlock", object: "0x10" }, 7), undefined);
  // Locks of the kernel belong to no process.
  assert.equal(laneOf(kinds, { kind: "kernel_mutex", object: "3" }, 9)?.track, 2);
  assert.equal(laneOf(kinds, { kind: "pipe", object: "3" }, 9), undefined);
});

test("locks with long waits are shown at first, those of the command above others, and the rest is folded", () => {
  const span_ns = 1000;
  const kinds = [info([lock(8, "0x1", 400), lock(7, "0x2", 90), lock(7, "0x3", 9), ...Array.from({ length: 20 }, (_, at) => lock(9, `0x${at + 100}`, 50))])];
  const sections = sectionsOf({ cpus: [], threads: [], kinds, span_ns, focus: 7 }).filter(({ id }) => id.startsWith("kind:"));
  assert.deepEqual(sections.map(({ id, folded, items }) => [id, folded, items.length]), [["kind:locks", false, 8], ["kind:morelocks", true, 15]]);
  assert.deepEqual(sections[0]?.items.slice(0, 3).map(({ number }) => number), [1, 0, 3]);
  // The tracks are those of the server, each in one section.
  assert.deepEqual(sections.flatMap(({ items }) => items.map(({ track }) => track)).sort((a, b) => a - b), kinds[0]?.lanes.map(({ track }) => track));
  // Without long waits there is one group.
  const short = sectionsOf({ cpus: [], threads: [], kinds: [info([lock(8, "0x1", 1)])], span_ns, focus: null }).filter(({ id }) => id.startsWith("kind:"));
  assert.deepEqual(short.map(({ label, folded }) => [label, folded]), [["Locks", true]]);
});

test("locks are found by kind, address and process", () => {
  const lane = info([lock(7, "0xab10", 5)]).lanes[0]!;
  const finds = (query: string) => {
    const wanted = parse(query);
    assert.ok(wanted !== null && typeof wanted === "object");
    return wanted.lock(searched(lane), lane.lock?.pid ?? null);
  };
  assert.deepEqual(["lock:mutex", "mutex", "AB10", "pid:7 lock:mutex", "lock:rwlock", "pid:8 mutex", "tid:7", "cpu:0"].map(finds), [true, true, true, true, false, false, false, false]);
  const wanted = parse("lock:mutex");
  assert.ok(wanted !== null && typeof wanted === "object" && !wanted.cpu({ cpu: 0, package: null, die: null, cluster: null, core: null, siblings: [], core_class: 0, core_type: "uniform", vendor_type: null }));
});

test("a lock has the colour of its holder, paler if since when is unknown", () => {
  const thread = { track: 0, thread: 3, tid: 20, pid: 20, name: "game", running_ns: 1, ready_ns: null, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null };
  const colouring: Colouring = { palette: LIGHT, by: "thread", facts: factsOf([thread], []), changed: null };
  const of = (state: number) => colourOf(colouring, { kind: "locks", state, what: 3, id: 0 });
  assert.equal(of(HELD), ofHash(LIGHT, colouring.facts.thread(3)));
  assert.equal(new Set([HELD, 1, LAST].map(of)).size, 3);
  assert.equal(of(1), LIGHT.thread[3], "unknown as threads' unknown time");
  const look = new Looks().get(colouring, "locks", 0);
  for (const state of [HELD, 1, LAST]) assert.equal(look.pixel(state, 3), pixel(of(state)));
});

test("the words say what is unknown", () => {
  const slice = (state: number): Slice => ({ start: 0, end: 2e6, state, stateNs: 2e6, what: 3, whatNs: 2e6, stretches: 1 });
  const waiting: Slice = { ...slice(0), least: 2, most: 2, mean: 2 };
  const words = (state: number) => lockWords(slice(state), waiting, () => "B");
  assert.equal(words(HELD), "held by B, 2 ms; 2 threads wait");
  assert.equal(words(LAST), "held in the end by B, since when is unknown, 2 ms; 2 threads wait");
  assert.equal(words(1), "holder unknown, 2 ms; 2 threads wait");
});

test("throttled pixels fill ready time only, and the band shows all of them", () => {
  const [READY, RUNNING, SKY] = [1, 2, 3];
  const [throttled, drawn] = [emptyRow(4), emptyRow(4)];
  throttled.colour.set([SKY, SKY, 0, SKY]);
  throttled.share.set([1, 0.5, 0, 1]);
  drawn.colour.set([READY, RUNNING, READY, READY]);
  drawn.share.set([1, 1, 1, 0.25]);
  const band = divide(throttled, drawn, READY, emptyRow(4));
  assert.deepEqual([...throttled.colour], [SKY, 0, 0, SKY]);
  assert.equal(throttled.share[3], 0.25);
  assert.deepEqual([...band!.colour], [SKY, SKY, 0, SKY]);
  assert.equal(divide(emptyRow(4), drawn, READY, emptyRow(4)), null);
});

test("rows in order of end are found by their start", () => {
  const [starts, ends] = [[5, 1, 3], [6, 8, 9]];
  const stored = byStart({ start: Float64Array.from(starts), end: Float64Array.from(ends), keys: { thread: Float64Array.from([10, 11, 12]) }, row: (at) => at });
  assert.deepEqual([...stored.start], [1, 3, 5]);
  assert.deepEqual(overlapping(stored, 4, 5, {}), [1, 2]);
  assert.deepEqual(overlapping(stored, 5, 6, { thread: 10 }), [0]);
});
