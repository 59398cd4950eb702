/** The page of `corewise watch`: what happened between two readings. The readings are of a drawn machine (crates/watch/src/testing.rs). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { amount, duration, octaves, packages, percent, quantile, rates, sum, type CpuNow, type Now } from "../../src/watch/rates";
import { tiles } from "../../src/watch/tiles";

const readings = JSON.parse(readFileSync("test/watch_now.json", "utf8")) as Now[];
const [first, second] = [readings[0]!, readings[1]!];

test("differences are shares of the time, by CPU, core and group", () => {
  const found = rates(first, second)!;
  assert.equal(found.seconds, 10);
  assert.deepEqual(found.cpus.get(0), { busy: 1, shared: 1, unknown: 0 });
  assert.deepEqual(found.cpus.get(2), { busy: 0.5, shared: 0, unknown: 0 });
  assert.deepEqual(found.cores.map((share) => share.toFixed(3)), ["0.575", "0.175", "0.250", "0.000"]);
  assert.deepEqual(found.groups.map((group) => [group.kind, group.name]), [["cgroup", "/app.slice/game"], ["cgroup", "/system.slice/db.service"], ["other", ""]]);
  assert.deepEqual(found.groups[0]!.running, [0, 2.5], "efficient cores first, as in core_types");
  assert.deepEqual(found.total.ready.map((part) => part.toFixed(3)), ["0.040", "0.010", "0.002", "0.001", "0.000"]);
  assert.equal(found.groups[1]!.throttled?.toFixed(2), "0.03");
  assert.equal(found.groups[0]!.throttled, null, "no quota");
  assert.equal(found.bpf, 0.002);
  assert.deepEqual(found.power[0], { part: "package", sampled: false, watts: 15 });
  assert.deepEqual(found.power[1], { part: "core", sampled: false, watts: null }, "it cannot be read now");
  assert.deepEqual(found.ipc.map((of) => [of.type, of.ipc.toFixed(2), of.estimated]), [["performance", "2.00", false], ["efficient", "1.33", true]]);
  assert.deepEqual(tiles(second, found).filter((tile) => /Power|cycle/.test(tile.name)).map((tile) => [tile.name, tile.value, tile.more]), [
    ["Power", "15.0 W", "package"],
    ["Instructions per cycle: performance", "2.00", ""],
    ["Instructions per cycle: efficient", "1.33", "an estimate: counters are shared"],
  ]);
});

test("a machine without meters and counters has no tiles for them", () => {
  const none = { energy: [], counters: [] };
  const found = rates({ ...first, ...none }, { ...second, ...none })!;
  assert.deepEqual([found.power, found.ipc], [[], []]);
  assert.equal(tiles({ ...second, ...none }, found).some((tile) => /Power|cycle/.test(tile.name)), false);
});

test("readings of different runs have no difference, and nothing is below 0", () => {
  assert.equal(rates(first, { ...second, started_ns: second.started_ns + 1 }), null);
  assert.equal(rates(first, first), null);
  const fallen = rates(second, { ...first, at_ns: second.at_ns + 1e9 })!;
  assert.equal(fallen.cpus.get(0)!.busy, 0);
  assert.equal(sum(fallen.total.latencies), 0);
});

test("a group that is new has its own sums, and one that did nothing is not shown", () => {
  const found = rates({ ...first, groups: [] }, second)!;
  assert.deepEqual(found.groups[0]!.running, [0, 5]);
  assert.deepEqual(rates(first, { ...first, at_ns: first.at_ns + 1e9 })!.groups.map((group) => group.kind), ["other"]);
});

test("quantiles are upper bounds of buckets", () => {
  const counts = new Array<number>(98).fill(0);
  assert.equal(quantile(counts, first.bounds_seconds, 0.5), null);
  counts[0] = 98;
  counts[80] = 1;
  counts[97] = 1;
  assert.equal(quantile(counts, first.bounds_seconds, 0.5), 2 ** -20);
  assert.equal(quantile(counts, first.bounds_seconds, 0.99), 1);
  assert.equal(quantile(counts, first.bounds_seconds, 1), Number.POSITIVE_INFINITY);
  const powers = octaves(counts);
  assert.deepEqual([powers.length, powers[0], powers[20], powers[25]], [26, 98, 1, 1]);
});

test("cores are drawn by package, cluster and core", () => {
  const names = (cpus: readonly CpuNow[]) => packages(cpus).map((of) => [of.name, of.clusters.map((cluster) => [cluster.name, cluster.cores.map((core) => core.cpus.map((cpu) => cpu.cpu).join("+")).join(" ")])]);
  assert.deepEqual(names(first.cpus), [["Package 0", [["", "0+1 2+3"], ["", "4 5"]]]]);
  const clustered = first.cpus.map((cpu) => ({ ...cpu, cluster: cpu.cpu < 4 ? 0 : 1, die: 0 }));
  assert.deepEqual(names(clustered), [["Package 0", [["cluster 0", "0+1 2+3"], ["cluster 1", "4 5"]]]]);
  const dies = clustered.map((cpu) => ({ ...cpu, die: cpu.cpu < 4 ? 0 : 1 }));
  assert.deepEqual(names(dies), [["Package 0", [["die 0, cluster 0", "0+1 2+3"], ["die 1, cluster 1", "4 5"]]]]);
  // Where each core is a cluster of its own, clusters say nothing.
  const single = first.cpus.map((cpu) => ({ ...cpu, cluster: cpu.core }));
  assert.deepEqual(names(single), [["Package 0", [["", "0+1 2+3"], ["", "4 5"]]]]);
});

test("numbers are short and do not claim to be 0", () => {
  assert.deepEqual([null, 2 ** -20, 0.0000153, 0.0025, 1.34, Number.POSITIVE_INFINITY].map(duration), ["–", "954 ns", "15 µs", "2.5 ms", "1.3 s", "> 16 s"]);
  assert.deepEqual([0, 0.001, 0.5, 1].map(percent), ["0 %", "< 1 %", "50 %", "100 %"]);
  assert.deepEqual([0, 0.004, 1.234, 12.34].map(amount), ["0.00", "< 0.01", "1.23", "12.3"]);
});
