/** Frames: bars as high as they were long, against a line. */

import { length } from "../model/time";
import type { KindOfTrack } from "./kind";

export const FRAMES: KindOfTrack = {
  kind: "frames",
  height: 44,
  colourOf: (palette) => palette.threads[4] ?? palette.dim,
  words: (ns) => length(ns),
};
