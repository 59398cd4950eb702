/** Describes slices of additional tracks. */

import type { Slice } from "../model/slices";
import { length, point } from "../model/time";
import type { KindInfo, Lane } from "../model/layout";
import type { KindOfTrack } from "../tracks/kind";

/** Describes a value, or the mean, minimum and maximum of merged values. */
export function valueFacts(kind: KindOfTrack, unit: string, slice: Slice): [string, string][] {
  const format = (value: number | undefined) => kind.words(value ?? 0, unit);
  if (slice.stretches === 1) return [["value", format(slice.mean)]];
  return [
    ["mean", format(slice.mean)],
    ["minimum", format(slice.least)],
    ["maximum", format(slice.most)],
    ["values", String(slice.stretches)],
  ];
}

/** Returns what `--range` calls a slice: `period:4321#17`; null if it cannot name it. */
export function rangeOf(lane: Lane | undefined, slice: Slice): string | null {
  if (!lane?.range || slice.stretches !== 1 || slice.what <= 0) return null;
  return `${lane.range}#${slice.what}`;
}

/** Describes a slice. */
export function extraFacts(kind: KindOfTrack, info: KindInfo | undefined, slice: Slice): [string, string][] {
  const times: [string, string][] = [
    ["From", point(slice.start)],
    ["To", point(slice.end)],
    ["Length", length(slice.end - slice.start)],
  ];
  if (slice.mean !== undefined) return [...valueFacts(kind, info?.unit ?? "", slice), ...times];
  const state = info?.states[slice.state] ?? "unknown";
  if (slice.stretches === 1) return [["State", state], ...times];
  return [[`Time in state ${state}`, length(slice.stateNs)], ["Short stretches", String(slice.stretches)], ...times];
}
