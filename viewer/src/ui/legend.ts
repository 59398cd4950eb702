/** The legend of colours. */

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

/** Fills the legend with the states and the meaning of bar heights. */
export function fillLegend(footer: HTMLElement, palette: Palette, byThread: boolean, states: { thread: readonly string[]; cpu: readonly string[] }): void {
  const span = (text: string) => Object.assign(document.createElement("span"), { textContent: text });
  const threads = states.thread.flatMap((word, at) => (word === "exited" ? [] : [item(palette.thread[at] ?? "", word)]));
  const cpus = states.cpu.flatMap((word, at) => (word === "busy" && byThread ? [] : [item(palette.cpu[at] ?? "", word)]));
  const busy = byThread ? [span("busy: one colour per thread")] : [];
  const height = span("Bar height: share of the pixel's time. Tick at the top: ran for less than a pixel");
  const band = span("Band in a ready slice: the thread that ran instead");
  footer.replaceChildren(span("Threads:"), ...threads, span("CPUs:"), ...busy, ...cpus, height, band);
}
