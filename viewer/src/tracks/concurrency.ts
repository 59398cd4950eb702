/** The number of busy cores of each type, and of second SMT siblings. */

import { plain, type KindOfTrack } from "./kind";

/** The bands: cores of four types, cores, second siblings, unknown CPUs. */
const [TYPES, UNKNOWN] = [4, 6];

export const CONCURRENCY: KindOfTrack = {
  kind: "concurrency",
  height: 30,
  colourOf: (palette, band) => (band === UNKNOWN ? palette.cpu[2] : band < TYPES ? palette.types[band] : palette.threads[band === TYPES ? 10 : 3]) ?? palette.dim,
  words: plain,
};
