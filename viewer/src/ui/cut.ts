/** Cuts text to a width, with an ellipsis. */

/** The maximum number of kept results; then all are dropped. */
const KEPT = 20_000;

/** What measures text: a pen of a canvas. */
interface Measure {
  measureText(text: string): { readonly width: number };
}

/** Results are kept by text and width, so that drawing a frame again makes no strings. For one font. */
export class Cutter {
  private readonly kept = new Map<string, Map<number, string>>();
  private count = 0;

  /** Returns the text, or its longest beginning with an ellipsis that fits into a width in CSS pixels; empty if none fits. */
  cut(pen: Measure, text: string, width: number): string {
    const whole = Math.max(0, Math.floor(width));
    const known = this.kept.get(text)?.get(whole);
    if (known !== undefined) return known;
    if (++this.count > KEPT) {
      this.kept.clear();
      this.count = 1;
    }
    const made = shortened(pen, text, whole);
    const of = this.kept.get(text) ?? new Map<number, string>();
    of.set(whole, made);
    this.kept.set(text, of);
    return made;
  }
}

function shortened(pen: Measure, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  // By characters, not by the halves of surrogate pairs.
  const chars = [...text];
  let [lo, hi] = [0, chars.length - 1];
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (pen.measureText(`${chars.slice(0, mid).join("")}…`).width <= width) lo = mid;
    else hi = mid - 1;
  }
  return lo < 1 ? "" : `${chars.slice(0, lo).join("").trimEnd()}…`;
}
