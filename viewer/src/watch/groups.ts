/** The groups: how much of which cores they use, how long they wait, and what runs instead. */

import { element } from "../ui/dom";
import { bar, fill } from "./bar";
import { insteadColour, typeColour } from "./legend";
import { amount, duration, octaves, quantile, sum, type GroupRate, type Now, type Rates } from "./rates";

const HEADS = ["Group", "CPUs used", "Wait for a CPU: median, 99 %", "Threads waiting, by what ran instead", "Withheld by quota"] as const;
const SVG = "http://www.w3.org/2000/svg";

/** Draws the table of groups. */
export function drawGroups(now: Now, found: Rates | null): void {
  const table = element<HTMLTableElement>("groups");
  if (!found) {
    table.replaceChildren();
    return;
  }
  const rows = [found.total, ...found.groups];
  const max = { running: Math.max(1e-9, ...rows.map((of) => sum(of.running))), ready: Math.max(1e-9, ...rows.map((of) => sum(of.ready))) };
  const head = document.createElement("thead");
  const line = head.insertRow();
  for (const name of HEADS) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    line.append(cell);
  }
  const body = document.createElement("tbody");
  body.append(...rows.map((of) => row(of, now, max)));
  table.replaceChildren(head, body);
  const shown = found.groups.filter((of) => of.kind !== "other").length;
  element("groups-note").textContent =
    now.groups.length === 0 ? "Threads are not grouped." : `Groups that ran or waited: ${shown}. At most ${now.groups_limit} are shown, of ${now.health.groups_seen} that were seen.`;
}

function row(of: GroupRate, now: Now, max: { running: number; ready: number }): HTMLTableRowElement {
  const made = document.createElement("tr");
  if (of.kind === "machine") made.className = "total";
  const name = made.insertCell();
  name.className = "name";
  name.textContent = of.kind === "machine" ? "Whole machine" : of.kind === "other" ? "All others" : of.name;
  if (of.kind === "process") {
    const kind = document.createElement("small");
    kind.textContent = " process";
    name.append(kind);
  }
  const used = of.running.map((share, type) => ({ share: share / max.running, colour: typeColour(now.core_types[type] ?? "") })).reverse();
  amountCell(made, HEADS[1], amount(sum(of.running)), used);
  latencyCell(made, of, now);
  const waiting = of.ready.map((share, part) => ({ share: share / max.ready, colour: insteadColour(part) }));
  amountCell(made, HEADS[3], amount(sum(of.ready)), waiting).classList.add("wide");
  const throttled = made.insertCell();
  throttled.className = "throttled";
  throttled.dataset["head"] = HEADS[4];
  if (of.throttled !== null) throttled.textContent = `${amount(of.throttled)} CPUs`;
  return made;
}

function amountCell(row: HTMLTableRowElement, head: string, text: string, parts: Parameters<typeof fill>[1]): HTMLTableCellElement {
  const cell = row.insertCell();
  cell.dataset["head"] = head;
  const pair = document.createElement("div");
  pair.className = "amount";
  const number = document.createElement("span");
  number.textContent = text;
  pair.append(number, fill(bar(), parts));
  cell.append(pair);
  return cell;
}

/** The median, the 99th percentile, and the distribution by power of two: heights are roots of shares, so that rare waits are seen. */
function latencyCell(row: HTMLTableRowElement, of: GroupRate, now: Now): void {
  const cell = row.insertCell();
  cell.className = "latency";
  cell.dataset["head"] = HEADS[2];
  const words = (q: number) => duration(quantile(of.latencies, now.bounds_seconds, q));
  const counts = octaves(of.latencies);
  const all = sum(counts);
  cell.append(all === 0 ? "no waits" : `${words(0.5)}, ${words(0.99)}`);
  if (all === 0) return;
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", `0 0 ${counts.length * 5} 20`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", `Distribution of ${all} waits, from under 1 µs on the left to over 16 s on the right`);
  const axis = document.createElementNS(SVG, "line");
  for (const [key, value] of [["x1", 0], ["x2", counts.length * 5], ["y1", 19.5], ["y2", 19.5]] as const) axis.setAttribute(key, String(value));
  drawing.append(axis);
  counts.forEach((count, at) => {
    if (count === 0) return;
    const height = Math.max(1, 19 * Math.sqrt(count / all));
    const rect = document.createElementNS(SVG, "rect");
    for (const [key, value] of [["x", at * 5], ["y", 19 - height], ["width", 4], ["height", height]] as const) rect.setAttribute(key, String(value));
    drawing.append(rect);
  });
  cell.append(drawing);
}
