/** The frequency of each CPU. */

import { plain, type KindOfTrack } from "./kind";

export const FREQUENCY: KindOfTrack = {
  kind: "frequency",
  height: 26,
  colourOf: (palette) => palette.threads[10] ?? palette.dim,
  words: (khz) => (khz >= 1e6 ? plain(khz / 1e6, "GHz") : plain(khz / 1e3, "MHz")),
};
