/** Which track stands where: CPUs by package, cluster and core, below them what is told of them and beside them, then threads by process. */

import type { ThreadTracks } from "../generated/tables";
import type { Beside } from "../tracks/kind";
import { KINDS } from "../tracks/list";

/** A CPU, as the server tells of it. */
export interface Cpu {
  readonly cpu: number;
  readonly package: number | null;
  readonly die: number | null;
  readonly cluster: number | null;
  readonly core: number | null;
  readonly siblings: readonly number[];
  readonly core_class: number;
  readonly core_type: string;
  readonly vendor_type: string | null;
}

/** A kind of track beside those of CPUs and threads, as the server tells of it. */
export interface Shown {
  readonly kind: string;
  readonly title: string;
  /** Of values; empty: counts. */
  readonly unit: string;
  /** Whether the tracks hold values. */
  readonly values: boolean;
  /** What states are called, by number. */
  readonly states: readonly string[];
  readonly lanes: readonly { readonly track: number; readonly label: string; readonly most: number }[];
  /** What cannot be seen here, if anything. */
  readonly note: string;
  /** Where a line is drawn across values, in their unit. */
  readonly line: number | null;
}

/** A line of the timeline. */
export type Line =
  | { readonly kind: "group"; readonly label: string; readonly top: number; readonly height: number }
  | {
      /** `cpu`, `thread`, or one of the kinds beside them. */
      readonly kind: "cpu" | "thread" | Beside;
      /** A CPU's number, a thread's key, the number of another track. */
      readonly id: number;
      /** The server's number of the track. */
      readonly track: number;
      readonly label: string;
      readonly top: number;
      readonly height: number;
      /** The most that a track of values holds. */
      readonly most?: number;
      /** Where a line is drawn across it. */
      readonly line?: number | null;
    };

/** A line that has a track. */
export type Track = Exclude<Line, { kind: "group" }>;

const GROUP = 20;
const CPU = 22;
const THREAD = 18;

type Growing = { lines: Line[]; top: number };

function group(to: Growing, label: string): void {
  to.lines.push({ kind: "group", label, top: to.top, height: GROUP });
  to.top += GROUP;
}

function track(to: Growing, kind: "cpu" | "thread", id: number, at: number, label: string): void {
  const height = kind === "cpu" ? CPU : THREAD;
  to.lines.push({ kind, id, track: at, label, top: to.top, height });
  to.top += height;
}

/** The tracks of a kind beside those of CPUs and threads. */
function beside(to: Growing, shown: Shown): void {
  const of = KINDS.get(shown.kind);
  if (!of) return;
  group(to, shown.note === "" ? shown.title : `${shown.title} (${shown.note})`);
  for (const lane of shown.lanes) {
    to.lines.push({ kind: of.kind, id: lane.track, track: lane.track, label: lane.label, top: to.top, height: of.height, most: lane.most, line: shown.line });
    to.top += of.height;
  }
}

/** What a CPU shares with its neighbours, in words; what nobody told is left out. */
export function placeOf(cpu: Cpu): string {
  const words = [
    cpu.package === null ? "" : `package ${cpu.package}`,
    cpu.die === null || cpu.die === 0 ? "" : `die ${cpu.die}`,
    cpu.cluster === null ? "" : `cluster ${cpu.cluster}`,
    cpu.core_type === "uniform" ? "" : `${cpu.core_type}${cpu.vendor_type ? ` (${cpu.vendor_type})` : ""}`,
  ];
  return words.filter((word) => word !== "").join(" · ");
}

/** All lines, from the top. A sibling of the CPU above stands under it with a sign. */
export function layout(cpus: readonly Cpu[], threads: readonly ThreadTracks[], kinds: readonly Shown[] = []): { lines: Line[]; height: number } {
  const to: Growing = { lines: [], top: 0 };
  let place: string | null = null;
  let above: Cpu | null = null;
  for (const cpu of cpus) {
    if (placeOf(cpu) !== place) {
      place = placeOf(cpu);
      group(to, place === "" ? "CPUs" : `CPUs · ${place}`);
    }
    const sibling = above !== null && above.siblings.includes(cpu.cpu);
    const core = sibling ? " ┘ same core" : cpu.core === null ? "" : ` core ${cpu.core}`;
    track(to, "cpu", cpu.cpu, cpu.cpu, `CPU ${cpu.cpu}${core}`);
    above = cpu;
  }
  for (const shown of kinds) beside(to, shown);
  const leaders = new Map(threads.filter((t) => t.pid === t.tid).map((t) => [t.pid, t.name]));
  let process: number | null | undefined;
  for (const thread of threads) {
    if (thread.pid !== process) {
      process = thread.pid;
      const leader = leaders.get(process) ?? thread.name;
      group(to, process === null ? "process unknown" : `${leader ?? "?"} · process ${process}`);
    }
    track(to, "thread", thread.thread, thread.track, `${thread.name ?? "?"} ${thread.tid}`);
  }
  return { lines: to.lines, height: to.top };
}

/** The line at a height, if there is one. */
export function lineAt(lines: readonly Line[], y: number): Line | null {
  const at = firstBelow(lines, y);
  const line = lines[at];
  return line && line.top <= y ? line : null;
}

/** The place of the first line that ends below a height. */
export function firstBelow(lines: readonly Line[], y: number): number {
  let lo = 0;
  let hi = lines.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    const line = lines[mid]!;
    if (line.top + line.height <= y) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
