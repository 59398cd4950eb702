/** The looks of the additional kinds of tracks; the server decides which there are, and their order. */

import { CONCURRENCY } from "./concurrency";
import { COUNTING } from "./counting";
import { FRAMES } from "./frames";
import { FREQUENCY } from "./frequency";
import { IDLE } from "./idle";
import { IDLE_ENDS } from "./idle_ends";
import { IDLE_TYPES } from "./idle_types";
import { IPC } from "./ipc";
import { plain, type KindOfTrack } from "./kind";
import { LOCK_WAITERS, LOCKS } from "./locks";
import { MARKS } from "./marks";
import { MOMENTS } from "./moments";
import { PARKING } from "./parking";
import { PERIODS } from "./periods";
import { POWER } from "./power";
import { RATES } from "./rates";
import { REGIONS } from "./regions";
import { REQUESTS } from "./requests";
import { TEMPERATURE } from "./temperature";
import { THROTTLED } from "./throttled";

const ALL: readonly KindOfTrack[] = [CONCURRENCY, FRAMES, MARKS, MOMENTS, PERIODS, REQUESTS, REGIONS, LOCKS, LOCK_WAITERS, THROTTLED, POWER, TEMPERATURE, FREQUENCY, IPC, RATES, COUNTING, IDLE_TYPES, IDLE, IDLE_ENDS, PARKING];

/** The kinds that have a look of their own, by name. */
export const KINDS: ReadonlyMap<string, KindOfTrack> = new Map(ALL.map((of) => [of.kind, of]));

/** Returns the look of an additional kind; a kind that has none of its own has a colour for each track or state. */
export function styleOf(kind: string): KindOfTrack {
  return KINDS.get(kind) ?? { kind, height: 30, colourOf: (palette, number) => palette.threads[number % palette.threads.length] ?? palette.dim, words: plain };
}

/** Returns the look of a line's kind; `undefined` for CPUs and threads. */
export function extraStyle(kind: string): KindOfTrack | undefined {
  return kind === "cpu" || kind === "thread" ? undefined : styleOf(kind);
}
