/** The panel of a time range: its summary, and all tables, as in `corewise table --range`. The server computes the tables. */

import { length, point } from "../model/time";
import type { Span } from "../model/view";
import { button } from "../ui/dom";
import { Summary, type SummaryActions } from "./summary";
import { Tables } from "./tables";

/** The page's functions that the panel uses. */
export interface PageActions extends SummaryActions {
  readonly show: (span: Span) => void;
  /** Shows the critical path of a time range on the timeline, or clears it. */
  readonly path: (of: Span | null) => void;
  readonly close: () => void;
}

/** The pause between the last change of the range and the request, in ms: while it is dragged, nothing is calculated. */
const PAUSE = 120;

export class Range {
  private readonly panel: HTMLElement;
  private readonly page: PageActions;
  private readonly title = document.createElement("h2");
  private readonly path = document.createElement("input");
  private readonly status = document.createElement("span");
  private readonly summary: Summary;
  private readonly tables: Tables;
  private span: Span | null = null;
  private asking: AbortController | null = null;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(panel: HTMLElement, page: PageActions) {
    [this.panel, this.page] = [panel, page];
    this.summary = new Summary({ ...page, say: (text) => (this.status.textContent = text) });
    this.tables = new Tables(page);
    this.path.type = "checkbox";
    this.path.addEventListener("change", () => this.page.path(this.path.checked ? this.span : null));
    const path = document.createElement("label");
    path.append(this.path, " critical path");
    this.status.setAttribute("role", "status");
    const bar = document.createElement("div");
    bar.className = "bar";
    const zoom = button("Zoom to range", () => this.span && this.page.show(this.span));
    bar.append(this.title, path, zoom, ...this.summary.buttons(), button("Close", () => this.page.close()), this.status);
    this.panel.append(bar, this.summary.element, this.tables.element);
  }

  /** Shows a time range, or hides the panel. */
  show(span: Span | null): void {
    const other = span?.from !== this.span?.from || span?.to !== this.span?.to;
    this.span = span;
    this.panel.hidden = span === null;
    if (!span) {
      this.end();
      this.summary.clear();
      void this.tables.show(null);
      this.path.checked = false;
      return this.page.path(null);
    }
    if (!other) return;
    this.title.textContent = `${point(span.from, 1e3)} to ${point(span.to, 1e3)}: ${length(span.to - span.from)}`;
    if (this.path.checked) this.page.path(span);
    this.end();
    this.status.textContent = "Calculating…";
    this.summary.element.dataset["busy"] = "true";
    this.waiting = setTimeout(() => void this.ask(span), PAUSE);
  }

  /** Shows the critical path; `again` requests it even if it is shown, for another end. */
  showPath(again: boolean): void {
    if (!this.path.checked) this.togglePath();
    else if (again) this.page.path(this.span);
  }

  /** Shows or hides the critical path. */
  togglePath(): void {
    this.path.checked = !this.path.checked;
    this.page.path(this.path.checked ? this.span : null);
  }

  /** Marks the row of the selected thread. */
  chosen(thread: number | null): void {
    this.summary.choose(thread);
  }

  private end(): void {
    clearTimeout(this.waiting);
    this.asking?.abort();
    this.asking = null;
  }

  private async ask(span: Span): Promise<void> {
    const asking = (this.asking = new AbortController());
    void this.tables.show(span);
    try {
      const notes = await this.summary.show(span, asking.signal);
      if (asking !== this.asking) return;
      this.status.textContent = notes.join(" ");
    } catch (why) {
      if (asking !== this.asking || asking.signal.aborted) return;
      this.summary.clear();
      this.status.textContent = `Unavailable: ${(why as Error).message}`;
    }
    this.status.title = this.status.textContent;
    this.summary.element.dataset["busy"] = "false";
  }
}
