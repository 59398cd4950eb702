/** The idle state of each CPU: awake is empty, deeper states are darker. */

import { plain, type KindOfTrack } from "./kind";

/** From light to dark; still deeper states have the last colour. */
const DEPTHS = ["#b8d4ea", "#7fb2d9", "#4b8dc0", "#1f679e", "#0b4474"];

export const IDLE: KindOfTrack = {
  kind: "idle",
  height: 18,
  colourOf: (palette, state) => (state === 0 ? palette.page : DEPTHS[Math.min(state, DEPTHS.length) - 1]) ?? palette.dim,
  words: plain,
};
