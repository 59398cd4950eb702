/** The figures of the whole machine. */

import { element } from "../ui/dom";
import { amount, duration, percent, quantile, sum, type Now, type Rates } from "./rates";

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly more?: string;
  readonly wrong?: boolean;
}

/** Draws the figures. */
export function drawTiles(now: Now, found: Rates | null): void {
  element("tiles").replaceChildren(
    ...tiles(now, found).map(({ name, value, more, wrong }) => {
      const made = document.createElement("div");
      made.className = wrong ? "wrong" : "";
      const term = document.createElement("dt");
      term.textContent = name;
      const text = document.createElement("dd");
      text.textContent = value;
      if (more) {
        const small = document.createElement("small");
        small.textContent = ` ${more}`;
        text.append(small);
      }
      made.append(term, text);
      return made;
    }),
  );
}

/** The parts of which one is shown: the first that there is, those that contain others first. */
const PARTS = ["platform", "package", "battery", "sensor", "other"];

function powerTiles(now: Now, found: Rates): Tile[] {
  const widest = PARTS.map((part) => found.power.find((of) => of.part === part)).find((of) => of !== undefined);
  if (widest === undefined) return [];
  const why = now.energy.find((of) => of.part === widest.part && !of.is_live)?.unknown;
  const value = widest.watts === null ? "not known" : `${widest.watts.toPrecision(3)} W`;
  const words = widest.sampled ? `${widest.part}, an estimate` : widest.part;
  return [{ name: "Power", value, more: widest.watts === null && why ? `${words}: ${why}` : words }];
}

function ipcTiles(found: Rates): Tile[] {
  return found.ipc.map(({ type, ipc, estimated }) => ({
    name: type === "uniform" ? "Instructions per cycle" : `Instructions per cycle: ${type.replaceAll("_", " ")}`,
    value: ipc.toFixed(2),
    more: estimated ? "an estimate: counters are shared" : "",
  }));
}

export function tiles(now: Now, found: Rates | null): Tile[] {
  const online = now.cpus.filter((cpu) => cpu.online).length;
  const hasSiblings = now.cpus.some((cpu) => cpu.siblings.length > 1);
  const made: Tile[] = [];
  if (found) {
    const busy = sum([...found.cpus.values()].map((cpu) => cpu.busy));
    made.push({ name: "CPUs busy", value: amount(busy), more: `of ${online} (${percent(busy / Math.max(1, online))})` });
    made.push({ name: "Cores free", value: percent(found.cores[0] ?? 0), more: hasSiblings ? "no thread busy" : "" });
    if (hasSiblings) made.push({ name: "Cores with several threads busy", value: percent(found.cores[2] ?? 0) });
    made.push({ name: "Threads waiting for a CPU", value: amount(sum(found.total.ready)), more: "on average" });
    const of = (q: number) => duration(quantile(found.total.latencies, now.bounds_seconds, q));
    made.push({ name: "Wait for a CPU: 99th percentile", value: of(0.99), more: `median ${of(0.5)}` });
  }
  if (found) made.push(...powerTiles(now, found), ...ipcTiles(found));
  const violated = now.identities.filter((identity) => !identity.holds);
  const lost = now.health.missed_events + now.health.inconsistent_switches;
  made.push({
    name: "Sums",
    value: violated.length > 0 ? "contradict" : "consistent",
    more: violated.length > 0 ? violated.map((identity) => identity.name).join(", ") : lost > 0 ? `${lost} events missed` : `${now.identities.length} identities`,
    wrong: violated.length > 0,
  });
  if (found && found.bpf !== null) made.push({ name: "Cost of watching", value: `${(100 * found.bpf).toFixed(2)} %`, more: "of one CPU" });
  return made;
}
