/**
 * Steps that Back undoes. Frames of one motion (a zoom, a drag, a held key) are one step; a change of something else, or after a pause,
 * is the next one.
 */

/** Changes with a longer pause between them are different steps, in ms. */
const PAUSE_MS = 1000;

/** What may change, the most particular first: a selection may also move the view. */
const WORDS = ["notes", "range", "sel", "t"] as const;

function wordsOf(hash: string): Map<string, string> {
  return new Map(hash.replace(/^#/, "").split("&").map((word) => word.split("=", 2) as [string, string]));
}

/** Returns what differs between two addresses: one of its words, or `other`; empty if nothing does. */
export function difference(before: string, after: string): string {
  if (before === after) return "";
  const [a, b] = [wordsOf(before), wordsOf(after)];
  return WORDS.find((word) => a.get(word) !== b.get(word)) ?? "other";
}

export class ViewHistory {
  private hash = "";
  private kind = "";
  private at = -Infinity;
  private adopts = true;

  /** The next change of the address is not a step of its own: it only completes what the address already says. */
  adopt(): void {
    this.adopts = true;
  }

  /** Returns what is to be done with the address: `push` a step, `replace` the current one, or nothing. `now` is in ms. */
  next(hash: string, now: number): "push" | "replace" | null {
    const adopts = this.adopts;
    this.adopts = false;
    if (hash === this.hash && !adopts) return null;
    const kind = difference(this.hash, hash);
    const joins = kind === this.kind && now - this.at < PAUSE_MS;
    this.hash = hash;
    if (adopts) {
      // A change right after it is a step.
      [this.kind, this.at] = ["", -Infinity];
      return "replace";
    }
    [this.kind, this.at] = [kind, now];
    return joins ? "replace" : "push";
  }
}
