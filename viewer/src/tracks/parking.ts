/** Parked and offline CPUs. */

import { plain, type KindOfTrack } from "./kind";

export const PARKING: KindOfTrack = {
  kind: "parking",
  height: 16,
  colourOf: (palette, state) => (state === 1 ? palette.dim : palette.group),
  words: plain,
};
