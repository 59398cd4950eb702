/** Power by domain, stacked from its parts. */

import type { Palette } from "../model/palette";
import { plain, type KindOfTrack } from "./kind";

/** The colours by the numbers of layers: what is left of a domain, core, uncore, memory, other parts. */
const LAYERS: readonly ((palette: Palette) => string | undefined)[] = [
  (palette) => palette.thread[1],
  (palette) => palette.cpu[0],
  (palette) => palette.thread[0],
  (palette) => palette.threads[13],
  (palette) => palette.threads[6],
];

export const POWER: KindOfTrack = {
  kind: "power",
  height: 40,
  colourOf: (palette, layer) => (LAYERS[layer] ?? LAYERS[0])!(palette) ?? palette.dim,
  words: (watts) => plain(Number(watts.toPrecision(4)), "W"),
};
