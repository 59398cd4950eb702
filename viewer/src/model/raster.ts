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

/** Rows that pictures use again: at sixty pictures a second, new ones would keep the collector busy. */
export class Rows {
  private readonly rows: Row[] = [];
  private used = 0;

  /** A row of nothing for so many pixels, until all are given back. */
  take(width: number): Row {
    const kept = this.rows[this.used];
    const row = kept?.colour.length === width ? kept : emptyRow(width);
    if (row === kept) for (const part of [row.colour, row.share, row.tick]) part.fill(0);
    this.rows[this.used++] = row;
    return row;
  }

  /** Gives all back that were taken. */
  giveBack(): void {
    this.used = 0;
  }
}

/** What each slice looks like: its colour, and how much of the height it fills. */
export interface Ink {
  readonly colour: Uint32Array;
  readonly share: Float32Array;
}

/** Of all slices of a tile. */
export function inkOf(slices: Slices, colourOf: (state: number, what: number) => number): Ink {
  const { start, end, state, stateNs, what } = slices;
  const ink = { colour: new Uint32Array(state.length), share: new Float32Array(state.length) };
  for (let i = 0; i < state.length; i++) {
    ink.colour[i] = colourOf(state[i]!, what[i]!);
    ink.share[i] = stateNs[i]! / (end[i]! - start[i]!);
  }
  return ink;
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

/** Fills the pixels `first` up to `last` (not included) of a row with a track's slices; ticks tell of the state `runs`. */
export function fill(row: Row, slices: Slices, ink: Ink, track: number, scale: Scale, first: number, last: number, runs: number): void {
  const until = slices.begins[track + 1] ?? 0;
  const { start, end, state } = slices;
  const { colour, share } = row;
  const { from, perPixel } = scale;
  let i = firstEndingAfter(slices, track, from + first * perPixel);
  for (let x = first; x < last; ) {
    const time = middle(scale, x);
    let missed = -1;
    while (i < until && end[i]! <= time) {
      // Its whole length lies between two middles.
      if (state[i] === runs && start[i]! > time - perPixel) missed = i;
      i++;
    }
    if (i >= until && missed < 0) return;
    const shown = i < until && start[i]! <= time;
    // Up to here the middles lie in the same slice, and nothing between them.
    let next = x + 1;
    if (shown) {
      if (end[i]! > time + perPixel) {
        next = Math.max(next, Math.min(last, Math.ceil((end[i]! - from) / perPixel - 0.5)));
        while (next > x + 1 && middle(scale, next - 1) >= end[i]!) next--;
      }
      for (let of = x; of < next; of++) {
        colour[of] = ink.colour[i]!;
        share[of] = ink.share[i]!;
      }
    }
    if (missed >= 0 && !(shown && state[i] === runs)) row.tick[x] = ink.colour[missed]!;
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

/** How many lines of a bar each pixel fills; one array for all rows, since they are painted one after the other. */
let lines = new Int32Array(0);

/**
 * Writes a row into an image of `width` pixels a line, from its column `left` on; what is above or below the image is left out. Where
 * nothing is, `page` is written; without it, what was there stays.
 */
export function paint(image: Uint32Array, width: number, left: number, row: Row, bar: Bar, page: number | null = null): void {
  const { colour, share, tick } = row;
  const columns = colour.length;
  // Lines are counted from the lowest one of the bar.
  const lowest = bar.top + bar.height - 1;
  const first = Math.max(0, lowest - image.length / width + 1);
  const last = Math.min(bar.height, lowest + 1);
  if (lines.length < columns) lines = new Int32Array(columns);
  let [least, ticks] = [last, 0];
  for (let x = 0; x < columns; x++) {
    const filled = colour[x] === 0 ? 0 : Math.min(last, Math.max(LEAST, Math.floor(share[x]! * bar.height)));
    lines[x] = filled;
    least = Math.min(least, filled);
    ticks |= tick[x]!;
  }
  for (let n = first; n < last; n++) {
    const at = (lowest - n) * width + left;
    if (n < least) {
      image.set(colour, at);
      continue;
    }
    // Heights differ from pixel to pixel, and no machine guesses such a branch: all bits where the line is filled, else none.
    for (let x = 0; x < columns; x++) {
      const mask = (n - lines[x]!) >> 31;
      image[at + x] = (colour[x]! & mask) | ((page ?? image[at + x]!) & ~mask);
    }
  }
  if (ticks === 0) return;
  for (let y = Math.max(0, -bar.top); y < bar.tick && y < bar.height - first; y++) {
    const line = (bar.top + y) * width + left;
    for (let x = 0; x < colour.length; x++) if (tick[x] !== 0) image[line + x] = tick[x]!;
  }
}
