/** Marks of programs. */

import { plain, type KindOfTrack } from "./kind";

export const MARKS: KindOfTrack = {
  kind: "marks",
  height: 18,
  colourOf: (palette, state) => (state === 1 ? palette.threads[13] : palette.group) ?? palette.dim,
  words: plain,
};
