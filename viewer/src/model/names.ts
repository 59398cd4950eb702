/** Finds room for names in a track: single stretches that are wide enough. */

import { middle, type Scale } from "./raster";
import { firstEndingAfter, type Slices } from "./slices";

/**
 * Calls `each` with the `what` and the pixels of every stretch of a state that is at least `min` pixels wide and begins in the pixels
 * `first` up to `last` (not included), or before the first pixel. `width` is the number of pixels. It samples every `min` / 2 pixels,
 * which finds every stretch that is wide enough.
 */
export function eachWide(
  slices: Slices,
  track: number,
  scale: Scale,
  pixels: { first: number; last: number; width: number },
  state: number,
  min: number,
  each: (what: number, from: number, to: number) => void,
): void {
  const until = slices.begins[track + 1] ?? 0;
  for (let x = pixels.first; x < pixels.last; ) {
    const time = middle(scale, x);
    const i = firstEndingAfter(slices, track, time);
    if (i >= until) return;
    const from = Math.max(0, (slices.start[i]! - scale.from) / scale.perPixel);
    const to = Math.min(pixels.width, (slices.end[i]! - scale.from) / scale.perPixel);
    const begun = slices.start[i]! <= time;
    const wide = from >= pixels.first && to - from >= min;
    if (begun && wide && slices.stretches[i] === 1 && slices.state[i] === state) each(slices.what[i]!, from, to);
    x = Math.max(x + min / 2, begun ? to : from);
  }
}
