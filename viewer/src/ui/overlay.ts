/** Draws over the tracks: the time range, arrows from wakers to woken threads, the critical path. */

import type { Arrow } from "../panels/chains";
import type { Span } from "../model/view";

/** A piece of the critical path. */
export interface Piece extends Span {
  readonly thread: number;
}

/** The contents of the overlay. */
export interface Overlay {
  range: Span | null;
  arrows: readonly Arrow[];
  path: readonly Piece[];
  /** Draws more on the axis. */
  axis?: (pen: CanvasRenderingContext2D, at: Places) => void;
  /** The interval that a finding is about. */
  evidence: Piece | null;
}

/** Places on the canvas, in CSS pixels. */
export interface Places {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly x: (time: number) => number;
  /** Returns the upper and lower edge of a thread's track, even outside the view; null if it has no track. */
  readonly edges: (thread: number) => readonly [number, number] | null;
  /** The upper and lower edges of the visible heads of groups, in any order: they are of no time, and stay readable. */
  readonly heads: readonly (readonly [number, number])[];
  readonly colour: { readonly text: string; readonly page: string; readonly path: string; readonly range: string };
}

const HEAD = 4;

export function drawOverlay(pen: CanvasRenderingContext2D, overlay: Overlay, at: Places): void {
  pen.save();
  pen.beginPath();
  pen.rect(at.left, 0, at.right - at.left, at.bottom);
  pen.clip();
  if (overlay.range) drawRange(pen, overlay.range, at);
  drawPath(pen, overlay.path, at);
  if (overlay.evidence) drawEvidence(pen, overlay.evidence, at);
  for (const arrow of overlay.arrows) drawArrow(pen, arrow, at);
  overlay.axis?.(pen, at);
  pen.restore();
}

/** Dims the time outside the range, and draws a bar in the axis. */
function drawRange(pen: CanvasRenderingContext2D, range: Span, at: Places): void {
  const within = (x: number) => Math.min(at.right, Math.max(at.left, x));
  const [from, to] = [within(at.x(range.from)), within(at.x(range.to))];
  pen.globalAlpha = 0.45;
  pen.fillStyle = at.colour.page;
  let above = at.top;
  for (const [top, bottom] of [...[...at.heads].sort((a, b) => a[0] - b[0]), [at.bottom, at.bottom] as const]) {
    if (top > above) {
      pen.fillRect(at.left, above, from - at.left, top - above);
      pen.fillRect(to, above, at.right - to, top - above);
    }
    above = Math.max(above, bottom);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = at.colour.range;
  pen.fillRect(from, at.top - 5, Math.max(2, to - from), 4);
  for (const edge of [at.x(range.from), at.x(range.to)]) pen.fillRect(edge, at.top - 5, 1, at.bottom);
}

/** Draws a line under each piece, and a vertical line where the path changes threads. */
function drawPath(pen: CanvasRenderingContext2D, path: readonly Piece[], at: Places): void {
  pen.fillStyle = at.colour.path;
  let before: readonly [number, number] | null = null;
  for (const piece of path) {
    const edges = at.edges(piece.thread);
    const [x, end] = [at.x(piece.from), at.x(piece.to)];
    if (edges && end >= at.left && x <= at.right) {
      pen.fillRect(x, edges[1] - 4, Math.max(1, end - x), 3);
      if (before && before !== edges) {
        const [y0, y1] = [Math.min(before[1], edges[1]) - 4, Math.max(before[1], edges[1]) - 1];
        pen.fillRect(x, Math.max(at.top, y0), 1, y1 - Math.max(at.top, y0));
      }
    }
    before = edges;
  }
}

/** Frames an interval on its thread's track, with a bar in the axis. */
function drawEvidence(pen: CanvasRenderingContext2D, of: Piece, at: Places): void {
  const edges = at.edges(of.thread);
  const [x, end] = [Math.max(at.left - 4, at.x(of.from)), Math.min(at.right + 4, at.x(of.to))];
  if (end < at.left || x > at.right) return;
  const width = Math.max(3, end - x);
  pen.fillStyle = pen.strokeStyle = at.colour.range;
  pen.fillRect(x, at.top - 5, width, 4);
  if (!edges) return;
  pen.lineWidth = 3;
  pen.strokeRect(x - 1.5, edges[0] - 0.5, width + 3, edges[1] - edges[0]);
}

/** Draws an arrow from the middle of the waker's track to that of the woken thread. */
function drawArrow(pen: CanvasRenderingContext2D, arrow: Arrow, at: Places): void {
  const [from, to] = [at.edges(arrow.from), at.edges(arrow.to)];
  const x = at.x(arrow.at);
  if (!from || !to || x < at.left || x > at.right) return;
  const middle = ([top, bottom]: readonly [number, number]) => (top + bottom) / 2;
  const [y0, y1] = [middle(from), middle(to)];
  const down = y1 > y0 ? 1 : -1;
  pen.strokeStyle = pen.fillStyle = at.colour.text;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x, Math.max(at.top, y0));
  pen.lineTo(x, Math.max(at.top, y1 - down * HEAD));
  pen.stroke();
  pen.beginPath();
  pen.arc(x, y0, 2.5, 0, 2 * Math.PI);
  pen.fill();
  pen.beginPath();
  pen.moveTo(x, y1);
  pen.lineTo(x - HEAD, y1 - down * 2 * HEAD);
  pen.lineTo(x + HEAD, y1 - down * 2 * HEAD);
  pen.fill();
}
