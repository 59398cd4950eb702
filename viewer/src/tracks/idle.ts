/** Which idle state each CPU is in: awake is empty, deeper states are darker. */

import { plain, type KindOfTrack } from "./kind";

/** Lighter to darker; deeper states look as the last. */
const DEPTHS = ["#b8d4ea", "#7fb2d9", "#4b8dc0", "#1f679e", "#0b4474"];

export const IDLE: KindOfTrack = {
  kind: "idle",
  height: 18,
  colourOf: (palette, state) => (state === 0 ? palette.page : DEPTHS[Math.min(state, DEPTHS.length) - 1]) ?? palette.dim,
  words: plain,
};
