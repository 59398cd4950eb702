/** The colours of the page: the theme, and what busy slices are coloured by. */

import { CPU_STATES, THREAD_STATES } from "../generated/tables";
import type { Page } from "../main";
import { factsOf, prioritiesOf, type By } from "../model/facts";
import { DARK, LIGHT } from "../model/palette";
import { priorities } from "../source";
import { element } from "./dom";
import { fillChanges, fillLegend } from "./legend";

/** Chooses what busy slices are coloured by. */
export function colourBy(page: Page, by: By): void {
  page.scene.by = by;
  const select = element<HTMLSelectElement>("colour");
  if (select.value !== by) {
    select.value = by;
    select.dispatchEvent(new Event("change"));
  }
  if (by === "priority" && !page.prioritised) void prioritise(page);
  applyTheme(page);
}

/** Reads the priorities of the threads: an analysis of the whole recording, so only if they are wanted. */
async function prioritise(page: Page): Promise<void> {
  page.prioritised = true;
  page.say("Reading the priorities of threads…");
  try {
    const of = prioritiesOf(await priorities(page.about.span_ns));
    page.scene.facts = factsOf([...page.threads.values()], page.about.cpus, of);
    page.say(of.size === 0 ? "This recording has no priorities of threads." : `Priorities of ${of.size} threads.`);
    page.changed();
  } catch (why) {
    page.say(`Priorities unavailable: ${(why as Error).message}`);
  }
}

/** Applies the selected theme. */
export function applyTheme(page: Page): void {
  const theme = element<HTMLSelectElement>("theme").value;
  const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  page.scene.palette = dark ? DARK : LIGHT;
  const { palette, by } = page.scene;
  const title = page.changes?.legend() ?? null;
  const isEmpty = page.about.cpus.length === 0 && page.about.threads === 0;
  if (isEmpty && title === null) element("legend").textContent = page.about.kinds.length === 0 ? "" : "Bar height: mean of the pixel's time; lighter: the maximum";
  else if (title === null) fillLegend(element("legend"), palette, by, { thread: THREAD_STATES, cpu: CPU_STATES }, new Set(page.about.cpus.map((cpu) => cpu.core_type)), page.scene.hasThrottled);
  else fillChanges(element("legend"), palette, by, title);
  page.changed();
}
