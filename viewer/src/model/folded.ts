/** The picture of a folded group: for each pixel, how many of its threads or CPUs are busy, and how many threads are ready. */

import { middle, type Bar, type Scale } from "./raster";
import { firstEndingAfter, type Slices } from "./slices";

/** Numbers of the states "busy" and "idle" of CPUs. */
const [BUSY, IDLE] = [0, 1];

/**
 * Adds the share of the time in which a CPU was busy to the pixels `first` up to `last` (not included). A pixel shows the slice at its
 * middle, as the CPU's own track does.
 */
export function addBusy(sum: Float32Array, slices: Slices, track: number, scale: Scale, first: number, last: number, weight: number): void {
  const until = slices.begins[track + 1] ?? 0;
  const { start, end, state, stateNs } = slices;
  let i = firstEndingAfter(slices, track, middle(scale, first));
  for (let x = first; x < last && i < until; x++) {
    const time = middle(scale, x);
    while (i < until && end[i]! <= time) i++;
    if (i >= until || start[i]! > time) continue;
    const share = stateNs[i]! / (end[i]! - start[i]!);
    sum[x]! += weight * (state[i] === BUSY ? share : state[i] === IDLE ? 1 - share : 0);
  }
}

/** Writes what is busy from the bottom up, and what is ready above it; both are shares of the height, negative if unknown. */
export function paintSummary(
  image: Uint32Array,
  width: number,
  left: number,
  busy: Float32Array,
  ready: Float32Array | null,
  bar: Bar,
  colours: { readonly busy: number; readonly ready: number; readonly page: number },
): void {
  for (let y = Math.max(0, -bar.top); y < bar.height; y++) {
    const at = (bar.top + y) * width + left;
    if (at + busy.length > image.length) return;
    const reach = (bar.height - y - 0.5) / bar.height;
    for (let x = 0; x < busy.length; x++) {
      const low = busy[x]! > 0 ? busy[x]! : 0;
      const high = ready && ready[x]! > 0 ? low + ready[x]! : low;
      // What is not 0 is visible in the lowest line.
      const lowest = y === bar.height - 1;
      image[at + x] = low >= reach || (lowest && low > 0) ? colours.busy : high >= reach || (lowest && high > 0) ? colours.ready : colours.page;
    }
  }
}
