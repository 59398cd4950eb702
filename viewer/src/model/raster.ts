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
  const end = slices.begins[track + 1] ?? 0;
  let i = firstEndingAfter(slices, track, scale.from + first * scale.perPixel);
  for (let x = first; x < last; x++) {
    const time = middle(scale, x);
    let missed = 0;
    while (i < end && slices.end[i]! <= time) {
      // Its whole length lies between two middles.
      if (slices.state[i] === runs && slices.start[i]! > time - scale.perPixel) {
        missed = colourOf(runs, slices.what[i]!);
      }
      i++;
    }
    if (i >= end && missed === 0) return;
    const shown = i < end && slices.start[i]! <= time;
    if (shown) {
      row.colour[x] = colourOf(slices.state[i]!, slices.what[i]!);
      row.share[x] = slices.stateNs[i]! / (slices.end[i]! - slices.start[i]!);
    }
    if (missed !== 0 && !(shown && slices.state[i] === runs)) row.tick[x] = missed;
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

/** Writes a row into an image of `width` pixels a line, from its column `left` on. */
export function paint(image: Uint32Array, width: number, left: number, row: Row, bar: Bar): void {
  const { colour, share, tick } = row;
  for (let y = 0; y < bar.height; y++) {
    const line = (bar.top + y) * width + left;
    if (line < left || line + colour.length > image.length + left) continue;
    // This line is filled where the share reaches it.
    const reach = (bar.height - y) / bar.height;
    const always = bar.height - y <= LEAST;
    for (let x = 0; x < colour.length; x++) {
      if (tick[x] !== 0 && y < bar.tick) image[line + x] = tick[x]!;
      else if (colour[x] !== 0 && (always || share[x]! >= reach)) image[line + x] = colour[x]!;
    }
  }
}
