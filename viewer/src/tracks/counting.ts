/** How much of the time events were counted. */

import { plain, type KindOfTrack } from "./kind";

/** The states: counted, multiplexed, counted for too short a time, not counted, unknown. */
export const COUNTING: KindOfTrack = {
  kind: "counting",
  height: 14,
  colourOf: (palette, state) => [palette.cpu[0], palette.types[2], palette.thread[1], palette.group, palette.cpu[2]][state] ?? palette.dim,
  words: plain,
};
