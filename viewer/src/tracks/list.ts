/** The kinds of track beside those of CPUs and threads, a file each; in which order they stand says the server. */

import { CONCURRENCY } from "./concurrency";
import { COUNTERS } from "./counters";
import { FRAMES } from "./frames";
import { FREQUENCY } from "./frequency";
import { IDLE } from "./idle";
import type { KindOfTrack } from "./kind";
import { MARKS } from "./marks";
import { MOMENTS } from "./moments";
import { PARKING } from "./parking";

const ALL: readonly KindOfTrack[] = [CONCURRENCY, FRAMES, MARKS, MOMENTS, FREQUENCY, IDLE, PARKING, COUNTERS];

/** By their names. */
export const KINDS: ReadonlyMap<string, KindOfTrack> = new Map(ALL.map((of) => [of.kind, of]));
