/** What is drawn, in columns: no object for a slice. */

/** Slices of a block of tracks; those of a track stand together, in order of time. */
export interface Slices {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly state: Uint8Array;
  readonly stateNs: Float64Array;
  readonly what: Float64Array;
  readonly whatNs: Float64Array;
  readonly stretches: Int32Array;
  /** Of tracks that hold values instead of states. */
  readonly values?: Values;
  /** Where the slices of the block's n-th track begin; one more than there are tracks. */
  readonly begins: Int32Array;
}

/** What they take of memory, as far as it grows with them. */
export function bytesOf(s: Slices): number {
  const { start, end, state, stateNs, what, whatNs, stretches, values, begins } = s;
  const columns = [start, end, state, stateNs, what, whatNs, stretches, begins, ...(values ? [values.least, values.most, values.mean] : [])];
  return columns.reduce((sum, column) => sum + column.byteLength, 0);
}

/** Slices of any tracks, these in order, and of which track each is. */
export type Columns = Omit<Slices, "begins"> & { readonly track: Int32Array };

/** Those of `count` tracks from `first` on, where the columns hold no others. */
export function ofTracks(columns: Columns, first: number, count: number): Slices {
  const { track, ...rest } = columns;
  const begins = new Int32Array(count + 1);
  for (const t of track) begins[t - first + 1]!++;
  for (let t = 0; t < count; t++) begins[t + 1]! += begins[t]!;
  return { ...rest, begins };
}

/** Values: the least, the most, and the mean weighted by time. */
export interface Values {
  readonly least: Float64Array;
  readonly most: Float64Array;
  readonly mean: Float64Array;
}

/** A slice, for a person who asks for one. */
export interface Slice {
  readonly start: number;
  readonly end: number;
  readonly state: number;
  readonly stateNs: number;
  readonly what: number;
  readonly whatNs: number;
  readonly stretches: number;
  readonly least?: number;
  readonly most?: number;
  readonly mean?: number;
}

/** The first of a track that ends behind a time; where none does, the place behind its last. */
export function firstEndingAfter(s: Slices, track: number, at: number): number {
  let lo = s.begins[track] ?? 0;
  let hi = s.begins[track + 1] ?? lo;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (s.end[mid]! <= at) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** The slice of a track at a time, if there is one. */
export function at(s: Slices, track: number, time: number): Slice | null {
  const i = firstEndingAfter(s, track, time);
  if (i >= (s.begins[track + 1] ?? 0) || s.start[i]! > time) return null;
  return {
    start: s.start[i]!,
    end: s.end[i]!,
    state: s.state[i]!,
    stateNs: s.stateNs[i]!,
    what: s.what[i]!,
    whatNs: s.whatNs[i]!,
    stretches: s.stretches[i]!,
    ...(s.values && { least: s.values.least[i]!, most: s.values.most[i]!, mean: s.values.mean[i]! }),
  };
}
