/** Frames: bars with the height of the frame time, and a line at the budget. */

import { length } from "../model/time";
import type { KindOfTrack } from "./kind";

export const FRAMES: KindOfTrack = {
  kind: "frames",
  height: 44,
  colourOf: (palette) => palette.threads[11] ?? palette.dim,
  words: (ns) => length(ns),
};
