/** The list of what a search found. */

import { length, point } from "../model/time";
import { link } from "../ui/dom";

/** What a search found: a stretch, or a track as a whole. */
export interface Hit {
  readonly kind: string;
  readonly id: number;
  /** The begin of the stretch in ns; negative for a track. */
  readonly at: number;
  /** The length of the stretch in ns; 0 for a track. */
  readonly length: number;
  readonly label: string;
}

/** The maximum number of rows listed; the keys go to the others too. */
const MAX_LISTED = 2000;

export class Hits {
  private readonly panel: HTMLElement;
  private readonly tab: HTMLElement;
  private readonly body = document.createElement("tbody");
  private readonly head = document.createElement("thead");
  private readonly note = document.createElement("p");
  private readonly go: (at: number) => void;
  private rows: HTMLTableRowElement[] = [];
  private current: HTMLTableRowElement | null = null;

  /** `go` goes to a hit by its number. */
  constructor(panel: HTMLElement, tab: HTMLElement, go: (at: number) => void) {
    [this.panel, this.tab, this.go] = [panel, tab, go];
    const table = document.createElement("table");
    table.className = "hits";
    table.append(this.head, this.body);
    this.panel.replaceChildren(this.note, table);
    this.show([], "");
  }

  /** Lists hits; `status` says how many there are. The tab is there as long as something is searched. */
  show(hits: readonly Hit[], status: string): void {
    this.tab.hidden = status === "";
    this.tab.textContent = hits.length === 0 ? "Hits" : `Hits (${hits.length})`;
    const listed = hits.slice(0, MAX_LISTED);
    this.note.textContent = listed.length < hits.length ? `${status}; the first ${listed.length} are listed` : status;
    const stretches = hits.some((hit) => hit.at >= 0);
    this.head.replaceChildren();
    const head = this.head.insertRow();
    for (const text of stretches ? ["time", "length", "thread"] : hits.length > 0 ? ["track"] : []) {
      const cell = document.createElement("th");
      [cell.scope, cell.textContent] = ["col", text];
      head.append(cell);
    }
    // Rows that are there already stay: more hits are added at the end.
    const kept = this.rows.length <= listed.length && this.rows.every((row, at) => row.dataset["hit"] === keyOf(listed[at]!));
    if (!kept) [this.rows, this.current] = [[], null];
    const added = listed.slice(this.rows.length).map((hit, at) => this.row(hit, this.rows.length + at, stretches));
    this.rows.push(...added);
    if (kept) this.body.append(...added);
    else this.body.replaceChildren(...added);
  }

  /** Marks the hit that is shown. */
  choose(at: number): void {
    this.current?.removeAttribute("aria-current");
    this.current = this.rows[at] ?? null;
    this.current?.setAttribute("aria-current", "true");
    this.current?.scrollIntoView({ block: "nearest" });
  }

  private row(hit: Hit, at: number, stretches: boolean): HTMLTableRowElement {
    const row = document.createElement("tr");
    row.dataset["hit"] = keyOf(hit);
    if (stretches) {
      const time = row.insertCell();
      time.className = "time";
      time.append(link(point(hit.at, 1e3), () => this.go(at)));
      const lasts = row.insertCell();
      lasts.className = "time";
      lasts.textContent = length(hit.length);
    }
    const label = row.insertCell();
    label.title = hit.label;
    label.append(stretches ? hit.label : link(hit.label, () => this.go(at)));
    return row;
  }
}

function keyOf(hit: Hit): string {
  return `${hit.kind} ${hit.id} ${hit.at}`;
}
