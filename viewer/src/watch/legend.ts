/** The colours of the page, which are the viewer's, and what they mean. */

import { DARK, LIGHT } from "../model/palette";
import { element } from "../ui/dom";
import type { Now } from "./rates";

/** In the order of `Palette.types`; what follows an underscore is a number. */
const TYPES = ["performance", "middle", "efficient", "low_power", "uniform"];
/** In the order of `RAN_MEANWHILE`. */
export const RAN_INSTEAD = ["same group", "other groups", "kernel threads", "idle CPU", "not known"] as const;

/** Returns the CSS variable of a core type. */
export const typeColour = (type: string) => `var(--${TYPES.find((known) => type === known || type.startsWith(`${known}_`)) ?? "uniform"})`;
/** Returns the CSS variable of what ran instead. */
export const insteadColour = (part: number) => `var(--instead-${part})`;

/** Sets the colours of a theme. */
export function setColours(dark: boolean): void {
  const palette = dark ? DARK : LIGHT;
  const root = document.documentElement;
  root.dataset["theme"] = dark ? "dark" : "light";
  const set = (name: string, colour: string | undefined) => root.style.setProperty(`--${name}`, colour ?? palette.dim);
  TYPES.forEach((type, at) => set(type, palette.types[at]));
  // None is the colour of a core type; a CPU that was idle is grey, what is not known paler.
  const [own, other, kernel, idle, unknown] = [palette.thread[0], palette.thread[1], palette.threads[13], palette.thread[3], palette.thread[2]];
  [own, other, kernel, idle, unknown].forEach((colour, at) => set(`instead-${at}`, colour));
  set("ready", palette.thread[1]);
  set("empty", palette.thread[2]);
  set("alarm", dark ? "#ff9c8f" : "#b3261e");
}

/** Returns a square of a colour. */
function swatch(colour: string, isShared = false): HTMLElement {
  const made = document.createElement("span");
  made.className = `swatch${isShared ? " hatched" : ""}`;
  made.style.backgroundColor = colour;
  return made;
}

/** Writes what the colours mean. */
export function drawLegend(now: Now): void {
  const entry = (colour: string, text: string, isShared = false) => {
    const made = document.createElement("span");
    made.append(swatch(colour, isShared), text);
    return made;
  };
  const group = (title: string, entries: readonly HTMLElement[]) => {
    const made = document.createElement("span");
    made.append(`${title}: `);
    entries.forEach((one) => made.append(one, " "));
    return made;
  };
  const types = [...now.core_types].reverse().map((type) => entry(typeColour(type), type === "uniform" ? "one core type" : type.replaceAll("_", " ")));
  const hasSiblings = now.cpus.some((cpu) => cpu.siblings.length > 1);
  if (hasSiblings) types.push(entry(typeColour(now.core_types.at(-1) ?? ""), "next to a busy sibling", true));
  element("legend").replaceChildren(group("Ran on", types), group("Waited while the CPU ran", RAN_INSTEAD.map((name, part) => entry(insteadColour(part), name))));
}
