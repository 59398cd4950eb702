/** Slices in columns, without an object per slice. */

/** Slices of a block of tracks, grouped by track and in order of time. */
export interface Slices {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly state: Uint8Array;
  readonly stateNs: Float64Array;
  readonly what: Float64Array;
  readonly whatNs: Float64Array;
  readonly stretches: Int32Array;
  /** For tracks with values instead of states. */
  readonly values?: Values;
  /** The index of the first slice of each track of the block, and the total number at the end. */
  readonly begins: Int32Array;
}

/** Returns the memory of the columns, in bytes. */
export function bytesOf(s: Slices): number {
  const { start, end, state, stateNs, what, whatNs, stretches, values, begins } = s;
  const columns = [start, end, state, stateNs, what, whatNs, stretches, begins, ...(values ? [values.least, values.most, values.mean] : [])];
  return columns.reduce((sum, column) => sum + column.byteLength, 0);
}

/** Slices of any tracks, in order of tracks, with the track of each slice. */
export type Columns = Omit<Slices, "begins"> & { readonly track: Int32Array };

/** Groups columns that contain only the `count` tracks from `first` on. */
export function ofTracks(columns: Columns, first: number, count: number): Slices {
  const { track, ...rest } = columns;
  const begins = new Int32Array(count + 1);
  for (const t of track) begins[t - first + 1]!++;
  for (let t = 0; t < count; t++) begins[t + 1]! += begins[t]!;
  return { ...rest, begins };
}

/** Values: minimum, maximum, and the mean weighted by time. */
export interface Values {
  readonly least: Float64Array;
  readonly most: Float64Array;
  readonly mean: Float64Array;
}

/** One slice. */
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

/** Returns the index of a track's first slice that ends after a time, or the index after its last slice. */
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

/** Returns the slice of a track at a time, if there is one. */
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
