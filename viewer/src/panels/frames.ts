/** The frames of the recording, the slowest first, and why one of them was slow: the causes on its critical path, as the command line's tables `slow_frames` and `slow_intervals` have them. */

import type { ListedFrames, ThreadTracks } from "../generated/tables";
import { budgetOf, ms, nameOfSource, neighbour, ordered, piecesOf, type CauseRow, type FrameList, type FrameOrder, type FrameSource } from "../model/frames";
import { registerTicks } from "../model/ticks";
import { length, point } from "../model/time";
import type { Span } from "../model/view";
import { source } from "../source";
import { button, facts, heading, link, paragraph } from "../ui/dom";
import { causeBar, causeTable, histogram } from "./frame_pictures";

/** The number of frames that are listed at first. */
const LISTED = 100;

/** The page's functions that the panel uses. */
export interface FrameActions {
  readonly nameOf: (thread: number) => string;
  readonly thread: (key: number) => ThreadTracks | undefined;
  /** Goes to a frame: zooms, marks the range, and shows the critical path to the end of its thread, if that is known. */
  readonly to: (span: Span, thread: number | null) => void;
  /** Shows this panel. */
  readonly open: () => void;
  readonly say: (text: string) => void;
}

const GROUPS: readonly [title: string, is: (of: FrameSource) => boolean][] = [
  ["Frames", (of) => of.frames],
  ["Marks", (of) => !of.frames && of.kind === "mark"],
  ["Periods", (of) => of.kind === "period"],
  ["Requests", (of) => of.kind === "request"],
  ["Parallel regions", (of) => of.kind === "region"],
];

export class Frames {
  private readonly panel: HTMLElement;
  private readonly tab: HTMLElement;
  private readonly page: FrameActions;
  private readonly sources = document.createElement("select");
  private readonly budget = document.createElement("input");
  private readonly status = document.createElement("p");
  /** The chosen source and budget; hidden without sources. */
  private readonly bar: HTMLElement;
  private readonly picture = document.createElement("div");
  private readonly chosen = document.createElement("div");
  private readonly rows = document.createElement("div");
  private known: readonly FrameSource[] = [];
  private complete = false;
  private list: FrameList | null = null;
  private frame: ListedFrames | null = null;
  private by: FrameOrder = "length";
  private shown = LISTED;
  /** Counts requests, so that an outdated answer is not shown. */
  private turn = 0;
  private frames = 0;

  constructor(panel: HTMLElement, tab: HTMLElement, page: FrameActions) {
    [this.panel, this.tab, this.page] = [panel, tab, page];
    this.sources.setAttribute("aria-label", "What is listed");
    this.sources.addEventListener("change", () => void this.load());
    Object.assign(this.budget, { type: "text", size: 9, autocomplete: "off", placeholder: "median", title: "Frame budget, such as 16.7ms or 60Hz; empty: the median" });
    this.budget.addEventListener("change", () => void this.load());
    const label = document.createElement("label");
    label.append("Budget ", this.budget);
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append(this.sources, label);
    this.bar = bar;
    this.status.setAttribute("role", "status");
    this.panel.classList.add("frames");
    this.panel.replaceChildren(bar, this.status, this.picture, this.chosen, this.rows);
    this.panel.addEventListener("keydown", (event) => {
      const by = event.key === "]" ? 1 : event.key === "[" ? -1 : 0;
      if (by === 0 || event.target === this.budget) return;
      event.preventDefault();
      this.step(by);
    });
    tab.addEventListener("click", () => void this.opened());
  }

  /** Finds the frames: the frame log, or marks that look like frames. */
  async find(): Promise<void> {
    try {
      this.fill(await source.frameSources(false));
    } catch (why) {
      this.status.textContent = `Frames unavailable: ${(why as Error).message}`;
      return;
    }
    if (this.known[0]?.frames) await this.load();
    else this.status.textContent = "No frame log, and no marks that look like frames.";
  }

  /** Goes to the previous or next frame of the list; the first one if none is selected. Without frames, periods are looked for first. */
  step(by: -1 | 1): void {
    if (!this.list && !this.complete) {
      this.page.open();
      return void this.opened().then(() => this.step(by));
    }
    if (!this.list || this.list.frames.length === 0) return this.page.say("No frames are listed.");
    const to = neighbour(ordered(this.list.frames, this.by), this.frame, by);
    if (!to) return this.page.say(by < 0 ? "This is the first frame of the list." : "This is the last frame of the list.");
    this.page.open();
    this.choose(to);
  }

  /** Returns a button that goes to the frame that a slice shows; null if it is not in the list. */
  linkTo(slice: { readonly start: number; readonly end: number }): Node | null {
    // On the track of a frame log, a frame that began before the last one ended is cut.
    const frame = this.list?.frames.find((of) => of.end_ns === slice.end && of.start_ns <= slice.start);
    if (!frame) return null;
    return button(`Show why it took ${ms(frame.frame_ns)} ms`, () => {
      this.page.open();
      this.choose(frame);
    });
  }

  /** Adds periods, requests and regions, which may take a pass over the recording. */
  private async opened(): Promise<void> {
    if (this.complete) return;
    this.complete = true;
    const before = this.status.textContent;
    if (!this.list) this.status.textContent = "Looking for marks, periods, requests and parallel regions…";
    try {
      this.fill(await source.frameSources(true));
    } catch {
      // A page of one file has only the frames that were found.
      this.status.textContent = before;
      return;
    }
    if (this.list) return;
    if (this.known.length > 0) await this.load();
    else this.status.textContent = "This recording has no frames, marks, periods, requests or parallel regions.";
  }

  private fill(known: readonly FrameSource[]): void {
    const chosen = this.sources.value;
    this.known = known;
    // Of periods, those of the thread that ran most are first: others are of little interest.
    const ran = (of: FrameSource) => (of.kind === "period" ? (this.page.thread(of.thread ?? 0)?.running_ns ?? 0) : 0);
    const groups = GROUPS.flatMap(([title, is]) => {
      const group = document.createElement("optgroup");
      group.label = title;
      for (const of of known.filter(is).sort((a, b) => ran(b) - ran(a))) group.append(new Option(`${this.nameOf(of)} (${of.count})`, of.of));
      return group.childElementCount > 0 ? [group] : [];
    });
    this.sources.replaceChildren(...groups);
    if (known.some((of) => of.of === chosen)) this.sources.value = chosen;
    this.bar.hidden = known.length === 0;
  }

  private nameOf(of: FrameSource): string {
    return nameOfSource(of, (key) => `${this.page.nameOf(key)} ${this.page.thread(key)?.tid ?? ""}`.trim());
  }

  private get asked(): { of: string; budget: number | null } | null {
    const budget = budgetOf(this.budget.value);
    this.budget.setAttribute("aria-invalid", String(budget === undefined));
    if (budget !== undefined) return { of: this.sources.value, budget };
    this.status.textContent = `${this.budget.value} is not a time: write a budget such as 16.7ms or 60Hz.`;
    return null;
  }

  /** Lists the frames of the chosen source. */
  private async load(): Promise<void> {
    const asked = this.asked;
    if (!asked || asked.of === "") return;
    const turn = ++this.turn;
    this.panel.dataset["busy"] = "true";
    this.status.textContent = "Calculating…";
    try {
      const list = await source.frames(asked.of, asked.budget);
      if (turn !== this.turn) return;
      [this.list, this.frame, this.shown] = [list, null, LISTED];
      if (this.known.find((of) => of.of === asked.of)?.frames) this.frames = list.count;
      this.tab.textContent = this.frames > 0 ? `Frames (${this.frames})` : "Frames";
      this.show(list, asked.budget);
    } catch (why) {
      if (turn === this.turn) this.status.textContent = `Frames unavailable: ${(why as Error).message}`;
    }
    if (turn === this.turn) this.panel.dataset["busy"] = "false";
  }

  private show(list: FrameList, budget: number | null): void {
    const which = budget === null ? (list.budget === list.median ? "the median" : "as given to corewise view") : "";
    const longest = list.frames[0];
    const words = [`${list.over} of ${list.count} over the budget of ${ms(list.budget)} ms${which === "" ? "" : ` (${which})`}`];
    if (budget !== null || list.budget !== list.median) words.push(`median ${ms(list.median)} ms`);
    if (longest) words.push(`longest ${ms(longest.frame_ns)} ms`);
    this.status.textContent = list.count === 0 ? "No frames that began and ended within the recording." : `${words.join("; ")}.`;
    registerTicks("slow frame", list.frames.filter((frame) => frame.over_ns > 0).map((frame) => frame.start_ns));
    this.picture.replaceChildren(...(list.count > 0 ? [histogram(list)] : []));
    this.chosen.replaceChildren();
    this.fillRows();
  }

  /** Fills the list, sorted by length or time. */
  private fillRows(): void {
    const frames = ordered(this.list?.frames ?? [], this.by);
    const table = document.createElement("table");
    table.className = "list";
    const head = table.createTHead().insertRow();
    const by = (label: string, order: FrameOrder) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      if (this.by === order) cell.ariaSort = order === "length" ? "descending" : "ascending";
      cell.append(link(label, () => {
        this.by = order;
        this.fillRows();
      }));
      head.append(cell);
    };
    by("ms", "length");
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: "over ms" }));
    by("start", "time");
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: "what" }));
    const body = table.createTBody();
    for (const frame of frames.slice(0, this.shown)) {
      const row = body.insertRow();
      row.dataset["rank"] = String(frame.rank);
      if (frame.rank === this.frame?.rank) row.ariaCurrent = "true";
      const number = (text: string | Node) => {
        const cell = row.insertCell();
        cell.className = "time";
        cell.append(text);
      };
      const go = link(ms(frame.frame_ns), () => this.choose(frame));
      go.title = `Go to this frame (number ${frame.rank} by length)`;
      number(go);
      number(frame.over_ns > 0 ? ms(frame.over_ns) : "–");
      number(point(frame.start_ns, 1e3));
      const what = row.insertCell();
      what.textContent = what.title = this.whatOf(frame);
    }
    const nodes: Node[] = frames.length > 0 ? [table] : [];
    const all = this.list?.count ?? 0;
    if (frames.length > this.shown) {
      nodes.push(button(`Show all ${frames.length}`, () => {
        this.shown = frames.length;
        this.fillRows();
      }));
    }
    if (all > frames.length && frames.length > 0) nodes.push(paragraph(`The ${frames.length} slowest of ${all} are listed.`));
    this.rows.replaceChildren(...nodes);
  }

  private whatOf(frame: ListedFrames): string {
    const thread = frame.thread === null ? "" : `${this.page.nameOf(frame.thread)} ${this.page.thread(frame.thread)?.tid ?? ""}`.trim();
    return [frame.name ?? "", frame.number === null ? "" : `#${frame.number}`, thread].filter((part) => part !== "").join(" · ");
  }

  /** Goes to a frame and shows its causes. */
  private choose(frame: ListedFrames): void {
    this.frame = frame;
    const at = this.rows.querySelector(`tr[data-rank="${frame.rank}"]`);
    if (!at) this.shown = Infinity;
    if (!at) this.fillRows();
    for (const row of this.rows.querySelectorAll<HTMLElement>("tbody tr")) row.ariaCurrent = row.dataset["rank"] === String(frame.rank) ? "true" : null;
    this.page.to({ from: frame.start_ns, to: frame.end_ns }, frame.thread);
    void this.explain(frame);
  }

  private async explain(frame: ListedFrames): Promise<void> {
    const asked = this.asked;
    const frames = ordered(this.list?.frames ?? [], this.by);
    const steps = document.createElement("div");
    steps.className = "bar";
    const step = (label: string, by: -1 | 1, key: string) => {
      const made = button(label, () => this.step(by));
      made.title = `${by < 0 ? "Previous" : "Next"} frame of the list (${key})`;
      made.disabled = neighbour(frames, frame, by) === null;
      return made;
    };
    steps.append(step("Previous", -1, "["), step("Next", 1, "]"), this.by === "length" ? `${frame.rank} of ${this.list?.count ?? 0}` : `${frames.findIndex((of) => of.rank === frame.rank) + 1} of ${frames.length}`);
    const title = heading(`${ms(frame.frame_ns)} ms${frame.over_ns > 0 ? `, ${ms(frame.over_ns)} ms over` : ""}: ${this.whatOf(frame)}`);
    const wait = paragraph("Calculating its causes…");
    const had = this.chosen.contains(document.activeElement) ? document.activeElement?.textContent : null;
    this.chosen.replaceChildren(title, steps, wait);
    title.title = title.textContent ?? "";
    this.chosen.scrollIntoView({ block: "nearest" });
    // The pressed button was replaced: keep the focus in its place.
    if (had) [...steps.querySelectorAll("button")].find((made) => made.textContent === had && !made.disabled)?.focus();
    if (!asked) return;
    this.chosen.dataset["busy"] = "true";
    try {
      const rows = await source.frameCauses<CauseRow>(asked.of, asked.budget, frame.rank);
      if (this.frame !== frame) return;
      const pieces = piecesOf(rows, this.page.nameOf);
      if (pieces.length > 0) wait.replaceWith(causeBar(pieces, frame.frame_ns), causeTable(pieces));
      else wait.replaceWith(...(await this.logged(frame)));
      if (this.frame !== frame) return;
      const ends = rows[0]?.thread ?? null;
      // The thread of a frame of a process is known only now.
      if (frame.thread === null && ends !== null) this.page.to({ from: frame.start_ns, to: frame.end_ns }, ends);
    } catch (why) {
      if (this.frame === frame) wait.textContent = `Causes unavailable: ${(why as Error).message}`;
    }
    if (this.frame !== frame) return;
    this.chosen.dataset["busy"] = "false";
    this.chosen.scrollIntoView({ block: "nearest" });
  }

  /** What a frame log says of a frame; a log has no threads. */
  private async logged(frame: ListedFrames): Promise<Node[]> {
    const rows = await source.rows<Record<string, string | number | boolean | null>>("frames", frame.start_ns, frame.end_ns, {});
    const row = rows.find((of) => of["start_ns"] === frame.start_ns && of["frame_ns"] === frame.frame_ns && (of["application"] ?? null) === frame.name);
    if (!row) return [paragraph("No causes: the recording has no threads for this time.")];
    const cells = Object.entries(row).filter(([name, value]) => value !== null && value !== undefined && !["start_ns", "frame_ns"].includes(name));
    // What limited the frame is the answer: it comes first.
    cells.sort(([a], [b]) => Number(b === "bound") - Number(a === "bound"));
    const shown = cells.map(([name, value]): [string, string] => [name.replace(/_ns$/, "").replaceAll("_", " "), name.endsWith("_ns") ? length(Number(value)) : String(value)]);
    return [paragraph("The frame log has no threads. It says of this frame:"), facts(shown)];
  }
}
