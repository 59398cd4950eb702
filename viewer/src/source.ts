/** The source of all data: the server, or the page itself if it contains the trace. */

import { alone } from "./alone";
import * as server from "./api";
import type { Span } from "./model/view";
import type { Piece } from "./ui/overlay";

/** The questions that a source answers. */
export type Source = Pick<typeof server, "about" | "threads" | "rows" | "findings" | "tables" | "part" | "chain" | "hits" | "slices" | "progress" | "frameSources" | "frames" | "frameCauses" | "path">;

/** The source of this page. */
export const source: Source = alone() ?? server;

/** The maximum number of pieces of a critical path. */
const PIECES = 10_000;

/** Returns the start of the first mark of each name, among the first PIECES marks. */
export async function firstMarks(whole: number): Promise<Map<string, number>> {
  const { columns, rows } = await source.part("mark_stretches", { from: 0, to: whole }, { column: "start_ns", down: false, most: PIECES });
  const [name, start] = ["name", "start_ns"].map((of) => columns.findIndex((column) => column.name === of));
  const first = new Map<string, number>();
  for (const row of rows) {
    const of = String(row[name!]);
    if (!first.has(of)) first.set(of, Number(row[start!]));
  }
  return first;
}

/** Returns how long each thread ran at each of its priorities, of those that ran longest. */
export async function priorities(whole: number): Promise<{ thread: number; prio: number | null; running: number }[]> {
  const { columns, rows } = await source.part("priority_residency", { from: 0, to: whole }, { column: "running_ns", down: true, most: PIECES });
  const [thread, prio, running] = ["thread", "prio", "running_ns"].map((name) => columns.findIndex((column) => column.name === name));
  return rows.map((row) => ({ thread: Number(row[thread!]), prio: row[prio!] === null ? null : Number(row[prio!]), running: Number(row[running!]) }));
}

/** Returns the pieces of the critical path to the end of a time range, in order, and their total number: to the end of a thread, or by default of the one that ran last. */
export async function criticalPath(of: Span, end: number | null = null): Promise<{ path: Piece[]; all: number }> {
  const { columns, rows, all } = end === null ? await source.part("critical_path", of, { most: PIECES }) : await source.path(of, end);
  const cells = ["thread", "start_ns", "end_ns"].map((name) => columns.findIndex((column) => column.name === name));
  const path = rows.map((row) => {
    const [thread, from, to] = cells.map((at) => Number(row[at]));
    return { thread: thread!, from: from!, to: to! };
  });
  return { path, all };
}
