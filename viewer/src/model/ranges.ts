/**
 * Tables for a part of a recording, from the stretches in a page that needs no server. They have the columns that these stretches determine,
 * with the figures of `corewise table --range`; `lacks` says what is missing, and `caution` what is not exact.
 */

import type { Cell, Column, Part } from "../api";
import { THREAD_STATES, type ThreadTracks } from "../generated/tables";
import type { Cpu } from "./layout";
import { length } from "./time";
import type { Span } from "./view";

/** Stretches of threads, in order of start. Keys and CPUs are −1 if unknown. */
export interface ThreadStretches {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly thread: Float64Array;
  /** The number of the state, as in THREAD_STATES. */
  readonly state: Uint8Array;
  readonly cpu: Float64Array;
  /** The time in `state`, ns. It is less than the length if the page has only a merged slice. */
  readonly stateNs: Float64Array;
  /** The part of that on `cpu`, ns. */
  readonly cpuNs: Float64Array;
  /** What ended a wait, and its cause; null if the page has only slices. */
  readonly causes: Causes | null;
}

export interface Causes {
  readonly waker: Float64Array;
  /** The kernel's state letter of a wait, or why a thread is ready. */
  readonly reason: (at: number) => string | null;
}

/** Stretches of CPUs, in order of start. */
export interface CpuStretches {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly cpu: Float64Array;
  /** The thread that runs; 0: idle; −1: unknown. */
  readonly thread: Float64Array;
}

/** What the tables are made from. */
export interface Facts {
  readonly threads: ThreadStretches;
  /** Null if the page does not have them. */
  readonly cpus: CpuStretches | null;
  readonly thread: (key: number) => ThreadTracks | undefined;
  readonly cpu: (id: number) => Cpu | undefined;
  readonly readyKnown: boolean;
  /** Stretches shorter than this are merged, in ns; 0 if none are. */
  readonly finest: number;
}

const [RUNNING, READY, BLOCKED] = ["running", "ready", "blocked"].map((name) => THREAD_STATES.indexOf(name as "ready")) as [number, number, number];

const EXITED = THREAD_STATES.indexOf("exited");

type Made = Omit<Part, "all"> & { readonly lacks: string; readonly caution: string };
type Rows = { readonly names: readonly string[]; readonly rows: Cell[][]; readonly lacks: string; readonly caution: string };

/** The tables that can be made. Columns have the units and descriptions of the same table for the whole recording. */
export const MADE: Readonly<Record<string, (of: Facts, span: Span) => Rows | string>> = {
  threads,
  thread_by_core_type: byCoreType,
  cpus,
  waits,
  ran_instead: ranInstead,
};

/** Returns a table for a part; a text says why that is not possible. */
export function made(name: string, of: Facts, span: Span, columns: readonly Column[]): Made | string {
  const table = MADE[name]?.(of, span) ?? "only the whole recording";
  if (typeof table === "string") return table;
  const column = (name: string) => columns.find((column) => column.name === name) ?? { name, unit: name.endsWith("_ns") ? "ns" : "", doc: "", thread: name === "thread" || name === "waker" };
  return { columns: table.names.map(column), rows: table.rows, lacks: table.lacks, caution: table.caution };
}

/** Calls back for each stretch of a thread that overlaps a part: its index, the time of its state in the part, at least, and all of its time there. */
function each(of: ThreadStretches, span: Span, visit: (at: number, known: number, all: number) => void): void {
  for (let i = 0; i < of.start.length && of.start[i]! < span.to; i++) {
    const all = Math.min(of.end[i]!, span.to) - Math.max(of.start[i]!, span.from);
    if (all <= 0) continue;
    // Of a merged slice, the other states may be inside the part, all of them.
    visit(i, Math.max(0, of.stateNs[i]! - (of.end[i]! - of.start[i]! - all)), all);
  }
}

const MERGED = (of: Facts) => (of.finest > 0 ? `Stretches shorter than ${length(of.finest)} are merged in this page: times are at least these, and the rest is unknown.` : "");

function threads(of: Facts, span: Span) {
  const sums = new Map<number, { by: number[]; longest: number }>();
  each(of.threads, span, (i, known, all) => {
    const key = of.threads.thread[i]!;
    let sum = sums.get(key);
    if (!sum) sums.set(key, (sum = { by: THREAD_STATES.map(() => 0), longest: 0 }));
    const state = of.threads.state[i]!;
    sum.by[state]! += known;
    sum.by[THREAD_STATES.indexOf("unknown")]! += all - known;
    if (state === READY) sum.longest = Math.max(sum.longest, known);
  });
  const names = ["thread", "tid", "pid", "name", "running_ns", "ready_ns", "blocked_ns", "blocked_or_ready_ns", "unknown_ns", "exited_ns", "max_ready_ns"];
  // Threads that exited before are not part of it.
  const live = [...sums].filter(([, { by }]) => by.some((ns, state) => ns > 0 && state !== EXITED));
  const rows = live.sort(([a], [b]) => a - b).map(([key, { by, longest }]): Cell[] => {
    const about = of.thread(key);
    const [running, waiting, blocked, unknown, exited] = by as [number, number, number, number, number];
    return [key, about?.tid ?? null, about?.pid ?? null, about?.name ?? null, running, waiting, blocked, of.readyKnown ? 0 : blocked, unknown, exited, longest];
  });
  return { names, rows, lacks: "Charged time, switches and migrations are not in this page.", caution: MERGED(of) };
}

function byCoreType(of: Facts, span: Span) {
  const sums = new Map<number, Map<number, { type: string; ns: number }>>();
  each(of.threads, span, (i, known, all) => {
    const cpu = of.threads.state[i] === RUNNING ? of.cpu(of.threads.cpu[i]!) : undefined;
    if (!cpu) return;
    const key = of.threads.thread[i]!;
    const byClass = sums.get(key) ?? new Map<number, { type: string; ns: number }>();
    sums.set(key, byClass);
    const sum = byClass.get(cpu.core_class) ?? { type: cpu.core_type, ns: 0 };
    byClass.set(cpu.core_class, sum);
    sum.ns += Math.min(known, Math.max(0, of.threads.cpuNs[i]! - (of.threads.end[i]! - of.threads.start[i]! - all)));
  });
  const names = ["thread", "tid", "core_class", "core_type", "running_ns", "share"];
  const rows = [...sums].sort(([a], [b]) => a - b).flatMap(([key, byClass]) => {
    const running = [...byClass.values()].reduce((sum, { ns }) => sum + ns, 0);
    const sorted = [...byClass].sort(([a], [b]) => a - b);
    return sorted.map(([at, { type, ns }]): Cell[] => [key, of.thread(key)?.tid ?? null, at, type, ns, running > 0 ? ns / running : null]);
  });
  return { names, rows, lacks: "", caution: MERGED(of) };
}

const NO_CAUSES = "wakeups and causes of waits";

function cpus(of: Facts, span: Span) {
  if (!of.cpus) return "the stretches of CPUs";
  const sums = new Map<number, [number, number, number]>();
  for (let i = 0; i < of.cpus.start.length && of.cpus.start[i]! < span.to; i++) {
    const time = Math.min(of.cpus.end[i]!, span.to) - Math.max(of.cpus.start[i]!, span.from);
    if (time <= 0) continue;
    const cpu = of.cpus.cpu[i]!;
    const sum = sums.get(cpu) ?? [0, 0, 0];
    sums.set(cpu, sum);
    const thread = of.cpus.thread[i]!;
    sum[thread > 0 ? 0 : thread === 0 ? 1 : 2] += time;
  }
  const names = ["cpu", "core_type", "busy_ns", "idle_ns", "unknown_ns"];
  const rows = [...sums].sort(([a], [b]) => a - b).map(([id, times]): Cell[] => [id, of.cpu(id)?.core_type ?? null, ...times]);
  return { names, rows, lacks: "Switches are not in this page.", caution: "" };
}

function waits(of: Facts, span: Span) {
  const { threads: all } = of;
  if (!all.causes) return NO_CAUSES;
  const open = new Map<number, { ns: number; letter: string | null }>();
  const sums = new Map<string, { row: Cell[]; waits: number; ns: number }>();
  const { causes } = all;
  each(all, span, (i, known) => {
    const key = all.thread[i]!;
    const wait = open.get(key);
    open.delete(key);
    const state = all.state[i]!;
    if (wait && (state === READY || state === RUNNING)) {
      const waker = state === READY ? causes.waker[i]! : -1;
      const id = `${key} ${waker} ${wait.letter ?? ""}`;
      const row = [key, of.thread(key)?.tid ?? null, waker < 0 ? null : waker, wait.letter];
      const sum = sums.get(id) ?? { row, waits: 0, ns: 0 };
      sums.set(id, sum);
      sum.waits++;
      sum.ns += wait.ns;
    }
    if (state === BLOCKED) open.set(key, { ns: known, letter: causes.reason(i) });
  });
  const order = (a: Cell, b: Cell) => Number(a ?? -1) - Number(b ?? -1);
  const rows = [...sums.values()].sort((a, b) => order(a.row[0]!, b.row[0]!) || order(a.row[2]!, b.row[2]!) || String(a.row[3]).localeCompare(String(b.row[3])));
  const names = ["thread", "tid", "waker", "state_letter", "waits", "blocked_ns"];
  if (!of.readyKnown) return { names, rows: [], lacks: "", caution: "" };
  return { names, rows: rows.map(({ row, waits, ns }) => [...row, waits, ns]), lacks: "What the waker did meanwhile is not in this page.", caution: "" };
}

function ranInstead(of: Facts, span: Span) {
  const { threads: all, cpus: on } = of;
  if (!all.causes || !on) return NO_CAUSES;
  // The stretches of each CPU, in order of time.
  const byCpu = new Map<number, number[]>();
  on.cpu.forEach((cpu, i) => {
    const list = byCpu.get(cpu);
    if (list) list.push(i);
    else byCpu.set(cpu, [i]);
  });
  const sums = new Map<string, { row: Cell[]; ns: number }>();
  const add = (key: number, behind: string, other: number | null, cpu: number, ns: number) => {
    const of_ = of.cpu(cpu);
    const id = `${key} ${behind} ${other} ${of_?.core_class}`;
    const tid = other === null ? null : other === 0 ? 0 : (of.thread(other)?.tid ?? null);
    const sum = sums.get(id) ?? { row: [key, of.thread(key)?.tid ?? null, behind, other, tid, of_?.core_class ?? null, of_?.core_type ?? null], ns: 0 };
    sums.set(id, sum);
    sum.ns += ns;
  };
  each(all, span, (i, known) => {
    if (all.state[i] !== READY) return;
    const [key, cpu, from] = [all.thread[i]!, all.cpu[i]!, Math.max(all.start[i]!, span.from)];
    if (all.causes!.reason(i) === "throttled") return add(key, "throttled", null, cpu, known);
    const list = byCpu.get(cpu) ?? [];
    let left = known;
    for (let at = firstAfter(on.end, list, from); at < list.length && on.start[list[at]!]! < from + known; at++) {
      const other = list[at]!;
      const time = Math.min(on.end[other]!, from + known) - Math.max(on.start[other]!, from);
      if (time <= 0) continue;
      left -= time;
      const thread = on.thread[other]!;
      add(key, thread > 0 ? "thread" : thread === 0 ? "idle" : "unknown", thread < 0 ? null : thread, cpu, time);
    }
    if (left > 0) add(key, "unknown", null, cpu, left);
  });
  const names = ["thread", "tid", "queued_behind", "ran_instead", "ran_instead_tid", "core_class", "core_type", "ready_ns"];
  const rows = [...sums.values()].sort((a, b) => Number(a.row[0]) - Number(b.row[0]) || b.ns - a.ns);
  const caution = "Throttling during a wait and moves of ready threads to other CPUs are not in this page: a thread is counted on the CPU on which its wait began.";
  return { names, rows: rows.map(({ row, ns }) => [...row, ns]), lacks: "Priorities are not in this page.", caution };
}

/** Returns the first place in a list of stretches that ends after a time. */
function firstAfter(end: Float64Array, list: readonly number[], time: number): number {
  let [lo, hi] = [0, list.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (end[list[mid]!]! <= time) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
