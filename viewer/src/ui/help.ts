/** Keys and mouse: one list, which the help shows. */

export const KEYS: readonly [keys: string, what: string][] = [
  ["W S", "zoom in, zoom out"],
  ["A D", "earlier, later"],
  ["0", "all of the recording"],
  ["↑ ↓", "choose the track above, below"],
  ["← →", "choose the slice before, after"],
  ["F Enter", "zoom to what is chosen"],
  ["Page↑ Page↓", "scroll the tracks"],
  [", .", "jump to who woke it, to whom it woke"],
  ["R", "mark the time of what is chosen, or else what is seen: its tables"],
  ["Shift ← Shift →", "move the end of what is marked"],
  ["Z", "zoom to what is marked"],
  ["C", "critical path of what is marked, or else of what is seen"],
  ["T", "CPUs by thread or by state"],
  ["/", "search (see below); Enter and Shift and Enter go to the hit after and before"],
  ["N P", "the hit after, before"],
  ["Esc", "choose nothing, then mark nothing; leave the search"],
  ["Tab", "to the panels, their links and tables"],
  ["?", "this help"],
  ["wheel", "scroll the tracks"],
  ["Ctrl and wheel", "zoom at the pointer"],
  ["Shift and wheel", "earlier, later"],
  ["drag", "move"],
  ["Shift and drag", "mark a time; so does a drag on the ruler"],
  ["click", "choose a slice"],
];

/** What can be searched for; words that stand together must all hold. */
export const FILTERS: readonly [word: string, what: string][] = [
  ["render", "threads and CPUs whose name holds it; name:render says the same"],
  ["tid:42 pid:42", "the thread, the threads of the process of this number"],
  ["cpu:3 core:1", "the CPU of this number, the CPUs of this core; with a state or a length, stretches there"],
  ["type:efficient", "CPUs of this type of core, or of this type in the vendor's words"],
  ["state:ready", "stretches of threads in this state: running, ready, blocked, unknown, exited"],
  [">1ms", "stretches that are longer: ns, us, ms or s"],
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
  const filters = document.createElement("table");
  for (const [word, what] of FILTERS) {
    const row = filters.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.append(Object.assign(document.createElement("code"), { textContent: word }));
    row.append(head);
    row.insertCell().textContent = what;
  }
  const search = document.createElement("h3");
  search.textContent = "What can be searched for, as name:render state:ready >1ms";
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(title, table, search, filters, close);
}
