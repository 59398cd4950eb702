/** The list of notes: their times, texts that can be edited, and buttons that remove them. */

import { MAX_TEXT, type Note } from "../model/notes";
import { point } from "../model/time";
import { button, link, paragraph } from "../ui/dom";

/** The page's functions that the list uses. */
export interface NotesActions {
  readonly go: (at: number) => void;
  readonly change: (note: Note) => void;
  readonly remove: (at: number) => void;
}

export class Notes {
  private readonly panel: HTMLElement;
  private readonly tab: HTMLElement;
  private readonly page: NotesActions;
  private shown: readonly Note[] = [];

  constructor(panel: HTMLElement, tab: HTMLElement, page: NotesActions) {
    [this.panel, this.tab, this.page] = [panel, tab, page];
    this.show([]);
  }

  /** Lists the notes. The list is left as it is while it says the same, so that a field keeps its cursor. */
  show(notes: readonly Note[]): void {
    this.tab.hidden = notes.length === 0;
    this.tab.textContent = `Notes (${notes.length})`;
    const times = (of: readonly Note[]) => of.map((note) => note.at).join(" ");
    const fields = [...this.panel.querySelectorAll("input")];
    if (notes.length > 0 && times(notes) === times(this.shown)) {
      notes.forEach((note, at) => {
        const field = fields[at];
        if (field && field !== document.activeElement && field.value !== note.text) field.value = note.text;
      });
      this.shown = notes;
      return;
    }
    this.shown = notes;
    const list = document.createElement("ul");
    list.className = "notes";
    for (const note of notes) list.append(this.item(note));
    const about = paragraph("Notes are kept in the address of this page.");
    const command = document.createElement("code");
    command.textContent = "corewise view TRACE --html PAGE.html --at ADDRESS";
    const file = paragraph("");
    file.append(command, " makes a page of one file that begins with this view and these notes.");
    this.panel.replaceChildren(about, list, file);
  }

  /** Puts the cursor into the text of a note. */
  edit(at: number): void {
    const place = this.shown.findIndex((note) => note.at === at);
    this.panel.querySelectorAll("input")[place]?.focus();
  }

  private item(note: Note): HTMLElement {
    const item = document.createElement("li");
    const time = point(note.at, 1e3);
    const text = document.createElement("input");
    [text.value, text.maxLength, text.placeholder] = [note.text, MAX_TEXT, "text"];
    text.setAttribute("aria-label", `Text of the note at ${time}`);
    text.addEventListener("input", () => this.page.change({ at: note.at, text: text.value }));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") document.getElementById("timeline")?.focus();
    });
    const remove = button("Remove", () => this.page.remove(note.at));
    remove.setAttribute("aria-label", `Remove the note at ${time}`);
    item.append(link(time, () => this.page.go(note.at)), text, remove);
    return item;
  }
}
