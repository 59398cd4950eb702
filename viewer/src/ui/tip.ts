/** The tip at the pointer: what a slice is, and the whole label of a track or group. */

import { isTrack, type Track } from "../model/layout";
import { point } from "../model/time";
import { colourOf } from "./colours";
import type { Handles } from "./handles";
import { holds } from "./labels";
import { AXIS, LABELS, type Scene, type Timeline } from "./timeline";
import type { Words } from "./words";

export class Tip {
  private readonly tip: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly timeline: Timeline;
  private readonly scene: Scene;
  private readonly words: Words;
  private readonly handles: Handles;
  private readonly changeOf: (line: Track) => string;

  constructor(tip: HTMLElement, canvas: HTMLCanvasElement, timeline: Timeline, scene: Scene, words: Words, handles: Handles, changeOf: (line: Track) => string) {
    [this.tip, this.canvas, this.timeline, this.scene, this.words, this.handles, this.changeOf] = [tip, canvas, timeline, scene, words, handles, changeOf];
  }

  hide(): void {
    this.tip.hidden = true;
  }

  /** Shows what is at a place, if anything. */
  hover(x: number, y: number): void {
    const line = this.timeline.lineAt(this.scene, y);
    const labelled = x < LABELS && y >= AXIS ? line : null;
    this.handles.hover(labelled);
    this.canvas.style.cursor = line && (labelled || !isTrack(line)) ? "pointer" : "default";
    if (labelled) {
      const lines = isTrack(labelled) ? [labelled.label, labelled.value, this.changeOf(labelled)] : [labelled.label, holds(labelled), labelled.open ? "Click: fold" : "Click: open"];
      return this.show(lines, x, y);
    }
    const track = line && isTrack(line) && this.timeline.isTime(x, y) ? line : null;
    const time = this.timeline.timeAt(this.scene, x);
    const slice = track && this.timeline.sliceAt(this.scene, track, time);
    this.tip.hidden = !track || !slice;
    if (!track || !slice) return;
    const state = track.layers ? this.words.toneOf(track, time) : slice.mean === undefined ? slice.state : track.track;
    const colour = state === null ? this.scene.palette.line : colourOf(this.scene, { kind: track.kind, state, what: slice.what, id: track.id });
    // For programs that read the page, such as the tests.
    Object.assign(this.tip.dataset, { colour, kind: track.kind, id: track.id, time, base: this.timeline.baseOf(this.scene, track), ...slice });
    this.show([track.label, this.words.describe(track, slice, time), `${point(slice.start)} to ${point(slice.end)}`, this.changeOf(track)], x, y);
  }

  private show(lines: readonly string[], x: number, y: number): void {
    this.tip.hidden = false;
    this.tip.textContent = lines.filter((text) => text !== "").join("\n");
    this.tip.style.left = `${Math.min(x + 14, this.canvas.clientWidth - this.tip.offsetWidth - 4)}px`;
    this.tip.style.top = `${Math.min(y + 14, this.canvas.clientHeight - this.tip.offsetHeight - 4)}px`;
  }
}
