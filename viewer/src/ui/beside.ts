/** Slices of the kinds beside CPUs and threads, in words. */

import type { Slice } from "../model/slices";
import { length, point } from "../model/time";
import type { Shown } from "../model/layout";
import type { KindOfTrack } from "../tracks/kind";

/** A value that holds, or the least, the mean and the most of some. */
export function valuesInWords(kind: KindOfTrack, unit: string, slice: Slice): [string, string][] {
  const words = (value: number | undefined) => kind.words(value ?? 0, unit);
  if (slice.stretches === 1) return [["value", words(slice.mean)]];
  return [
    ["mean", words(slice.mean)],
    ["least", words(slice.least)],
    ["most", words(slice.most)],
    ["values", String(slice.stretches)],
  ];
}

/** All that is known of one. */
export function besideInWords(kind: KindOfTrack, shown: Shown | undefined, slice: Slice): [string, string][] {
  const times: [string, string][] = [
    ["From", point(slice.start)],
    ["To", point(slice.end)],
    ["Length", length(slice.end - slice.start)],
  ];
  if (slice.mean !== undefined) return [...valuesInWords(kind, shown?.unit ?? "", slice), ...times];
  const state = shown?.states[slice.state] ?? "unknown";
  if (slice.stretches === 1) return [["State", state], ...times];
  return [[`Most of it ${state}`, length(slice.stateNs)], ["Short stretches", String(slice.stretches)], ...times];
}
