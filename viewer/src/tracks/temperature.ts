/** The temperature at each sensor. */

import { plain, type KindOfTrack } from "./kind";

export const TEMPERATURE: KindOfTrack = {
  kind: "temperature",
  height: 26,
  colourOf: (palette) => palette.threads[2] ?? palette.dim,
  words: plain,
};
