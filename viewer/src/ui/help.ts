/** The help: keyboard, mouse, and search. */

export const KEYS: readonly [keys: string, what: string][] = [
  ["W S", "zoom in, zoom out"],
  ["A D", "move earlier, later"],
  ["0", "show the whole recording"],
  ["↑ ↓", "select the track above, below"],
  ["← →", "select the previous, next slice"],
  ["F Enter", "zoom to the selection"],
  ["Page↑ Page↓", "scroll the tracks"],
  [", .", "jump to the waker (of a blocked thread, to what ended its wait), to the first thread that was woken"],
  ["M R", "set the time range to the selected slice, or to the visible time, and show its tables, or a flame graph of its samples"],
  ["Shift ← Shift →", "move the end of the time range"],
  ["Z", "zoom to the time range"],
  ["C", "show the critical path of the time range, or of the visible time"],
  ["G Shift G", "fold or open the group of the selected track, all groups"],
  ["K H", "pin the selected track on top, hide it; the panel Tracks shows hidden ones again"],
  ["Shift ↑ Shift ↓", "move the selected track up, down"],
  ["L", "filter the tracks"],
  ["T", "colour by the next of thread, process, core type, priority, state"],
  ["V", "of two traces: colour threads by what changed (the next metric), or by state"],
  ["/", "search (see below); Enter and Shift+Enter go to the next and previous hit"],
  ["N P", "next, previous hit"],
  ["Shift M", "pin a note to the selected slice, or to the time at the pointer; so does a click on the ruler"],
  ["Backspace Shift Backspace", "undo, redo a zoom, selection, range or note; so do Back and Forward of the browser"],
  ["[ ]", "previous, next frame of the panel Frames; the first key goes to the slowest"],
  ["Esc", "clear the selection, then the time range; leave the search"],
  ["Tab", "move to the panels, their links and tables"],
  ["?", "show this help"],
  ["minimap", "drag the window or its edges; a click moves it there, a double click shows the whole recording; arrow keys move and zoom it"],
  ["wheel", "scroll the tracks"],
  ["Ctrl and wheel", "zoom at the pointer"],
  ["Shift and wheel", "move earlier, later"],
  ["drag", "move"],
  ["Shift and drag", "set the time range; so does a drag on the ruler"],
  ["click", "select a slice; on the name of a group: fold or open it"],
  ["drag", "of a label: move the track or group"],
];

/** The filters of the search. */
export const FILTERS: readonly [word: string, what: string][] = [
  ["render", "threads and CPUs whose name contains this text; same as name:render"],
  ["tid:42 pid:42", "the thread with this TID, the threads of the process with this PID"],
  ["cpu:3 core:1", "this CPU, the CPUs of this core; with a state or a duration, stretches there"],
  ["type:efficient", "CPUs of this core type, in corewise's or the vendor's terms"],
  ["lock:mutex", "locks whose kind, address or PID contains this text"],
  ["state:ready", "stretches of threads in this state: running, ready, blocked, unknown, exited"],
  [">1ms", "stretches that last longer, in ns, us, ms or s"],
];

export function fillHelp(dialog: HTMLDialogElement): void {
  const title = document.createElement("h2");
  title.textContent = "Keyboard and mouse";
  const table = document.createElement("table");
  for (const [keys, what] of KEYS) {
    const row = table.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    for (const key of keys.split(" ")) {
      const cap = document.createElement(/^[A-Z0-9↑↓←→/?]|Esc|Enter|Page|Shift|Backspace/.test(key) ? "kbd" : "span");
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
  search.textContent = "Search filters; combined filters must all match, as in name:render state:ready >1ms";
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Close";
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(title, table, search, filters, close);
}
