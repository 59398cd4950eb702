/** What ended idle time: a band in the tracks of idle states, and words. */

import type { KindInfo, IdleCause } from "../model/layout";
import type { Slice } from "../model/slices";
import { length } from "../model/time";
import { plain, type KindOfTrack } from "./kind";

/** The kind whose tracks have the ends, by CPU; it is shown in the tracks of idle states only. */
export const ENDS = "idle_ends";

export const IDLE_ENDS: KindOfTrack = {
  kind: ENDS,
  height: 18,
  // By the numbers of what ended it (crates/serve/src/kinds/idle_ends.rs): timers, devices and threads differ most.
  colourOf: (palette, cause) =>
    [palette.thread[1], palette.dim, palette.threads[13], palette.thread[0], palette.threads[9], palette.threads[12], palette.threads[7], palette.threads[8]][cause] ?? palette.thread[3] ?? palette.dim,
  words: plain,
};

/** The number of the state of a CPU that is awake in the tracks of idle states (crates/serve/src/kinds/idle.rs). */
export const AWAKE = 0;

/** What ended a stretch of idle time, if it is drawn by itself. */
export interface IdleEnd {
  readonly cause: string;
  readonly what: IdleCause;
}

/** Returns what ended the idle time of a slice; null if it is not known, or several stretches are drawn as one. */
export function endOf(info: KindInfo | undefined, slice: Slice | null): IdleEnd | null {
  if (!slice || slice.stretches !== 1) return null;
  const [cause, what] = [info?.states[slice.state], info?.ends?.[slice.what]];
  return cause === undefined || what === undefined ? null : { cause, what };
}

/** Describes an end: `timer hrtimer_wakeup`. */
export function endWords({ cause, what }: IdleEnd): string {
  return what.label === "" || cause.endsWith(what.label) ? cause : `${cause}: ${what.label.replace(/^(timer|softirq|ipi) /, "")}`;
}

/** Describes the break-even of a stay, and whether the stay reached it; empty if that is unknown. */
export function breakEven({ what }: IdleEnd): string {
  return what.target_ns === null || what.too_short === null ? "" : `${length(what.target_ns)}, ${what.too_short ? "not reached" : "reached"}`;
}
