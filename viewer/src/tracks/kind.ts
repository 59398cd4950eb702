/** What a kind of track beside those of CPUs and threads says of itself. */

import type { Palette } from "../model/palette";

/** As the server calls them. */
export type Beside = "concurrency" | "frames" | "marks" | "moments" | "frequency" | "idle" | "parking" | "counters";

/** A kind of track: what is drawn of it comes from the server, how it looks stands here. */
export interface KindOfTrack {
  readonly kind: Beside;
  /** Of a track, CSS pixels. */
  readonly height: number;
  /** The colour of a state, by its number; of values, by the track's. */
  readonly colourOf: (palette: Palette, number: number) => string;
  /** A value in words, with its unit. */
  readonly words: (value: number, unit: string) => string;
  /** Whether slices are drawn where they begin, and nothing of what follows. */
  readonly begins?: boolean;
}

/** A number of at most four digits behind the point, with its unit. */
export function plain(value: number, unit: string): string {
  return `${Number(value.toFixed(4))}${unit === "" ? "" : ` ${unit}`}`;
}
