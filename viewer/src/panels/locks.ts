/** A lock: who held it at a time, and which threads waited. */

import type { LockWaits, ObjectWaits } from "../generated/tables";
import type { Lock } from "../model/layout";
import type { Slice } from "../model/slices";
import { length, point } from "../model/time";
import { source } from "../source";
import { HELD, LAST, waitingWords } from "../tracks/locks";

/** How far back waits are looked for, in ns: reading more of a recording takes long. */
const BACK_NS = 10_000_000_000;
/** Memory that shows what a word is may have been read at an earlier wait. */
const EARLIER_NS = 50_000_000;

/** A thread that waits at a time, and since when. */
export interface Waiter {
  readonly thread: number;
  readonly since: number;
  /** How long the wait had lasted at that time, in ns. */
  readonly lasted: number;
}

/** Returns the threads that wait for a lock at a time, those that wait longest first; `pidOf` has the processes of threads. */
export async function waitersOf(lock: Lock, at: number, pidOf: (thread: number) => number | null): Promise<Waiter[]> {
  const from = Math.max(0, at - Math.min(lock.max_waited_ns, BACK_NS) - EARLIER_NS);
  const waits = await source.rows<LockWaits>("lock_waits", from, at + 1, {});
  const of: readonly { thread: number; start_ns: number; end_ns: number }[] =
    waits.length > 0
      ? waits.filter((row) => row.kind === lock.kind && row.lock === lock.object && row.pid === lock.pid)
      : // A page without a server has these.
        (await source.rows<ObjectWaits>("object_waits", from, at + 1, {})).filter((row) => row.kind === lock.kind && row.object === lock.object && (lock.pid === null || pidOf(row.thread) === lock.pid));
  const then = of.filter((row) => row.start_ns <= at && at < row.end_ns);
  return then.map((row) => ({ thread: row.thread, since: row.start_ns, lasted: at - row.start_ns })).sort((a, b) => a.since - b.since);
}

/** Returns the cells of a lock, and of a slice of its track. */
export function lockCells(lock: Lock, slice: Slice | null, waiting: Slice | null, thread: (key: number, at: number) => Node | string): [string, Node | string][] {
  const cells: [string, Node | string][] = [];
  if (slice) {
    const single = slice.stretches === 1;
    if (slice.state !== HELD && slice.state !== LAST) cells.push(["Held by", single ? "unknown" : `unknown for ${length(slice.stateNs)}`]);
    else cells.push([single ? "Held by" : `Held longest, ${length(slice.whatNs)}, by`, thread(slice.what, slice.start)]);
    if (slice.state === LAST) cells.push(["Since when", "unknown, but before the end"]);
    const words = waitingWords(waiting);
    if (words !== "") cells.push(["Meanwhile", words]);
    cells.push(["From", point(slice.start)], ["To", point(slice.end)], ["Length", length(slice.end - slice.start)]);
    if (!single) cells.push(["Short stretches", String(slice.stretches)]);
  }
  cells.push(
    ["Waits in all", `${lock.waits}, ${length(lock.waited_ns)}, the longest ${length(lock.max_waited_ns)}`],
    ["Threads that waited", String(lock.waiters)],
    ["Known holders", lock.holders === 0 ? "none" : `${lock.holders} ${lock.holders === 1 ? "thread" : "threads"}`],
  );
  return cells;
}
