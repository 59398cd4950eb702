/** Keys and mouse: one list, which the help shows. */

export const KEYS: readonly [keys: string, what: string][] = [
  ["W S", "zoom in, zoom out"],
  ["A D", "earlier, later"],
  ["0", "all of the recording"],
  ["↑ ↓", "choose the track above, below"],
  ["← →", "choose the slice before, after"],
  ["F Enter", "zoom to what is chosen"],
  ["Page↑ Page↓", "scroll the tracks"],
  ["T", "CPUs by thread or by state"],
  ["/", "search; Enter goes to the next track found"],
  ["Esc", "choose nothing; leave the search"],
  ["?", "this help"],
  ["wheel", "scroll the tracks"],
  ["Ctrl and wheel", "zoom at the pointer"],
  ["Shift and wheel", "earlier, later"],
  ["drag", "move"],
  ["Shift and drag", "zoom to the time marked"],
  ["click", "choose a slice"],
];

export function fillHelp(dialog: HTMLDialogElement): void {
  const title = document.createElement("h2");
  title.textContent = "Keys and mouse";
  const table = document.createElement("table");
  for (const [keys, what] of KEYS) {
    const row = table.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    for (const key of keys.split(" ")) {
      const cap = document.createElement(/^[A-Z0-9↑↓←→/?]|Esc|Enter|Page/.test(key) ? "kbd" : "span");
      cap.textContent = key;
      head.append(cap, " ");
    }
    row.append(head);
    row.insertCell().textContent = what;
  }
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(title, table, close);
}
