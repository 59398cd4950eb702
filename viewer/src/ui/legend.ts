/** The legend of colours. */

import { CLASSES, ONLY, UNKNOWN } from "../model/changes";
import type { By } from "../model/facts";
import { CORE_TYPES, PRIORITIES, type Palette } from "../model/palette";

function item(colour: string, word: string): HTMLElement {
  const all = document.createElement("span");
  const swatch = document.createElement("span");
  swatch.className = word === "unknown" ? "swatch unknown" : "swatch";
  // Set by script, since the page's security policy forbids style attributes.
  swatch.style.backgroundColor = colour;
  swatch.dataset["colour"] = colour;
  all.append(swatch, word);
  return all;
}

const span = (text: string) => Object.assign(document.createElement("span"), { textContent: text });

/** Fills the legend with the classes of what changed; `title` says of what, and between which recordings. */
export function fillChanges(footer: HTMLElement, palette: Palette, by: By, title: string): void {
  const classes = CLASSES.flatMap((word, at) => {
    // As little as "too little to compare", and of the same colour.
    if (at === UNKNOWN) return [];
    const made = item(palette.changes[at] ?? "", word);
    if (at === ONLY) made.firstElementChild?.classList.add("hatched");
    return [made];
  });
  const others = item(palette.others[0] ?? "", "other states are pale");
  footer.replaceChildren(span(title), ...classes, others, ...(by === "state" ? [] : [span("CPUs: busy in the colour of the thread")]));
}

/** What colours the busy slices of CPUs: classes with colours, or words. */
function busyOf(palette: Palette, by: By, types: ReadonlySet<string>): HTMLElement[] {
  const classes = (words: readonly string[], colours: readonly string[]) => words.map((word, at) => item(colours[at] ?? "", word));
  switch (by) {
    case "state":
      return [];
    case "thread":
      return [span("busy: a colour per thread, as left of its label")];
    case "process":
      return [span("busy: a colour per process, as left of the labels of its threads")];
    case "type":
      return classes(CORE_TYPES, palette.types).filter((_, at) => types.has(at === CORE_TYPES.length - 1 ? "uniform" : CORE_TYPES[at]!));
    case "priority":
      return classes(PRIORITIES, palette.priorities);
  }
}

/** Fills the legend with the states and the meaning of bar heights. `isThrottled`: whether throttled time is recorded; `types` has the core types of the machine; without CPUs and threads, none of it is shown. */
export function fillLegend(footer: HTMLElement, palette: Palette, by: By, states: { thread: readonly string[]; cpu: readonly string[] }, types: ReadonlySet<string>, isThrottled: boolean): void {
  const both = by === "type" || by === "priority";
  const threads = states.thread.flatMap((word, at) => (word === "exited" || (both && word === "running") ? [] : [item(palette.thread[at] ?? "", word)]));
  // Folded CPUs are busy in the colour of the state, whatever ran.
  const cpus = states.cpu.flatMap((word, at) => (word === "busy" && by === "type" ? [] : [item(palette.cpu[at] ?? "", word === "busy" && by !== "state" ? "busy, folded" : word)]));
  const busy = busyOf(palette, by, types);
  const height = span("Bar height: share of the pixel's time. Tick at the top: ran for less than a pixel");
  const band = span("Band in a ready slice: the thread that ran instead");
  const first = both ? [span("Running and busy:"), ...busy] : [];
  const throttled = isThrottled ? [item(palette.throttled, "throttled (CPU quota)")] : [];
  footer.replaceChildren(...first, span("Threads:"), ...threads, ...throttled, span("CPUs:"), ...(both ? [] : busy), ...cpus, height, band);
}
