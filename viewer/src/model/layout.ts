/** The order and places of tracks: CPUs by package, cluster and core, then additional tracks, then threads by process. */

import type { ThreadTracks } from "../generated/tables";
import { styleOf } from "../tracks/list";

/** A CPU, as described by the server. */
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

/** A track of a kind, as described by the server. */
export interface Lane {
  readonly track: number;
  readonly label: string;
  readonly most: number;
  /** The key of the thread that it is about, if any. */
  readonly thread?: number | null;
  /** What `--range` calls its slices, without their numbers, if it can name them. */
  readonly range?: string | null;
}

/** A kind of additional track, as described by the server. */
export interface KindInfo {
  readonly kind: string;
  readonly title: string;
  /** The unit of values; empty for counts. */
  readonly unit: string;
  /** Whether the tracks have values instead of states. */
  readonly values: boolean;
  /** The names of the states, by number. */
  readonly states: readonly string[];
  readonly lanes: readonly Lane[];
  /** What these tracks do not show, if anything. */
  readonly note: string;
  /** The value at which a line is drawn across the tracks. */
  readonly line: number | null;
}

/** The name of a group of tracks, on a line of its own. */
export interface Group {
  readonly kind: "group";
  readonly label: string;
  readonly top: number;
  readonly height: number;
}

/** A line that has a track. */
export interface Track {
  /** `cpu`, `thread`, or an additional kind. */
  readonly kind: string;
  /** A CPU's number, a thread's key, or the number of an additional track. */
  readonly id: number;
  /** The server's number of the track. */
  readonly track: number;
  readonly label: string;
  readonly top: number;
  readonly height: number;
  /** The maximum of a track of values. */
  readonly most?: number;
  /** The value at which a line is drawn across it. */
  readonly line?: number | null;
}

/** A line of the timeline. */
export type Line = Group | Track;

/** Returns whether a line has a track. */
export function isTrack(line: Line): line is Track {
  return line.kind !== "group";
}

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

function threadTrack(to: Growing, thread: ThreadTracks): void {
  track(to, "thread", thread.thread, thread.track, `${thread.name ?? "?"} ${thread.tid}`);
}

/** Adds the tracks of an additional kind. */
function extra(to: Growing, info: KindInfo): void {
  const style = styleOf(info.kind);
  group(to, info.note === "" ? info.title : `${info.title} (${info.note})`);
  for (const lane of info.lanes) {
    to.lines.push({ kind: style.kind, id: lane.track, track: lane.track, label: lane.label, top: to.top, height: style.height, most: lane.most, line: info.line });
    to.top += style.height;
  }
}

/** Describes the package, die, cluster and core type of a CPU; unknown parts are omitted. */
export function placeOf(cpu: Cpu): string {
  const parts = [
    cpu.package === null ? "" : `package ${cpu.package}`,
    cpu.die === null || cpu.die === 0 ? "" : `die ${cpu.die}`,
    cpu.cluster === null ? "" : `cluster ${cpu.cluster}`,
    cpu.core_type === "uniform" ? "" : `${cpu.core_type}${cpu.vendor_type ? ` (${cpu.vendor_type})` : ""}`,
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** An order of the threads other than by process: the smallest number first, all in one group. */
export interface Order {
  readonly label: string;
  readonly of: (thread: number) => number;
}

/** Returns all lines from the top. An SMT sibling of the CPU above it has a sign. */
export function layout(cpus: readonly Cpu[], threads: readonly ThreadTracks[], kinds: readonly KindInfo[] = [], order: Order | null = null): { lines: Line[]; height: number } {
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
  for (const info of kinds) extra(to, info);
  if (order) {
    group(to, order.label);
    const sorted = threads.map((thread) => [thread, order.of(thread.thread)] as const).sort((a, b) => a[1] - b[1]);
    for (const [thread] of sorted) threadTrack(to, thread);
    return { lines: to.lines, height: to.top };
  }
  const leaders = new Map(threads.filter((t) => t.pid === t.tid).map((t) => [t.pid, t.name]));
  let process: number | null | undefined;
  for (const thread of threads) {
    if (thread.pid !== process) {
      process = thread.pid;
      const leader = leaders.get(process) ?? thread.name;
      group(to, process === null ? "unknown process" : `${leader ?? "?"} · process ${process}`);
    }
    threadTrack(to, thread);
  }
  return { lines: to.lines, height: to.top };
}

/** Returns the line at a height, if there is one. */
export function lineAt(lines: readonly Line[], y: number): Line | null {
  const at = firstBelow(lines, y);
  const line = lines[at];
  return line && line.top <= y ? line : null;
}

/** Returns the index of the first line that ends below a height. */
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
