/** What a blocked thread waits for, who held it, and who ended the wait. */

import type { ObjectWaits, ThreadState } from "../generated/tables";
import { source } from "../source";

/** Memory that shows what a word is may have been read at an earlier wait. */
const EARLIER_NS = 50_000_000;

/** An object that is an address in memory, or a number of the recording's own: it says nothing to a reader. */
const says = (wait: Pick<ObjectWaits, "kind" | "object">): boolean => !/^(0x|$)/.test(wait.object ?? "") && !/^(kernel|sleep|.*fd$|epoll|inotify|descriptor)/.test(wait.kind);

/** Returns the wait of a blocked stretch; null if nothing is known of it. */
export async function waitOf(thread: number, stretch: ThreadState): Promise<ObjectWaits | null> {
  const rows = await source.rows<ObjectWaits>("object_waits", Math.max(0, stretch.start_ns - EARLIER_NS), stretch.end_ns + 1, { thread });
  const wait = rows.find((row) => row.start_ns === stretch.start_ns);
  return wait && (wait.reason !== null || wait.kind !== "unknown" || wait.released_by !== null) ? wait : null;
}

/** Returns the words for what a thread waits for: its kind, and which one. */
export function whatOf(wait: Pick<ObjectWaits, "kind" | "object" | "name">): string {
  const kind = wait.kind.replaceAll("_", " ");
  if (wait.kind === "unknown") return "not recorded";
  if (wait.name !== null) return `${kind} ${wait.name}`;
  return says(wait) ? `${kind} ${wait.object}` : kind;
}

/** Returns the cells of a wait; `thread` makes the link to a thread at a time. */
export function waitCells(wait: ObjectWaits, thread: (key: number, at: number) => Node | string): [string, Node | string][] {
  const cells: [string, Node | string][] = [];
  if (wait.reason !== null) cells.push(["In", wait.reason]);
  cells.push(["Waits for", whatOf(wait)]);
  if (wait.holder !== null) cells.push(["Held by", thread(wait.holder, wait.start_ns)]);
  if (wait.released_by === 0) cells.push(["Ended by", "an interrupt"]);
  else if (wait.released_by !== null) cells.push(["Ended by", thread(wait.released_by, Math.max(0, wait.end_ns - 1))]);
  return cells;
}
