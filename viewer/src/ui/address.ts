/** Keeps the view in the page's address, and steps in the browser's history. */

import { ViewHistory } from "../model/history";

/** Frames with a longer pause between them are not part of a motion, in ms. */
const MOTION = 1000;
/** A motion has ended this long after its last frame, in ms. */
const ENDED = 40;

/** The state of an entry of the history that this page made: the number of steps before it. */
interface Entry {
  readonly step: number;
}

function entry(): Entry | null {
  const state = history.state as Partial<Entry> | null;
  return typeof state?.step === "number" ? { step: state.step } : null;
}

/** Writes the address when a step begins, then only at the end of a motion, since writing takes a large part of a frame's time. */
export class Address {
  private readonly steps = new ViewHistory();
  private hash = "";
  private lastSet = -Infinity;
  private waiting = false;
  private step = entry()?.step ?? 0;

  /** Sets the address; called for every frame. */
  set(hash: string): void {
    const now = performance.now();
    const how = this.steps.next(hash, now);
    if (how === null) return;
    if (how === "push") {
      this.write();
      [this.lastSet, this.hash] = [now, hash];
      if (location.hash !== hash) history.pushState({ step: ++this.step } satisfies Entry, "", hash);
      return;
    }
    const moves = now - this.lastSet < MOTION;
    [this.lastSet, this.hash] = [now, hash];
    if (!moves) return this.write();
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => this.ended(), ENDED);
  }

  /** Follows the address after the user or a link changed it; returns whether it is a step of this page, to be restored as a whole. */
  visited(): boolean {
    const of = entry();
    this.step = of?.step ?? this.step + 1;
    this.hash = location.hash;
    this.steps.adopt();
    return of !== null;
  }

  /** The next change is not a step: the page only follows another one. */
  follow(): void {
    this.steps.adopt();
  }

  /** Returns whether this page may have a step back or forward. */
  canGo(by: -1 | 1): boolean {
    return by > 0 || this.step > 0;
  }

  /** Goes one step back or forward; returns whether there may be one. */
  go(by: -1 | 1): boolean {
    if (!this.canGo(by)) return false;
    this.write();
    history.go(by);
    return true;
  }

  /** One timer at a time, which is restarted while the motion lasts. */
  private ended(): void {
    const left = this.lastSet + ENDED - performance.now();
    if (left > 0) return void setTimeout(() => this.ended(), left);
    this.waiting = false;
    this.write();
  }

  private write(): void {
    if (this.hash !== "" && location.hash !== this.hash) history.replaceState({ step: this.step } satisfies Entry, "", this.hash);
  }
}
