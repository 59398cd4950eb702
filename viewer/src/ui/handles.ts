/** The mouse on labels: whole names, buttons to pin and hide, and dragging to another place. The panel of tracks does the same by keyboard. */

import { isTrack, topOf, type Line } from "../model/layout";
import { button } from "./dom";
import { idOf, type Lanes, type Place } from "./lanes";
import { AXIS, LABELS, type Scene } from "./timeline";

/** Returns the id of a line's track or group. */
function idOfLine(line: Line): string {
  return isTrack(line) ? idOf(line) : line.id;
}

export class Handles {
  private readonly lanes: Lanes;
  private readonly scene: Scene;
  private readonly tools = document.createElement("div");
  private readonly edge = document.createElement("div");
  private over: Line | null = null;
  private held: string | null = null;
  private place: Place | null = null;

  constructor(stage: HTMLElement, lanes: Lanes, scene: Scene) {
    [this.lanes, this.scene] = [lanes, scene];
    const tool = (text: string, title: string, action: (id: string) => void) => {
      const made = button(text, () => {
        if (this.over) action(idOfLine(this.over));
        this.leave();
      });
      // The keyboard has keys of its own, and the panel.
      made.tabIndex = -1;
      made.title = title;
      return made;
    };
    this.tools.append(tool("pin", "Pin or unpin this track (K)", (id) => lanes.pin(id)), tool("hide", "Hide this (H); the panel Tracks shows it again", (id) => lanes.hide(id)));
    [this.tools.id, this.edge.id] = ["label-tools", "drop-edge"];
    this.tools.hidden = this.edge.hidden = true;
    stage.append(this.tools, this.edge);
    stage.addEventListener("pointerleave", () => this.leave());
  }

  /** Shows the buttons of a line whose label is under the pointer; null if there is none. */
  hover(line: Line | null): void {
    if (this.held !== null) line = null;
    if (line === this.over) return;
    this.over = line;
    this.tools.hidden = line === null;
    if (!line) return;
    (this.tools.firstElementChild as HTMLElement).hidden = !isTrack(line);
    this.tools.style.left = `${LABELS - 8 - this.tools.offsetWidth}px`;
    this.tools.style.top = `${AXIS + 2 + topOf(line, this.scene)}px`;
  }

  leave(): void {
    this.hover(null);
  }

  /** Takes hold of a label. */
  grab(line: Line | null): boolean {
    this.held = line && idOfLine(line);
    this.leave();
    return line !== null;
  }

  /** Shows where the held label would be put. */
  carry(line: Line | null, y: number): void {
    if (this.held === null) return;
    const lower = line !== null && y - AXIS - topOf(line, this.scene) > line.height / 2;
    this.place = this.lanes.place(this.held, line, lower);
    this.edge.hidden = this.place === null;
    if (!this.place) return;
    this.edge.style.width = `${LABELS}px`;
    this.edge.style.top = `${AXIS + 1 + this.place.top - (this.place.fixed && this.scene.fixed > 0 ? 0 : this.scene.scroll)}px`;
  }

  /** Puts the held label there, or leaves it where it was. */
  drop(): void {
    if (this.held !== null && this.place) this.lanes.move(this.held, this.place.before);
    [this.held, this.place] = [null, null];
    this.edge.hidden = true;
  }
}
