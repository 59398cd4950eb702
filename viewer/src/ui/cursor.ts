/**
 * The time cursor: a line at the pointer across all tracks, and its time on the axis. It consists of two small elements above the canvas,
 * so that moving it redraws no track.
 */

export class Cursor {
  private readonly line = document.createElement("div");
  private readonly label = document.createElement("div");
  private readonly stage: HTMLElement;
  private at: number | null = null;

  constructor(stage: HTMLElement) {
    this.stage = stage;
    this.line.className = "cursor";
    this.label.className = "cursor-time";
    for (const of of [this.line, this.label]) {
      of.hidden = true;
      // What the pointer is on is described by the status line.
      of.ariaHidden = "true";
      stage.append(of);
    }
  }

  /** The place of the cursor, in CSS pixels of the stage; null if it is hidden. */
  get place(): number | null {
    return this.at;
  }

  /** Shows the cursor at a place with a text, or hides it. */
  show(x: number | null, text = ""): void {
    this.at = x;
    this.line.hidden = this.label.hidden = x === null;
    if (x === null) return;
    this.line.style.transform = `translateX(${Math.round(x)}px)`;
    if (this.label.textContent !== text) this.label.textContent = text;
    // On the left of the line where there is no room on its right.
    const wide = this.label.offsetWidth;
    const left = x + 6 + wide > this.stage.clientWidth ? x - 6 - wide : x + 6;
    this.label.style.transform = `translateX(${Math.round(left)}px)`;
  }
}
