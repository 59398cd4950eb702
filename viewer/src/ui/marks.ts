/** Draws on the axis: ticks, notes, and the length of the time range. */

import type { Note } from "../model/notes";
import type { Palette } from "../model/palette";
import { allTicks, pixelsOf } from "../model/ticks";
import { length } from "../model/time";
import type { Span } from "../model/view";
import { tickColour } from "./minimap";
import type { Places } from "./overlay";

/** The size of a tick, in CSS pixels. */
const TICK = 4;
/** The maximum width of a note's text, in CSS pixels. */
const NOTE = 160;

export function drawMarks(pen: CanvasRenderingContext2D, at: Places, palette: Palette, view: Span, range: Span | null, notes: readonly Note[]): void {
  const width = at.right - at.left;
  const perPixel = (view.to - view.from) / width;
  for (const [kind, times] of allTicks()) {
    if (kind === "note") continue;
    pen.fillStyle = tickColour(palette, kind);
    for (const x of pixelsOf(times, view.from, perPixel, width)) {
      const left = at.left + x;
      pen.beginPath();
      pen.moveTo(left, at.top - 1);
      pen.lineTo(left - TICK, at.top - 1 - 2 * TICK);
      pen.lineTo(left + TICK, at.top - 1 - 2 * TICK);
      pen.fill();
    }
  }
  if (range) drawLength(pen, at, palette, range);
  drawNotes(pen, at, palette, view, notes);
}

/** Writes the length of the range above its bar, where there is room. */
function drawLength(pen: CanvasRenderingContext2D, at: Places, palette: Palette, range: Span): void {
  const [left, right] = [Math.max(at.left, at.x(range.from)), Math.min(at.right, at.x(range.to))];
  if (right <= left) return;
  const text = length(range.to - range.from);
  const wide = pen.measureText(text).width + 8;
  const x = Math.min(at.right - wide, Math.max(at.left, (left + right - wide) / 2));
  pen.fillStyle = palette.group;
  pen.fillRect(x, 1, wide, at.top - 8);
  pen.fillStyle = palette.text;
  pen.fillText(text, x + 4, (at.top - 6) / 2);
}

/** Draws a flag and a line for each note, and its text up to the next note. */
function drawNotes(pen: CanvasRenderingContext2D, at: Places, palette: Palette, view: Span, notes: readonly Note[]): void {
  notes.forEach((note, place) => {
    if (note.at < view.from || note.at > view.to) return;
    const x = Math.round(at.x(note.at));
    const next = notes[place + 1];
    const room = Math.min(NOTE, at.right - x, next ? at.x(next.at) - x - 2 : NOTE);
    const text = room < 24 ? "" : shortened(pen, note.text, room - 10);
    pen.fillStyle = palette.text;
    pen.fillRect(x, 0, 1, at.bottom);
    pen.fillRect(x, 1, text === "" ? 8 : pen.measureText(text).width + 10, at.top - 8);
    pen.fillStyle = palette.page;
    pen.fillText(text, x + 5, (at.top - 6) / 2);
  });
}

function shortened(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let cut = [...text];
  while (cut.length > 0 && pen.measureText(`${cut.join("")}…`).width > width) cut = cut.slice(0, -1);
  return cut.length === 0 ? "" : `${cut.join("")}…`;
}
