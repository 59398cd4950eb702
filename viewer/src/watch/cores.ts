/** The cores by package, cluster and core: how busy each hardware thread is, and what it runs now. */

import { element, heading } from "../ui/dom";
import { bar, fill } from "./bar";
import { typeColour } from "./legend";
import { packages, percent, type Core, type CpuNow, type Now, type Rates } from "./rates";

interface Cell {
  readonly root: HTMLElement;
  readonly share: HTMLElement;
  readonly runs: HTMLElement;
  readonly bar: HTMLElement;
}

const cells = new Map<number, Cell>();

/** Shows all cores. */
export function drawCores(now: Now): void {
  cells.clear();
  const found = packages(now.cpus);
  element("cores").replaceChildren(
    ...found.map((of) => {
      const made = division("package");
      if (found.length > 1 || of.name !== "Package not known") made.append(heading(of.name, 3));
      const clusters = division("clusters");
      for (const cluster of of.clusters) {
        const part = division("cluster");
        if (cluster.name !== "") part.append(heading(cluster.name, 3));
        const cores = division("cores");
        cores.append(...cluster.cores.map(drawCore));
        part.append(cores);
        clusters.append(part);
      }
      made.append(clusters);
      return made;
    }),
  );
}

function drawCore(core: Core): HTMLElement {
  const made = division("core");
  made.style.setProperty("--type", typeColour(core.type));
  const type = core.type === "uniform" ? "core" : core.type.replaceAll("_", " ");
  const title = document.createElement("p");
  title.textContent = core.vendor === null ? type : `${type} (${core.vendor})`;
  const cpus = division("cpus");
  cpus.append(...core.cpus.map(drawCpu));
  made.append(title, cpus);
  return made;
}

function drawCpu(cpu: CpuNow): HTMLElement {
  const root = division("cpu");
  const numbers = division("numbers");
  const name = document.createElement("span");
  name.textContent = `CPU ${cpu.cpu}`;
  const share = document.createElement("span");
  numbers.append(name, share);
  const cell = { root, share, runs: division("runs"), bar: bar() };
  root.append(numbers, cell.runs, cell.bar);
  cells.set(cpu.cpu, cell);
  return root;
}

/** Writes what each CPU does. */
export function updateCores(now: Now, found: Rates | null): void {
  for (const cpu of now.cpus) {
    const cell = cells.get(cpu.cpu);
    if (!cell) continue;
    cell.root.classList.toggle("offline", !cpu.online);
    const runs = cpu.current === null ? "" : cpu.current.name;
    if (cell.runs.textContent !== runs) cell.runs.textContent = runs;
    cell.runs.title = cpu.current === null ? "" : `${cpu.current.name} (TID ${cpu.current.tid})`;
    const rate = found?.cpus.get(cpu.cpu);
    cell.share.textContent = rate ? percent(rate.busy) : "";
    const colour = typeColour(cpu.core_type);
    const shared = Math.min(rate?.shared ?? 0, rate?.busy ?? 0);
    fill(cell.bar, [{ share: shared, colour, shared: true }, { share: (rate?.busy ?? 0) - shared, colour }]);
  }
}

function division(of: string): HTMLElement {
  const made = document.createElement("div");
  made.className = of;
  return made;
}
