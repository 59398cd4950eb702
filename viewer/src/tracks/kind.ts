/** The interface of an additional kind of track (not CPUs or threads). */

import type { Palette } from "../model/palette";

/** The look of a kind of track; its data comes from the server. */
export interface KindOfTrack {
  /** The server's name of the kind: not `cpu`, `thread` or `group`. */
  readonly kind: string;
  /** The height of a track, in CSS pixels. */
  readonly height: number;
  /** Returns the colour of a state by its number, or of values by the track's number. */
  readonly colourOf: (palette: Palette, number: number) => string;
  /** Formats a value with its unit. */
  readonly words: (value: number, unit: string) => string;
  /** Whether only the begins of slices are drawn. */
  readonly begins?: boolean;
  /** By the numbers of states: whether their slices have a thread, and its colour or a paler one. */
  readonly ofThread?: readonly ("full" | "paler" | null)[];
}

/** Formats a number with at most four decimal places and its unit. */
export function plain(value: number, unit: string): string {
  return `${Number(value.toFixed(4))}${unit === "" ? "" : ` ${unit}`}`;
}

/** The look of intervals with two parts: of states 1 and 2, `work` is the work, and the other one is waiting. */
export function intervals(kind: string, work: number): KindOfTrack {
  const colourOf = (palette: Palette, state: number) => (state === 0 ? palette.group : state === work ? palette.cpu[0] : palette.thread[1]) ?? palette.dim;
  return { kind, height: 18, colourOf, words: plain };
}

/** Writes a number with three digits and a prefix of SI. */
export function short(value: number): string {
  const size = Math.abs(value);
  const [by, prefix] = size >= 1e9 ? [1e9, " G"] : size >= 1e6 ? [1e6, " M"] : size >= 1e3 ? [1e3, " k"] : [1, ""];
  return `${Number((value / by).toPrecision(3))}${prefix}`;
}
