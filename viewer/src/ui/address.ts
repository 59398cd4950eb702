/** The page's address says what is seen. */

/** A picture so long after the one before is not part of a motion, ms. */
const MOTION = 1000;
/** So long after its last picture a motion has ended, ms. */
const ENDED = 40;

/** Written at once, but in a motion only when it has ended: the browser takes a good part of a picture's time to write it. */
export class Address {
  private hash = "";
  private said = -Infinity;
  private waits = false;

  /** What it is to say, at each picture. */
  say(hash: string): void {
    const now = performance.now();
    const moves = now - this.said < MOTION;
    [this.said, this.hash] = [now, hash];
    if (!moves) return this.write();
    if (this.waits) return;
    this.waits = true;
    setTimeout(() => this.ended(), ENDED);
  }

  /** One timer at a time, which is set again while the motion lasts. */
  private ended(): void {
    const left = this.said + ENDED - performance.now();
    if (left > 0) return void setTimeout(() => this.ended(), left);
    this.waits = false;
    this.write();
  }

  private write(): void {
    if (location.hash !== this.hash) history.replaceState(null, "", this.hash);
  }
}
