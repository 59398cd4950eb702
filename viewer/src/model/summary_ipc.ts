/** Instructions per cycle of threads in a time range: the table `thread_ipc`. */

import type { Cell, Part } from "../api";

/** Instructions per cycle on cores of a type. */
export interface IpcOn {
  readonly type: string;
  readonly ipc: number;
  /** The 95 % interval; null if it is not known. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly instructions: number;
  readonly cycles: number;
}

/** Instructions per cycle of a thread. */
export interface Ipc {
  /** Of all types together. */
  readonly ipc: number;
  readonly on: readonly IpcOn[];
  /** The time in which both were counted, as a share of the running time; null if unknown. */
  readonly coverage: number | null;
}

/** Returns the instructions per cycle of each thread of `thread_ipc` that has any. */
export function ipcOf(table: Part): Map<number, Ipc> {
  const places = new Map(table.columns.map((column, at) => [column.name, at]));
  const cell = (row: readonly Cell[], name: string) => row[places.get(name) ?? -1] ?? null;
  const maybe = (row: readonly Cell[], name: string) => {
    const value = cell(row, name);
    return typeof value === "number" ? value : null;
  };
  const all = new Map<number, { on: IpcOn[]; coverage: number | null }>();
  for (const row of table.rows) {
    const [thread, ipc] = [maybe(row, "thread"), maybe(row, "ipc")];
    if (thread === null || ipc === null || cell(row, "sibling") !== "all") continue;
    const [low, high] = [maybe(row, "ipc_low"), maybe(row, "ipc_high")];
    const of = all.get(thread) ?? { on: [], coverage: maybe(row, "coverage") };
    of.on.push({
      type: String(cell(row, "core_type")),
      ipc,
      interval: low === null || high === null ? null : [low, high],
      instructions: maybe(row, "instructions") ?? 0,
      cycles: maybe(row, "cycles") ?? 0,
    });
    all.set(thread, of);
  }
  const sum = (on: readonly IpcOn[], of: "instructions" | "cycles") => on.reduce((sum, row) => sum + row[of], 0);
  return new Map([...all].map(([thread, { on, coverage }]) => [thread, { ipc: sum(on, "instructions") / sum(on, "cycles"), on, coverage }]));
}

/** Describes them, one line for each type of core. */
export function ipcInWords({ on, coverage }: Ipc): string {
  const lines = on.map(({ type, ipc, interval }) => {
    const range = interval === null ? " (interval unknown: few readings)" : interval[0] === interval[1] ? "" : ` (95 %: ${interval[0].toFixed(3)} to ${interval[1].toFixed(3)})`;
    return `${type === "uniform" ? "" : `on ${type} cores: `}${ipc.toFixed(3)} instructions per cycle${range}`;
  });
  return [...lines, ...(coverage === null ? [] : [`counted for ${(100 * coverage).toFixed(1)} % of its running time`])].join("\n");
}
