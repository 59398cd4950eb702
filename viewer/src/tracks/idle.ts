/** The idle state of each CPU: awake is empty, and the deeper a state, the more it differs from the page. */

import { DARK } from "../model/palette";
import { plain, type KindOfTrack } from "./kind";

/** From the first state on; still deeper states have the last colour. */
const DEPTHS = ["#b8d4ea", "#7fb2d9", "#4b8dc0", "#1f679e", "#0b4474"];
/** The same on a dark page. */
const DARK_DEPTHS = ["#1d4b73", "#2b6ca3", "#4b8dc0", "#7fb2d9", "#b8d4ea"];

export const IDLE: KindOfTrack = {
  kind: "idle",
  height: 18,
  colourOf: (palette, state) => {
    const depths = palette.page === DARK.page ? DARK_DEPTHS : DEPTHS;
    return (state === 0 ? palette.page : depths[Math.min(state, depths.length) - 1]) ?? palette.dim;
  },
  words: plain,
};
