/** Time in which a CPU quota kept a thread from running: drawn in the tracks of threads, and in words. */

import type { Row } from "../model/raster";
import { plain, type KindOfTrack } from "./kind";

/** The kind whose tracks have the throttled times, by the number of the thread's track. */
export const THROTTLING = "throttled";

export const THROTTLED: KindOfTrack = { kind: THROTTLING, height: 18, colourOf: (palette) => palette.throttled, words: plain };

/**
 * Divides the throttled pixels of a thread's track, which stay in `throttled`: those that show ready time get the colour in their whole
 * bar, as far as they were throttled; a band at the full height of its own shows all. Returns the band, or null if no pixel is throttled.
 */
export function divide(throttled: Row, drawn: Row, ready: number, band: Row): Row | null {
  let any = false;
  for (let x = 0; x < throttled.colour.length; x++) {
    if (throttled.colour[x] === 0) continue;
    any = true;
    [band.colour[x], band.share[x]] = [throttled.colour[x]!, 1];
    if (drawn.colour[x] === ready) throttled.share[x] = Math.min(throttled.share[x]!, drawn.share[x]!);
    else throttled.colour[x] = 0;
  }
  return any ? band : null;
}
