/** Requests in flight to block devices. */

import { plain, type KindOfTrack } from "./kind";

export const BLOCK: KindOfTrack = {
  kind: "block",
  height: 30,
  colourOf: (palette, track) => palette.threads[track % palette.threads.length] ?? palette.dim,
  words: plain,
};
