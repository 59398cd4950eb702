/** How many CPUs of a core type were in which idle state, stacked; in the colours of the idle states. */

import { IDLE } from "./idle";
import type { KindOfTrack } from "./kind";

export const IDLE_TYPES: KindOfTrack = {
  kind: "idle_types",
  height: 40,
  colourOf: IDLE.colourOf,
  words: (value) => `${Number(value.toFixed(2))} ${value === 1 ? "CPU" : "CPUs"}`,
};
