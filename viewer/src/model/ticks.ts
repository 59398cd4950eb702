/**
 * Ticks on the minimap and on the ruler: moments at which something is to be seen. Any part of the page may register some:
 * `registerTicks("slow frame", starts)`; an empty list removes them.
 */

/** The kinds of ticks, in the order in which they are drawn: each has a row of its own on the minimap. */
export const TICK_KINDS = ["note", "hit", "finding", "slow frame", "loss"] as const;

export type TickKind = (typeof TICK_KINDS)[number];

/** What a kind is called in a title. */
export const TICK_TITLES: Readonly<Record<TickKind, string>> = {
  note: "notes",
  hit: "search hits",
  finding: "findings",
  "slow frame": "slow frames",
  loss: "lost events",
};

/** The maximum number of ticks of a kind; no screen has more pixels. */
const MAX_TICKS = 20_000;

const sets = new Map<TickKind, Float64Array>();
const listeners = new Set<() => void>();

/** Replaces the ticks of a kind; times are in ns from the start of the recording, in any order. */
export function registerTicks(kind: TickKind, times: Iterable<number>): void {
  const sorted = Float64Array.from(times).filter(Number.isFinite).sort().slice(0, MAX_TICKS);
  const before = sets.get(kind);
  if (before?.length === sorted.length && sorted.every((time, at) => time === before[at])) return;
  if (sorted.length === 0 && !before) return;
  if (sorted.length === 0) sets.delete(kind);
  else sets.set(kind, sorted);
  for (const changed of listeners) changed();
}

/** Returns the kinds that have ticks, in order, with their times in ascending order. */
export function allTicks(): readonly (readonly [TickKind, Float64Array])[] {
  return TICK_KINDS.flatMap((kind) => {
    const times = sets.get(kind);
    return times ? [[kind, times] as const] : [];
  });
}

/** Calls a function after every change of the ticks. */
export function onTicks(changed: () => void): void {
  listeners.add(changed);
}

/** Returns the pixels, each once and ascending, at which there is a tick; pixels before 0 or from `width` on are omitted. */
export function pixelsOf(times: Float64Array, from: number, perPixel: number, width: number): number[] {
  const pixels: number[] = [];
  let at = firstFrom(times, from);
  while (at < times.length) {
    const x = Math.floor((times[at]! - from) / perPixel);
    if (x >= width) break;
    pixels.push(x);
    // The next one that is in another pixel: there may be many in this one.
    at = Math.max(at + 1, firstFrom(times, from + (x + 1) * perPixel));
  }
  return pixels;
}

/** Returns the index of the first time that is not before `time`. */
function firstFrom(times: Float64Array, time: number): number {
  let [lo, hi] = [0, times.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (times[mid]! < time) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
