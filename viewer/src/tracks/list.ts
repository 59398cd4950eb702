/** The additional kinds of tracks, one file each; the server decides their order. */

import { BLOCK } from "./block";
import { CONCURRENCY } from "./concurrency";
import { COUNTERS } from "./counters";
import { FRAMES } from "./frames";
import { FREQUENCY } from "./frequency";
import { IDLE } from "./idle";
import type { KindOfTrack } from "./kind";
import { MARKS } from "./marks";
import { MOMENTS } from "./moments";
import { PARKING } from "./parking";

const ALL: readonly KindOfTrack[] = [CONCURRENCY, FRAMES, MARKS, MOMENTS, FREQUENCY, IDLE, PARKING, BLOCK, COUNTERS];

/** The kinds by name. */
export const KINDS: ReadonlyMap<string, KindOfTrack> = new Map(ALL.map((of) => [of.kind, of]));
