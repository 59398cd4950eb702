/** A long press of a finger, which shows the tooltip as a resting mouse does. */

/** How long a finger must rest, in ms. */
export const PRESS_MS = 500;

/** Calls back if one finger rests on an element. */
export class LongPress {
  private waiting: ReturnType<typeof setTimeout> | null = null;
  private held = false;
  private readonly act: (x: number, y: number) => void;

  constructor(act: (x: number, y: number) => void) {
    this.act = act;
  }

  /** Whether the finger has rested long enough; it then moves the tooltip, and does not select. */
  get isHeld(): boolean {
    return this.held;
  }

  /** A finger was put down. With another one it is a pinch. */
  down(x: number, y: number, isOnly: boolean): void {
    this.end();
    if (!isOnly) return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.held = true;
      this.act(x, y);
    }, PRESS_MS);
  }

  /** The finger moved, farther than a tap, or was lifted before the time. */
  cancel(): void {
    if (this.waiting !== null) clearTimeout(this.waiting);
    this.waiting = null;
  }

  /** The press is over. */
  end(): void {
    this.cancel();
    this.held = false;
  }
}
