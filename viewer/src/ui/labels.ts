/** Writes the labels of tracks and groups. */

import { isTrack, topOf, type Group, type Line, type Track } from "../model/layout";
import { ink, ofHash } from "../model/palette";
import { isHatched } from "./colours";
import { Cutter } from "./cut";
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
/** The width of a cell at the right end of a label, in CSS pixels. */
const CELL = 54;
/** Below this height, a label has a smaller font. */
const SMALL = 15;
const [FONT, SMALL_FONT, HEAD] = ["12px system-ui, sans-serif", "10px system-ui, sans-serif", "600 12px system-ui, sans-serif"];

const cutters = new Map([FONT, SMALL_FONT, HEAD].map((font) => [font, new Cutter()] as const));

/** Returns the text with an ellipsis if it is wider, for the pen's font, which is one of those above. */
function cut(pen: CanvasRenderingContext2D, font: string, text: string, width: number): string {
  return cutters.get(font)?.cut(pen, text, width) ?? text;
}

/** A label with a TID or PID, and what follows it. */
const WITH_ID = /^(.+?) \(?(?:thread|process) (\d+)\)?(.*)$|^(.+) (\d+)$/;
/** A lock's label with an address, whose end differs from that of others, and a PID. */
const LOCK = /^(.+) 0x[0-9a-f]*?([0-9a-f]{1,4}) \(process (\d+)\)$/;
/** The part of a label's width that an ID with what follows it takes at most. */
const TAIL = 0.6;

/** Cuts the label of a track; its ID stays, since threads of a pool have one name. */
function cutLabel(pen: CanvasRenderingContext2D, font: string, text: string, width: number): string {
  const whole = cut(pen, font, text, width);
  const lock = whole === text ? null : LOCK.exec(text);
  if (lock) {
    const [kind, end, id] = lock.slice(1) as [string, string, string];
    const short = [`${kind} …${end} ${id}`, `…${end} ${id}`].find((of) => widthOf(pen, of) <= width);
    if (short !== undefined) return short;
  }
  const parts = whole === text ? null : WITH_ID.exec(text);
  if (!parts) return whole;
  const [id, rest] = [` ${parts[2] ?? parts[5]}`, parts[3] ?? ""];
  const tail = widthOf(pen, id + rest) < TAIL * width ? id + rest : rest === "" ? id : `${id}…`;
  const name = cut(pen, font, parts[1] ?? parts[4]!, width - widthOf(pen, tail));
  return name === "" ? whole : `${name}${tail}`;
}

export function writeLabels(pen: CanvasRenderingContext2D, scene: Scene, lines: readonly Line[], sizes: Sizes): void {
  for (const line of lines) {
    // On whole pixels, since text redrawn over itself would get darker at its edges.
    const top = Math.round((sizes.axis + topOf(line, scene)) * sizes.ratio) / sizes.ratio;
    if (!isTrack(line)) writeGroup(pen, scene, line, top, sizes);
    else writeTrack(pen, scene, line, top, sizes);
  }
  pen.font = FONT;
}

function writeTrack(pen: CanvasRenderingContext2D, scene: Scene, line: Track, top: number, sizes: Sizes): void {
  const { palette, found } = scene;
  const isFound = found.has(line);
  pen.fillStyle = isFound ? palette.found : palette.page;
  pen.fillRect(0, top, sizes.labels - 4, line.height - 1);
  const font = line.height < SMALL ? SMALL_FONT : FONT;
  pen.font = font;
  const thread = line.kind === "thread";
  // The colour in which CPUs show the thread.
  if (thread && !scene.changed && (scene.by === "thread" || scene.by === "process")) {
    pen.fillStyle = ofHash(palette, scene.facts[scene.by](line.id));
    pen.fillRect(6, top + 2, 4, line.height - 5);
  }
  let cell = 0;
  if (thread && scene.changed) cell = writeChange(pen, scene, line.id, top, line.height, sizes);
  else if (line.value !== "") {
    cell = CELL;
    pen.fillStyle = isFound ? "#000000" : palette.dim;
    pen.textAlign = "end";
    pen.fillText(line.value, sizes.labels - 10, top + line.height / 2, CELL);
    pen.textAlign = "start";
  }
  pen.fillStyle = isFound ? "#000000" : palette.dim;
  pen.fillText(cutLabel(pen, font, line.label, sizes.labels - 22 - cell), 14, top + line.height / 2);
  if (thread && scene.marked.has(line.id)) frame(pen, scene, top, line.height, sizes);
}

/** Writes the head of a group. If it is folded, a picture of it is at the right. */
function writeGroup(pen: CanvasRenderingContext2D, scene: Scene, line: Group, top: number, sizes: Sizes): void {
  const { palette } = scene;
  const pictured = hasPicture(line);
  pen.font = HEAD;
  pen.fillStyle = palette.group;
  pen.fillRect(0, top, pictured ? sizes.labels - 4 : sizes.width, line.height - 1);
  pen.fillStyle = palette.dim;
  triangle(pen, 9, top + line.height / 2 - 0.5, line.open);
  // What it holds is at the right. A picture is not covered: the tip and the panel have these words too.
  pen.font = FONT;
  const text = pictured ? "" : holds(line);
  const wide = text === "" ? 0 : widthOf(pen, text);
  const room = sizes.width - sizes.labels;
  const shown = wide > 0 && wide + 20 < room;
  if (shown) {
    pen.fillStyle = palette.dim;
    pen.fillText(text, sizes.width - wide - 6, top + line.height / 2);
  }
  pen.font = HEAD;
  pen.fillStyle = palette.text;
  pen.fillText(cut(pen, HEAD, line.label, (pictured ? sizes.labels - 8 : sizes.width - (shown ? wide + 20 : 8)) - 18), 18, top + line.height / 2);
}

/** Returns whether a group shows how busy it is over time: folded ones of threads or CPUs do. */
export function hasPicture(line: Group): boolean {
  return !line.open && (line.counts !== null || line.cpus.length > 0);
}

/** Returns the upper and lower edges of the heads of groups that have no picture, where they can be seen; `axis` is the height above all. */
export function headsOf(scene: Pick<Scene, "scroll" | "fixed" | "lines" | "height">, lines: readonly Line[], axis: number): [number, number][] {
  return lines.flatMap((line): [number, number][] => {
    if (isTrack(line) || hasPicture(line)) return [];
    const top = axis + topOf(line, scene);
    return [[line.fixed ? top : Math.max(top, axis + scene.fixed), top + line.height]];
  });
}

const texts = new WeakMap<Group, string>();
const widths = new Map<string, number>();

/** Returns how many tracks a group has, and how busy it is; made once for each line. */
export function holds(line: Group): string {
  const known = texts.get(line);
  if (known !== undefined) return known;
  const count = line.count < line.all ? `${line.count} of ${line.all} shown` : line.open || line.count === 1 ? "" : `${line.count} tracks`;
  const made = [line.busy, count].filter((part) => part !== "").join(" · ");
  texts.set(line, made);
  return made;
}

function widthOf(pen: CanvasRenderingContext2D, text: string): number {
  const key = `${pen.font} ${text}`;
  const known = widths.get(key) ?? pen.measureText(text).width;
  if (widths.size > 10_000) widths.clear();
  widths.set(key, known);
  return known;
}

/** Draws the sign of an open group, pointing down, or of a folded one, pointing right. */
function triangle(pen: CanvasRenderingContext2D, x: number, y: number, open: boolean): void {
  pen.beginPath();
  if (open) {
    pen.moveTo(x - 4, y - 2.5);
    pen.lineTo(x + 4, y - 2.5);
    pen.lineTo(x, y + 3);
  } else {
    pen.moveTo(x - 2.5, y - 4);
    pen.lineTo(x + 3, y);
    pen.lineTo(x - 2.5, y + 4);
  }
  pen.fill();
}

/** Writes what changed on a cell at the right end of a label; returns its width. */
function writeChange(pen: CanvasRenderingContext2D, scene: Scene, thread: number, top: number, height: number, sizes: Sizes): number {
  const { changed, palette } = scene;
  const colour = palette.changes[changed?.classOf(thread) ?? 0] ?? palette.dim;
  const [width, text] = [CELL, changed?.short(thread) ?? ""];
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
