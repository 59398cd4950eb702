/** The groups of tracks: CPUs by package, cluster and core type; the recorded command; additional tracks; threads by process. */

import type { ThreadTracks } from "../generated/tables";
import { ENDS } from "../tracks/idle_ends";
import { styleOf } from "../tracks/list";
import { LOCKS, WAITERS } from "../tracks/locks";
import { THROTTLING } from "../tracks/throttled";
import type { Sort } from "./choices";
import { isCounted, ofCpus as counters, withThreads } from "./counted";
import { placeOf, type Cpu, type KindInfo, type Lane, type Layer, type Order } from "./layout";
import { length } from "./time";

/** A track of a section. */
export interface Item {
  readonly id: string;
  readonly kind: string;
  /** A CPU's number, a thread's key, or the number of an additional track. */
  readonly number: number;
  readonly track: number;
  readonly label: string;
  /** A value by which the threads are sorted; empty if there is none. */
  readonly value: string;
  /** The height at normal size, in CSS pixels. */
  readonly height: number;
  readonly most?: number;
  readonly line?: number | null;
  readonly layers?: readonly Layer[];
}

/** A group of tracks. */
export interface Section {
  readonly id: string;
  readonly label: string;
  readonly items: readonly Item[];
  /** Whether it is folded at first. */
  readonly folded: boolean;
  /** How busy its threads are over the recording, in words; empty if that says nothing. */
  readonly busy: string;
  /** The numbers of the tracks that count its threads that run and are ready. */
  readonly counts: readonly [running: Lane, ready: Lane | null] | null;
}

/** What the sections are made from. */
export interface Recording {
  readonly cpus: readonly Cpu[];
  readonly threads: readonly ThreadTracks[];
  readonly kinds: readonly KindInfo[];
  /** The length of the recording, in ns. */
  readonly span_ns: number;
  /** The process of the recorded command; null if there is none. */
  readonly focus: number | null;
}

const CPU = 22;
const THREAD = 18;
/** The kind that has the numbers of threads that run and are ready; it is shown in folded groups only. */
export const COUNTS = "groups";
/** The kinds that are shown within the tracks of others. */
const WITHIN: ReadonlySet<string> = new Set([COUNTS, ENDS, WAITERS, THROTTLING]);
/** The additional kinds that are folded at first. */
const FOLDED: ReadonlySet<string> = new Set(["idle", "parking"]);
/** Tracks whose label is empty. */
const UNNAMED = "?";

function ofCpus(cpus: readonly Cpu[]): Section[] {
  const sections: { place: string; items: Item[] }[] = [];
  let above: Cpu | null = null;
  for (const cpu of cpus) {
    const place = placeOf(cpu);
    if (sections.at(-1)?.place !== place) sections.push({ place, items: [] });
    const sibling = above !== null && above.siblings.includes(cpu.cpu);
    const core = sibling ? " ┘ same core" : cpu.core === null ? "" : ` core ${cpu.core}`;
    sections.at(-1)?.items.push({ id: `cpu:${cpu.cpu}`, kind: "cpu", number: cpu.cpu, track: cpu.cpu, label: `CPU ${cpu.cpu}${core}`, value: "", height: CPU });
    above = cpu;
  }
  return sections.map(({ place, items }, at) => ({ id: `cpus:${at}`, label: place === "" ? "CPUs" : `CPUs · ${place}`, items, folded: false, busy: "", counts: null }));
}

/** Kinds with more tracks than this are folded at first: the threads after them would be far down. */
const MANY = 24;
/** How much higher the tracks of a recording without CPUs and threads are, such as a frame log. */
const HIGHER = 4;

function ofKind(info: KindInfo, isOnly: boolean): Section {
  const { kind, height: usual } = styleOf(info.kind);
  const height = isOnly ? HIGHER * usual : usual;
  const items = info.lanes.map((lane) => ({
    id: `${kind}:${lane.track}`, kind, number: lane.track, track: lane.track, label: lane.label, value: "", height, most: lane.most, line: info.line, ...(lane.layers && { layers: lane.layers }),
  }));
  return { id: `kind:${kind}`, label: info.note === "" ? info.title : `${info.title} (${info.note})`, items, folded: FOLDED.has(info.kind) || (!isOnly && items.length > MANY), busy: "", counts: null };
}

/** The maximum number of locks that are shown at first, and the minimum share of the recording that threads waited for such a lock, summed over threads. */
const [MOST_LOCKS, MIN_WAITED] = [8, 0.01];

/** Puts the locks with the longest waits into a group, and the others into one that is folded at first. */
function ofLocks(info: KindInfo, span: number, focus: number | null): Section[] {
  // Those of the recorded command first; the others are in order of their waits already.
  const isOwn = (lane: Lane) => focus !== null && lane.lock?.pid === focus;
  const lanes = [...info.lanes.filter(isOwn), ...info.lanes.filter((lane) => !isOwn(lane))];
  const all = ofKind({ ...info, lanes }, false);
  const waited = lanes.map((lane) => lane.lock?.waited_ns ?? 0);
  const items = all.items.map((item, at) => ({ ...item, value: time(waited[at]!) }));
  const isShown = new Set(items.filter((_, at) => waited[at]! >= MIN_WAITED * span).slice(0, MOST_LOCKS));
  const of = (id: string, label: string, some: typeof items, folded: boolean): Section[] => (some.length === 0 ? [] : [{ ...all, id, label, items: some, folded }]);
  const rest = items.filter((item) => !isShown.has(item));
  const words = isShown.size > 0 ? `Locks with shorter waits${info.note === "" ? "" : ` (${info.note})`}` : all.label;
  return [...of(all.id, info.title, [...isShown], false), ...of("kind:morelocks", words, rest, true)];
}

/** Whether a thread did nothing but wait. */
const isEmpty = (thread: ThreadTracks) => thread.running_ns === 0 && (thread.ready_ns ?? 0) === 0;

/** Returns a number of CPUs that threads kept busy: `1.25 CPUs`. */
function inCpus(ns: number, span: number): string {
  const of = ns / Math.max(1, span);
  return `${of >= 10 ? of.toFixed(0) : of >= 0.1 || of === 0 ? of.toFixed(1) : of >= 0.01 ? of.toFixed(2) : "under 0.01"}`;
}

/** Returns the sections in their order, before anything was moved. `order` and `sort` put the threads into one. */
export function sectionsOf(of: Recording, sort: Sort = "process", order: Order | null = null): Section[] {
  return withThreads(withoutCounters(of, sort, order), of.kinds);
}

/** Returns the sections without the counters of threads. */
function withoutCounters({ cpus, threads, kinds, span_ns, focus }: Recording, sort: Sort, order: Order | null): Section[] {
  const lanes = new Map(kinds.find((info) => info.kind === COUNTS)?.lanes.map((lane) => [lane.track, lane]));
  const section = (id: string, label: string, of: readonly ThreadTracks[], value: (thread: ThreadTracks) => string = () => ""): Section => {
    const items = of.map((t) => ({ id: `thread:${t.thread}`, kind: "thread", number: t.thread, track: t.track, label: `${t.name ?? UNNAMED} ${t.tid}`, value: value(t), height: THREAD }));
    const [running, ready] = [of.reduce((sum, t) => sum + t.running_ns, 0), of.reduce((sum, t) => sum + (t.ready_ns ?? 0), 0)];
    const known = of.some((t) => t.ready_ns !== null);
    // A whole group has a track of its own; a part of one has none.
    const group = of[0]?.group ?? null;
    // Nor have threads that all did nothing: the track is that of the others of their group.
    const lane = group !== null && of.some((t) => !isEmpty(t)) && of.every((t) => t.group === group || isEmpty(t)) ? lanes.get(2 * group) : undefined;
    const counts = lane && group !== null ? ([lane, lanes.get(2 * group + 1) ?? null] as const) : null;
    const busy = running === 0 && ready === 0 ? "" : `${inCpus(running, span_ns)} CPUs busy${known ? `, ${inCpus(ready, span_ns)} threads ready` : ""}`;
    return { id, label, items, folded: false, busy, counts };
  };
  const places = ofCpus(cpus);
  const extra = [
    ...kinds.filter((info) => !WITHIN.has(info.kind) && !isCounted(info)).flatMap((info) => (info.kind === LOCKS.kind ? ofLocks(info, span_ns, focus) : [ofKind(info, cpus.length === 0 && threads.length === 0)])),
    ...counters(kinds),
  ];
  if (order) {
    const sorted = threads.map((thread) => [thread, order.of(thread.thread)] as const).sort((a, b) => a[1] - b[1]);
    return [...places, ...extra, section("threads:all", order.label, sorted.map(([thread]) => thread))];
  }
  // Where no thread runs, they are not empty: the source does not record it.
  const any = threads.some((thread) => !isEmpty(thread));
  const [kernel, empty, others]: [ThreadTracks[], ThreadTracks[], ThreadTracks[]] = [[], [], []];
  for (const thread of threads) (any && isEmpty(thread) ? empty : thread.is_kernel ? kernel : others).push(thread);
  const last = [
    ...(kernel.length > 0 ? [{ ...section("threads:kernel", "Kernel threads", kernel), folded: true }] : []),
    ...(empty.length > 0 ? [{ ...section("threads:empty", "Threads that did not run", empty), folded: true }] : []),
  ];
  if (sort !== "process") {
    const { label, by, value } = SORTED[sort];
    return [...places, section("threads:all", label, [...others].sort((a, b) => by(a, b) || a.track - b.track), (t) => value(t, span_ns)), ...extra, ...last];
  }
  const leaders = new Map(threads.filter((t) => t.pid === t.tid).map((t) => [t.pid, t.name]));
  const processes = new Map<number | null, ThreadTracks[]>();
  for (const thread of others) {
    const known = processes.get(thread.pid);
    if (known) known.push(thread);
    else processes.set(thread.pid, [thread]);
  }
  const groups = [...processes].map(([pid, of]) => {
    const name = leaders.get(pid) ?? of[0]?.name ?? UNNAMED;
    return { own: pid !== null && pid === focus, section: section(`process:${pid ?? "none"}`, pid === null ? "unknown process" : `${name} · process ${pid}`, of) };
  });
  const of = (own: boolean) => groups.filter((group) => group.own === own).map((group) => group.section);
  return [...places, ...of(true), ...extra, ...of(false), ...last];
}

interface Sorted {
  readonly label: string;
  readonly by: (a: ThreadTracks, b: ThreadTracks) => number;
  readonly value: (thread: ThreadTracks, span: number) => string;
}

const share = (t: ThreadTracks) => (t.efficient_ns === null || t.running_ns === 0 ? -1 : t.efficient_ns / t.running_ns);
const time = (ns: number | null) => (ns === null ? "" : length(Number(ns.toPrecision(3))));

/** How threads are sorted across processes. */
const SORTED: Readonly<Record<Exclude<Sort, "process">, Sorted>> = {
  running: { label: "Threads · longest running time first", by: (a, b) => b.running_ns - a.running_ns, value: (t) => time(t.running_ns) },
  ready: { label: "Threads · longest ready time first", by: (a, b) => (b.ready_ns ?? -1) - (a.ready_ns ?? -1), value: (t) => time(t.ready_ns) },
  efficient: {
    label: "Threads · largest share on efficient cores first",
    by: (a, b) => share(b) - share(a) || b.running_ns - a.running_ns,
    value: (t) => (share(t) < 0 ? "" : `${(100 * share(t)).toFixed(0)} %`),
  },
  name: { label: "Threads · by name", by: (a, b) => (a.name ?? "").localeCompare(b.name ?? "", "en", { numeric: true }), value: () => "" },
};
