/** The tables and the flame graph for a time range, as in `corewise report --range`. The server computes and sorts them. */

import type { Cell, Column, Part } from "../api";
import { length, point } from "../model/time";
import type { Selected, Span } from "../model/view";
import { source } from "../source";
import { button, link } from "../ui/dom";
import { Flame, TABLE } from "./flame";

/** The maximum number of rows shown. */
const MAX_ROWS = 200;
/** The columns by which the report sorts. */
const ORDER: Readonly<Record<string, string>> = { threads: "running_ns", ran_instead: "ready_ns", critical_by_thread: "path_ns" };
/** The tables that are first in the list. */
const FIRST = ["threads", "cpus", "thread_by_core_type", "concurrency", "critical_by_thread", "ran_instead", "waits", "migrations"];

/** The name of the flame graph in the list of tables. */
const FLAME = "flame graph";

/** The page's functions that the panel uses. */
export interface PageActions {
  readonly select: (to: Selected) => void;
  readonly show: (span: Span) => void;
  /** Shows the critical path of a time range on the timeline, or clears it. */
  readonly path: (of: Span | null) => void;
  readonly close: () => void;
}

export class Range {
  private readonly panel: HTMLElement;
  private readonly page: PageActions;
  private readonly title = document.createElement("h2");
  private readonly tables = document.createElement("select");
  private readonly path = document.createElement("input");
  private readonly status = document.createElement("span");
  private readonly rows = document.createElement("div");
  private readonly flame = new Flame();
  private span: Span | null = null;
  private by: { column: string; down: boolean } | null = null;
  private asking: AbortController | null = null;

  constructor(panel: HTMLElement, page: PageActions) {
    [this.panel, this.page] = [panel, page];
    this.tables.setAttribute("aria-label", "Table");
    this.tables.addEventListener("change", () => {
      this.ordered();
      void this.ask();
    });
    this.path.type = "checkbox";
    this.path.addEventListener("change", () => this.page.path(this.path.checked ? this.span : null));
    const path = document.createElement("label");
    path.append(this.path, " critical path");
    this.status.setAttribute("role", "status");
    this.rows.className = "rows";
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "region");
    this.rows.setAttribute("aria-label", "Rows of the table");
    const bar = document.createElement("div");
    bar.className = "bar";
    const zoom = button("Zoom to range", () => this.span && this.page.show(this.span));
    bar.append(this.title, this.tables, path, zoom, button("Close", () => this.page.close()), this.status);
    this.flame.element.hidden = true;
    this.panel.append(bar, this.rows, this.flame.element);
  }

  /** Shows the tables for a time range, or hides the panel. */
  async show(span: Span | null): Promise<void> {
    const other = span?.from !== this.span?.from || span?.to !== this.span?.to;
    this.span = span;
    this.panel.hidden = span === null;
    if (!span) {
      this.asking?.abort();
      this.path.checked = false;
      return this.page.path(null);
    }
    if (!other) return;
    this.title.textContent = `${point(span.from, 1e3)} to ${point(span.to, 1e3)}: ${length(span.to - span.from)}`;
    if (this.path.checked) this.page.path(span);
    if (this.tables.options.length === 0) await this.fill();
    await this.ask();
  }

  /** Shows or hides the critical path. */
  togglePath(): void {
    this.path.checked = !this.path.checked;
    this.page.path(this.path.checked ? this.span : null);
  }

  private async fill(): Promise<void> {
    const all = await source.tables().catch(() => FIRST.map((name) => ({ name, doc: "" })));
    const place = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    const sorted = [...all].sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
    if (this.tables.options.length > 0) return;
    for (const { name, doc } of sorted) {
      const option = new Option(name, name);
      option.title = doc;
      this.tables.append(option);
      if (name === TABLE) this.tables.append(new Option(FLAME, FLAME));
    }
    this.ordered();
  }

  private ordered(): void {
    const column = ORDER[this.tables.value];
    this.by = column === undefined ? null : { column, down: true };
  }

  private async ask(): Promise<void> {
    const span = this.span;
    if (!span) return;
    this.asking?.abort();
    const asking = (this.asking = new AbortController());
    this.status.textContent = "Calculating…";
    this.rows.dataset["busy"] = "true";
    const drawn = this.tables.value === FLAME;
    [this.rows.hidden, this.flame.element.hidden] = [drawn, !drawn];
    try {
      if (drawn) {
        await this.flame.show(span, asking.signal);
        if (asking !== this.asking) return;
        this.status.textContent = "";
        this.rows.dataset["busy"] = "false";
        return;
      }
      const table = await source.part(this.tables.value, span, { ...(this.by ?? {}), most: MAX_ROWS, signal: asking.signal });
      if (asking !== this.asking) return;
      this.fillRows(table, span);
      this.rows.dataset["busy"] = "false";
    } catch (why) {
      if (asking !== this.asking || asking.signal.aborted) return;
      this.rows.replaceChildren();
      this.status.textContent = `Unavailable: ${(why as Error).message}`;
      this.rows.dataset["busy"] = "false";
    }
  }

  private fillRows(table: Part, span: Span): void {
    const shown = table.rows.length;
    const count = table.all > shown ? `first ${shown} of ${table.all} rows` : `${shown} rows`;
    this.status.textContent = this.by ? `${count}, sorted by ${this.by.column}` : count;
    const grid = document.createElement("table");
    const head = grid.createTHead().insertRow();
    for (const column of table.columns) head.append(this.head(column));
    const body = grid.createTBody();
    for (const row of table.rows) {
      const line = body.insertRow();
      row.forEach((value, at) => {
        const cell = line.insertCell();
        if (typeof value === "number") cell.className = "number";
        cell.append(this.cell(table, row, at, value, span));
      });
    }
    this.rows.replaceChildren(grid);
  }

  private head(column: Column): HTMLElement {
    const head = document.createElement("th");
    head.scope = "col";
    head.title = column.doc;
    const down = this.by?.column === column.name && this.by.down;
    if (this.by?.column === column.name) head.ariaSort = down ? "descending" : "ascending";
    // Most names contain their unit.
    const named = column.unit === "" || column.unit === "count" || column.name.toLowerCase().endsWith(`_${column.unit.toLowerCase()}`);
    const unit = named ? "" : ` (${column.unit})`;
    // The first click sorts descending, the second ascending.
    const by = link(column.name + unit, () => {
      this.by = { column: column.name, down: !down };
      void this.ask();
    });
    head.append(by);
    return head;
  }

  /** A thread's name links to its track, at the row's own time if it has one. */
  private cell(table: Part, row: readonly Cell[], at: number, value: Cell, span: Span): Node | string {
    const text = value === null ? "" : typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
    const place = (name: string) => table.columns.findIndex((column) => column.name === name);
    const of = (name: string) => row[place(name)];
    const column = table.columns[at];
    const start = of("start_ns");
    const time = typeof start === "number" ? Math.max(start, span.from) : span.from;
    if (column?.name === "cpu" && typeof value === "number") return link(text, () => this.page.select({ kind: "cpu", id: value, at: time }));
    const key = column?.thread ? value : column?.name === "name" && place("running_ns") >= 0 ? of("thread") : null;
    return typeof key === "number" && key > 0 ? link(text, () => this.page.select({ kind: "thread", id: key, at: time })) : text;
  }
}
