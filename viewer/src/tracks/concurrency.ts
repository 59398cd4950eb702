/** The number of busy cores of each type, and of second SMT siblings. */

import { plain, type KindOfTrack } from "./kind";

export const CONCURRENCY: KindOfTrack = {
  kind: "concurrency",
  height: 30,
  colourOf: (palette, band) => (band === 6 ? palette.cpu[2] : palette.threads[band]) ?? palette.dim,
  words: plain,
};
