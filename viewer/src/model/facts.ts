/** What colours are chosen by: the names of threads and processes, core types, and priorities. */

import type { ThreadTracks } from "../generated/tables";
import type { Cpu } from "./layout";
import { CORE_TYPES, hashOf } from "./palette";

/** What busy and running slices are coloured by. */
export const BY = ["thread", "process", "type", "priority", "state"] as const;
export type By = (typeof BY)[number];

/** Numbers by which colours are chosen; unknown keys have a number too. */
export interface Facts {
  /** The hash of a thread's process and name, by its key: the same in every recording. */
  readonly thread: (key: number) => number;
  /** The hash of its process's name. */
  readonly process: (key: number) => number;
  /** The core type of a CPU, as in `CORE_TYPES`. */
  readonly type: (cpu: number) => number;
  /** The class of a thread's priority, as in `PRIORITIES`. */
  readonly priority: (key: number) => number;
}

/** The number of a priority that is not recorded. */
const NO_PRIORITY = 4;
const ONE_TYPE = 4;

/** Returns the class of a priority: Linux has 0 to 99 for real time, and 120 for nice 0. */
export function classOfPriority(prio: number): number {
  return prio < 100 ? 0 : prio < 120 ? 1 : prio === 120 ? 2 : 3;
}

/** Returns the name of each process: that of its main thread. */
export function processNames(threads: readonly ThreadTracks[]): ReadonlyMap<number | null, string> {
  return new Map(threads.flatMap((t) => (t.pid !== null && t.pid === t.tid && t.name !== null ? [[t.pid, t.name] as const] : [])));
}

/** Returns the facts of a recording; `priorities` has those that are known, by key. */
export function factsOf(threads: readonly ThreadTracks[], cpus: readonly Cpu[], priorities: ReadonlyMap<number, number> = new Map()): Facts {
  const names = processNames(threads);
  const [ofThread, ofProcess] = [new Map<number, number>(), new Map<number, number>()];
  for (const { thread, pid, name } of threads) {
    const process = names.get(pid) ?? "";
    ofThread.set(thread, hashOf(process, name ?? ""));
    // A thread of an unknown process has the colour of its name.
    ofProcess.set(thread, hashOf(process === "" ? (name ?? "") : process));
  }
  const types = new Map(cpus.map((cpu) => [cpu.cpu, (CORE_TYPES as readonly string[]).indexOf(cpu.core_type)]));
  const within = (type: number | undefined) => (type === undefined || type < 0 ? ONE_TYPE : type);
  return {
    thread: (key) => ofThread.get(key) ?? 0,
    process: (key) => ofProcess.get(key) ?? 0,
    type: (cpu) => within(types.get(cpu)),
    priority: (key) => priorities.get(key) ?? NO_PRIORITY,
  };
}

/** Returns the class of each thread's priority at which it ran longest, from rows of the table `priority_residency`. */
export function prioritiesOf(rows: Iterable<{ thread: number; prio: number | null; running: number }>): Map<number, number> {
  const longest = new Map<number, number>();
  const of = new Map<number, number>();
  for (const { thread, prio, running } of rows) {
    if (prio === null || running < (longest.get(thread) ?? 0)) continue;
    longest.set(thread, running);
    of.set(thread, classOfPriority(prio));
  }
  return of;
}
