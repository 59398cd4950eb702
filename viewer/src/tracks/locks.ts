/** Locks that threads waited for: who held each meanwhile, and how many waited. */

import type { KindInfo, Lane, Lock } from "../model/layout";
import type { Slice } from "../model/slices";
import { length } from "../model/time";
import { plain, type KindOfTrack } from "./kind";

/** The states of a lock while threads wait for it (crates/serve/src/kinds/locks.rs). */
export const HELD = 0;
/** Which thread had it in the end is known, but not since when. */
export const LAST = 2;
/** The number of the state "unknown" of threads. */
const UNKNOWN = 3;

export const LOCKS: KindOfTrack = {
  kind: "locks",
  height: 30,
  colourOf: (palette) => palette.thread[UNKNOWN] ?? palette.dim,
  words: plain,
  ofThread: ["full", null, "paler"],
};

/** The kind that counts the waiting threads, by the number of the lock's track; it is shown in that track only. */
export const WAITERS = "lock_waiters";

export const LOCK_WAITERS: KindOfTrack = { kind: WAITERS, height: 18, colourOf: (palette) => palette.dim, words: plain };

/** The height of the part that shows how many threads wait, in CSS pixels; lower tracks have none. */
export const WAITERS_HEIGHT = 9;
export const MIN_WITH_WAITERS = 24;

/** Returns the maximum number of waiting threads of each lock, by its track. */
export function mostWaiting(kinds: readonly KindInfo[]): ReadonlyMap<number, number> {
  return new Map(kinds.find((info) => info.kind === WAITERS)?.lanes.map((lane) => [lane.track, lane.most]));
}

/** Returns what identifies a lock in the searches: its label, and that it is a lock. */
export function searched(lane: Pick<Lane, "label">): string {
  return `lock ${lane.label}`.toLowerCase();
}

/** Returns the track of the lock of a wait; undefined if it has none. `pid` is the process of the word. */
export function laneOf(kinds: readonly KindInfo[], wait: { readonly kind: string; readonly object: string | null }, pid: number | null): Lane | undefined {
  const of = (lock: Lock | null | undefined) => lock?.kind === wait.kind && lock.object === wait.object && (lock.pid === null || lock.pid === pid);
  return kinds.find((info) => info.kind === LOCKS.kind)?.lanes.find((lane) => of(lane.lock));
}

/** Says how many threads wait, by a slice of the counts. */
export function waitingWords(slice: Slice | null): string {
  if (!slice || slice.most === undefined || slice.least === undefined) return "";
  const one = slice.most === 1 ? "thread waits" : "threads wait";
  return slice.stretches === 1 ? `${slice.most} ${one}` : `at most ${slice.most} ${one}`;
}

/** Says who holds a lock, by the state of a slice. */
export function holderWords(state: number, name: string): string {
  return state === HELD ? `held by ${name}` : state === LAST ? `held in the end by ${name}, since when is unknown` : "holder unknown";
}

/** Describes a slice of a lock's track. */
export function lockWords(slice: Slice, waiting: Slice | null, nameOf: (thread: number) => string): string {
  const len = length(slice.end - slice.start);
  const who = holderWords(slice.state, nameOf(slice.what));
  const first = slice.stretches === 1 ? `${who}, ${len}` : `${slice.stretches} short stretches in ${len}, the longest: ${who}, ${length(slice.whatNs)}`;
  return [first, waitingWords(waiting)].filter((part) => part !== "").join("; ");
}
