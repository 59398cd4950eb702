/** Instructions per cycle. */

import type { KindOfTrack } from "./kind";

export const IPC: KindOfTrack = {
  kind: "ipc",
  height: 26,
  colourOf: (palette) => palette.threads[6] ?? palette.dim,
  words: (value) => String(Number(value.toFixed(3))),
};
