/** Frames: their sources, their order, and the causes of one as the pieces of a bar. */

import type { ListedFrames } from "../generated/tables";

/** A source of frames, as described by the server. */
export interface FrameSource {
  /** Its name in requests. */
  readonly of: string;
  readonly kind: "log" | "mark" | "period" | "request" | "region";
  /** The key of the thread of periods and requests. */
  readonly thread: number | null;
  readonly pid: number | null;
  /** The name of marks (a final * matches any ending) or regions. */
  readonly name: string | null;
  readonly count: number;
  /** Whether these are frames: a frame log, or marks that look like frames. */
  readonly frames: boolean;
}

/** The slowest frames of a source, and a histogram of all. Times are in ns. */
export interface FrameList {
  readonly frames: readonly ListedFrames[];
  readonly budget: number;
  readonly median: number;
  /** The number of all frames, and of those over the budget. */
  readonly count: number;
  readonly over: number;
  /** The numbers of frames in bars of equal width from 0; the last bar has all that took longer. */
  readonly bars: readonly number[];
  readonly bar: number;
}

/** A row of the table of slow frames or slow intervals, as far as it is shown. */
export interface CauseRow {
  /** The thread with which the path ends; null if unknown. */
  readonly thread: number | null;
  readonly cause: string;
  readonly core_type: string | null;
  /** Of intervals: the thread on the path. */
  readonly path_thread?: number | null;
  readonly path_thread_name?: string | null;
  readonly queued_behind: number | null;
  readonly queued_behind_name: string | null;
  readonly time_ns: number;
  readonly typical_ns: number;
  readonly excess_ns: number;
}

/** A piece of a frame's bar. */
export interface Piece {
  /** The state, one of `CAUSES` or another word. */
  readonly cause: string;
  readonly label: string;
  readonly ns: number;
  readonly typical: number;
  readonly excess: number;
}

const WORDS: Readonly<Record<string, string>> = { running_sibling_busy: "running with a busy SMT sibling", wakeup_latency: "wakeup latency" };

function labelOf(row: CauseRow, nameOf: (thread: number) => string): string {
  const word = WORDS[row.cause] ?? row.cause;
  const on = row.core_type === null || row.core_type === "uniform" ? "" : ` on ${row.core_type} cores`;
  const behind = row.queued_behind === null ? (row.cause === "ready" ? ", what ran is unknown" : "") : `, queued behind ${row.queued_behind_name ?? nameOf(row.queued_behind)}`;
  const other = row.path_thread !== undefined && row.path_thread !== null && row.path_thread !== row.thread ? `${row.path_thread_name ?? nameOf(row.path_thread)} ` : "";
  return `${other}${word}${on}${behind}`;
}

/** Returns the causes of a frame, the longest first. The times of all sum to the frame time. */
export function piecesOf(rows: readonly CauseRow[], nameOf: (thread: number) => string): Piece[] {
  const pieces = rows.map((row) => ({ cause: row.cause, label: labelOf(row, nameOf), ns: row.time_ns, typical: row.typical_ns, excess: row.excess_ns }));
  return pieces.sort((a, b) => b.ns - a.ns || b.typical - a.typical);
}

/** Formats a duration as the command line does: in ms with three decimals. */
export function ms(ns: number): string {
  const micros = Math.sign(ns) * Math.round(Math.abs(ns) / 1e3);
  return (micros === 0 ? 0 : micros / 1e3).toFixed(3);
}

/** The order of a list. */
export type FrameOrder = "length" | "time";

/** Returns the frames in an order; those of equal length by time. */
export function ordered(frames: readonly ListedFrames[], by: FrameOrder): ListedFrames[] {
  return [...frames].sort((a, b) => (by === "length" ? a.rank - b.rank : a.start_ns - b.start_ns || a.rank - b.rank));
}

/** Returns the frame before or after another one in a list; the first one without another one, null at the ends. */
export function neighbour(frames: readonly ListedFrames[], of: ListedFrames | null, by: -1 | 1): ListedFrames | null {
  const at = of ? frames.findIndex((frame) => frame.rank === of.rank) : -1;
  return at < 0 ? (frames[0] ?? null) : (frames[at + by] ?? null);
}

/** Parses a budget such as `16.7ms`, `16.7` (ms) or `60 Hz`; null without one, undefined if it is not one. */
export function budgetOf(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*(ns|us|µs|ms|s|hz|fps)?\s*$/i.exec(text) ?? [];
  if (number === undefined) return undefined;
  const word = (unit ?? "ms").toLowerCase();
  const value = Number(number);
  const ns = word === "hz" || word === "fps" ? 1e9 / value : value * { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 }[word]!;
  return Number.isFinite(ns) && ns >= 1 && ns <= Number.MAX_SAFE_INTEGER ? Math.round(ns) : undefined;
}

/** Returns a source in words. */
export function nameOfSource(of: FrameSource, nameOf: (thread: number) => string): string {
  if (of.kind === "log") return "frame log";
  if (of.kind === "mark") return of.name ?? "";
  if (of.kind === "region") return `${of.name ?? ""}${of.pid === null ? "" : ` (process ${of.pid})`}`;
  return nameOf(of.thread ?? 0);
}

/** The number of threads on a path that are pinned. */
const PINNED = 5;

/** Returns the threads of a path that took most of it, with the one at its end first. */
export function threadsOnPath(path: readonly { readonly thread: number; readonly from: number; readonly to: number }[], end: number): number[] {
  const times = new Map<number, number>();
  for (const piece of path) times.set(piece.thread, (times.get(piece.thread) ?? 0) + piece.to - piece.from);
  const others = [...times].filter(([thread]) => thread > 0 && thread !== end).sort((a, b) => b[1] - a[1]);
  return [end, ...others.map(([thread]) => thread)].slice(0, PINNED);
}
