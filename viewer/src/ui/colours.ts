/** The colours of slices: by state, by thread, process, core type or priority, or by what changed between two traces. */

import { ONLY } from "../model/changes";
import { BY, type By, type Facts } from "../model/facts";
import { ofHash, paler, pixel, type Palette } from "../model/palette";
import type { Ink } from "../model/raster";
import type { Slices } from "../model/slices";
import type { Kind } from "../model/tiles";
import type { KindOfTrack } from "../tracks/kind";
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
  /** What busy slices of CPUs are coloured by; by core type and by priority, running slices of threads are too. */
  readonly by: By;
  readonly facts: Facts;
  readonly changed: ChangeColours | null;
}

/** A slice, as far as its colour depends on it. `id` is the key of its track's thread, or the number of its CPU. */
interface Coloured {
  readonly kind: Kind;
  readonly state: number;
  readonly what: number;
  readonly id: number;
}

/** Returns the colour of a slice. */
export function colourOf(colouring: Colouring, { kind, state, what, id }: Coloured): string {
  const { palette, by, facts, changed } = colouring;
  if (kind === "thread") {
    if (changed) return ofThreadState(palette, changed.classOf(id), changed.state, state);
    if (state === RUNS && (by === "type" || by === "priority")) return ofRunning(colouring, id, what);
    return palette.thread[state] ?? palette.dim;
  }
  const style = extraStyle(kind);
  if (style) {
    const tone = style.ofThread?.[state] ?? null;
    if (tone === null) return style.colourOf(palette, state);
    const colour = ofHash(palette, facts[by === "process" ? by : "thread"](what));
    return tone === "full" ? colour : paler(colour, palette.page);
  }
  if (state !== RUNS || by === "state") return palette.cpu[state] ?? palette.dim;
  if (changed) return palette.changes[changed.classOf(what)] ?? palette.dim;
  if (by === "thread" || by === "process") return ofHash(palette, facts[by](what));
  return ofRunning(colouring, what, id);
}

/** The colour of a thread that runs on a CPU, by core type or by priority. */
function ofRunning({ palette, by, facts }: Colouring, thread: number, cpu: number): string {
  return (by === "type" ? palette.types[facts.type(cpu)] : palette.priorities[facts.priority(thread)]) ?? palette.dim;
}

/** The colour of a state of a thread; `of` is the class of what changed, of the state `about`. */
function ofThreadState(palette: Palette, of: number, about: number, state: number): string {
  return (state === about ? palette.changes[of] : palette.others[state]) ?? palette.dim;
}

/** The look of slices: their pixels, and those of whole tiles, each computed once. */
export interface Look {
  readonly pixel: (state: number, what: number) => number;
  readonly inks: WeakMap<Slices, Ink>;
}

/** More than there are classes of what changed, core types, and priorities. */
const CLASSES = 16;

/** The looks of tracks, kept as long as the palette, the facts and what changed stay. */
export class Looks {
  private looks = new Map<Kind, Map<number, Look>>();
  private of: Pick<Colouring, "palette" | "facts" | "changed"> | null = null;

  /** Returns the look of a track, by the key of its thread or the number of its CPU; states are bytes. */
  get(colouring: Colouring, kind: Kind, id: number): Look {
    const { palette, facts, changed, by } = colouring;
    if (this.of?.palette !== palette || this.of.changed !== changed || this.of.facts !== facts) {
      [this.looks, this.of] = [new Map<Kind, Map<number, Look>>(), { palette, facts, changed }];
    }
    const number = CLASSES * BY.indexOf(by) + classOf(colouring, kind, id);
    let looks = this.looks.get(kind);
    if (!looks) this.looks.set(kind, (looks = new Map<number, Look>()));
    const known = looks.get(number);
    if (known) return known;
    const states = Uint32Array.from({ length: 256 }, (_, state) => pixel(colourOf({ ...colouring, by: kind === "cpu" ? "state" : by }, { kind, state, what: 0, id })));
    const running = runningPixels(colouring, kind, id);
    const ofThread = extraStyle(kind)?.ofThread;
    const look = ofThread ? { pixel: threadPixels(colouring, ofThread, states), inks: new WeakMap<Slices, Ink>() } : { pixel: running ? (state: number, what: number) => (state === RUNS ? running(what) : states[state]!) : (state: number) => states[state]!, inks: new WeakMap<Slices, Ink>() };
    looks.set(number, look);
    return look;
  }
}

/** Tracks of a kind and a class have the same look. */
function classOf({ by, facts, changed }: Colouring, kind: Kind, id: number): number {
  if (kind === "thread") return changed ? changed.classOf(id) : by === "priority" ? facts.priority(id) : 0;
  return kind === "cpu" && by === "type" && !changed ? facts.type(id) : 0;
}

/** The pixels of running or busy slices by their CPU or thread; null if they depend on the state only. */
function runningPixels({ palette, by, facts, changed }: Colouring, kind: Kind, id: number): ((what: number) => number) | null {
  if (kind === "thread" && !changed) {
    if (by === "priority") return () => pixel(palette.priorities[facts.priority(id)]!);
    if (by !== "type") return null;
    const types = Uint32Array.from(palette.types, pixel);
    return (cpu) => types[facts.type(cpu)]!;
  }
  if (kind !== "cpu" || by === "state") return null;
  const of = (colours: readonly string[], place: (what: number) => number) => {
    const pixels = Uint32Array.from(colours, pixel);
    return (what: number) => pixels[place(what) % pixels.length]!;
  };
  if (changed) return of(palette.changes, changed.classOf);
  if (by === "type") return of(palette.types, () => facts.type(id));
  return by === "priority" ? of(palette.priorities, facts.priority) : of(palette.threads, facts[by]);
}

/** The pixels of slices that have a thread in some states. */
function threadPixels({ palette, by, facts }: Colouring, tones: NonNullable<KindOfTrack["ofThread"]>, states: Uint32Array): Look["pixel"] {
  const place = facts[by === "process" ? by : "thread"];
  const full = Uint32Array.from(palette.threads, pixel);
  const pale = Uint32Array.from(palette.threads, (colour) => pixel(paler(colour, palette.page)));
  return (state, what) => {
    const tone = tones[state] ?? null;
    return tone === null ? states[state]! : (tone === "full" ? full : pale)[place(what) % full.length]!;
  };
}

/** Returns whether a thread's track is hatched: no thread of the other trace has its role. */
export function isHatched(changed: ChangeColours | null, thread: number): boolean {
  return changed?.classOf(thread) === ONLY;
}
