/** The legend of colours. */

import { CLASSES, ONLY, UNKNOWN } from "../model/changes";
import type { Palette } from "../model/palette";

function item(colour: string, word: string): HTMLElement {
  const all = document.createElement("span");
  const swatch = document.createElement("span");
  swatch.className = "swatch";
  // Set by script, since the page's security policy forbids style attributes.
  swatch.style.backgroundColor = colour;
  swatch.dataset["colour"] = colour;
  all.append(swatch, word);
  return all;
}

const span = (text: string) => Object.assign(document.createElement("span"), { textContent: text });

/** Fills the legend with the classes of what changed; `title` says of what, and between which recordings. */
export function fillChanges(footer: HTMLElement, palette: Palette, byThread: boolean, title: string): void {
  const classes = CLASSES.flatMap((word, at) => {
    // As little as "too little to compare", and of the same colour.
    if (at === UNKNOWN) return [];
    const made = item(palette.changes[at] ?? "", word);
    if (at === ONLY) made.firstElementChild?.classList.add("hatched");
    return [made];
  });
  const others = item(palette.others[0] ?? "", "other states are pale");
  footer.replaceChildren(span(title), ...classes, others, ...(byThread ? [span("CPUs: busy in the colour of the thread")] : []));
}

/** Fills the legend with the states and the meaning of bar heights. */
export function fillLegend(footer: HTMLElement, palette: Palette, byThread: boolean, states: { thread: readonly string[]; cpu: readonly string[] }): void {
  const threads = states.thread.flatMap((word, at) => (word === "exited" ? [] : [item(palette.thread[at] ?? "", word)]));
  const cpus = states.cpu.flatMap((word, at) => (word === "busy" && byThread ? [] : [item(palette.cpu[at] ?? "", word)]));
  const busy = byThread ? [span("busy: one colour per thread")] : [];
  const height = span("Bar height: share of the pixel's time. Tick at the top: ran for less than a pixel");
  const band = span("Band in a ready slice: the thread that ran instead");
  footer.replaceChildren(span("Threads:"), ...threads, span("CPUs:"), ...busy, ...cpus, height, band);
}
