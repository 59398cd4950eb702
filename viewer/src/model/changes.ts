/**
 * What changed between two traces, by role of threads: classes for colours, words, and orders. A class is about the sums of a role, so
 * that the number of its threads does not matter.
 */

import { length } from "./time";

/** A metric by which threads are coloured. */
export interface Metric {
  readonly id: string;
  readonly title: string;
  /** Whether it is a time in ns; otherwise it is a count. */
  readonly is_time: boolean;
}

/** A metric of a role in the first and in the second trace; null if not recorded, or without threads. */
export interface Value {
  readonly values: readonly [number | null, number | null];
  readonly is_small: boolean;
  readonly verdict: "changed" | "same" | null;
}

/** Threads with one function in both traces, or in one. */
export interface Role {
  readonly name: string;
  /** How it was matched; null if only one trace has it. */
  readonly matched_by: string | null;
  readonly confidence: string;
  /** Whether it belongs to the recorded program. */
  readonly is_own: boolean;
  /** Thread keys in the first and in the second trace. */
  readonly threads: readonly [readonly number[], readonly number[]];
  /** One per metric. */
  readonly values: readonly Value[];
}

/** The server's comparison (crates/serve/src/changes.rs). */
export interface Changes {
  readonly answer: string;
  readonly notes: readonly string[];
  readonly span_ns: readonly [number, number];
  readonly metrics: readonly Metric[];
  readonly roles: readonly Role[];
}

/** The classes: from the largest decrease to the largest increase, then those without a ratio. */
export const CLASSES = ["less than half", "0.5 to 0.8 ×", "0.8 to 0.95 ×", "within 5 %", "1.05 to 1.25 ×", "1.25 to 2 ×", "more than 2 ×", "too little to compare", "not recorded", "only in this trace"] as const;
const SAME = 3;
export const SMALL = 7;
export const UNKNOWN = 8;
export const ONLY = 9;
/** The upper ends of the classes up to the last but one of those with a ratio. They are symmetric: 0.8 is 1 / 1.25. */
const UP_TO = [1 / 2, 1 / 1.25, 1 / 1.05, 1.05, 1.25, 2];
/** Recordings whose lengths differ by more are said to be of unlike length. */
const UNLIKE = 1.05;

/** Returns the class of a metric of a role. */
export function classOf(role: Role | undefined, metric: number): number {
  const value = role?.values[metric];
  if (!role || !value) return UNKNOWN;
  if (role.matched_by === null) return ONLY;
  const [a, b] = value.values;
  if (a === null || b === null) return UNKNOWN;
  if (value.is_small) return SMALL;
  if (value.verdict === "same") return SAME;
  const ratio = b / a;
  const at = UP_TO.findIndex((most, place) => (place < SAME ? ratio < most : ratio <= most));
  return at < 0 ? UP_TO.length : at;
}

/** A ratio: `0.24 ×`, `2.03 ×`, `12.3 ×`. */
function times(a: number, b: number): string {
  const ratio = b / a;
  const digits = ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio >= 0.01 || ratio === 0 ? ratio.toFixed(2) : ratio.toPrecision(1);
  return `${digits} ×`;
}

/** The change in a few characters, for labels; empty if there is none to show. */
export function short(role: Role | undefined, metric: number, side: number): string {
  const of = classOf(role, metric);
  if (of === ONLY) return side === 0 ? "gone" : "new";
  const [a, b] = role?.values[metric]?.values ?? [null, null];
  if (of === SMALL || of === UNKNOWN || a === null || b === null) return "";
  return a === 0 ? "from 0" : times(a, b);
}

function amount(of: Metric, value: number | null): string {
  if (value === null) return "not recorded";
  return of.is_time ? length(Number(value.toPrecision(4))) : String(value);
}

/** Both values and their ratio: `240 ms → 489 ms, 2.03 ×`. */
export function words(changes: Changes, role: Role, metric: number): string {
  const [of, value] = [changes.metrics[metric], role.values[metric]];
  if (!of || !value) return "";
  const [a, b] = value.values;
  if (role.matched_by === null) return amount(of, a ?? b);
  const both = a === null && b === null ? "not recorded" : `${amount(of, a)} → ${amount(of, b)}`;
  if (a === null || b === null) return both;
  const ratio = value.is_small ? ", too little to compare" : a === 0 ? "" : `, ${times(a, b)}`;
  const sure = value.verdict === "changed" ? ", more than chance" : value.verdict === "same" ? ", the same" : "";
  return `${both}${ratio}${sure}`;
}

/** How the two traces' threads were matched, from the point of view of a trace. */
export function matched(role: Role, side: number): string {
  const sure = role.confidence === "high" ? "" : ` (confidence ${role.confidence})`;
  if (role.matched_by === null) return `${side === 0 ? "gone: no such role in the second trace" : "new: no such role in the first trace"}${sure}`;
  return `role matched by ${role.matched_by}${sure}`;
}

/** The role of each thread of a trace. */
export function byThread(changes: Changes, side: number): ReadonlyMap<number, Role> {
  return new Map(changes.roles.flatMap((role) => (role.threads[side] ?? []).map((thread) => [thread, role] as const)));
}

/**
 * The place of each role: those of the recorded program first, and the largest absolute difference first; a role of one trace counts
 * whole. What other programs wait for depends on the length of the recording, and would hide the program.
 */
export function order(changes: Changes, metric: number): ReadonlyMap<Role, number> {
  const size = (role: Role) => {
    const [a, b] = role.values[metric]?.values ?? [null, null];
    return role.matched_by !== null && (a === null || b === null) ? -1 : Math.abs((b ?? 0) - (a ?? 0));
  };
  const sorted = changes.roles.map((role) => [role, size(role)] as const).sort((x, y) => Number(y[0].is_own) - Number(x[0].is_own) || y[1] - x[1]);
  return new Map(sorted.map(([role], at) => [role, at]));
}

/** What the colours are about, for the legend: the two recordings, and nothing beyond them. */
export function about(changes: Changes, metric: number): string {
  const [a, b] = changes.span_ns;
  const seconds = (ns: number) => length(Number(ns.toPrecision(3)));
  const unlike = Math.max(a, b) > UNLIKE * Math.min(a, b) ? ` (${seconds(a)} and ${seconds(b)} long; sums, not per second)` : "";
  const chance = changes.roles.some((role) => role.values[metric]?.verdict) ? "" : "; may be chance";
  return `${capital(changes.metrics[metric]?.title ?? "")} by role, second / first, in these two recordings${unlike}${chance}:`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
