/**
 * Lines at the ticks of the axis across all tracks. They are drawn only where nothing ran or was ready, and not on the lowest line of a bar:
 * what they are on keeps its colour somewhere.
 */

import type { Palette } from "../model/palette";
import { point, step } from "../model/time";
import type { Span } from "../model/view";

/** The minimum distance between ticks of the axis, in CSS pixels. */
const DISTANCE = 100;

/** Returns the times of the axis' ticks, and the step between them. */
export function axisTicks(span: Span, perPixel: number): { readonly times: number[]; readonly step: number } {
  const by = step(DISTANCE * perPixel);
  const times: number[] = [];
  for (let time = Math.ceil(span.from / by) * by; time < span.to; time += by) times.push(time);
  return { times, step: by };
}

/** What gridlines are drawn on and with, as pixels. */
export interface GridColours {
  readonly page: number;
  readonly grid: number;
  /** The colours that gridlines replace. */
  readonly behind: readonly number[];
}

/** Draws the gridlines on the lines `top` up to `bottom` of an image, from column `left` on, where it has one of the colours that they replace. */
export function paintGrid(image: Uint32Array, width: number, left: number, top: number, bottom: number, grid: readonly number[], { behind, grid: colour }: GridColours): void {
  const last = Math.min(bottom, Math.floor(image.length / width));
  for (const x of grid) {
    if (left + x >= width) continue;
    for (let y = Math.max(0, top); y < last; y++) {
      const at = y * width + left + x;
      if (behind.includes(image[at]!)) image[at] = colour;
    }
  }
}

/** Clears the lines `top` up to `bottom` of an image, from column `left` on, and draws the gridlines there. */
export function paintGap(image: Uint32Array, width: number, left: number, top: number, bottom: number, grid: readonly number[], colours: GridColours): void {
  for (let y = Math.max(0, top); y < bottom && (y + 1) * width <= image.length; y++) {
    image.fill(colours.page, y * width + left, (y + 1) * width);
    for (const x of grid) if (left + x < width) image[y * width + left + x] = colours.grid;
  }
}

/** Writes the axis of time above the tracks, its words above the ticks of frames and findings. Sizes are in CSS pixels. */
export function writeAxis(pen: CanvasRenderingContext2D, span: Span, palette: Palette, at: { left: number; width: number; height: number }): void {
  const { left, width, height } = at;
  pen.fillStyle = palette.page;
  pen.fillRect(0, 0, left + width, height);
  const perPixel = (span.to - span.from) / width;
  const { times, step: tick } = axisTicks(span, perPixel);
  pen.fillStyle = palette.dim;
  for (const time of times) {
    const x = left + Math.round((time - span.from) / perPixel);
    const label = point(time, tick);
    pen.fillRect(x, height - 6, 1, 6);
    if (x + 4 + pen.measureText(label).width <= left + width) pen.fillText(label, x + 4, height / 3);
  }
  pen.fillRect(0, height - 1, left + width, 1);
}
