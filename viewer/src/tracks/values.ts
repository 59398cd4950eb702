/** Renders a track of values: bars up to the mean, in a paler colour up to the maximum. */

import { middle, type Bar, type Scale } from "../model/raster";
import { firstEndingAfter, type Slices } from "../model/slices";

/** A row of pixels: shares of the height, 0 to 1; negative if unknown. */
export interface Heights {
  readonly mean: Float32Array;
  readonly most: Float32Array;
}

export function emptyHeights(width: number): Heights {
  return { mean: new Float32Array(width).fill(-1), most: new Float32Array(width).fill(-1) };
}

/**
 * Fills the pixels `first` up to `last` (not included) with a track's values; the value `top` fills the whole height. A pixel shows the
 * step at the time of its middle, and the maximum of the steps since the previous pixel's middle.
 */
export function fillHeights(row: Heights, slices: Slices, track: number, scale: Scale, first: number, last: number, top: number): void {
  const values = slices.values;
  if (!values || top <= 0) return;
  const end = slices.begins[track + 1] ?? 0;
  let i = firstEndingAfter(slices, track, scale.from + first * scale.perPixel);
  for (let x = first; x < last && i < end; x++) {
    const time = middle(scale, x);
    let most = -1;
    while (i < end && slices.end[i]! <= time) {
      if (slices.start[i]! > time - scale.perPixel) most = Math.max(most, values.most[i]! / top);
      i++;
    }
    if (i < end && slices.start[i]! <= time) {
      row.mean[x] = Math.min(1, Math.max(0, values.mean[i]! / top));
      most = Math.max(most, values.most[i]! / top);
    }
    row.most[x] = Math.min(1, most);
  }
}

/** Writes a row into an image with `width` pixels per line, from column `left` on; `line` is a share of the height, if there is one. */
export function paintHeights(image: Uint32Array, width: number, left: number, row: Heights, bar: Bar, colours: { mean: number; most: number; line: number; page: number }, line: number | null): void {
  const lineAt = line === null ? -1 : Math.round(bar.height * (1 - line));
  for (let y = 0; y < bar.height; y++) {
    const at = (bar.top + y) * width + left;
    if (at < left || at + row.mean.length > image.length + left) continue;
    if (y === lineAt) {
      image.fill(colours.line, at, at + row.mean.length);
      continue;
    }
    const reach = (bar.height - y) / bar.height;
    // A known value is visible even if it is 0.
    const base = y === bar.height - 1;
    for (let x = 0; x < row.mean.length; x++) {
      if (row.mean[x]! >= reach || (base && row.mean[x]! >= 0)) image[at + x] = colours.mean;
      else image[at + x] = row.most[x]! >= reach ? colours.most : colours.page;
    }
  }
}
