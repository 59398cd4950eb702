/** The lines of the timeline, and their places. */

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
  /** The counter that it is about, if any. */
  readonly counter?: Counter | null;
  /** The lock that it is about, if any. */
  readonly lock?: Lock | null;
  /** The layers of stacked values, from the top. */
  readonly layers?: readonly Layer[];
}

/** A layer of a track of stacked values. */
export interface Layer {
  /** The track that has the sum of this layer and of those below it. */
  readonly track: number;
  readonly label: string;
  /** The number of its colour. */
  readonly tone: number;
}

/** A lock, as in the table `locks`. */
export interface Lock {
  /** The process; null for a lock of the kernel. */
  readonly pid: number | null;
  readonly object: string;
  readonly kind: string;
  readonly waits: number;
  readonly waited_ns: number;
  readonly max_waited_ns: number;
  /** The number of threads that waited. */
  readonly waiters: number;
  /** The number of threads that are known to have held it. */
  readonly holders: number;
}

/** The counter of a track. */
export interface Counter {
  /** The CPU; null for a thread. */
  readonly cpu: number | null;
  /** The event, as the user wrote it; empty for instructions per cycle. */
  readonly event: string;
  /** `cycles` or `instructions`, if it counts these. */
  readonly part: string | null;
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
  /** What ended stretches of idle time, by the numbers of their slices. */
  readonly ends?: readonly IdleCause[];
}

/** What ended a stretch of idle time. */
export interface IdleCause {
  /** The interrupt; empty if none was recorded. */
  readonly label: string;
  /** The key of the thread that woke or created the next one; null if no thread did. */
  readonly waker: number | null;
  /** The key of the thread that ran next; null if none did. */
  readonly thread: number | null;
  /** The minimum stay in the idle state that saves energy; null if unknown. */
  readonly target_ns: number | null;
  /** Whether the stay was shorter; null if that is unknown. */
  readonly too_short: boolean | null;
}

/** The name of a group of tracks, on a line of its own. */
export interface Group {
  readonly kind: "group";
  /** Such as `process:345`. */
  readonly id: string;
  readonly label: string;
  readonly top: number;
  readonly height: number;
  /** Whether its tracks are shown; a folded group shows how many of its threads or CPUs run and are ready. */
  readonly open: boolean;
  /** The number of its tracks that can be shown, and of all. */
  readonly count: number;
  readonly all: number;
  /** How busy its threads are over the recording, in words. */
  readonly busy: string;
  /** The tracks that count its threads that run and are ready. */
  readonly counts: readonly [running: Lane, ready: Lane | null] | null;
  /** The CPUs, if it has only CPUs. */
  readonly cpus: readonly number[];
  /** Whether it stays when the tracks scroll. */
  readonly fixed: boolean;
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
  /** What is at the right end of the label. */
  readonly value: string;
  readonly top: number;
  readonly height: number;
  /** Whether it stays when the tracks scroll. */
  readonly fixed: boolean;
  /** The maximum of a track of values. */
  readonly most?: number;
  /** The value at which a line is drawn across it. */
  readonly line?: number | null;
  /** The layers of stacked values, from the top. */
  readonly layers?: readonly Layer[];
}

/** A line of the timeline. */
export type Line = Group | Track;

/** Returns whether a line has a track. */
export function isTrack(line: Line): line is Track {
  return line.kind !== "group";
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

/** Where lines are drawn: how far the tracks are scrolled, and the height of those that stay. */
export interface Scrolled {
  readonly lines: readonly Line[];
  readonly scroll: number;
  readonly fixed: number;
}

/** Returns the upper edge of a line below the axis. */
export function topOf(line: Line, { scroll, fixed }: Scrolled): number {
  return line.fixed && fixed > 0 ? line.top : line.top - scroll;
}

/** Returns the line at a height below the axis, if there is one. */
export function lineOn(of: Scrolled, y: number): Line | null {
  return lineAt(of.lines, y < of.fixed ? y : y + of.scroll);
}

/** Returns the lines that are visible in a height: those that scroll, then those that stay, which are drawn over them. */
export function visibleOf(of: Scrolled, height: number): Line[] {
  const { lines, scroll, fixed } = of;
  const stay = fixed > 0 ? firstBelow(lines, fixed) : 0;
  const first = Math.max(stay, firstBelow(lines, scroll + fixed));
  return [...lines.slice(first, firstBelow(lines, scroll + height) + 1), ...lines.slice(0, stay)];
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
