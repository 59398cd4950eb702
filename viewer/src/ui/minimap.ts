/**
 * The minimap: how many CPUs were busy over the whole recording, with ticks, and a window that is the visible time. The picture is drawn
 * once, on a canvas of its own; a frame copies it and draws the window.
 */

import type { About } from "../api";
import { dragged, gripOf, windowOf, type Grip } from "../model/minimap";
import type { Palette } from "../model/palette";
import { allTicks, onTicks, pixelsOf, TICK_TITLES, type TickKind } from "../model/ticks";
import { covering, levelOf, TRACKS } from "../model/tiles";
import { length, point } from "../model/time";
import { clamped, moved, zoomed, type Span } from "../model/view";
import { source } from "../source";
import { emptyHeights, fillHeights, type Heights } from "../tracks/values";

/** The height of a row of ticks, in CSS pixels. */
const TICK = 4;
/** Kinds of tracks that can be shown, the preferred first, and how their tracks are combined. */
const SHOWN: readonly { readonly kind: string; readonly sums: boolean }[] = [
  { kind: "concurrency", sums: true },
  { kind: "frames", sums: false },
];
/** The name of the track of the concurrency that counts no busy CPUs. */
const UNKNOWN = "unknown CPUs";

/** Returns the colour of ticks. */
export function tickColour(palette: Palette, kind: TickKind): string {
  const colours: Readonly<Record<TickKind, string>> = {
    note: palette.text,
    hit: palette.threads[0] ?? palette.text,
    finding: palette.threads[5] ?? palette.text,
    "slow frame": palette.threads[1] ?? palette.text,
    loss: palette.thread[3] ?? palette.text,
  };
  return colours[kind];
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The page's functions that the minimap uses. */
export interface MinimapActions {
  readonly show: (span: Span) => void;
  readonly view: () => Span;
  readonly changed: () => void;
}

export class Minimap {
  private readonly canvas: HTMLCanvasElement;
  private readonly pen: CanvasRenderingContext2D;
  private readonly about: About;
  private readonly page: MinimapActions;
  /** The picture without its window. */
  private readonly picture = document.createElement("canvas");
  private drawn: { readonly palette: Palette; readonly left: number; readonly size: Size } | null = null;
  private sized: Size | null = null;
  /** Left of this, in CSS pixels, is no time; it is the width of the tracks' labels. */
  private left = 0;
  /** The busy share of each pixel, and for which width it was requested. */
  private heights: Heights | null = null;
  private requested = 0;
  private held: { readonly grip: Grip; readonly x: number; readonly view: Span } | null = null;

  constructor(canvas: HTMLCanvasElement, about: About, page: MinimapActions) {
    const pen = canvas.getContext("2d", { alpha: false });
    if (!pen) throw new Error("this browser does not support canvas");
    [this.canvas, this.pen, this.about, this.page] = [canvas, pen, about, page];
    new ResizeObserver(() => {
      this.sized = this.drawn = null;
      page.changed();
    }).observe(canvas);
    onTicks(() => {
      this.drawn = null;
      page.changed();
    });
    this.listen();
  }

  private get size(): Size {
    this.sized ??= { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    return this.sized;
  }

  private get ratio(): number {
    return globalThis.devicePixelRatio || 1;
  }

  /** The width of the part that shows time, in CSS pixels. */
  private get width(): number {
    return Math.max(1, this.size.width - this.left);
  }

  /** Requests the data, once for each width; called after the first complete picture of the tracks. */
  async load(): Promise<void> {
    const columns = Math.round(this.width * this.ratio);
    if (columns === this.requested || columns < 2) return;
    this.requested = columns;
    const shown = SHOWN.flatMap(({ kind, sums }) => this.about.kinds.filter((info) => info.kind === kind).map((info) => ({ info, sums })))[0];
    if (!shown) return;
    const { info, sums } = shown;
    const lanes = sums ? info.lanes.filter((lane) => lane.label !== UNKNOWN) : info.lanes.slice(0, 1);
    const top = sums ? Math.max(1, this.about.cpus.length) : Math.max(...lanes.map((lane) => lane.most), info.line ?? 0);
    const scale = { from: 0, perPixel: this.about.span_ns / columns };
    const level = levelOf(scale.perPixel);
    const { first, last } = covering({ from: 0, to: this.about.span_ns }, level);
    const all = emptyHeights(columns);
    try {
      for (const block of new Set(lanes.map((lane) => Math.floor(lane.track / TRACKS)))) {
        for (let index = first; index <= last; index++) {
          const slices = await source.slices({ kind: info.kind, block, level, index });
          for (const lane of lanes.filter((lane) => Math.floor(lane.track / TRACKS) === block)) {
            const of = emptyHeights(columns);
            fillHeights(of, slices, lane.track % TRACKS, scale, 0, columns, top);
            for (let x = 0; x < columns; x++) {
              if (of.mean[x]! >= 0) all.mean[x] = Math.min(1, Math.max(0, all.mean[x]!) + of.mean[x]!);
              if (of.most[x]! >= 0) all.most[x] = Math.min(1, Math.max(all.mean[x]!, all.most[x]!, of.most[x]!));
            }
          }
        }
      }
    } catch {
      // The timeline says that the server cannot be reached; the next size asks again.
      this.requested = 0;
      return;
    }
    if (columns !== this.requested) return;
    this.heights = all;
    this.drawn = null;
    this.page.changed();
  }

  /** Draws the minimap; `left` is the width of the tracks' labels. */
  draw(view: Span, palette: Palette, left: number): void {
    const { canvas, pen, ratio } = this;
    const { size } = this;
    if (size.width === 0 || size.height === 0) return;
    if (left !== this.left) [this.left, this.drawn] = [left, null];
    if (!this.drawn || this.drawn.palette !== palette || this.drawn.size !== size) {
      [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
      this.paint(palette);
      this.drawn = { palette, left, size };
      if (this.requested > 0) void this.load();
    }
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(this.picture, 0, 0);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [from, to] = windowOf(view, this.about.span_ns, this.width).map((x) => left + x) as [number, number];
    pen.fillStyle = palette.page;
    pen.globalAlpha = 0.6;
    pen.fillRect(left, 0, from - left, size.height);
    pen.fillRect(to, 0, left + this.width - to, size.height);
    pen.globalAlpha = 1;
    pen.strokeStyle = palette.text;
    pen.lineWidth = 1;
    pen.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), size.height - 1);
    pen.fillStyle = palette.text;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillText(`visible ${length(view.to - view.from)}`, 6, size.height * 0.3, left - 12);
    pen.fillStyle = palette.dim;
    pen.fillText(`of ${length(this.about.span_ns)}`, 6, size.height * 0.72, left - 12);
  }

  /** States the visible time for programs that read the page aloud; called after a motion, not for every frame. */
  state(view: Span): void {
    const { canvas } = this;
    canvas.ariaValueMax = String(Math.round(this.about.span_ns / 1e3));
    canvas.ariaValueNow = String(Math.round(view.from / 1e3));
    canvas.ariaValueText = `${point(view.from, 1e3)} to ${point(view.to, 1e3)}`;
  }

  /** Draws the picture without its window. */
  private paint(palette: Palette): void {
    const { picture, ratio, left } = this;
    [picture.width, picture.height] = [this.canvas.width, this.canvas.height];
    const pen = picture.getContext("2d", { alpha: false });
    if (!pen) return;
    pen.fillStyle = palette.page;
    pen.fillRect(0, 0, picture.width, picture.height);
    const ticks = allTicks();
    const rows = ticks.length * TICK;
    const offset = Math.round(left * ratio);
    const bottom = picture.height;
    if (this.heights) {
      const room = bottom - Math.round((rows + 2) * ratio);
      for (const [values, alpha] of [[this.heights.most, 0.35], [this.heights.mean, 1]] as const) {
        pen.globalAlpha = alpha;
        pen.fillStyle = palette.cpu[0] ?? palette.text;
        for (let x = 0; x < values.length; x++) {
          const value = values[x]!;
          if (value < 0) continue;
          const height = Math.max(1, Math.round(value * room));
          pen.fillRect(offset + x, bottom - height, 1, height);
        }
      }
      pen.globalAlpha = 1;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    ticks.forEach(([kind, times], row) => {
      pen.fillStyle = tickColour(palette, kind);
      for (const x of pixelsOf(times, 0, this.about.span_ns / this.width, this.width)) pen.fillRect(left + x - 0.5, row * TICK, 2, TICK - 1);
    });
    this.canvas.title = `The whole recording: drag the window, or its edges${ticks.map(([kind, times]) => `; ${times.length} ${TICK_TITLES[kind]}`).join("")}`;
    // For programs that read the page, such as the tests.
    this.canvas.dataset["ticks"] = ticks.map(([kind, times]) => `${kind}:${times.length}`).join(" ");
  }

  private timeOf(x: number): number {
    return ((x - this.left) / this.width) * this.about.span_ns;
  }

  private listen(): void {
    const { canvas, page } = this;
    const whole = this.about.span_ns;
    const window = () => windowOf(page.view(), whole, this.width);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.offsetX < this.left) return;
      canvas.setPointerCapture(event.pointerId);
      let grip = gripOf(event.offsetX - this.left, window());
      if (grip === "outside") {
        // The window comes to the pointer.
        const view = page.view();
        page.show(moved(view, this.timeOf(event.offsetX) - (view.from + view.to) / 2, whole));
        grip = "window";
      }
      this.held = { grip, x: event.offsetX, view: page.view() };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.held) {
        const by = ((event.offsetX - this.held.x) / this.width) * whole;
        return page.show(dragged(this.held.view, this.held.grip, by, whole));
      }
      const grip = event.offsetX < this.left ? "outside" : gripOf(event.offsetX - this.left, window());
      canvas.style.cursor = grip === "outside" ? "default" : grip === "window" ? "grab" : "ew-resize";
    });
    const up = () => (this.held = null);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("dblclick", () => page.show({ from: 0, to: whole }));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const by = Math.exp(Math.min(1, Math.max(-1, (event.deltaY * (event.deltaMode === 0 ? 1 : 16)) / 400)));
        page.show(zoomed(page.view(), Math.min(whole, Math.max(0, this.timeOf(event.offsetX))), by, whole));
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      const view = page.view();
      const length = view.to - view.from;
      const keys: Readonly<Record<string, () => Span>> = {
        ArrowLeft: () => moved(view, -length / 4, whole),
        ArrowRight: () => moved(view, length / 4, whole),
        ArrowUp: () => zoomed(view, (view.from + view.to) / 2, 0.8, whole),
        ArrowDown: () => zoomed(view, (view.from + view.to) / 2, 1.25, whole),
        Home: () => clamped({ from: 0, to: length }, whole),
        End: () => clamped({ from: whole - length, to: whole }, whole),
      };
      const to = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (!to) return;
      event.preventDefault();
      page.show(to());
    });
  }
}
