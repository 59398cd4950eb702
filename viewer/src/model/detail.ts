/**
 * Levels of detail of a page that needs no server. Each level has the slices that the next coarser one lacks; they replace the slices
 * that they overlap there (see the picture in crates/serve/src/alone/detail.rs).
 */

import { ofTracks, type Columns, type Slices } from "./slices";

/** Returns the first index of this track or a later one. */
function begin(track: Int32Array, wanted: number): number {
  let [lo, hi] = [0, track.length];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (track[mid]! < wanted) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** Returns the slices of `count` tracks from `first` on, out of slices of all tracks in order. */
export function cut(all: Columns, first: number, count: number): Slices {
  const [from, to] = [begin(all.track, first), begin(all.track, first + count)];
  const within = <N extends Numbers>(column: N) => column.subarray(from, to) as N;
  return ofTracks({ ...each(all, within), track: within(all.track) }, first, count);
}

/** Merges a level: its own slices, and those of the coarser level that they do not overlap. */
export function finer(coarser: Slices, own: Slices): Slices {
  const count = own.begins.length - 1;
  if (own.begins[count] === 0) return coarser;
  const picked: number[] = [];
  const begins = new Int32Array(count + 1);
  for (let track = 0; track < count; track++) {
    let [i, j] = [coarser.begins[track]!, own.begins[track]!];
    const [iEnd, jEnd] = [coarser.begins[track + 1]!, own.begins[track + 1]!];
    while (i < iEnd || j < jEnd) {
      // Own slices are encoded as negative indices.
      if (i >= iEnd || (j < jEnd && own.end[j]! <= coarser.start[i]!)) picked.push(-1 - j++);
      else if (j >= jEnd || coarser.end[i]! <= own.start[j]!) picked.push(i++);
      else i++;
    }
    begins[track + 1] = picked.length;
  }
  return { ...each(own, (column, name) => gathered(column, pick(coarser, name), picked)), begins };
}

type Numbers = Float64Array | Uint8Array | Int32Array;
type Name = "start" | "end" | "state" | "stateNs" | "what" | "whatNs" | "stretches" | "least" | "most" | "mean";

function pick(of: Omit<Slices, "begins">, name: Name): Numbers {
  if (name === "least" || name === "most" || name === "mean") return of.values?.[name] ?? new Float64Array(0);
  return of[name];
}

/** Gathers values from two columns: an index into the coarser one, or −1 − the index into the own one. */
function gathered<T extends Numbers>(own: T, coarser: Numbers, picked: readonly number[]): T {
  // Columns of states are empty for tracks of values.
  const length = own.length === 0 ? 0 : picked.length;
  const all = new (own.constructor as new (length: number) => T)(length);
  for (let at = 0; at < length; at++) all[at] = picked[at]! < 0 ? own[-1 - picked[at]!]! : coarser[picked[at]!]!;
  return all;
}

/** Applies a function to each column. */
function each(of: Omit<Slices, "begins">, change: <N extends Numbers>(column: N, name: Name) => N): Omit<Slices, "begins"> {
  const { values } = of;
  return {
    start: change(of.start, "start"),
    end: change(of.end, "end"),
    state: change(of.state, "state"),
    stateNs: change(of.stateNs, "stateNs"),
    what: change(of.what, "what"),
    whatNs: change(of.whatNs, "whatNs"),
    stretches: change(of.stretches, "stretches"),
    ...(values && { values: { least: change(values.least, "least"), most: change(values.most, "most"), mean: change(values.mean, "mean") } }),
  };
}
