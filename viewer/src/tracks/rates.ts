/** The rates of counted events. */

import { short, type KindOfTrack } from "./kind";

export const RATES: KindOfTrack = {
  kind: "rates",
  height: 26,
  colourOf: (palette) => palette.threads[3] ?? palette.dim,
  words: (value, unit) => `${short(value)}${unit}`,
};
