/** Shows which threads ran instead while a thread was ready: the pixels of the CPU on whose queue it was. */

import type { Row, Scale } from "./raster";
import { firstEndingAfter, type Slices } from "./slices";

/** Passes on the CPUs on whose queues a track's thread was ready, in the pixels `first` up to `last` (not included). */
export function eachReady(
  slices: Slices,
  track: number,
  scale: Scale,
  first: number,
  last: number,
  ready: number,
  each: (cpu: number, from: number, to: number) => void,
): void {
  const end = slices.begins[track + 1] ?? 0;
  const until = scale.from + last * scale.perPixel;
  for (let i = firstEndingAfter(slices, track, scale.from + first * scale.perPixel); i < end && slices.start[i]! < until; i++) {
    // For merged stretches, the queue is unknown.
    if (slices.state[i] !== ready || slices.stretches[i] !== 1 || slices.what[i]! < 0) continue;
    // The pixels whose middles lie in the slice.
    const from = Math.max(first, Math.ceil((slices.start[i]! - scale.from) / scale.perPixel - 0.5));
    const to = Math.min(last, Math.ceil((slices.end[i]! - scale.from) / scale.perPixel - 0.5));
    if (to > from) each(slices.what[i]!, from, to);
  }
}

/** Copies the CPU's pixels, at full height. */
export function copy(to: Row, cpu: Row, first: number, last: number): void {
  to.colour.set(cpu.colour.subarray(first, last), first);
  to.share.fill(1, first, last);
}
