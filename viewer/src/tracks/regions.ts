/** Parallel regions: the work of all threads, and the time in which some waited for the last one. */

import { intervals, type KindOfTrack } from "./kind";

export const REGIONS: KindOfTrack = intervals("regions", 1);
