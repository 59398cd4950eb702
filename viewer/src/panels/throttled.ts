/** When a ready thread was throttled. */

import type { ThreadState, Throttled } from "../generated/tables";
import { length } from "../model/time";
import { source } from "../source";

/** Returns how long a thread was throttled in a ready stretch, in ns; 0 if it was not, or that is not recorded. */
export async function throttledIn(thread: number, stretch: ThreadState): Promise<number> {
  const rows = await source.rows<Throttled>("throttled", stretch.start_ns, stretch.end_ns, { thread });
  const within = (row: Throttled) => Math.max(0, Math.min(row.end_ns, stretch.end_ns) - Math.max(row.start_ns, stretch.start_ns));
  return rows.reduce((sum, row) => sum + within(row), 0);
}

/** Returns the cell about throttling. */
export function throttledCell(time: number, stretch: ThreadState): [string, string] {
  return ["Throttled", `${length(time)} of ${length(stretch.end_ns - stretch.start_ns)}, by its cgroup's CPU quota`];
}

/** Whether a stretch was throttled for the most part: then the thread waited for the next period, not for a CPU. */
export function isMostlyThrottled(time: number, stretch: ThreadState): boolean {
  return 2 * time >= stretch.end_ns - stretch.start_ns;
}
