/**
 * The summary of a time range: for each thread what the tables `threads`, `thread_by_core_type`, `smt_threads`, `waits`, `switch_causes`, `ran_instead`
 * and `thread_ipc` say about it.
 * All figures are those of the tables, or sums of them.
 */

import type { Cell, Part } from "../api";
import type { Ipc } from "./summary_ipc";

/** Time on cores of a type, in ns. */
export interface OnCores {
  readonly type: string;
  readonly ns: number;
}

/** Who a thread waited for, or what ran instead, and for how long, in ns. */
export interface Cause {
  /** The thread's key; null if it was not a thread. */
  readonly thread: number | null;
  /** What it was if it was not a thread. */
  readonly what: string;
  readonly ns: number;
}

/** A thread in a time range; times are in ns, and null if the source does not have them. */
export interface ThreadRow {
  readonly thread: number;
  readonly tid: number;
  readonly name: string;
  readonly running: number;
  readonly ready: number | null;
  readonly blocked: number;
  /** The longest single wait for a CPU. */
  readonly longest: number | null;
  /** By core type, the fastest first. */
  cores: readonly OnCores[];
  /** Running time while another thread ran on the same core; null if that is unknown or the core has no SMT sibling. */
  sibling: number | null;
  /** Instructions per cycle; null if they were not counted, or too rarely. */
  ipc: Ipc | null;
  /** The thread or interrupt that ended its waits, summed by waker: the one with the longest. */
  blocker: Cause | null;
  /** The thread that took its CPU, summed by what took it: the one after which it was ready longest. */
  preemptor: Cause | null;
  /** What ran on the CPU on whose queue it was ready, summed by what ran: the longest. */
  instead: Cause | null;
}

/** Returns a function that reads a column of a row by its name; null if the table lacks it. */
function cells(table: Part): (row: readonly Cell[], name: string) => Cell {
  const places = new Map(table.columns.map((column, at) => [column.name, at]));
  return (row, name) => row[places.get(name) ?? -1] ?? null;
}

const number = (cell: Cell): number => (typeof cell === "number" ? cell : 0);
const maybe = (cell: Cell): number | null => (typeof cell === "number" ? cell : null);

/** Returns a row for each thread of the table `threads`. */
export function threadsOf(table: Part): ThreadRow[] {
  const cell = cells(table);
  return table.rows.map((row) => ({
    thread: number(cell(row, "thread")),
    tid: number(cell(row, "tid")),
    name: String(cell(row, "name") ?? "?"),
    running: number(cell(row, "running_ns")),
    ready: maybe(cell(row, "ready_ns")),
    blocked: number(cell(row, "blocked_ns")),
    longest: maybe(cell(row, "max_ready_ns")),
    cores: [],
    sibling: null,
    ipc: null,
    blocker: null,
    preemptor: null,
    instead: null,
  }));
}

/** Adds the table `thread_by_core_type`; returns the core types on which threads ran, the fastest first. */
export function addCores(rows: readonly ThreadRow[], table: Part): string[] {
  const cell = cells(table);
  const byThread = new Map<number, { type: string; class: number; ns: number }[]>();
  const types = new Map<string, number>();
  for (const row of table.rows) {
    const of = { type: String(cell(row, "core_type")), class: number(cell(row, "core_class")), ns: number(cell(row, "running_ns")) };
    if (of.ns === 0) continue;
    types.set(of.type, Math.max(types.get(of.type) ?? 0, of.class));
    const thread = number(cell(row, "thread"));
    byThread.set(thread, [...(byThread.get(thread) ?? []), of]);
  }
  for (const row of rows) row.cores = (byThread.get(row.thread) ?? []).sort((a, b) => b.class - a.class).map(({ type, ns }) => ({ type, ns }));
  return [...types].sort((a, b) => b[1] - a[1]).map(([type]) => type);
}

/** Adds the table `smt_threads`. */
export function addSiblings(rows: readonly ThreadRow[], table: Part): void {
  const cell = cells(table);
  const known = new Map<number, number>();
  for (const row of table.rows) {
    const [busy, alone] = [number(cell(row, "sibling_busy_ns")), number(cell(row, "alone_ns"))];
    if (busy + alone > 0) known.set(number(cell(row, "thread")), busy);
  }
  for (const row of rows) row.sibling = known.get(row.thread) ?? null;
}

/** Adds the table `switch_causes`: what took the CPU of each thread, the one after which it was ready longest in sum. */
export function addPreemptors(rows: readonly ThreadRow[], table: Part): void {
  const cell = cells(table);
  // After which its CPU was idle, no thread took it: it was moved to another CPU.
  const taken = (row: Part["rows"][number]): boolean => cell(row, "cause") === "preempted" && maybe(cell(row, "preemptor")) !== 0;
  const preempted = { ...table, rows: table.rows.filter(taken) };
  const longest = largest(preempted, (row) => {
    const preemptor = maybe(cell(row, "preemptor"));
    return { thread: preemptor, what: preemptor === null ? "not recorded" : "", ns: number(cell(row, "ready_ns")) };
  });
  for (const row of rows) row.preemptor = longest.get(row.thread) ?? null;
}

/** Adds the table `waits`: the waker that ended the longest waits of each thread in sum. */
export function addBlockers(rows: readonly ThreadRow[], table: Part): void {
  const cell = cells(table);
  const longest = largest(table, (row) => {
    const waker = maybe(cell(row, "waker"));
    const what = waker === null ? "not recorded" : waker === 0 ? "interrupt" : "";
    return { thread: waker === 0 ? null : waker, what, ns: number(cell(row, "blocked_ns")) };
  });
  for (const row of rows) row.blocker = longest.get(row.thread) ?? null;
}

/** What a thread is queued behind if no thread ran instead. */
const QUEUED: Readonly<Record<string, string>> = { idle: "idle CPU", throttled: "CPU quota" };

/** Adds the table `ran_instead`: what ran longest while each thread was ready. */
export function addInstead(rows: readonly ThreadRow[], table: Part): void {
  const cell = cells(table);
  const longest = largest(table, (row) => {
    const behind = String(cell(row, "queued_behind"));
    const thread = behind === "thread" ? maybe(cell(row, "ran_instead")) : null;
    return { thread, what: thread === null ? (QUEUED[behind] ?? "not recorded") : "", ns: number(cell(row, "ready_ns")) };
  });
  for (const row of rows) row.instead = longest.get(row.thread) ?? null;
}

/** Sums the causes of each thread, and returns the largest of each. */
function largest(table: Part, of: (row: readonly Cell[]) => Cause): Map<number, Cause> {
  const cell = cells(table);
  const sums = new Map<number, Map<string, Cause>>();
  for (const row of table.rows) {
    const cause = of(row);
    const thread = number(cell(row, "thread"));
    const known = sums.get(thread) ?? new Map<string, Cause>();
    sums.set(thread, known);
    const key = `${cause.thread ?? ""} ${cause.what}`;
    known.set(key, { ...cause, ns: cause.ns + (known.get(key)?.ns ?? 0) });
  }
  const best = new Map<number, Cause>();
  for (const [thread, causes] of sums) {
    for (const cause of causes.values()) if (cause.ns > 0 && cause.ns > (best.get(thread)?.ns ?? 0)) best.set(thread, cause);
  }
  return best;
}

/** The time for which a thread ran on the slowest of the types, in ns; null if it did not run. */
export function slowestTime(row: ThreadRow, types: readonly string[]): number | null {
  const all = row.cores.reduce((sum, { ns }) => sum + ns, 0);
  const slowest = types[types.length - 1];
  return all === 0 ? null : (row.cores.find(({ type }) => type === slowest)?.ns ?? 0);
}

/** What rows can be sorted by. */
export type SortKey = "name" | "running" | "ready" | "blocked" | "cores" | "sibling" | "ipc" | "longest" | "blocker" | "preemptor" | "instead";

/** Returns the rows sorted; what is missing is last in both directions, and equal rows stay in their order. */
export function sortedBy(rows: readonly ThreadRow[], key: SortKey, down: boolean, types: readonly string[]): ThreadRow[] {
  const value = (row: ThreadRow): string | number | null => {
    if (key === "name") return row.name.toLowerCase();
    if (key === "cores") return slowestTime(row, types);
    if (key === "ipc") return row.ipc?.ipc ?? null;
    return key === "blocker" || key === "preemptor" || key === "instead" ? (row[key]?.ns ?? null) : row[key];
  };
  const by = down ? -1 : 1;
  const pairs = rows.map((row) => [value(row), row] as const);
  pairs.sort(([a], [b]) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a === b ? 0 : a < b ? -by : by;
  });
  return pairs.map(([, row]) => row);
}

/** Writes a whole number of ns in ms, without rounding. */
export function exactMs(ns: number): string {
  const whole = Math.trunc(ns / 1e6);
  return `${whole}.${String(ns - whole * 1e6).padStart(6, "0")}`;
}

/** Writes a share as a percentage with one decimal place, such as `12.5`. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? ((100 * part) / whole).toFixed(1) : "";
}

/** The summary as a table of texts: times exact in ms, and as shares of the range in %. `nameOf` names threads by their keys. */
export function asTable(rows: readonly ThreadRow[], types: readonly string[], span: number, nameOf: (thread: number) => string): { head: string[]; rows: string[][] } {
  const times = ["running", "ready", "blocked"] as const;
  const hasIpc = rows.some((row) => row.ipc !== null);
  const cause = (of: Cause | null) => (of === null ? ["", ""] : [of.thread === null ? of.what : nameOf(of.thread), exactMs(of.ns)]);
  return {
    head: [
      "thread",
      "TID",
      ...times.flatMap((of) => [`${of} (ms)`, `${of} (% of range)`]),
      ...types.map((type) => `on ${type} cores (ms)`),
      "while the SMT sibling was busy (ms)",
      ...(hasIpc ? ["IPC"] : []),
      "longest wait for a CPU (ms)",
      "top blocker",
      "blocked on it (ms)",
      "preempted by",
      "ready after it (ms)",
      "ran instead",
      "ready meanwhile (ms)",
    ],
    rows: rows.map((row) => [
      row.name,
      String(row.tid),
      ...times.flatMap((of) => {
        const ns = row[of];
        return ns === null ? ["", ""] : [exactMs(ns), percent(ns, span)];
      }),
      ...types.map((type) => exactMs(row.cores.find((of) => of.type === type)?.ns ?? 0)),
      row.sibling === null ? "" : exactMs(row.sibling),
      ...(hasIpc ? [row.ipc === null ? "" : row.ipc.ipc.toFixed(4)] : []),
      row.longest === null ? "" : exactMs(row.longest),
      ...cause(row.blocker),
      ...cause(row.preemptor),
      ...cause(row.instead),
    ]),
  };
}
