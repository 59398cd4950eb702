/** Finds rows of stretches in a page that contains them, in the same way as the server (crates/serve/src: rows, chain, hits). */

import type { ThreadState, ThreadTracks, WakeChain } from "../generated/tables";
import type { Cpu } from "./layout";

/** The columns that are searched, and access to complete rows; all in order of start. */
export interface Stored<T> {
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** Columns of keys that a query can name; unknown keys are −1. */
  readonly keys: Readonly<Record<string, Float64Array>>;
  readonly row: (at: number) => T;
}

/** Returns the rows in order of start; some tables have them in order of end. */
export function byStart<T>(of: Stored<T>): Stored<T> {
  const { start } = of;
  if (start.every((time, at) => at === 0 || start[at - 1]! <= time)) return of;
  const order = Uint32Array.from(start, (_, at) => at).sort((a, b) => start[a]! - start[b]! || a - b);
  const sorted = (column: Float64Array) => (column.length === 0 ? column : Float64Array.from(order, (at) => column[at]!));
  return { start: sorted(start), end: sorted(of.end), keys: Object.fromEntries(Object.entries(of.keys).map(([name, column]) => [name, sorted(column)])), row: (at) => of.row(order[at]!) };
}

/** Returns the rows that overlap a time range and have these keys. */
export function overlapping<T>(stored: Stored<T>, from: number, to: number, of: Readonly<Record<string, number>>): T[] {
  const wanted = Object.entries(of);
  const found: T[] = [];
  for (let i = 0; i < stored.start.length && stored.start[i]! < to; i++) {
    if (stored.end[i]! > from && wanted.every(([name, key]) => stored.keys[name]?.[i] === key)) found.push(stored.row(i));
  }
  return found;
}

/** The maximum length of a chain. */
const MAX_CHAIN = 8;

/** Returns the chain of wakeups that led to a thread's state at a time, the last one first. */
export function chainOf(stored: Stored<ThreadState>, thread: number, at: number): WakeChain[] {
  const { thread: threads, waker: wakers } = stored.keys;
  const found: WakeChain[] = [];
  let i = stored.start.length - 1;
  while (found.length < MAX_CHAIN && i >= 0) {
    // Only ready stretches after a wakeup have a waker.
    for (; i >= 0; i--) if (stored.start[i]! <= at && threads![i] === thread && wakers![i]! >= 0) break;
    if (i < 0) break;
    const [start, waker] = [stored.start[i]!, wakers![i]!];
    found.push({ thread, waker, at_ns: start, ready_ns: stored.end[i]! - start });
    // Woken by an interrupt, or by the thread's own timer.
    if (waker === 0 || waker === thread) break;
    [thread, at] = [waker, start];
    // Any of the stretches with this start may be the previous one.
    while (i + 1 < stored.start.length && stored.start[i + 1] === start) i++;
  }
  return found;
}

/** Access to known threads and CPUs. */
export interface Known {
  readonly thread: (key: number) => ThreadTracks | undefined;
  readonly cpu: (id: number) => Cpu | undefined;
}

/** Returns the first stretches from a time on that match a query; all that begin before `until` were examined. */
export function hitsOf(stored: Stored<ThreadState>, query: Readonly<Record<string, string>>, from: number, to: number, most: number, known: Known): { rows: ThreadState[]; until: number } {
  const { thread: threads, cpu: cpus } = stored.keys;
  const rows: ThreadState[] = [];
  const is = (word: string, value: number | null | undefined) => query[word] === undefined || String(value) === query[word];
  const holds = (text: string | null | undefined, word: string) => query[word] === undefined || (text ?? "").toLowerCase().includes(query[word].toLowerCase());
  for (let i = 0; i < stored.start.length; i++) {
    const [start, end] = [stored.start[i]!, stored.end[i]!];
    if (start < from || end - start <= Number(query["longer"] ?? -1)) continue;
    if (start >= to) break;
    // Stretches with the same start are returned in the same answer.
    if (rows.length >= most && start > stored.start[i - 1]!) return { rows, until: start };
    const thread = known.thread(threads![i]!);
    const [cpu, id] = [known.cpu(cpus![i]!), cpus![i]!];
    const type = cpu === undefined ? (id < 0 ? null : "") : `${cpu.core_type} ${cpu.vendor_type ?? ""}`;
    if (!holds(thread?.name, "name") || !is("tid", thread?.tid) || !is("pid", thread?.pid)) continue;
    if (!is("cpu", id) || !is("core", cpu?.core) || !holds(type, "type")) continue;
    const row = stored.row(i);
    if (query["state"] === undefined || row.state === query["state"]) rows.push(row);
  }
  return { rows, until: to };
}
