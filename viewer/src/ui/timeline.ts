/** The timeline: tracks under a time axis, on one canvas. */

import { isTrack, lineOn, topOf, visibleOf, type Group, type Layer, type Line, type Track } from "../model/layout";
import { ink, paler, pixel, type Palette } from "../model/palette";
import { eachWide } from "../model/names";
import { fill, hatch, hatchUnknown, inkOf, middle, paint, Rows, type Bar, type Row, type Scale } from "../model/raster";
import { COUNTS } from "../model/sections";
import { addBusy, paintSummary } from "../model/folded";
import { at, type Slice, type Slices } from "../model/slices";
import { covering, levelOf, spanOf, TRACKS, type Kind, type Place, type Tiles } from "../model/tiles";
import { copy, eachReady } from "../model/instead";
import { IDLE } from "../tracks/idle";
import { ENDS } from "../tracks/idle_ends";
import { extraStyle } from "../tracks/list";
import { HELD, LAST, LOCKS, MIN_WITH_WAITERS, WAITERS, WAITERS_HEIGHT } from "../tracks/locks";
import { fillBegins } from "../tracks/moments";
import { paintStack } from "../tracks/stack";
import { divide, THROTTLING } from "../tracks/throttled";
import { emptyHeights, fillHeights, paintHeights, type Heights } from "../tracks/values";
import type { Selected, Span } from "../model/view";
import { colourOf, isHatched, Looks, RUNS, type Colouring } from "./colours";
import { Cutter } from "./cut";
import { axisTicks, paintGap, paintGrid, writeAxis } from "./grid";
import { hasPicture, headsOf, writeLabels } from "./labels";
import { drawOverlay, type Overlay } from "./overlay";

/** Height of the axis and width of the labels, in CSS pixels; on phones the labels are narrower. */
export const AXIS = 24;
export let LABELS = 190;
const labelsOf = (width: number) => (width < 600 ? 112 : 190);
/** The minimum width of a slice with a name, in CSS pixels. */
const MIN_NAMED = 46;
/** The number of the state "ready". */
const READY = 1;
/** The number of the state "unknown" of threads, whose colour unknown time of CPUs has too. */
const UNKNOWN = 3;
/** Height of the band in a ready slice that shows the thread that ran instead, in CSS pixels; lower tracks have none. */
const BAND = 5;
const MIN_BANDED = 16;
/** The number of running threads at most fills this share of a folded group's height; threads that are ready are above. */
const RUNNING_SHARE = 2 / 3;

/** The contents of the timeline. */
export interface Scene extends Colouring {
  span: Span;
  scroll: number;
  lines: readonly Line[];
  height: number;
  /** The height of the pinned lines, which do not scroll; 0 if they do, because there are too many. */
  fixed: number;
  palette: Palette;
  by: Colouring["by"];
  facts: Colouring["facts"];
  changed: Colouring["changed"];
  /** The keys of threads whose role is selected in the other trace. */
  marked: ReadonlySet<number>;
  selected: Selected | null;
  found: ReadonlySet<Line>;
  overlay: Overlay;
  /** Whether it is recorded what ended idle time. */
  hasIdleEnds: boolean;
  /** Whether any thread is known to have been throttled. */
  hasThrottled: boolean;
  /** The maximum number of threads that waited for each lock, by its track. */
  waiters: ReadonlyMap<number, number>;
  nameOf: (thread: number) => string;
}

/** The inputs of the labels, which are only redrawn when these change. */
type Labelled = Pick<Scene, "scroll" | "lines" | "fixed" | "palette" | "by" | "facts" | "found" | "changed" | "marked"> & { readonly width: number; readonly height: number; readonly ratio: number };

/** A tile of a block of tracks, and the pixels that it covers. */
interface Part {
  readonly slices: Slices;
  readonly begin: number;
  readonly end: number;
}

/** The data that all parts of one frame share. */
interface Picture {
  readonly span: Span;
  readonly scale: Scale;
  /** The number of device pixels in a row. */
  readonly columns: number;
  /** By kind and block. */
  readonly tiles: Map<string, Part[]>;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The rows of CPUs in one frame, each made once. */
class CpuRows {
  readonly cpus = new Set<number>();
  private readonly rows = new Map<number, Row>();
  private readonly make: (cpu: number) => Row;

  constructor(make: (cpu: number) => Row) {
    this.make = make;
  }

  row(cpu: number): Row {
    this.cpus.add(cpu);
    const row = this.rows.get(cpu) ?? this.make(cpu);
    this.rows.set(cpu, row);
    return row;
  }
}

function same(a: Labelled, b: Labelled): boolean {
  return (Object.keys(a) as (keyof Labelled)[]).every((key) => a[key] === b[key]);
}

export class Timeline {
  private readonly canvas: HTMLCanvasElement;
  private readonly tiles: Tiles;
  private readonly pen: CanvasRenderingContext2D;
  private sized: Size | null = null;
  private image: ImageData | null = null;
  private readonly rows = new Rows();
  private picture: Picture = { span: { from: 0, to: 1 }, scale: { from: 0, perPixel: 1 }, columns: 0, tiles: new Map() };
  /** What one track of values, or two, is drawn with. */
  private heights: [Heights, Heights] = [emptyHeights(0), emptyHeights(0)];
  private readonly cutter = new Cutter();
  /** The inputs of the labels as last drawn. */
  private labelled: Labelled | null = null;
  private readonly looks = new Looks();
  /** CPUs on whose queues visible threads are ready; their tiles are requested too. */
  private queues: ReadonlySet<number> = new Set();

  constructor(canvas: HTMLCanvasElement, tiles: Tiles) {
    const pen = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    if (!pen) throw new Error("this browser does not support canvas");
    [this.canvas, this.tiles, this.pen] = [canvas, tiles, pen];
    new ResizeObserver(() => (this.sized = null)).observe(canvas);
  }

  /** Width of the part that shows time, in CSS pixels. */
  get width(): number {
    return Math.max(1, this.size.width - LABELS);
  }

  /** Width of the labels, in CSS pixels. */
  get left(): number {
    return LABELS;
  }

  /** Height of the part that shows tracks, in CSS pixels. */
  get height(): number {
    return Math.max(1, this.size.height - AXIS);
  }

  /** Size of the canvas in CSS pixels; cached, since reading it forces a layout of the page. */
  private get size(): Size {
    this.sized ??= { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
    LABELS = labelsOf(this.sized.width);
    return this.sized;
  }

  private scale(scene: Scene): Scale {
    return { from: scene.span.from, perPixel: (scene.span.to - scene.span.from) / Math.round(this.width * this.ratio) };
  }

  private get ratio(): number {
    return globalThis.devicePixelRatio || 1;
  }

  /** Returns the time at a place of the canvas: the middle of the device pixel. */
  timeAt(scene: Scene, x: number): number {
    return middle(this.scale(scene), Math.floor((x - LABELS) * this.ratio + 1e-6));
  }

  /** Returns whether a place shows time, not labels or the axis. */
  isTime(x: number, y: number): boolean {
    return x >= LABELS && y >= AXIS;
  }

  /** Returns whether a place is on the time axis. */
  isRuler(x: number, y: number): boolean {
    return x >= LABELS && y < AXIS;
  }

  /** Returns the line at a place. */
  lineAt(scene: Scene, y: number): Line | null {
    return y < AXIS ? null : lineOn(scene, y - AXIS);
  }

  /** Returns the drawn slice of a track at a time. */
  sliceAt(scene: Scene, line: Pick<Track, "kind" | "track">, time: number): Slice | null {
    const place = this.placeAt(line.kind, line.track, levelOf(this.scale(scene).perPixel), time);
    const best = this.tiles.best(place);
    return best ? at(best.slices, line.track % TRACKS, time) : null;
  }

  private placeAt(kind: Kind, track: number, level: number, time: number): Place {
    const index = covering({ from: time, to: time + 1 }, level).first;
    return { kind, block: Math.floor(track / TRACKS), level, index };
  }

  draw(scene: Scene): void {
    const { canvas, pen, ratio } = this;
    const [width, height] = [Math.round(this.size.width * ratio), Math.round(this.size.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    if (width === 0 || height === 0) return;
    const lines = this.visible(scene);
    const moves = this.labelled !== null && (this.labelled.scroll !== scene.scroll || this.picture.span !== scene.span);
    this.picture = { span: scene.span, scale: this.scale(scene), columns: Math.max(0, width - Math.round(LABELS * ratio)), tiles: new Map() };
    this.rows.giveBack();
    this.want(scene, lines, moves);
    const { scroll, lines: all, fixed, palette, by, facts, found, changed, marked } = scene;
    const labelled = { scroll, lines: all, fixed, palette, by, facts, found, changed, marked, width, height, ratio };
    const stay = this.labelled !== null && same(this.labelled, labelled);
    this.labelled = labelled;
    const queues = this.paintTracks(scene, lines, width, height, stay);
    if ([...queues].some((cpu) => !this.queues.has(cpu))) {
      this.queues = queues;
      this.want(scene, lines, moves);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const split = scene.fixed > 0 ? lines.findIndex((line) => line.fixed) : lines.length;
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS + scene.fixed, this.size.width, this.height);
    pen.clip();
    this.writeOn(scene, lines.slice(0, split), stay);
    pen.restore();
    if (split < lines.length) this.writeOn(scene, lines.slice(split), stay);
    writeAxis(pen, scene.span, scene.palette, { left: LABELS, width: this.width, height: AXIS });
    this.frameSelected(scene, lines);
    this.layOver(scene, lines);
  }

  /** Writes the names in slices, and the labels, or if those stay, only those of groups, over which slices are painted. */
  private writeOn(scene: Scene, lines: readonly Line[], stay: boolean): void {
    this.writeNames(scene, lines);
    const labels = stay ? lines.filter((line) => !isTrack(line)) : lines;
    writeLabels(this.pen, scene, labels, { axis: AXIS, labels: LABELS, width: this.size.width, ratio: this.ratio });
  }

  private layOver(scene: Scene, lines: readonly Line[]): void {
    const perPixel = (scene.span.to - scene.span.from) / this.width;
    // Only if arrows or a path connect threads: there may be thousands of tracks.
    const connects = scene.overlay.arrows.length > 0 || scene.overlay.path.length > 0 || scene.overlay.evidence !== null;
    const tracks = new Map(connects ? scene.lines.flatMap((line) => (line.kind === "thread" ? [[line.id, line] as const] : [])) : []);
    const { text, page, range } = scene.palette;
    drawOverlay(this.pen, scene.overlay, {
      left: LABELS,
      top: AXIS,
      right: LABELS + this.width,
      bottom: AXIS + this.height,
      x: (time) => LABELS + (time - scene.span.from) / perPixel,
      edges: (thread) => {
        const line = tracks.get(thread);
        return line ? [AXIS + topOf(line, scene), AXIS + topOf(line, scene) + line.height] : null;
      },
      heads: scene.overlay.range ? headsOf(scene, lines, AXIS) : [],
      colour: { text, page, path: text, range },
    });
  }

  private visible(scene: Scene): Line[] {
    return visibleOf(scene, this.height);
  }

  /** Requests the visible tiles, then those around: coarser ones, and the next ones on either side. */
  private want(scene: Scene, lines: readonly Line[], moves: boolean): void {
    const blocks = new Map<string, { kind: Kind; block: number }>();
    const add = (kind: Kind, track: number) => {
      const block = Math.floor(track / TRACKS);
      blocks.set(`${kind} ${block}`, { kind, block });
    };
    for (const line of lines) {
      if (isTrack(line)) {
        add(line.kind, line.track);
        for (const layer of line.layers ?? []) add(line.kind, layer.track);
        if (line.kind === IDLE.kind && scene.hasIdleEnds) add(ENDS, line.track);
        if (line.kind === "thread" && scene.hasThrottled) add(THROTTLING, line.track);
        if (line.kind === LOCKS.kind) add(WAITERS, line.track);
      } else if (hasPicture(line)) {
        for (const lane of line.counts ?? []) if (lane) add(COUNTS, lane.track);
        for (const cpu of line.cpus) add("cpu", cpu);
      }
    }
    for (const cpu of this.queues) add("cpu", cpu);
    const level = levelOf(this.scale(scene).perPixel);
    const places = (up: number, by: number) => {
      const all: Place[] = [];
      const { first, last } = covering(scene.span, level + up);
      for (let index = Math.max(0, first - by); index <= last + by; index++) {
        for (const block of blocks.values()) all.push({ ...block, level: level + up, index });
      }
      return all;
    };
    this.tiles.want(places(0, 0), [...places(2, 0), ...places(0, 1)], moves);
  }

  /**
   * Paints the tracks. With `right`, only the part right of the labels is painted; the rest is unchanged. Returns the CPUs on whose
   * queues visible threads are ready.
   */
  private paintTracks(scene: Scene, lines: readonly Line[], width: number, height: number, right: boolean): ReadonlySet<number> {
    const { ratio, gap } = this;
    const page = pixel(scene.palette.page);
    if (this.image?.width !== width || this.image.height !== height) this.image = this.pen.createImageData(width, height);
    const pixels = new Uint32Array(this.image.data.buffer);
    if (!right) pixels.fill(page);
    const left = width - this.picture.columns;
    const grid = this.grid(scene);
    const { palette } = scene;
    const behind = [page, ...[palette.cpu[1], palette.thread[2], palette.others[2]].map((of) => pixel(of ?? palette.page))];
    const gridded = { page, grid: pixel(palette.grid), behind };
    const unknown = pixel(palette.thread[UNKNOWN]!);
    const banded = scene.by === "thread" ? scene : { ...scene, by: "thread" as const };
    const cpuRows = new CpuRows((cpu) => this.row(banded, { kind: "cpu", track: cpu, id: cpu }));
    let cleared = scene.fixed === 0;
    for (const line of lines) {
      if (line.fixed && !cleared) {
        // Pinned lines are drawn over those that scroll.
        cleared = true;
        const until = Math.min(height, Math.round((AXIS + scene.fixed) * ratio));
        for (let y = 0; y < until; y++) pixels.fill(page, y * width + (right ? left : 0), (y + 1) * width);
      }
      const top = Math.round((AXIS + topOf(line, scene)) * ratio);
      const bottom = top + Math.round(line.height * ratio);
      if (!isTrack(line)) {
        if (!right) pixels.fill(pixel(scene.palette.group), Math.max(0, top) * width, Math.max(0, bottom - 1) * width);
        if (hasPicture(line)) this.paintGroup(scene, line, pixels, width, left, { top, height: bottom - top - gap, tick: 0 });
        continue;
      }
      const bar = { top, height: bottom - top - gap, tick: Math.round(4 * ratio) };
      paintGap(pixels, width, left, bottom - gap, bottom, grid, gridded);
      if (line.most !== undefined && line.most > 0) {
        if (line.layers) this.paintLayers(scene, line, line.layers, pixels, width, left, bar);
        else this.paintValues(scene, line, pixels, width, left, bar);
        paintGrid(pixels, width, left, top, bottom - gap - 1, grid, gridded);
        continue;
      }
      const row = this.row(scene, line);
      if (line.kind === LOCKS.kind) {
        this.paintLock(scene, line, row, pixels, width, left, bar);
        paintGrid(pixels, width, left, top, bottom - gap - 1, grid, gridded);
        continue;
      }
      paint(pixels, width, left, row, bar, page);
      paintGrid(pixels, width, left, top, bottom - gap - 1, grid, gridded);
      if (line.kind === "thread" || line.kind === "cpu") hatchUnknown(pixels, width, left, row, bar, unknown, page);
      if (line.kind === IDLE.kind && scene.hasIdleEnds && line.height >= MIN_BANDED) {
        const height = Math.round(BAND * ratio);
        paint(pixels, width, left, this.row(scene, { kind: ENDS, track: line.track, id: line.id }), { top: bottom - gap - height, height, tick: 0 });
      }
      if (line.kind !== "thread") continue;
      if (isHatched(scene.changed, line.id)) hatch(pixels, width, left, bar, page);
      // Colours of other threads would look like a change of this one.
      if (scene.changed) continue;
      // Below the ticks, and above the lowest rows, which every bar fills.
      const at = { top: top + Math.round((line.height < MIN_BANDED ? 1 : 5) * ratio), height: Math.round((line.height < MIN_BANDED ? 2 : BAND) * ratio), tick: 0 };
      const band = line.height < MIN_BANDED ? null : this.band(line, cpuRows);
      if (band) paint(pixels, width, left, band, at);
      if (!scene.hasThrottled) continue;
      const throttled = this.row(scene, { kind: THROTTLING, track: line.track, id: line.id });
      const all = divide(throttled, row, pixel(palette.thread[READY]!), this.rows.take(this.picture.columns));
      if (!all) continue;
      paint(pixels, width, left, throttled, { ...bar, tick: 0 });
      paint(pixels, width, left, all, at);
    }
    // Below the last line. Pinned ones are at the end of the list, but at the top of the picture.
    const end = lines.reduce((end, line) => Math.max(end, topOf(line, scene) + line.height), 0);
    if (lines.length > 0) paintGap(pixels, width, left, Math.round((AXIS + end) * ratio), height, grid, gridded);
    const from = right ? left : 0;
    this.pen.putImageData(this.image, 0, 0, from, 0, width - from, height);
    return cpuRows.cpus;
  }

  /** Returns the lowest pixel row of a track's bar. */
  baseOf(scene: Scene, line: Track): number {
    return Math.round((AXIS + topOf(line, scene)) * this.ratio) + Math.round(line.height * this.ratio) - this.gap - 1;
  }

  /** The gap between bars, in device pixels. */
  private get gap(): number {
    return Math.round(2 * this.ratio);
  }

  private row(scene: Scene, line: Pick<Track, "kind" | "track" | "id">): Row {
    const row = this.rows.take(this.picture.columns);
    // Ticks show what ran; additional kinds have no such state.
    const runs = line.kind === "thread" || line.kind === "cpu" ? RUNS : -1;
    const look = this.looks.get(scene, line.kind, line.id);
    const { scale } = this.picture;
    const begins = extraStyle(line.kind)?.begins === true;
    const track = line.track % TRACKS;
    for (const { slices, begin, end } of this.parts(line)) {
      if (begins) {
        fillBegins(row, slices, track, scale, begin, end, look.pixel(0, -1));
        continue;
      }
      const ink = look.inks.get(slices) ?? inkOf(slices, look.pixel);
      look.inks.set(slices, ink);
      fill(row, slices, ink, track, scale, begin, end, runs);
    }
    return row;
  }

  /** Paints a track of values; the full height is its maximum, or somewhat more than its line. */
  private paintValues(scene: Scene, line: Track, pixels: Uint32Array, width: number, left: number, bar: Bar): void {
    const of = extraStyle(line.kind);
    if (!of) return;
    const across = line.line ?? null;
    const top = Math.max(line.most ?? 0, (across ?? 0) * 1.1);
    const { scale, columns } = this.picture;
    const [row] = this.emptied(columns);
    for (const { slices, begin, end } of this.parts(line)) fillHeights(row, slices, line.track % TRACKS, scale, begin, end, top);
    const [colour, page] = [of.colourOf(scene.palette, line.track), scene.palette.page];
    const colours = { mean: pixel(colour), most: pixel(paler(colour, page)), line: pixel(scene.palette.text), page: pixel(page) };
    paintHeights(pixels, width, left, row, bar, colours, across === null ? null : across / top);
  }

  /** Paints a lock's track: who held it, and below, how many threads waited. */
  private paintLock(scene: Scene, line: Track, row: Row, pixels: Uint32Array, width: number, left: number, bar: Bar): void {
    const { palette } = scene;
    const page = pixel(palette.page);
    const low = line.height < MIN_WITH_WAITERS ? 0 : Math.round(WAITERS_HEIGHT * this.ratio);
    const upper = { ...bar, height: bar.height - low };
    paint(pixels, width, left, row, upper, page);
    hatchUnknown(pixels, width, left, row, upper, pixel(palette.thread[UNKNOWN]!), page);
    if (low === 0) return;
    const [heights] = this.emptied(this.picture.columns);
    this.fillLane(heights, line.track, scene.waiters.get(line.track) ?? 1, WAITERS);
    // A line of the page's colour separates the two.
    const lower = { top: upper.top + upper.height + 1, height: low - 1, tick: 0 };
    const colour = palette.dim;
    paintHeights(pixels, width, left, heights, lower, { mean: pixel(colour), most: pixel(paler(colour, palette.page)), line: page, page }, null);
  }

  /** Paints a track of stacked values. */
  private paintLayers(scene: Scene, line: Track, layers: readonly Layer[], pixels: Uint32Array, width: number, left: number, bar: Bar): void {
    const of = extraStyle(line.kind);
    if (!of) return;
    const { scale, columns } = this.picture;
    const rows = layers.map(({ track }) => {
      const row = emptyHeights(columns);
      for (const { slices, begin, end } of this.parts({ kind: line.kind, track })) fillHeights(row, slices, track % TRACKS, scale, begin, end, line.most ?? 0);
      return row.mean;
    });
    const colours = { layers: layers.map(({ tone }) => pixel(of.colourOf(scene.palette, tone))), none: pixel(scene.palette.line), page: pixel(scene.palette.page) };
    paintStack(pixels, width, left, rows, bar, colours);
  }

  /** Returns the two rows of values, empty. */
  private emptied(columns: number): [Heights, Heights] {
    if (this.heights[0].mean.length !== columns) this.heights = [emptyHeights(columns), emptyHeights(columns)];
    else for (const { mean, most } of this.heights) [mean.fill(-1), most.fill(-1)];
    return this.heights;
  }

  /** Paints a folded group: its threads that run, and those that are ready; or its CPUs that are busy. */
  private paintGroup(scene: Scene, line: Group, pixels: Uint32Array, width: number, left: number, bar: Bar): void {
    const { palette } = scene;
    const { scale, columns } = this.picture;
    const [running, ready] = this.emptied(columns);
    if (line.counts) {
      const [ran, waited] = line.counts;
      const top = Math.max(ran.most / RUNNING_SHARE, ran.most === 0 ? (waited?.most ?? 1) : 1);
      this.fillLane(running, ran.track, top);
      if (waited) this.fillLane(ready, waited.track, top);
    } else {
      running.mean.fill(0);
      for (const cpu of line.cpus) {
        for (const { slices, begin, end } of this.parts({ kind: "cpu", track: cpu })) addBusy(running.mean, slices, cpu % TRACKS, scale, begin, end, 1 / line.cpus.length);
      }
    }
    // The CPUs of a group have one core type.
    const ofCpus = scene.by === "type" ? palette.types[scene.facts.type(line.cpus[0] ?? -1)] : palette.cpu[RUNS];
    const busy = line.counts ? palette.thread[RUNS] : ofCpus;
    paintSummary(pixels, width, left, running.mean, line.counts ? ready.mean : null, bar, { busy: pixel(busy!), ready: pixel(palette.thread[READY]!), page: pixel(palette.page) });
  }

  private fillLane(row: Heights, track: number, top: number, kind: Kind = COUNTS): void {
    const { scale } = this.picture;
    for (const { slices, begin, end } of this.parts({ kind, track })) fillHeights(row, slices, track % TRACKS, scale, begin, end, top);
  }

  /** Returns what ran on the CPU on whose queue a thread was ready; null if it was never ready. */
  private band(line: Track, cpuRows: CpuRows): Row | null {
    let band: Row | null = null;
    const { scale, columns } = this.picture;
    for (const { slices, begin, end } of this.parts(line)) {
      eachReady(slices, line.track % TRACKS, scale, begin, end, READY, (cpu, from, to) => {
        band ??= this.rows.take(columns);
        copy(band, cpuRows.row(cpu), from, to);
      });
    }
    return band;
  }

  /** Returns the cached tiles of a track. */
  private parts(line: Pick<Track, "kind" | "track">): readonly Part[] {
    const { span, scale, columns, tiles } = this.picture;
    const block = Math.floor(line.track / TRACKS);
    const key = `${line.kind} ${block}`;
    const known = tiles.get(key);
    if (known) return known;
    const parts: Part[] = [];
    const level = levelOf(scale.perPixel);
    const { first, last } = covering(span, level);
    for (let index = first; index <= last; index++) {
      const place = { kind: line.kind, block, level, index };
      const best = this.tiles.best(place);
      if (!best) continue;
      const { from, to } = spanOf(place);
      // Each pixel belongs to the tile that contains its middle.
      const begin = Math.max(0, Math.ceil((from - scale.from) / scale.perPixel - 0.5));
      parts.push({ slices: best.slices, begin, end: Math.min(columns, Math.ceil((to - scale.from) / scale.perPixel - 0.5)) });
    }
    tiles.set(key, parts);
    return parts;
  }

  /** Writes the names of threads into slices of CPUs and locks where there is room. */
  private writeNames(scene: Scene, lines: readonly Line[]): void {
    const { pen, ratio } = this;
    const { scale, columns } = this.picture;
    for (const line of lines) {
      const isLock = line.kind === LOCKS.kind;
      if (!isTrack(line) || (line.kind !== "cpu" && !isLock)) continue;
      const low = isLock && line.height >= MIN_WITH_WAITERS ? WAITERS_HEIGHT : 0;
      const y = AXIS + topOf(line, scene) + (line.height - low) / 2 - 1;
      for (const { slices, begin, end } of this.parts(line)) {
        for (const state of isLock ? [HELD, LAST] : [RUNS]) {
          eachWide(slices, line.track % TRACKS, scale, { first: begin, last: end, width: columns }, state, MIN_NAMED * ratio, (thread, from, to) => {
            pen.fillStyle = ink(colourOf(scene, { kind: line.kind, state, what: thread, id: line.id }));
            pen.fillText(this.cutter.cut(pen, scene.nameOf(thread), (to - from) / ratio - 6), LABELS + from / ratio + 3, y);
          });
        }
      }
    }
  }

  /** The columns of gridlines, in device pixels right of the labels. */
  private grid(scene: Scene): number[] {
    const perPixel = (scene.span.to - scene.span.from) / this.width;
    return axisTicks(scene.span, perPixel).times.map((time) => Math.round(Math.round((time - scene.span.from) / perPixel) * this.ratio));
  }

  private frameSelected(scene: Scene, lines: readonly Line[]): void {
    const chosen = scene.selected;
    const line = lines.find((l): l is Track => isTrack(l) && l.kind === chosen?.kind && l.id === chosen.id);
    if (!line || !chosen) return;
    const { pen } = this;
    const perPixel = (scene.span.to - scene.span.from) / this.width;
    const slice = this.sliceAt(scene, line, chosen.at) ?? { start: chosen.at, end: chosen.at };
    const x = (time: number) => LABELS + Math.min(this.width + 4, Math.max(-4, (time - scene.span.from) / perPixel));
    const [left, right] = [x(slice.start), x(slice.end)];
    pen.save();
    pen.beginPath();
    const above = line.fixed ? 0 : scene.fixed;
    pen.rect(LABELS, AXIS + above, this.width, this.height - above);
    pen.clip();
    pen.strokeStyle = scene.palette.text;
    pen.lineWidth = 2;
    pen.strokeRect(left - 1, AXIS + topOf(line, scene) - 1, Math.max(2, right - left) + 2, line.height);
    pen.restore();
  }
}
