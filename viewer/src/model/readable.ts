/** Zooms at which an interval can be seen. */

import { clamped, moved, type Span } from "./view";

/** The least and the largest share of the view that an interval may take. */
const LEAST = 0.04;
const MOST = 0.9;
/** The share that it takes after a zoom. */
const WANTED = 0.2;

/** Returns a view in which an interval can be seen: the same if it can be already, the same zoom if that is suitable, else another zoom. */
export function readable(view: Span, of: Span, whole: number): Span {
  const length = Math.max(1, of.to - of.from);
  const share = length / (view.to - view.from);
  const centre = (of.from + of.to) / 2;
  if (share >= LEAST && share <= MOST) {
    const within = of.from >= view.from && of.to <= view.to;
    return within ? view : moved(view, centre - (view.from + view.to) / 2, whole);
  }
  const half = length / WANTED / 2;
  return clamped({ from: centre - half, to: centre + half }, whole);
}
