/** The groups and the facts of the tracks of what the CPUs counted. */

import { styleOf } from "../tracks/list";
import type { KindInfo, Lane } from "./layout";
import type { Item, Section } from "./sections";
import type { Slice } from "./slices";
import { length } from "./time";

/** The kinds of tracks of counters, in their order. */
const KINDS: readonly string[] = ["ipc", "rates", "counting"];
/** The number of the state "unknown" of the kind `counting`. */
const UNKNOWN = 4;

export function isCounted(info: KindInfo): boolean {
  return KINDS.includes(info.kind);
}

function item({ kind, line }: KindInfo, lane: Lane): Item {
  return { id: `${kind}:${lane.track}`, kind, number: lane.track, track: lane.track, label: lane.label, value: "", height: styleOf(kind).height, most: lane.most, line };
}

function section(id: string, label: string, items: readonly Item[]): Section {
  return { id: `counted:${id}`, label, items, folded: true, busy: "", counts: null };
}

/** Returns the group of the CPUs' counters, if there are any. */
export function ofCpus(kinds: readonly KindInfo[]): Section[] {
  const counted = kinds.filter(isCounted);
  const items = counted.flatMap((info) => info.lanes.filter((lane) => typeof lane.thread !== "number").map((lane) => item(info, lane)));
  if (items.length === 0) return [];
  const notes = counted.flatMap(({ note }) => (note === "" ? [] : [note]));
  return [section("cpus", ["Counters", ...notes].join(" · "), items)];
}

/** Puts the counters of threads under the groups of these. */
export function withThreads(sections: readonly Section[], kinds: readonly KindInfo[]): Section[] {
  const lanes = new Map<number, Item[]>();
  for (const info of kinds.filter(isCounted)) {
    for (const lane of info.lanes) {
      if (typeof lane.thread !== "number") continue;
      const known = lanes.get(lane.thread);
      if (known) known.push(item(info, lane));
      else lanes.set(lane.thread, [item(info, lane)]);
    }
  }
  if (lanes.size === 0) return [...sections];
  return sections.flatMap((of) => {
    const items = of.items.flatMap(({ kind, number }) => (kind === "thread" ? (lanes.get(number) ?? []) : []));
    const id = of.id.slice(of.id.indexOf(":") + 1);
    return items.length === 0 ? [of] : [of, section(id, `Counters · ${of.label}`, items)];
  });
}

/** What is drawn elsewhere at a time, if it is there. */
export interface Drawn {
  readonly slice: (kind: string, track: number, at: number) => Slice | null;
  /** The CPU on which a thread ran at a time; null if that is not drawn. */
  readonly cpu: (thread: number, at: number) => number | null;
}

/** Writes a count: exact, with spaces between thousands. */
const whole = (value: number) => Math.round(value).toLocaleString("en").replaceAll(",", " ");

/** Describes a slice of a track of values: what was counted, for how long, and how much of the time. */
export function countedFacts(info: KindInfo, lane: Lane, slice: Slice, kinds: readonly KindInfo[], drawn: Drawn): [string, string][] {
  const at = (slice.start + slice.end) / 2;
  const { words } = styleOf(info.kind);
  const value = (of: number | undefined) => words(of ?? 0, info.unit);
  // Equal values that follow each other are one, so another track's may last longer.
  const covers = (of: Slice | null): of is Slice => of !== null && of.stretches === 1 && of.start <= slice.start && of.end >= slice.end;
  const name = info.kind === "ipc" ? "IPC" : "rate";
  const values: [string, string][] = slice.stretches === 1
    ? [[name, value(slice.mean)]]
    : [[`mean ${name}`, value(slice.mean)], ["minimum", value(slice.least)], ["maximum", value(slice.most)], ["readings", whole(slice.stretches)]];
  const time: [string, string] = ["length", length(slice.end - slice.start)];
  /** The share of the time in which an event counted, in percent; null if that is not drawn. */
  const shareOf = (track: number): number | null => {
    const partly = kinds.find((of) => of.kind === "counting")?.lanes.some((of) => of.track === track) === true;
    if (!partly) return 100;
    const state = drawn.slice("counting", track, at);
    return covers(state) ? state.what : null;
  };
  const shared = (share: number | null): [string, string][] => (share === null ? [] : [["counted for", `${share} % of the time`]]);
  /** The count in this slice's time at a rate. */
  const counts = (rate: number | undefined, share: number | null): string | null => (share === null ? null : `${share === 100 ? "" : "about "}${whole(((rate ?? 0) * (slice.end - slice.start) * share) / 1e11)}`);
  if (info.kind === "rates") {
    const share = shareOf(lane.track);
    const count = counts(slice.mean, share);
    return [["event", lane.counter?.event ?? "?"], ...(count === null ? [] : [["count", count] as [string, string]]), ...values, time, ...shared(share)];
  }
  const cpu = lane.counter?.cpu ?? (typeof lane.thread === "number" ? drawn.cpu(lane.thread, at) : null);
  const rates = kinds.find((of) => of.kind === "rates")?.lanes.filter((of) => of.counter?.cpu === cpu && cpu !== null) ?? [];
  let share: number | null = null;
  const parts = (["instructions", "cycles"] as const).flatMap((part): [string, string][] => {
    const of = rates.find((of) => of.counter?.part === part);
    const found = of ? drawn.slice("rates", of.track, at) : null;
    if (!of || !covers(found)) return [];
    share = shareOf(of.track);
    const count = counts(found.mean, share);
    return count === null ? [] : [[part, count]];
  });
  return [...values, ...parts, time, ...shared(share)];
}

/** Describes a slice of the kind `counting`. */
export function countingFacts(info: KindInfo, lane: Lane, slice: Slice): [string, string][] {
  const state = info.states[slice.state] ?? "unknown";
  const share: [string, string][] = slice.state === UNKNOWN || slice.stretches > 1 ? [] : [["counted for", `${slice.what} % of the time`]];
  const of: [string, string][] = slice.stretches === 1 ? [["state", state]] : [["state", `${state}, for ${length(slice.stateNs)}`], ["readings", whole(slice.stretches)]];
  return [["event", lane.counter?.event ?? "?"], ...of, ["length", length(slice.end - slice.start)], ...share];
}
