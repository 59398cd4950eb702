/** Moments marked by programs: a line for each. */

import { firstEndingAfter, type Slices } from "../model/slices";
import type { Row, Scale } from "../model/raster";
import { plain, type KindOfTrack } from "./kind";

export const MOMENTS: KindOfTrack = {
  kind: "moments",
  height: 16,
  colourOf: (palette) => palette.text,
  words: plain,
  begins: true,
};

/** Fills the pixels `first` up to `last` (not included) in which slices begin, and the pixels at both edges, which are partly in this tile. */
export function fillBegins(row: Row, slices: Slices, track: number, scale: Scale, first: number, last: number, colour: number): void {
  const end = slices.begins[track + 1] ?? 0;
  for (let i = firstEndingAfter(slices, track, scale.from + (first - 1) * scale.perPixel); i < end; i++) {
    const x = Math.floor((slices.start[i]! - scale.from) / scale.perPixel);
    if (x > last || x >= row.colour.length) return;
    if (x < Math.max(0, first - 1)) continue;
    row.colour[x] = colour;
    row.share[x] = 1;
  }
}
