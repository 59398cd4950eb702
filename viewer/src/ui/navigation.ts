/** The ways through the recording: the minimap, the time cursor, ticks, and notes. */

import type { About } from "../api";
import { MAX_NOTES, notesFrom, notesWord, withNote, type Note } from "../model/notes";
import type { Palette } from "../model/palette";
import { registerTicks } from "../model/ticks";
import { length, point } from "../model/time";
import type { Span } from "../model/view";
import { Notes } from "../panels/notes";
import { source } from "../source";
import { Cursor } from "./cursor";
import { drawMarks } from "./marks";
import { Minimap } from "./minimap";
import type { Places } from "./overlay";

/** The maximum number of losses that are shown as ticks. */
const MAX_LOSSES = 10_000;
/** The distance within which a click on the ruler is on a note, in CSS pixels. */
const NEAR = 6;

/** What the page shows, as far as it is needed here. */
interface View {
  readonly span: Span;
  readonly palette: Palette;
  readonly overlay: { readonly range: Span | null };
}

/** The page's functions that the navigation uses. */
export interface NavigationActions {
  readonly show: (span: Span) => void;
  readonly scene: () => View;
  readonly changed: () => void;
  /** Returns the time at a place of the canvas, in CSS pixels. */
  readonly timeAt: (x: number) => number;
  /** The width of the tracks' labels, in CSS pixels. */
  readonly left: () => number;
  /** The begin of the selected slice, if there is one. */
  readonly selected: () => number | null;
  readonly showPanel: (panel: string) => void;
  readonly say: (text: string) => void;
}

/** The elements of the page that the navigation fills. */
export interface Elements {
  readonly canvas: HTMLCanvasElement;
  readonly minimap: HTMLCanvasElement;
  readonly stage: HTMLElement;
  readonly notes: HTMLElement;
  readonly notesTab: HTMLElement;
}

export class Navigation {
  private readonly about: About;
  private readonly page: NavigationActions;
  private readonly canvas: HTMLCanvasElement;
  private readonly minimap: Minimap;
  private readonly cursor: Cursor;
  private readonly list: Notes;
  private notes: readonly Note[] = [];
  /** The pointer's place on the canvas, in CSS pixels. */
  private pointer: number | null = null;
  private loaded = false;
  private stating: ReturnType<typeof setTimeout> | undefined;

  constructor(elements: Elements, about: About, page: NavigationActions) {
    [this.about, this.page, this.canvas] = [about, page, elements.canvas];
    this.minimap = new Minimap(elements.minimap, about, { show: page.show, view: () => page.scene().span, changed: page.changed });
    this.cursor = new Cursor(elements.stage);
    this.list = new Notes(elements.notes, elements.notesTab, {
      go: (at) => this.go(at),
      change: (note) => this.set(withNote(this.notes, note)),
      remove: (at) => {
        this.set(this.notes.filter((note) => note.at !== at));
        if (this.notes.length === 0) page.showPanel("details");
      },
    });
    elements.canvas.addEventListener("pointerleave", () => this.hover(null));
  }

  /** The words of the address that keep the notes; empty if there are none. */
  get word(): string {
    return notesWord(this.notes);
  }

  /** Takes the notes from an address; with `exact` none if it has none. */
  restore(hash: string, exact: boolean): void {
    const notes = notesFrom(hash, this.about.span_ns);
    if (exact || notes.length > 0) this.set(notes);
  }

  /** Draws the minimap and moves the cursor; called after each frame. `complete` means that all visible tiles are there. */
  drawn(complete: boolean): void {
    const { span, palette } = this.page.scene();
    this.minimap.draw(span, palette, this.page.left());
    if (this.pointer !== null) this.moveCursor(this.pointer);
    clearTimeout(this.stating);
    this.stating = setTimeout(() => this.minimap.state(span), 200);
    if (!complete || this.loaded) return;
    this.loaded = true;
    void this.minimap.load();
    void this.losses();
  }

  /** Draws what is on the axis. */
  axis(pen: CanvasRenderingContext2D, at: Places): void {
    const { span, palette, overlay } = this.page.scene();
    drawMarks(pen, at, palette, span, overlay.range, this.notes);
  }

  /** Moves the time cursor to a place of the canvas, or hides it. */
  hover(x: number | null): void {
    this.pointer = x !== null && x >= this.page.left() ? x : null;
    if (this.pointer === null) return this.cursor.show(null);
    this.moveCursor(this.pointer);
  }

  /** Pins a note to a time, or edits the one that is there. `x` is a place on the ruler; without it, the pointer or the selection counts. */
  pin(x: number | null): void {
    const near = x === null ? undefined : this.notes.find((note) => note.at >= this.page.timeAt(x - NEAR) && note.at <= this.page.timeAt(x + NEAR));
    const free = x ?? this.pointer;
    const centre = () => (this.page.scene().span.from + this.page.scene().span.to) / 2;
    const time = near?.at ?? (x === null ? this.page.selected() : null) ?? (free === null ? centre() : this.page.timeAt(free));
    const at = Math.min(this.about.span_ns, Math.max(0, Math.round(time)));
    if (!this.notes.some((note) => note.at === at)) {
      const notes = withNote(this.notes, { at, text: "" });
      if (notes === this.notes) return this.page.say(`There is room for ${MAX_NOTES} notes: remove one.`);
      this.set(notes);
    }
    this.page.showPanel("notes");
    this.list.edit(at);
  }

  private set(notes: readonly Note[]): void {
    this.notes = notes;
    this.list.show(notes);
    registerTicks("note", notes.map((note) => note.at));
    this.page.changed();
  }

  /** Moves the view so that a time is in its middle. */
  private go(at: number): void {
    const { from, to } = this.page.scene().span;
    const half = (to - from) / 2;
    this.page.show({ from: at - half, to: at + half });
  }

  /** The time at the pointer, and its distance from the selection. */
  private moveCursor(x: number): void {
    const { span } = this.page.scene();
    const time = this.page.timeAt(x);
    const perPixel = (span.to - span.from) / Math.max(1, this.canvas.clientWidth - this.page.left());
    const selected = this.page.selected();
    const distance = selected === null ? "" : `  ${time < selected ? "−" : "+"}${length(Math.abs(Math.round(time - selected)))}`;
    this.cursor.show(this.canvas.offsetLeft + x, `${point(time, perPixel)}${distance}`);
  }

  /** Shows where the source lost events. */
  private async losses(): Promise<void> {
    // A frame log has no CPUs and no table of losses.
    if (this.about.cpus.length === 0) return;
    try {
      const { columns, rows } = await source.part("loss", { from: 0, to: this.about.span_ns }, { most: MAX_LOSSES });
      const start = columns.findIndex((column) => column.name === "start_ns");
      registerTicks("loss", rows.map((row) => Number(row[start])));
    } catch {
      // The header says how many events were lost; their times are not available.
    }
  }
}
