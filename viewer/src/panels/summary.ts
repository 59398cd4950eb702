/** The summary of a time range: one row for each thread. The figures are those of the command line's tables for the same range. */

import type { Part } from "../api";
import { csv, markdown } from "../model/export";
import { addBlockers, addCores, addInstead, addPreemptors, addSiblings, asTable, exactMs, percent, slowestTime, sortedBy, threadsOf, type Cause, type SortKey, type ThreadRow } from "../model/summary";
import { ipcInWords, ipcOf, type Ipc } from "../model/summary_ipc";
import { length } from "../model/time";
import type { Selected, Span } from "../model/view";
import { source } from "../source";
import { copied } from "../ui/clipboard";
import { button, link, paragraph } from "../ui/dom";

/** The number of rows shown at first. */
const SHOWN = 200;
/** The maximum number of rows of a table in an answer. */
const MAX_ROWS = 10_000;

/** The page's functions that the summary uses. */
export interface SummaryActions {
  readonly select: (to: Selected) => void;
  readonly nameOf: (thread: number) => string;
  readonly say: (text: string) => void;
  /** Whether two CPUs share a core. */
  readonly smt: boolean;
  /** Whether instructions per cycle were counted. */
  readonly ipc: boolean;
}

interface Head {
  readonly key: SortKey;
  readonly text: string;
  readonly title: string;
  /** Whether a column with the share of the range follows. */
  readonly share?: boolean;
}

const HEADS: readonly Head[] = [
  { key: "name", text: "thread", title: "Last known name of the thread, and its TID" },
  { key: "running", text: "running (ms)", title: "Time on a CPU, and its share of the range", share: true },
  { key: "ready", text: "ready (ms)", title: "Time runnable but not running, and its share of the range", share: true },
  { key: "blocked", text: "blocked (ms)", title: "Time waiting for something other than a CPU, and its share of the range", share: true },
  { key: "cores", text: "", title: "" },
  { key: "sibling", text: "SMT sibling busy (ms)", title: "Running time while another thread ran on the same core (table smt_threads)" },
  { key: "ipc", text: "IPC", title: "Instructions per cycle, where both were counted (table thread_ipc)" },
  { key: "longest", text: "longest wait (ms)", title: "The longest single wait for a CPU" },
  { key: "preemptor", text: "preempted by (ms)", title: "The thread that took its CPU, the one after which it was ready longest in sum (table switch_causes)" },
  { key: "instead", text: "ran instead (ms)", title: "What ran longest on the CPU on whose queue it was ready (table ran_instead)" },
  { key: "blocker", text: "top blocker (ms)", title: "The thread or interrupt that ended its waits, the one with the longest waits in sum (table waits)" },
];

/** Core types in a narrow header. */
const SHORT: Readonly<Record<string, string>> = { performance: "P", middle: "M", efficient: "E", low_power: "LP" };

export class Summary {
  readonly element = document.createElement("div");
  private readonly page: SummaryActions;
  private rows: ThreadRow[] = [];
  private types: string[] = [];
  private span: Span = { from: 0, to: 1 };
  private by: { key: SortKey; down: boolean } = { key: "running", down: true };
  private most = SHOWN;
  private chosen: number | null = null;
  /** What is not complete, or not available. */
  private notes: string[] = [];

  constructor(page: SummaryActions) {
    this.page = page;
    this.element.className = "rows summary";
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", "Summary of the time range by thread");
  }

  /** Buttons that copy the summary. */
  buttons(): HTMLElement[] {
    return [
      button("Copy CSV", () => void this.copy(csv)),
      button("Copy Markdown", () => void this.copy(markdown)),
    ];
  }

  /** Calculates the summary; each table is shown when it arrives. Returns what is not complete. */
  async show(span: Span, signal: AbortSignal): Promise<string[]> {
    const ask = (name: string, column: string) => source.part(name, span, { column, down: true, most: MAX_ROWS, signal });
    const threads = await ask("threads", "running_ns");
    if (signal.aborted) return [];
    [this.span, this.rows, this.types, this.notes, this.most] = [span, threadsOf(threads), [], [], SHOWN];
    this.cut(threads, "threads", "Threads are");
    this.fill();
    const rest: (readonly [string, string, string, (table: Part) => void])[] = [
      ["thread_by_core_type", "running_ns", "Core types are", (table) => (this.types = addCores(this.rows, table))],
      ...(this.page.smt ? [["smt_threads", "sibling_busy_ns", "Busy SMT siblings are", (table: Part) => addSiblings(this.rows, table)] as const] : []),
      ...(this.page.ipc ? [["thread_ipc", "instructions", "Instructions per cycle are", (table: Part) => this.addIpc(table)] as const] : []),
      ["switch_causes", "ready_ns", "Preemptors are", (table) => addPreemptors(this.rows, table)],
      ["ran_instead", "ready_ns", "What ran instead is", (table) => addInstead(this.rows, table)],
      ["waits", "blocked_ns", "Blockers are", (table) => addBlockers(this.rows, table)],
    ];
    for (const [name, column, words, add] of rest) {
      try {
        const table = await ask(name, column);
        if (signal.aborted) return [];
        add(table);
        this.cut(table, name, words);
      } catch (why) {
        if (signal.aborted) return [];
        this.notes.push(`${words} unavailable: ${(why as Error).message}.`);
      }
      this.fill();
    }
    return this.notes;
  }

  /** Marks the row of the selected thread. */
  choose(thread: number | null): void {
    if (thread === this.chosen) return;
    this.chosen = thread;
    for (const row of this.element.querySelectorAll<HTMLTableRowElement>("tbody tr")) mark(row, row.dataset["thread"] === String(thread));
  }

  clear(): void {
    this.rows = [];
    this.element.replaceChildren();
  }

  private addIpc(table: Part): void {
    const known = ipcOf(table);
    for (const row of this.rows) row.ipc = known.get(row.thread) ?? null;
  }

  private cut(table: Part, name: string, words: string): void {
    if (table.caution && !this.notes.includes(table.caution)) this.notes.push(table.caution);
    if (table.all > table.rows.length) this.notes.push(`${words} from the largest ${table.rows.length} of ${table.all} rows of ${name}.`);
  }

  private async copy(write: (head: string[], rows: string[][]) => string): Promise<void> {
    const table = asTable(sortedBy(this.rows, this.by.key, this.by.down, this.types), this.types, this.span.to - this.span.from, this.page.nameOf);
    const done = await copied(write(table.head, table.rows));
    this.page.say(done ? `Copied ${table.rows.length} rows.` : "The browser did not allow copying.");
  }

  private fill(): void {
    const grid = document.createElement("table");
    const head = grid.createTHead().insertRow();
    const heads = this.heads();
    for (const of of heads) head.append(...this.head(of));
    const body = grid.createTBody();
    const sorted = sortedBy(this.rows, this.by.key, this.by.down, this.types);
    for (const row of sorted.slice(0, this.most)) this.line(body.insertRow(), row, heads);
    const more: Node[] = [];
    if (sorted.length > this.most) {
      more.push(button(`Show all ${sorted.length} threads`, () => {
        this.most = Infinity;
        this.fill();
      }));
    }
    if (this.rows.length === 0) return this.element.replaceChildren(paragraph("No threads in this time. All tables has what else was recorded."));
    this.element.replaceChildren(grid, ...more);
  }

  private heads(): Head[] {
    // On cores that are all alike, or of unknown types, there is no share to show.
    const alike = this.types.every((type) => type === "uniform");
    const slowest = this.types[this.types.length - 1] ?? "";
    const cores = {
      key: "cores" as const,
      text: `on ${this.types.map((type) => SHORT[type] ?? type).join(" / ")} cores (ms)`,
      title: `Running time on ${this.types.join(" / ")} cores, and their shares as a bar; sorted by the time on ${slowest} cores`,
    };
    const shown = HEADS.filter((head) => (head.key !== "sibling" || this.page.smt) && (head.key !== "ipc" || this.page.ipc));
    return shown.flatMap((head) => (head.key !== "cores" ? [head] : alike ? [] : [cores]));
  }

  private head(of: Head): HTMLElement[] {
    const head = document.createElement("th");
    head.scope = "col";
    head.title = of.title;
    const down = this.by.key === of.key && this.by.down;
    if (this.by.key === of.key) head.ariaSort = down ? "descending" : "ascending";
    // The first click sorts numbers descending, and names ascending.
    const sort = link(of.text, () => {
      this.by = { key: of.key, down: this.by.key === of.key ? !down : of.key !== "name" };
      this.fill();
      const again = [...this.element.querySelectorAll<HTMLElement>("th button")].find((other) => other.textContent === of.text);
      again?.focus();
    });
    head.append(sort);
    if (of.share !== true) return [head];
    const share = document.createElement("th");
    share.scope = "col";
    share.title = "Share of the range";
    share.textContent = "%";
    return [head, share];
  }

  private line(to: HTMLTableRowElement, row: ThreadRow, heads: readonly Head[]): void {
    to.dataset["thread"] = String(row.thread);
    mark(to, row.thread === this.chosen);
    for (const { key } of heads) {
      if (key === "name") this.nameCell(to, row);
      else if (key === "cores") this.coresCell(to, row);
      else if (key === "ipc") ipcCell(to, row.ipc);
      else if (key === "sibling") timeCell(to, row.sibling, "The source does not say when the SMT sibling was busy");
      else if (key === "blocker" || key === "preemptor" || key === "instead") this.causeCell(to, row[key]);
      else if (key === "longest") timeCell(to, row.longest);
      else {
        timeCell(to, row[key]);
        const cell = to.insertCell();
        cell.className = "number";
        const ns = row[key];
        cell.textContent = ns === null ? "" : percent(ns, this.span.to - this.span.from);
      }
    }
  }

  private nameCell(to: HTMLTableRowElement, row: ThreadRow): void {
    const head = document.createElement("th");
    head.scope = "row";
    const label = `${row.name} ${row.tid}`;
    const name = link(label, () => this.page.select({ kind: "thread", id: row.thread, at: this.span.from }));
    name.title = label;
    head.append(name);
    to.append(head);
  }

  private coresCell(to: HTMLTableRowElement, row: ThreadRow): void {
    const cell = to.insertCell();
    const all = row.cores.reduce((sum, { ns }) => sum + ns, 0);
    if (all === 0 || slowestTime(row, this.types) === null) return;
    const bar = document.createElement("span");
    bar.className = "cores";
    for (const { type, ns } of row.cores) {
      const part = document.createElement("span");
      part.className = `core-${type.replace(/[^a-z_]/g, "")}`;
      part.style.width = `${(100 * ns) / all}%`;
      bar.append(part);
    }
    const of = (type: string) => row.cores.find((core) => core.type === type)?.ns ?? 0;
    cell.title = this.types.map((type) => `${type}: ${length(of(type))} (${percent(of(type), all)} %)`).join("\n");
    cell.append(bar, this.types.map((type) => (of(type) / 1e6).toFixed(3)).join(" / "));
  }

  private causeCell(to: HTMLTableRowElement, cause: Cause | null): void {
    const cell = to.insertCell();
    if (cause === null) return;
    cell.className = "cause";
    const name = document.createElement("span");
    const { thread } = cause;
    const label = thread === null ? cause.what : this.page.nameOf(thread);
    name.title = label;
    name.append(thread === null ? label : link(label, () => this.page.select({ kind: "thread", id: thread, at: this.span.from })));
    const time = document.createElement("span");
    [time.textContent, time.title] = [(cause.ns / 1e6).toFixed(3), `${exactMs(cause.ns)} ms`];
    cell.append(name, time);
  }
}

function timeCell(to: HTMLTableRowElement, ns: number | null, unknown = "The source records no wakeups"): void {
  const cell = to.insertCell();
  cell.className = "number";
  if (ns === null) {
    cell.title = unknown;
    cell.textContent = "–";
    return;
  }
  [cell.textContent, cell.title] = [(ns / 1e6).toFixed(3), `${exactMs(ns)} ms`];
}

function ipcCell(to: HTMLTableRowElement, ipc: Ipc | null): void {
  const cell = to.insertCell();
  cell.className = "number";
  [cell.textContent, cell.title] = ipc === null ? ["–", "Not counted, or for under 5 % of the time"] : [ipc.ipc.toFixed(3), ipcInWords(ipc)];
}

function mark(row: HTMLTableRowElement, chosen: boolean): void {
  row.classList.toggle("chosen", chosen);
}
