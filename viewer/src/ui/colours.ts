/** The colours of slices: by state, by thread, or by what changed between two traces. */

import { ONLY } from "../model/changes";
import { ofThread, pixel, placeOfThread, type Palette } from "../model/palette";
import type { Ink } from "../model/raster";
import type { Slices } from "../model/slices";
import type { Kind } from "../model/tiles";
import { extraStyle } from "../tracks/list";

/** The number of the states "running" and "busy". */
export const RUNS = 0;

/** What changed: the class of each thread, and how it looks. */
export interface ChangeColours {
  /** The thread state that the metric is about: only its slices have the colour of the class. */
  readonly state: number;
  readonly classOf: (thread: number) => number;
  /** A few characters for a thread's label. */
  readonly short: (thread: number) => string;
}

/** What decides about colours. */
export interface Colouring {
  readonly palette: Palette;
  /** Whether busy slices of CPUs have the colour of their thread. */
  readonly byThread: boolean;
  readonly changed: ChangeColours | null;
}

/** A slice, as far as its colour depends on it. `thread` is the key of its track's thread. */
interface Coloured {
  readonly kind: Kind;
  readonly state: number;
  readonly what: number;
  readonly thread: number;
}

/** Returns the colour of a slice. */
export function colourOf({ palette, byThread, changed }: Colouring, { kind, state, what, thread }: Coloured): string {
  if (kind === "thread") return ofThreadState(palette, changed === null ? null : changed.classOf(thread), changed?.state ?? RUNS, state);
  const style = extraStyle(kind);
  if (style) return style.colourOf(palette, state);
  if (state !== RUNS || !byThread) return palette.cpu[state] ?? palette.dim;
  return changed ? (palette.changes[changed.classOf(what)] ?? palette.dim) : ofThread(palette, what);
}

/** The colour of a state of a thread; `of` is the class of what changed, if that is shown, of the state `about`. */
function ofThreadState(palette: Palette, of: number | null, about: number, state: number): string {
  if (of === null) return palette.thread[state] ?? palette.dim;
  return (state === about ? palette.changes[of] : palette.others[state]) ?? palette.dim;
}

/** The look of slices: their pixels, and those of whole tiles, each computed once. */
export interface Look {
  readonly pixel: (state: number, what: number) => number;
  readonly inks: WeakMap<Slices, Ink>;
}

/** The looks of tracks, kept as long as the palette and what changed stay. */
export class Looks {
  private looks = new Map<string, Look>();
  private of: Pick<Colouring, "palette" | "changed"> | null = null;

  /** Returns the look of a track; states are bytes, and threads have as many colours as the palette. */
  get(colouring: Colouring, kind: Kind, thread: number): Look {
    const { palette, byThread, changed } = colouring;
    if (this.of?.palette !== palette || this.of.changed !== changed) [this.looks, this.of] = [new Map(), { palette, changed }];
    const key = kind === "thread" ? `thread ${changed?.classOf(thread) ?? ""}` : `${kind} ${byThread}`;
    const known = this.looks.get(key);
    if (known) return known;
    const states = Uint32Array.from({ length: 256 }, (_, state) => pixel(colourOf({ ...colouring, byThread: byThread && kind !== "cpu" }, { kind, state, what: 0, thread })));
    const look = { pixel: kind === "cpu" && byThread ? busy(colouring, states) : (state: number) => states[state]!, inks: new WeakMap<Slices, Ink>() };
    this.looks.set(key, look);
    return look;
  }
}

/** The pixels of CPUs whose busy slices have the colour of their thread. */
function busy({ palette, changed }: Colouring, states: Uint32Array): Look["pixel"] {
  const threads = Uint32Array.from(changed ? palette.changes : palette.threads, pixel);
  const place = changed ? changed.classOf : (thread: number) => placeOfThread(thread, threads.length);
  return (state, what) => (state === RUNS ? threads[place(what)]! : states[state]!);
}

/** Returns whether a thread's track is hatched: no thread of the other trace has its role. */
export function isHatched(changed: ChangeColours | null, thread: number): boolean {
  return changed?.classOf(thread) === ONLY;
}
