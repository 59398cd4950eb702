/** Where there is room to write into a track: stretches, not several told together, that are wide enough. */

import { middle, type Scale } from "./raster";
import { firstEndingAfter, type Slices } from "./slices";

/**
 * Calls `each` with the `what` of every stretch of a state that is seen `least` pixels wide or more, and with the pixels that show
 * it: of those that begin in the pixels `first` up to `last` (not included), or before the first pixel of all. `width` is how many
 * there are. Looks at every half of `least` pixels only: what is wide enough lies under one of these.
 */
export function eachWide(
  slices: Slices,
  track: number,
  scale: Scale,
  pixels: { first: number; last: number; width: number },
  state: number,
  least: number,
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
    const wide = from >= pixels.first && to - from >= least;
    if (begun && wide && slices.stretches[i] === 1 && slices.state[i] === state) each(slices.what[i]!, from, to);
    x = Math.max(x + least / 2, begun ? to : from);
  }
}
