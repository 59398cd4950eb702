/** Writes the labels of tracks and groups. */

import { isTrack, type Line } from "../model/layout";
import { ink } from "../model/palette";
import { isHatched } from "./colours";
import type { Scene } from "./timeline";

/** Sizes in CSS pixels: the height of the axis, the width of labels and of the canvas; and device pixels per CSS pixel. */
interface Sizes {
  readonly axis: number;
  readonly labels: number;
  readonly width: number;
  readonly ratio: number;
}

/** Stripes of a label, in CSS pixels. */
const STRIPE = 3;

export function writeLabels(pen: CanvasRenderingContext2D, scene: Scene, lines: readonly Line[], sizes: Sizes): void {
  for (const line of lines) {
    // On whole pixels, since text redrawn over itself would get darker at its edges.
    const top = Math.round((sizes.axis + line.top - scene.scroll) * sizes.ratio) / sizes.ratio;
    const group = !isTrack(line);
    pen.fillStyle = group ? scene.palette.group : scene.found.has(line) ? scene.palette.threads[1]! : scene.palette.page;
    pen.fillRect(0, top, group ? sizes.width : sizes.labels - 4, line.height - 1);
    const change = !group && line.kind === "thread" && scene.changed ? writeChange(pen, scene, line.id, top, line.height, sizes) : 0;
    pen.fillStyle = group ? scene.palette.text : scene.found.has(line) ? "#000000" : scene.palette.dim;
    pen.fillText(line.label, group ? 6 : 14, top + line.height / 2, group ? sizes.width - 12 : sizes.labels - 22 - change);
    if (!group && line.kind === "thread" && scene.marked.has(line.id)) frame(pen, scene, top, line.height, sizes);
  }
}

/** Writes what changed on a cell at the right end of a label; returns its width. */
function writeChange(pen: CanvasRenderingContext2D, scene: Scene, thread: number, top: number, height: number, sizes: Sizes): number {
  const { changed, palette } = scene;
  const colour = palette.changes[changed?.classOf(thread) ?? 0] ?? palette.dim;
  const [width, text] = [54, changed?.short(thread) ?? ""];
  const left = sizes.labels - 6 - width;
  pen.fillStyle = colour;
  pen.fillRect(left, top, width, height - 2);
  if (isHatched(changed, thread)) {
    pen.fillStyle = palette.page;
    for (let x = left + STRIPE; x < left + width; x += 2 * STRIPE) pen.fillRect(x, top, STRIPE, height - 2);
    // The word is on a plain ground.
    const wide = pen.measureText(text).width + 6;
    pen.fillRect(left + (width - wide) / 2, top, wide, height - 2);
    pen.fillStyle = palette.text;
  } else pen.fillStyle = ink(colour);
  pen.textAlign = "center";
  pen.fillText(text, left + width / 2, top + height / 2 - 0.5, width - 2);
  pen.textAlign = "start";
  return width;
}

/** Frames a label: the role is selected in the other trace. */
function frame(pen: CanvasRenderingContext2D, scene: Scene, top: number, height: number, sizes: Sizes): void {
  pen.strokeStyle = scene.palette.text;
  pen.lineWidth = 2;
  pen.strokeRect(5, top + 1, sizes.labels - 11, height - 4);
}
