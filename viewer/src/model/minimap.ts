/** The geometry of the minimap: where its window is, and what a drag of it does. */

import { clamped, moved, type Span } from "./view";

/** What a pointer holds: the begin, the end, or the inside of the window, or nothing of it. */
export type Grip = "from" | "to" | "window" | "outside";

/** The distance from an edge within which a pointer holds it, in pixels. */
const EDGE = 5;
/** The minimum width of the window as drawn, in pixels. */
const MIN_WINDOW = 4;

/** Returns the left and right end of the window, in pixels; it is never narrower than what can be seen and held. */
export function windowOf(view: Span, whole: number, width: number): readonly [number, number] {
  const scale = width / Math.max(1, whole);
  const [left, right] = [view.from * scale, view.to * scale];
  if (right - left >= MIN_WINDOW) return [Math.max(0, left), Math.min(width, right)];
  const begin = Math.min(width - MIN_WINDOW, Math.max(0, (left + right - MIN_WINDOW) / 2));
  return [begin, begin + MIN_WINDOW];
}

/** Returns what a pointer at `x` holds. A narrow window has no edges to hold. */
export function gripOf(x: number, [left, right]: readonly [number, number]): Grip {
  const wide = right - left >= 4 * EDGE;
  if (wide && Math.abs(x - left) <= EDGE) return "from";
  if (wide && Math.abs(x - right) <= EDGE) return "to";
  return x >= left - EDGE && x <= right + EDGE ? "window" : "outside";
}

/** Returns the view after what was held has been moved by `by` ns from where it was. An edge does not pass the other one. */
export function dragged(view: Span, grip: Grip, by: number, whole: number): Span {
  if (grip === "from") return clamped({ from: Math.max(0, Math.min(view.from + by, view.to - 1)), to: view.to }, whole);
  if (grip === "to") return clamped({ from: view.from, to: Math.min(whole, Math.max(view.to + by, view.from + 1)) }, whole);
  return moved(view, by, whole);
}
