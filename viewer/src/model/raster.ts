/**
 * Renders a track to a row of pixels.
 *
 * A pixel shows the slice at the time of its middle. Merged short stretches fill the share of the height that their main state took of
 * their time. A running slice that falls between two middles is shown by a tick at the top.
 */

import { firstEndingAfter, type Slices } from "./slices";

/** A row of pixels. */
export interface Row {
  /** Colour of each pixel; 0 for nothing. */
  readonly colour: Uint32Array;
  /** The filled share of the height, 0 to 1. */
  readonly share: Float32Array;
  /** Colour of the tick; 0 for none. */
  readonly tick: Uint32Array;
}

/** Creates an empty row of `width` pixels. */
export function emptyRow(width: number): Row {
  return { colour: new Uint32Array(width), share: new Float32Array(width), tick: new Uint32Array(width) };
}

/** A pool of rows: at sixty frames a second, new rows would keep the garbage collector busy. */
export class Rows {
  private readonly rows: Row[] = [];
  private used = 0;

  /** Takes an empty row of `width` pixels from the pool. */
  take(width: number): Row {
    const kept = this.rows[this.used];
    const row = kept?.colour.length === width ? kept : emptyRow(width);
    if (row === kept) for (const part of [row.colour, row.share, row.tick]) part.fill(0);
    this.rows[this.used++] = row;
    return row;
  }

  /** Returns all rows to the pool. */
  giveBack(): void {
    this.used = 0;
  }
}

/** The look of slices: their colour and the filled share of the height. */
export interface Ink {
  readonly colour: Uint32Array;
  readonly share: Float32Array;
}

/** Computes the look of all slices of a tile. */
export function inkOf(slices: Slices, colourOf: (state: number, what: number) => number): Ink {
  const { start, end, state, stateNs, what } = slices;
  const ink = { colour: new Uint32Array(state.length), share: new Float32Array(state.length) };
  for (let i = 0; i < state.length; i++) {
    ink.colour[i] = colourOf(state[i]!, what[i]!);
    ink.share[i] = stateNs[i]! / (end[i]! - start[i]!);
  }
  return ink;
}

/** Maps pixels to time: the time at the left edge of the first pixel, and the time per pixel. */
export interface Scale {
  readonly from: number;
  readonly perPixel: number;
}

/** Returns the time at a pixel's middle. */
export function middle(scale: Scale, pixel: number): number {
  return scale.from + (pixel + 0.5) * scale.perPixel;
}

/** Fills the pixels `first` up to `last` (not included) of a row with a track's slices; ticks show the state `runs`. */
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
      // The slice lies between two middles.
      if (state[i] === runs && start[i]! > time - perPixel) missed = i;
      i++;
    }
    if (i >= until && missed < 0) return;
    const shown = i < until && start[i]! <= time;
    // The following pixels up to `next` show the same slice.
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

/** The place of a track's bar and the height of its ticks, in pixels. */
export interface Bar {
  readonly top: number;
  readonly height: number;
  readonly tick: number;
}

/** The distance between stripes, in pixels. */
const HATCH = 6;
/** The minimum height of a bar, so that it is visible. */
const MIN_HEIGHT = 3;

/** The number of lines that each pixel fills; one array for all rows, since they are painted one after the other. */
let lines = new Int32Array(0);

/**
 * Writes a row into an image with `width` pixels per line, from column `left` on; parts above or below the image are skipped. Empty
 * pixels are set to `page`, or left unchanged without it.
 */
export function paint(image: Uint32Array, width: number, left: number, row: Row, bar: Bar, page: number | null = null): void {
  const { colour, share, tick } = row;
  const columns = colour.length;
  // Lines are counted from the bottom of the bar.
  const lowest = bar.top + bar.height - 1;
  const first = Math.max(0, lowest - image.length / width + 1);
  const last = Math.min(bar.height, lowest + 1);
  if (lines.length < columns) lines = new Int32Array(columns);
  let [lowestFill, ticks] = [last, 0];
  for (let x = 0; x < columns; x++) {
    const filled = colour[x] === 0 ? 0 : Math.min(last, Math.max(MIN_HEIGHT, Math.floor(share[x]! * bar.height)));
    lines[x] = filled;
    lowestFill = Math.min(lowestFill, filled);
    ticks |= tick[x]!;
  }
  for (let n = first; n < last; n++) {
    const at = (lowest - n) * width + left;
    if (n < lowestFill) {
      image.set(colour, at);
      continue;
    }
    // A mask instead of a branch, which could not be predicted: all bits set where the line is filled.
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

/** Cuts diagonal stripes out of a bar, so that it differs from others in more than its colour; `left` and `bar` as for `paint`. */
export function hatch(image: Uint32Array, width: number, left: number, bar: Bar, page: number): void {
  for (let y = Math.max(0, bar.top); y < bar.top + bar.height && (y + 1) * width <= image.length; y++) {
    for (let x = left; x < width; x++) if ((x + y) % HATCH < HATCH / 2) image[y * width + x] = page;
  }
}

/** The distance between the stripes of unknown time, and their width, in pixels. */
const [GAPS, GAP] = [5, 2];

/**
 * Cuts stripes out of the pixels of a row that have the colour of unknown time, but for the lowest line of the bar; parameters as for
 * `paint`.
 */
export function hatchUnknown(image: Uint32Array, width: number, left: number, row: Row, bar: Bar, unknown: number, page: number): void {
  const { colour } = row;
  const last = Math.min(bar.top + bar.height - 1, image.length / width);
  for (let x = 0; x < colour.length; x++) {
    if (colour[x] !== unknown) continue;
    for (let y = Math.max(0, bar.top); y < last; y++) {
      const at = y * width + left + x;
      if ((x + y) % GAPS < GAP && image[at] === unknown) image[at] = page;
    }
  }
}
