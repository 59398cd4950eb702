/** Keeps the view in the page's address. */

/** Frames with a longer pause between them are not part of a motion, in ms. */
const MOTION = 1000;
/** A motion has ended this long after its last frame, in ms. */
const ENDED = 40;

/** Writes the address immediately, but only at the end of a motion, since writing takes a large part of a frame's time. */
export class Address {
  private hash = "";
  private lastSet = -Infinity;
  private waiting = false;

  /** Sets the address; called for every frame. */
  set(hash: string): void {
    const now = performance.now();
    const moves = now - this.lastSet < MOTION;
    [this.lastSet, this.hash] = [now, hash];
    if (!moves) return this.write();
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => this.ended(), ENDED);
  }

  /** One timer at a time, which is restarted while the motion lasts. */
  private ended(): void {
    const left = this.lastSet + ENDED - performance.now();
    if (left > 0) return void setTimeout(() => this.ended(), left);
    this.waiting = false;
    this.write();
  }

  private write(): void {
    if (location.hash !== this.hash) history.replaceState(null, "", this.hash);
  }
}
