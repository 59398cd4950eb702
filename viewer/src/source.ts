/** Where answers come from: the server, or the page itself where it was written as one file. */

import { alone } from "./alone";
import * as server from "./api";
import type { Span } from "./model/view";
import type { Piece } from "./ui/overlay";

/** What can be asked. */
export type Source = Pick<typeof server, "about" | "threads" | "rows" | "findings" | "tables" | "part" | "chain" | "hits" | "slices">;

/** Asked by all that is shown. */
export const source: Source = alone() ?? server;

/** Pieces of the critical path of a time, at most so many. */
const PIECES = 10_000;

/** When the first stretch of each name was marked, as far as the first so many tell. */
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

/** The critical path to the end of a time, the pieces in order, and how many there are. */
export async function criticalPath(of: Span): Promise<{ path: Piece[]; all: number }> {
  const { columns, rows, all } = await source.part("critical_path", of, { most: PIECES });
  const cells = ["thread", "start_ns", "end_ns"].map((name) => columns.findIndex((column) => column.name === name));
  const path = rows.map((row) => {
    const [thread, from, to] = cells.map((at) => Number(row[at]));
    return { thread: thread!, from: from!, to: to! };
  });
  return { path, all };
}
