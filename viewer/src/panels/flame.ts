/** The flame graph of a time range: searched, zoomed, and compared with another range. */

import { flame, found, step, zoomed, type FlameFrame, type FoldedStack } from "../model/flame";
import { point } from "../model/time";
import type { Span } from "../model/view";
import { source } from "../source";
import { button } from "../ui/dom";

/** The table from which it is drawn. */
export const TABLE = "folded_stacks";
/** The maximum number of callchains: those with the most samples. */
const MAX_STACKS = 10_000;
/** Pixels from one frame to the next, and the height of a frame. */
const STEP = 17;
const HEIGHT = 16;
const SVG = "http://www.w3.org/2000/svg";

interface Stacks {
  readonly stacks: FoldedStack[];
  /** The number of callchains, of which `stacks` may be the first. */
  readonly all: number;
}

export class Flame {
  readonly element = document.createElement("div");
  private readonly search = document.createElement("input");
  private readonly byCore = document.createElement("input");
  private readonly status = document.createElement("span");
  private readonly legend = document.createElement("span");
  private readonly clear: HTMLButtonElement;
  private readonly picture = document.createElementNS(SVG, "svg");
  private span: Span | null = null;
  private now: Stacks = { stacks: [], all: 0 };
  private baseline: { readonly span: Span; readonly of: Stacks } | null = null;
  private frames: FlameFrame[] = [];
  private nodes: SVGElement[] = [];
  private hits: FlameFrame[] = [];
  private next = 0;

  constructor() {
    this.element.className = "flame";
    this.search.type = "search";
    this.search.placeholder = "function";
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => {
      const hit = this.hits[this.next % Math.max(1, this.hits.length)];
      if (event.key !== "Enter" || !hit) return;
      this.zoom(hit);
      this.next++;
    });
    this.byCore.type = "checkbox";
    this.byCore.checked = true;
    this.byCore.addEventListener("change", () => this.draw());
    this.clear = button("Clear baseline", () => this.compare(null));
    const label = (words: string, input: HTMLElement, first = false) => {
      const made = document.createElement("label");
      made.append(...(first ? [input, ` ${words}`] : [`${words} `, input]));
      return made;
    };
    this.legend.className = "legend";
    this.status.setAttribute("role", "status");
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append(
      label("Search", this.search),
      button("Show all", () => this.reset()),
      label("by core type", this.byCore, true),
      button("Use as baseline", () => this.span && this.compare({ span: this.span, of: this.now })),
      this.clear,
      this.legend,
      this.status,
    );
    this.picture.setAttribute("width", "100%");
    this.picture.setAttribute("role", "img");
    this.picture.setAttribute("aria-label", "Flame graph");
    const scroll = document.createElement("div");
    scroll.className = "rows";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Flame graph of the time range");
    scroll.append(this.picture);
    this.element.append(bar, scroll);
  }

  /** Requests the samples of a time range and draws them. */
  async show(span: Span, signal: AbortSignal): Promise<void> {
    const now = await read(span, signal);
    if (signal.aborted) return;
    [this.span, this.now] = [span, now];
    this.draw();
    this.picture.parentElement!.scrollTop = this.picture.parentElement!.scrollHeight;
  }

  /** Compares with another range, or no longer. */
  private compare(baseline: { span: Span; of: Stacks } | null): void {
    this.baseline = baseline;
    this.draw();
  }

  private reset(): void {
    this.search.value = "";
    this.find();
    if (this.frames[0]) this.zoom(this.frames[0]);
  }

  private draw(): void {
    const { baseline } = this;
    this.clear.hidden = baseline === null;
    this.frames = flame(this.now.stacks, baseline?.of.stacks ?? null, this.byCore.checked);
    const depth = Math.max(...this.frames.map((frame) => frame.depth));
    const [samples, before] = [this.now, baseline?.of].map((of) => of?.stacks.reduce((sum, stack) => sum + stack.samples, 0) ?? 0);
    this.nodes = this.frames.map((frame) => {
      const made = document.createElementNS(SVG, "svg");
      made.setAttribute("class", frame.points === null ? frame.kind : classOf(frame.points));
      made.setAttribute("y", String((depth - frame.depth) * STEP));
      made.setAttribute("height", String(HEIGHT));
      const title = document.createElementNS(SVG, "title");
      const change = frame.points === null ? "" : `, ${frame.points < 0 ? "" : "+"}${frame.points.toFixed(1)} points`;
      title.textContent = `${frame.label}${frame.kind === "kernel" ? " (kernel)" : ""}: ${frame.samples} samples, ${percent(frame.width)}${change}`;
      const rect = document.createElementNS(SVG, "rect");
      for (const side of ["width", "height"]) rect.setAttribute(side, "100%");
      const text = document.createElementNS(SVG, "text");
      text.setAttribute("x", "3");
      text.setAttribute("y", "12");
      text.textContent = frame.label;
      made.append(title, rect, text);
      made.addEventListener("click", () => this.zoom(frame));
      return made;
    });
    this.picture.setAttribute("height", String((depth + 1) * STEP));
    this.picture.replaceChildren(...(samples === 0 ? [] : this.nodes));
    this.legend.replaceChildren(...legend(this.frames, baseline !== null));
    const first = this.now.all > this.now.stacks.length ? ` of the first ${this.now.stacks.length} of ${this.now.all} callchains` : "";
    const compared = baseline ? `, compared with ${before} from ${point(baseline.span.from, 1e3)} to ${point(baseline.span.to, 1e3)}` : "";
    this.status.dataset["samples"] = String(samples);
    this.status.textContent = samples === 0 ? "No samples in this range." : `${samples} samples${first}${compared}`;
    if (this.frames[0]) this.zoom(this.frames[0]);
    if (this.search.value !== "") this.find();
  }

  /** Lets a frame fill the width. */
  private zoom(to: FlameFrame): void {
    this.frames.forEach((frame, at) => {
      const node = this.nodes[at]!;
      const place = zoomed(frame, to);
      node.classList.toggle("out", place === null);
      if (!place) return;
      node.setAttribute("x", percent(place.x, 3));
      node.setAttribute("width", percent(place.width, 3));
    });
  }

  private find(): void {
    const words = this.search.value;
    const { hits, share } = found(this.frames, words);
    [this.hits, this.next] = [hits, 0];
    const all = new Set(hits);
    this.frames.forEach((frame, at) => this.nodes[at]!.classList.toggle("hit", all.has(frame)));
    this.picture.classList.toggle("searched", words !== "");
    this.status.textContent = words === "" ? `${this.status.dataset["samples"] ?? 0} samples` : `${hits.length} frames, ${percent(share)} of the samples`;
  }
}

async function read(span: Span, signal: AbortSignal): Promise<Stacks> {
  const { columns, rows, all } = await source.part(TABLE, span, { column: "samples", down: true, most: MAX_STACKS, signal });
  const place = (name: string) => columns.findIndex((column) => column.name === name);
  const names = ["thread", "thread_name", "comm", "tid", "core_type", "callchain", "samples"];
  const [key, name, comm, tid, core, chain, samples] = names.map(place);
  const stacks = rows.map((row) => ({
    thread: String(row[comm!] ?? row[name!] ?? `thread ${String(row[tid!])}`),
    coreType: String(row[core!]),
    chain: String(row[chain!] ?? "[unknown]"),
    samples: row[key!] === 0 ? 0 : Number(row[samples!]),
  }));
  // The idle task, whose key is 0, is left out.
  return { stacks: stacks.filter((stack) => stack.samples > 0), all };
}

function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)}${digits === 1 ? " " : ""}%`;
}

function classOf(points: number): string {
  const by = step(points);
  return by === 0 ? "same" : `${by < 0 ? "less" : "more"}-${Math.abs(by)}`;
}

/** The colours that are drawn. */
function legend(frames: readonly FlameFrame[], compared: boolean): Node[] {
  const kinds: [string, string][] = compared
    ? [["less-3", "smaller share"], ["same", "same"], ["more-3", "larger share"]]
    : ([["core", "core type"], ["thread", "thread"], ["program", "program"], ["kernel", "kernel"], ["unnamed", "no symbol"]] as [string, string][]).filter(([kind]) => frames.some((frame) => frame.kind === kind));
  return kinds.flatMap(([kind, words]) => {
    const swatch = document.createElementNS(SVG, "svg");
    for (const side of ["width", "height"]) swatch.setAttribute(side, "12");
    swatch.setAttribute("class", kind);
    const rect = document.createElementNS(SVG, "rect");
    for (const side of ["width", "height"]) rect.setAttribute(side, "100%");
    swatch.append(rect);
    return [swatch, document.createTextNode(` ${words} `)];
  });
}
