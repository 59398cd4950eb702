/** The visible part of the recording, as pure functions. */

/** A time span in ns; the end is not included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A selected place on the track of a CPU (by number), a thread (by key), or of an additional kind (by its number). */
export interface Selected {
  readonly kind: string;
  readonly id: number;
  readonly at: number;
}

/** The shortest visible span, in ns. */
const FINEST = 100;

/** Limits a span to the recording and to the shortest visible span. */
export function clamped(span: Span, whole: number): Span {
  const len = Math.min(Math.max(FINEST, span.to - span.from), Math.max(FINEST, whole));
  const from = Math.min(Math.max(0, span.from), Math.max(0, whole - len));
  return { from, to: from + len };
}

/** Zooms in (`by` < 1) or out about a time that stays in place. */
export function zoomed(span: Span, about: number, by: number, whole: number): Span {
  return clamped({ from: about - (about - span.from) * by, to: about + (span.to - about) * by }, whole);
}

/** Moves a span by a time. */
export function moved(span: Span, by: number, whole: number): Span {
  return clamped({ from: span.from + by, to: span.to + by }, whole);
}

/** Returns the address of a view: `#t=FROM..TO&sel=thread:KEY@NS&range=FROM..TO`. */
export function toHash(span: Span, selected: Selected | null, range: Span | null = null): string {
  const words = [`#t=${Math.round(span.from)}..${Math.round(span.to)}`];
  if (selected) words.push(`sel=${selected.kind}:${selected.id}@${Math.round(selected.at)}`);
  if (range) words.push(`range=${Math.round(range.from)}..${Math.round(range.to)}`);
  return words.join("&");
}

/** Returns the range between two times: whole ns within the recording, the earlier end first; null if it is empty. */
export function ranged(a: number, b: number, whole: number): Span | null {
  const within = (time: number) => Math.min(whole, Math.max(0, Math.round(time)));
  const [from, to] = [within(Math.min(a, b)), within(Math.max(a, b))];
  return from < to ? { from, to } : null;
}

/** Parses an address; invalid parts, and kinds of tracks that are not CPUs, threads or in `kinds`, are ignored. */
export function fromHash(hash: string, whole: number, kinds: readonly string[] = []): { span: Span | null; selected: Selected | null; range: Span | null } {
  const words = new Map(hash.replace(/^#/, "").split("&").map((word) => word.split("=", 2) as [string, string]));
  const [time, marked] = ["t", "range"].map((word) => /^(\d{1,16})\.\.(\d{1,16})$/.exec(words.get(word) ?? ""));
  const sel = /^([a-z]{1,20}):(\d{1,15})@(\d{1,16})$/.exec(words.get("sel") ?? "");
  const kind = sel?.[1] ?? "";
    const known = kind === "cpu" || kind === "thread" || kinds.includes(kind);
  const span = time && Number(time[1]) < Number(time[2]) ? clamped({ from: Number(time[1]), to: Number(time[2]) }, whole) : null;
  const selected = sel && known ? { kind, id: Number(sel[2]), at: Number(sel[3]) } : null;
  const range = marked && Number(marked[1]) < Number(marked[2]) ? ranged(Number(marked[1]), Number(marked[2]), whole) : null;
  return { span, selected, range };
}
