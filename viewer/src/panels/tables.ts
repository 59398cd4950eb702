/** All tables for a time range, one at a time, and the flame graph: as `corewise table --range`, with headers in words. */

import type { Cell, Column, Part } from "../api";
import { header, shown, words } from "../model/headers";
import type { Selected, Span } from "../model/view";
import { source } from "../source";
import { link } from "../ui/dom";
import { Flame, TABLE } from "./flame";

/** The maximum number of rows shown. */
const MAX_ROWS = 200;
/** The columns by which the report sorts. */
const ORDER: Readonly<Record<string, string>> = { threads: "running_ns", ran_instead: "ready_ns", critical_by_thread: "path_ns" };
/** The tables that are first in the list. */
const FIRST = ["threads", "cpus", "thread_by_core_type", "concurrency", "critical_by_thread", "ran_instead", "waits", "migrations"];

/** The name of the flame graph in the list of tables. */
const FLAME = "flame graph";

/** The page's functions that the tables use. */
export interface TableActions {
  readonly select: (to: Selected) => void;
  readonly nameOf: (thread: number) => string;
}

export class Tables {
  /** Everything, folded at first: nothing is calculated before it is opened. */
  readonly element = document.createElement("details");
  private readonly page: TableActions;
  private readonly tables = document.createElement("select");
  private readonly status = document.createElement("span");
  private readonly rows = document.createElement("div");
  private readonly flame = new Flame();
  private span: Span | null = null;
  /** The time range whose table is shown. */
  private answered: Span | null = null;
  private by: { column: string; down: boolean } | null = null;
  private asking: AbortController | null = null;

  constructor(page: TableActions) {
    this.page = page;
    this.tables.setAttribute("aria-label", "Table");
    this.tables.addEventListener("change", () => {
      this.ordered();
      void this.ask();
    });
    this.status.setAttribute("role", "status");
    this.rows.className = "rows";
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "region");
    this.rows.setAttribute("aria-label", "Rows of the table");
    this.flame.element.hidden = true;
    const title = document.createElement("summary");
    title.textContent = "All tables";
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append(this.tables, this.status);
    this.element.className = "tables";
    this.element.append(title, bar, this.rows, this.flame.element);
    this.element.addEventListener("toggle", () => void this.show(this.span));
  }

  /** Sets the time range; null ends a calculation. */
  async show(span: Span | null): Promise<void> {
    this.span = span;
    if (!span || !this.element.open) {
      this.asking?.abort();
      this.asking = null;
      return;
    }
    if (this.answered?.from === span.from && this.answered.to === span.to) return;
    this.answered = span;
    if (this.tables.options.length === 0) await this.fill();
    await this.ask();
  }

  private async fill(): Promise<void> {
    const all = await source.tables().catch(() => FIRST.map((name) => ({ name, doc: "" })));
    const place = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
    const sorted = [...all].sort((a, b) => place(a.name) - place(b.name) || a.name.localeCompare(b.name));
    if (this.tables.options.length > 0) return;
    for (const { name, doc } of sorted) {
      const option = new Option(words(name), name);
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
      if (asking.signal.aborted) this.answered = null;
      if (asking !== this.asking || asking.signal.aborted) return;
      this.rows.replaceChildren();
      this.status.textContent = `Unavailable: ${(why as Error).message}`;
      this.rows.dataset["busy"] = "false";
    }
  }

  private fillRows(table: Part, span: Span): void {
    const count = table.all > table.rows.length ? `first ${table.rows.length} of ${table.all} rows` : `${table.rows.length} rows`;
    const sorted = table.columns.find((column) => column.name === this.by?.column);
    const more = [table.lacks, table.caution].filter((text) => text).map((text) => `. ${text}`.replace(/\.$/, ""));
    this.status.textContent = (sorted ? `${count}, sorted by ${header(sorted)}` : count) + more.join("");
    this.status.title = this.status.textContent;
    const grid = document.createElement("table");
    const head = grid.createTHead().insertRow();
    // Threads are shown by their names where their keys are: their names are not shown twice.
    const named = new Set(table.columns.flatMap((column) => (column.thread ? [`${column.name}_name`] : [])));
    const places = table.columns.flatMap((column, at) => (isOwnKey(column) || named.has(column.name) ? [] : [at]));
    for (const at of places) head.append(this.head(table.columns[at]!));
    const body = grid.createTBody();
    for (const row of table.rows) {
      const line = body.insertRow();
      for (const at of places) {
        const cell = line.insertCell();
        const column = table.columns[at]!;
        if (typeof row[at] === "number" && !column.thread) cell.className = "number";
        cell.append(this.cell(table, row, at, span));
        if (cell.className === "") cell.title = cell.textContent ?? "";
      }
    }
    this.rows.replaceChildren(grid);
  }

  private head(column: Column): HTMLElement {
    const head = document.createElement("th");
    head.scope = "col";
    head.title = column.doc;
    const down = this.by?.column === column.name && this.by.down;
    if (this.by?.column === column.name) head.ariaSort = down ? "descending" : "ascending";
    // The first click sorts descending, the second ascending. Names of keys are sorted by the keys.
    const by = link(header(column), () => {
      this.by = { column: column.name, down: !down };
      void this.ask();
    });
    head.append(by);
    return head;
  }

  /** A thread is shown by its name, and links to its track, at the row's own time if it has one. */
  private cell(table: Part, row: readonly Cell[], at: number, span: Span): Node | string {
    const value = row[at] ?? null;
    const column = table.columns[at]!;
    const of = (name: string) => row[table.columns.findIndex((other) => other.name === name)];
    const start = of("start_ns");
    const time = typeof start === "number" ? Math.max(start, span.from) : span.from;
    const text = shown(column, value);
    if (column.name === "cpu" && typeof value === "number") return link(text, () => this.page.select({ kind: "cpu", id: value, at: time }));
    const key = column.thread ? value : column.name === "name" && table.columns.some(isOwnKey) ? of("thread") : null;
    if (typeof key !== "number") return text;
    const label = column.thread ? this.page.nameOf(key) : text;
    return key > 0 ? link(label, () => this.page.select({ kind: "thread", id: key, at: time })) : label;
  }
}

/** Whether a column is the key of threads in their own table, which has their names and TIDs too: the key is internal. */
function isOwnKey(column: Column): boolean {
  return column.name === "thread" && !column.thread;
}
