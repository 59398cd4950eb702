/** Requests: the time in which they were queued, and the work. */

import { intervals, type KindOfTrack } from "./kind";

export const REQUESTS: KindOfTrack = intervals("requests", 2);
