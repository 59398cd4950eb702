/** What the colours mean. */

import type { Palette } from "../model/palette";

function item(colour: string, word: string): HTMLElement {
  const all = document.createElement("span");
  const swatch = document.createElement("span");
  swatch.className = "swatch";
  // Set by script: the page's security policy lets no style attribute of the markup in.
  swatch.style.backgroundColor = colour;
  swatch.dataset["colour"] = colour;
  all.append(swatch, word);
  return all;
}

/** States by their numbers, and how parts of a height are read. */
export function fillLegend(footer: HTMLElement, palette: Palette, byThread: boolean, states: { thread: readonly string[]; cpu: readonly string[] }): void {
  const words = (word: string) => Object.assign(document.createElement("span"), { textContent: word });
  const threads = states.thread.flatMap((word, at) => (word === "exited" ? [] : [item(palette.thread[at] ?? "", word)]));
  const cpus = states.cpu.flatMap((word, at) => (word === "busy" && byThread ? [] : [item(palette.cpu[at] ?? "", word)]));
  const busy = byThread ? [words("busy: a colour a thread")] : [];
  const height = words("height: the part of a short time that is so; ticks above: what ran for less than a pixel");
  const band = words("band in ready: what ran on the CPU of its queue");
  footer.replaceChildren(words("Threads:"), ...threads, words("CPUs:"), ...busy, ...cpus, height, band);
}
