/** The page's address says what is seen. */

/** A picture so long after the one before is not part of a motion, ms. */
const MOTION = 1000;

/** Written at once, but in a motion only when it has ended: the browser takes a good part of a picture's time to write it. */
export class Address {
  private hash = "";
  private said = 0;
  private waits = 0;

  /** What it is to say, at each picture. */
  say(hash: string): void {
    const now = performance.now();
    const moves = now - this.said < MOTION;
    [this.said, this.hash] = [now, hash];
    cancelAnimationFrame(this.waits);
    if (!moves) return this.write();
    // Two pictures without a change end a motion.
    this.waits = requestAnimationFrame(() => {
      this.waits = requestAnimationFrame(() => this.write());
    });
  }

  private write(): void {
    if (location.hash !== this.hash) history.replaceState(null, "", this.hash);
  }
}
