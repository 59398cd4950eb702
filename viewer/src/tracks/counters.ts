/** Values measured by programs or the kernel. */

import { plain, type KindOfTrack } from "./kind";

export const COUNTERS: KindOfTrack = {
  kind: "counters",
  height: 30,
  colourOf: (palette, track) => palette.threads[track % palette.threads.length] ?? palette.dim,
  words: plain,
};
