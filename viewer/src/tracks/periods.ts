/** Periods: the time until a late wakeup, and the work. */

import { intervals, type KindOfTrack } from "./kind";

export const PERIODS: KindOfTrack = intervals("periods", 2);
