/** The panel of tracks: everything that the mouse does with labels, for the keyboard. */

import { PINNED } from "../model/arrange";
import { SIZES, SORTS, type Size, type Sort } from "../model/choices";
import type { Group, Track } from "../model/layout";
import { button, heading, paragraph } from "../ui/dom";
import { idOf, type Lanes } from "../ui/lanes";

/** The maximum number of listed tracks; a filter lists others. */
const MAX = 100;
const SORT_WORDS: Readonly<Record<Sort, string>> = { process: "process", running: "running time", ready: "ready time", efficient: "share on efficient cores", name: "name" };

/** The page's functions that the panel uses. */
export interface PageActions {
  readonly select: (track: Track) => void;
}

export class TracksPanel {
  private readonly panel: HTMLElement;
  private readonly lanes: Lanes;
  private readonly page: PageActions;
  private readonly sort = document.createElement("select");
  private readonly size = document.createElement("select");
  private readonly list = document.createElement("div");

  constructor(panel: HTMLElement, lanes: Lanes, hasTypes: boolean, page: PageActions) {
    [this.panel, this.lanes, this.page] = [panel, lanes, page];
    const offer = <T extends string>(select: HTMLSelectElement, id: string, words: readonly [T, string][], chosen: (of: T) => void) => {
      select.id = id;
      for (const [value, word] of words) select.add(new Option(word, value));
      select.addEventListener("change", () => chosen(select.value as T));
    };
    const sorts = SORTS.filter((sort) => sort !== "efficient" || hasTypes);
    offer<Sort>(this.sort, "sort", sorts.map((sort) => [sort, SORT_WORDS[sort]]), (sort) => lanes.set({ sort }));
    offer<Size>(this.size, "size", SIZES.map((size) => [size, size === "auto" ? "automatic" : size]), (size) => lanes.set({ size }));
    const label = (text: string, of: HTMLElement) => {
      const made = document.createElement("label");
      made.append(text, of);
      return made;
    };
    const bar = document.createElement("div");
    bar.className = "bar";
    bar.append(
      label("Sort by ", this.sort),
      label("Height ", this.size),
      button("Fold or open all", () => lanes.toggleAll()),
      button("Reset", () => lanes.reset()),
    );
    this.list.className = "tracks";
    this.list.addEventListener("keydown", (event) => this.key(event));
    panel.replaceChildren(bar, this.list, paragraph("Alt+↑ and Alt+↓ move the group or track whose name has the focus. With the mouse, drag its label."));
    this.shown();
  }

  /** Lists the tracks anew, if the panel is visible. */
  shown(): void {
    if (this.panel.hidden) return;
    const { choices } = this.lanes;
    [this.sort.value, this.size.value] = [choices.sort, choices.size];
    const focus = (document.activeElement as HTMLElement | null)?.dataset["key"];
    let left = MAX;
    let more = 0;
    const rows: HTMLElement[] = [];
    for (const group of this.lanes.groups) {
      const tracks = group.open ? this.lanes.tracksOf(group.id) : [];
      rows.push(this.group(group));
      for (const track of tracks.slice(0, left)) rows.push(this.track(track));
      more += Math.max(0, tracks.length - left);
      left = Math.max(0, left - tracks.length);
    }
    if (more > 0) rows.push(paragraph(`${more} more tracks are not listed here. Type a part of a name into the filter above the tracks.`));
    const hidden = this.lanes.arrangement.labels(choices.hidden);
    if (hidden.length > 0) rows.push(heading("Hidden"));
    for (const [id, label] of hidden) rows.push(row("hidden", named(label), act(`show ${id}`, "Show", `Show ${label}`, () => this.lanes.hide(id))));
    this.list.replaceChildren(...rows);
    if (focus) this.list.querySelector<HTMLElement>(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }

  private group(group: Group): HTMLElement {
    const open = act(`name ${group.id}`, `${group.open ? "▾" : "▸"} ${group.label}`, group.label, () => this.lanes.toggle(group.id));
    open.className = "name";
    open.ariaLabel = null;
    open.ariaExpanded = String(group.open);
    const busy = Object.assign(document.createElement("span"), { className: "busy", textContent: group.busy || `${group.count} tracks`, title: group.busy });
    const made = row("group", open, busy, act(`hide ${group.id}`, group.id === PINNED ? "Unpin" : "Hide", `${group.id === PINNED ? "Unpin" : "Hide"} all of ${group.label}`, () => this.lanes.hide(group.id)));
    made.dataset["id"] = group.id;
    return made;
  }

  private track(track: Track): HTMLElement {
    const id = idOf(track);
    const name = act(`name ${id}`, track.label, track.label, () => this.page.select(track));
    name.className = "name link";
    name.ariaLabel = null;
    const value = Object.assign(document.createElement("span"), { className: "busy", textContent: track.value });
    const pin = act(`pin ${id}`, "Pin", `Pin ${track.label}`, () => this.lanes.pin(id));
    pin.ariaPressed = String(track.fixed);
    const made = row("track", name, value, pin, act(`hide ${id}`, "Hide", `Hide ${track.label}`, () => this.lanes.hide(id)));
    made.dataset["id"] = id;
    return made;
  }

  private key(event: KeyboardEvent): void {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    const id = (event.target as HTMLElement).closest<HTMLElement>("[data-id]")?.dataset["id"];
    if (!event.altKey || by === 0 || id === undefined) return;
    event.preventDefault();
    this.lanes.shift(id, by);
  }
}

function row(kind: string, ...cells: HTMLElement[]): HTMLElement {
  const made = document.createElement("div");
  made.className = `row ${kind}`;
  made.append(...cells);
  return made;
}

function named(label: string): HTMLElement {
  return Object.assign(document.createElement("span"), { className: "name", textContent: label, title: label });
}

/** A button that keeps the focus when the list is made anew. */
function act(key: string, text: string, title: string, action: () => void): HTMLButtonElement {
  const made = button(text, action);
  made.dataset["key"] = key;
  made.title = title;
  made.ariaLabel = title;
  return made;
}
