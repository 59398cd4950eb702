/** What a blocked thread waits for, who held it, and who ended the wait. */

import type { LockWaits, ObjectWaits, ThreadState } from "../generated/tables";
import { length } from "../model/time";
import { source } from "../source";

/** Memory that shows what a word is may have been read at an earlier wait. */
const EARLIER_NS = 50_000_000;

/** An object that is an address in memory, or a number of the recording's own: it says nothing to a reader. */
const says = (wait: Pick<ObjectWaits, "kind" | "object">): boolean => !/^(0x|$)/.test(wait.object ?? "") && !/^(kernel|sleep|.*fd$|epoll|inotify|descriptor)/.test(wait.kind);

/** A wait, and of a wait for a lock, what is known of its holders. */
export type Wait = ObjectWaits & Partial<Pick<LockWaits, "pid" | "held_ns" | "holders" | "waited_ns">>;

const LOCK = /(mutex|rwlock)$/;

/** Returns the wait of a blocked stretch; null if nothing is known of it. */
export async function waitOf(thread: number, stretch: ThreadState): Promise<Wait | null> {
  const [from, to] = [Math.max(0, stretch.start_ns - EARLIER_NS), stretch.end_ns + 1];
  const begins = (row: { readonly start_ns: number }) => row.start_ns === stretch.start_ns;
  const wait = (await source.rows<ObjectWaits>("object_waits", from, to, { thread })).find(begins);
  if (!wait || (wait.reason === null && wait.kind === "unknown" && wait.released_by === null)) return null;
  if (!LOCK.test(wait.kind)) return wait;
  // The process of the word, which others may share, and how long the holder held it.
  const lock = (await source.rows<LockWaits>("lock_waits", from, to, { thread })).find(begins);
  return lock ? { ...wait, pid: lock.pid, held_ns: lock.held_ns, holders: lock.holders } : wait;
}

/** Returns the words for what a thread waits for: its kind, and which one. */
export function whatOf(wait: Pick<ObjectWaits, "kind" | "object" | "name">): string {
  const kind = wait.kind.replaceAll("_", " ");
  if (wait.kind === "unknown") return "not recorded";
  if (wait.name !== null) return `${kind} ${wait.name}`;
  return says(wait) ? `${kind} ${wait.object}` : kind;
}

/** Returns the cells of a wait; `thread` makes the link to a thread at a time, `object` to the track of the lock, if it has one. */
export function waitCells(wait: Wait, thread: (key: number, at: number) => Node | string, object: ((label: string) => Node) | null): [string, Node | string][] {
  const cells: [string, Node | string][] = [];
  if (wait.reason !== null) cells.push(["In", wait.reason]);
  if (wait.source_file !== null && wait.line !== null) cells.push(["Called at", `${wait.source_file}:${wait.line}`]);
  // With its address or number, as its track has it.
  cells.push(["Waits for", object ? object(`${wait.kind.replaceAll("_", " ")} ${wait.object}`) : whatOf(wait)]);
  if (wait.ready_kind !== null) cells.push(["Became ready", whatOf({ kind: wait.ready_kind, object: wait.ready_object, name: wait.ready_path })]);
  if (wait.holder !== null) cells.push(["Held by", thread(wait.holder, wait.start_ns)]);
  // Several threads in turn: the first one is known.
  if (wait.holder !== null && wait.held_ns != null && (wait.holders ?? 1) > 1) cells.push(["Held by it for", `${length(wait.held_ns)}, then by ${wait.holders! - 1} other${wait.holders === 2 ? "" : "s"}`]);
  if (wait.released_by === 0) cells.push(["Ended by", "an interrupt"]);
  else if (wait.released_by !== null) cells.push(["Ended by", thread(wait.released_by, Math.max(0, wait.end_ns - 1))]);
  return cells;
}
