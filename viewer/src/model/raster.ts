/**
 * A track as a row of pixels.
 *
 * A pixel shows the slice at the time of its middle. Short stretches told together fill as much of the height as their state
 * took of their time; what fell between two middles and ran is told by a tick at the top.
 */

import { firstEndingAfter, type Slices } from "./slices";

/** A row of pixels. */
export interface Row {
  /** Colour of each pixel; 0: nothing. */
  readonly colour: Uint32Array;
  /** How much of the height it fills, 0 to 1. */
  readonly share: Float32Array;
  /** Colour of the tick; 0: none. */
  readonly tick: Uint32Array;
}

/** A row for so many pixels. */
export function emptyRow(width: number): Row {
  return { colour: new Uint32Array(width), share: new Float32Array(width), tick: new Uint32Array(width) };
}

/** The same row, of nothing. */
export function cleared(row: Row): Row {
  row.colour.fill(0);
  row.share.fill(0);
  row.tick.fill(0);
  return row;
}

/** How pixels stand to time: the first one's left edge, and the time of one. */
export interface Scale {
  readonly from: number;
  readonly perPixel: number;
}

/** The time of a pixel's middle. */
export function middle(scale: Scale, pixel: number): number {
  return scale.from + (pixel + 0.5) * scale.perPixel;
}

/** Fills the pixels `first` up to `last` (not included) of a row with a track's slices. */
export function fill(
  row: Row,
  slices: Slices,
  track: number,
  scale: Scale,
  first: number,
  last: number,
  colourOf: (state: number, what: number) => number,
  runs: number,
): void {
  const until = slices.begins[track + 1] ?? 0;
  const { start, end, state, what } = slices;
  let i = firstEndingAfter(slices, track, scale.from + first * scale.perPixel);
  for (let x = first; x < last; ) {
    const time = middle(scale, x);
    let missed = 0;
    while (i < until && end[i]! <= time) {
      // Its whole length lies between two middles.
      if (state[i] === runs && start[i]! > time - scale.perPixel) missed = colourOf(runs, what[i]!);
      i++;
    }
    if (i >= until && missed === 0) return;
    const shown = i < until && start[i]! <= time;
    // Up to here the middles lie in the same slice, and nothing between them.
    let next = x + 1;
    if (shown) {
      next = Math.max(next, Math.min(last, Math.ceil((end[i]! - scale.from) / scale.perPixel - 0.5)));
      while (next > x + 1 && middle(scale, next - 1) >= end[i]!) next--;
      const colour = colourOf(state[i]!, what[i]!);
      const share = slices.stateNs[i]! / (end[i]! - start[i]!);
      for (let of = x; of < next; of++) {
        row.colour[of] = colour;
        row.share[of] = share;
      }
    }
    if (missed !== 0 && !(shown && state[i] === runs)) row.tick[x] = missed;
    x = next;
  }
}

/** Heights of a track's parts, in pixels. */
export interface Bar {
  readonly top: number;
  readonly height: number;
  readonly tick: number;
}

/** Least height of what is there, so that it can be seen. */
const LEAST = 3;

/** Writes a row into an image of `width` pixels a line, from its column `left` on; what is above or below the image is left out. */
export function paint(image: Uint32Array, width: number, left: number, row: Row, bar: Bar): void {
  const { colour, share, tick } = row;
  // Lines are counted from the lowest one of the bar.
  const lowest = bar.top + bar.height - 1;
  const first = Math.max(0, lowest - image.length / width + 1);
  const last = Math.min(bar.height, lowest + 1);
  const lines = new Uint16Array(colour.length);
  let [least, ticks] = [last, 0];
  for (let x = 0; x < colour.length; x++) {
    const filled = colour[x] === 0 ? 0 : Math.max(LEAST, Math.floor(share[x]! * bar.height));
    lines[x] = Math.min(last, filled);
    least = Math.min(least, lines[x]!);
    ticks |= tick[x]!;
  }
  for (let n = first; n < least; n++) image.set(colour, (lowest - n) * width + left);
  // By columns: heights differ from pixel to pixel, and no machine guesses such a branch.
  const from = Math.max(first, least);
  for (let x = 0; x < colour.length; x++) {
    const filled = colour[x]!;
    let at = (lowest - from) * width + left + x;
    for (let n = from; n < lines[x]!; n++, at -= width) image[at] = filled;
  }
  if (ticks === 0) return;
  for (let y = Math.max(0, -bar.top); y < bar.tick && y < bar.height - first; y++) {
    const line = (bar.top + y) * width + left;
    for (let x = 0; x < colour.length; x++) if (tick[x] !== 0) image[line + x] = tick[x]!;
  }
}
