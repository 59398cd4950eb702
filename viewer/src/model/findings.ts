/** Places of findings: their worst intervals, and the threads of their evidence. */

import type { Span } from "./view";

type Cells = Readonly<Record<string, string | number | boolean | null>>;

export interface Evidence {
  readonly table: string;
  readonly key: Cells;
  /** The names of the threads whose keys are in these columns. */
  readonly threads: Readonly<Record<string, string>>;
  readonly cells: Cells;
}

/** One of the longest stretches that fit a finding. */
export interface Interval {
  readonly start_ns: number;
  readonly end_ns: number;
  readonly thread: number;
  readonly tid: number;
  readonly name: string;
  readonly state: string;
  readonly cause: string;
}

/** What of a finding has places. */
export interface Placed {
  readonly threads: readonly { readonly thread: number; readonly tid: number; readonly name: string }[];
  readonly spans: readonly { readonly start: number; readonly end: number }[];
  readonly worst: readonly Interval[];
  readonly evidence: readonly Evidence[];
}

/** An interval to which the page can go. */
export interface Goal extends Span {
  /** The thread or CPU whose track shows it, if any. */
  readonly track: { readonly kind: "thread" | "cpu"; readonly id: number } | null;
  /** The keys of the threads that are pinned. */
  readonly threads: readonly number[];
  readonly words: string;
}

/** The number of intervals that are listed, and of threads that are pinned. */
const WORST = 3;
const PINNED = 4;

/** Returns a number of an evidence row, of its key or its cells. */
export function numberOf(of: Evidence, name: string): number | null {
  const value = of.key[name] ?? of.cells[name];
  return typeof value === "number" ? value : null;
}

/** Returns the threads of a row of evidence, that of the row first. */
export function threadsOf(of: Evidence): number[] {
  const own = numberOf(of, "thread");
  const all = Object.keys(of.threads).map((column) => numberOf(of, column));
  return [...new Set([own, ...all])].filter((thread): thread is number => thread !== null && thread > 0);
}

/** Returns the threads to pin with an interval: its own first, then others. */
function pinned(own: readonly number[], more: readonly number[]): number[] {
  return [...new Set([...own, ...more])].filter((thread) => thread > 0).slice(0, PINNED);
}

/** Returns the place of a row of evidence: its own time if it has one, else that of the finding. */
export function placeOf(of: Evidence, finding: Placed, whole: number): Goal {
  const span = finding.spans[0] ?? { start: 0, end: whole };
  const from = numberOf(of, "start_ns") ?? span.start;
  const to = Math.max(from + 1, numberOf(of, "end_ns") ?? span.end);
  const own = threadsOf(of);
  const first = own[0] ?? finding.threads[0]?.thread;
  const cpu = numberOf(of, "cpu");
  const track = first !== undefined ? { kind: "thread" as const, id: first } : cpu === null ? null : { kind: "cpu" as const, id: cpu };
  return { from, to, track, threads: pinned(own, finding.threads.map((t) => t.thread)), words: of.table };
}

/**
 * Returns the worst intervals of a finding, at most three, the longest first: those that the diagnosis found; otherwise those of its
 * evidence; otherwise the times at which it was seen. Overlapping rows of evidence count once.
 */
export function worstOf(finding: Placed, whole: number): Goal[] {
  const others = finding.threads.map((t) => t.thread);
  const threads = finding.evidence.flatMap(threadsOf);
  const goals: Goal[] = finding.worst.map((of) => ({
    from: of.start_ns,
    to: of.end_ns,
    track: { kind: "thread", id: of.thread },
    threads: pinned([of.thread], [...threads, ...others]),
    words: `${of.name} ${of.tid} ${of.state} (${of.cause})`,
  }));
  if (goals.length === 0) {
    const timed = finding.evidence.filter((of) => numberOf(of, "start_ns") !== null && numberOf(of, "end_ns") !== null);
    goals.push(...timed.map((of) => placeOf(of, finding, whole)));
  }
  if (goals.length === 0) {
    const first = finding.threads[0];
    const track = first ? { kind: "thread" as const, id: first.thread } : null;
    const words = first ? `${first.name} ${first.tid}` : "";
    goals.push(...finding.spans.map((span) => ({ from: span.start, to: Math.max(span.start + 1, span.end), track, threads: pinned(others, threads), words })));
  }
  goals.sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from);
  const apart = goals.filter((goal, at) => !goals.slice(0, at).some((other) => other.from === goal.from && other.to === goal.to && other.track?.id === goal.track?.id));
  return apart.slice(0, WORST);
}

/** Returns the view of an interval: it takes two fifths of it, so that what came before and after is seen too. */
export function viewOf(of: Span, whole: number): Span {
  const margin = Math.max(50, (of.to - of.from) * 0.75);
  return { from: Math.max(0, Math.floor(of.from - margin)), to: Math.min(whole, Math.ceil(of.to + margin)) };
}

/** Returns the time at which a thread can be selected within an interval: not before it began; null if it began after the interval. */
export function selectable(of: Span, begin: number): number | null {
  return begin >= of.to ? null : Math.max(of.from, begin);
}
