/** What the panel of the selection shows while nothing is selected: the recording, its busiest threads, and what to do next. */

import type { About } from "../api";
import type { ThreadTracks } from "../generated/tables";
import type { Selected } from "../model/view";
import { length } from "../model/time";
import { facts, heading, link, paragraph } from "../ui/dom";

/** The number of threads that are listed. */
const BUSIEST = 8;

/** Describes a recording. `select` selects a thread where it began. */
export function overview(about: About, threads: readonly ThreadTracks[], select: (to: Selected) => void): Node[] {
  if (about.cpus.length === 0 && threads.length === 0 && about.kinds.length === 0) return nothing();
  const cells: [string, string][] = [["Length", length(about.span_ns)]];
  if (about.model_name) cells.push(["Machine", about.model_name]);
  if (about.cpus.length > 0) cells.push(["CPUs", cpusOf(about)]);
  if (about.threads > 0) cells.push(["Threads", `${about.threads}, of which ${threads.filter((of) => of.running_ns > 0).length} ran`], ["Switches", String(about.switches)]);
  cells.push(["Events lost", about.lost_events === 0 ? "none reported" : String(about.lost_events)]);
  return [heading("Recording"), facts(cells), ...busiest(about, threads, select), hint(threads)];
}

/** Returns the summary in the header; the page shows `shown` of the threads. */
export function summaryOf(about: About, shown: number): string {
  const part = shown < about.threads ? ` (showing the busiest ${shown})` : "";
  const lost = about.lost_events > 0 ? `, ${about.lost_events} events lost` : "";
  const holds = about.cpus.length + about.threads === 0 ? "no CPUs and no threads" : `${about.cpus.length} CPUs, ${about.threads} threads${part}, ${about.switches} switches`;
  return `${length(about.span_ns)}, ${holds}${lost}`;
}

function cpusOf({ cpus }: About): string {
  const types = new Map<string, number>();
  for (const { core_type } of cpus) types.set(core_type ?? "unknown", (types.get(core_type ?? "unknown") ?? 0) + 1);
  const words = [...types].map(([type, count]) => `${count} ${type.replace("_", "-")}`);
  return types.size < 2 ? String(cpus.length) : `${cpus.length}: ${words.join(", ")}`;
}

function busiest(about: About, threads: readonly ThreadTracks[], select: (to: Selected) => void): Node[] {
  const ran = threads.filter((of) => of.running_ns > 0).sort((a, b) => b.running_ns - a.running_ns).slice(0, BUSIEST);
  if (ran.length === 0) return [];
  const table = document.createElement("table");
  table.className = "list";
  const head = table.createTHead().insertRow();
  for (const text of ["thread", "running ms", "%"]) head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: text }));
  const body = table.createTBody();
  for (const of of ran) {
    const row = body.insertRow();
    const name = `${of.name ?? "thread"} ${of.tid}`;
    const go = link(name, () => select({ kind: "thread", id: of.thread, at: of.begin_ns }));
    go.title = `Select ${name}`;
    row.insertCell().append(go);
    for (const text of [(of.running_ns / 1e6).toFixed(3), ((100 * of.running_ns) / Math.max(1, about.span_ns)).toFixed(1)]) Object.assign(row.insertCell(), { className: "time", textContent: text });
  }
  table.classList.add("busiest");
  return [heading("Busiest threads", 3), table];
}

function hint(threads: readonly ThreadTracks[]): HTMLElement {
  if (threads.length === 0) return paragraph("This recording has no threads. Its frames are listed under Frames.");
  return paragraph("Select a slice with a click or the arrow keys to see its details. Drag on the timeline with Shift for the figures of a time range. Findings and Frames lead to what was slow. ? lists all keys.");
}

function nothing(): Node[] {
  const list = document.createElement("ul");
  for (const text of [
    "Recorded by another tool: check that it recorded scheduler events while the program ran. `corewise formats` says how to record each format.",
    "Recorded by corewise: `corewise doctor` says what can be recorded on this machine, and how to fix what is missing.",
    "To see what a recording looks like: `corewise demo`, then `corewise view` with the folder that it names.",
  ]) list.append(Object.assign(document.createElement("li"), { textContent: text }));
  return [heading("This recording is empty"), paragraph("It has no CPUs, no threads and no frames."), list];
}
