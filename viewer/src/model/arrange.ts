/** The lines of the timeline, as the user arranged them: groups folded, tracks pinned, hidden, moved and filtered. */

import type { ThreadTracks } from "../generated/tables";
import { moved, type Choices, type Size } from "./choices";
import type { Cpu, Group, Line, Order, Track } from "./layout";
import { parse } from "./search";
import { sectionsOf, type Item, type Recording, type Section } from "./sections";

/** The lines, from the top. */
export interface Arranged {
  readonly lines: readonly Line[];
  readonly height: number;
  /** The height of the pinned lines at the top, which do not scroll. */
  readonly fixed: number;
}

const GROUP = 20;
const SCALE: Readonly<Record<Exclude<Size, "auto">, number>> = { compact: 2 / 3, normal: 1, tall: 1.6 };
/** A group with more tracks is compact, unless another size is chosen. */
const MANY: Readonly<Record<string, number>> = { thread: 100 };
const MANY_OTHERS = 32;
const LOWEST = 11;
/** The id of the group of pinned tracks. */
export const PINNED = "tracks:pinned";
/** In the choices, what all groups are that were not opened or folded one by one. */
export const ALL = "all:groups";

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

export class Arrangement {
  private readonly of: Recording;
  private readonly threads: ReadonlyMap<number, ThreadTracks>;
  private readonly cpus: ReadonlyMap<number, Cpu>;
  /** One object for each track, so that it can be recognised after a change. */
  private readonly tracks = new Map<string, Mutable<Track>>();
  private sections: readonly Section[] = [];
  /** The section of each track. */
  private homes = new Map<string, Section>();
  private made: { sort: string; order: Order | null } | null = null;

  constructor(of: Recording) {
    this.of = of;
    this.threads = new Map(of.threads.map((thread) => [thread.thread, thread]));
    this.cpus = new Map(of.cpus.map((cpu) => [cpu.cpu, cpu]));
  }

  /** Returns the lines for these choices. */
  arrange(choices: Choices, order: Order | null = null): Arranged {
    this.make(choices, order);
    const wanted = this.wanted(choices.filter);
    const lines: Line[] = [];
    const pinned = choices.pinned.flatMap((id) => this.homes.get(id)?.items.find((item) => item.id === id) ?? []);
    const isPinned = new Set(pinned.map((item) => item.id));
    let top = 0;
    const group = (section: Pick<Section, "id" | "label" | "busy" | "counts">, open: boolean, items: readonly Item[], all: number, fixed: boolean) => {
      const cpus = items.every((item) => item.kind === "cpu") ? items.map((item) => item.number) : [];
      const line: Group = { kind: "group", id: section.id, label: section.label, top, height: GROUP, open, count: items.length, all, busy: section.busy, counts: section.counts, cpus, fixed };
      lines.push(line);
      top += GROUP;
    };
    const put = (item: Item, fixed: boolean, count: number) => {
      const size = choices.size !== "auto" ? choices.size : count > (MANY[item.kind] ?? MANY_OTHERS) ? "compact" : "normal";
      const height = Math.max(LOWEST, Math.round(item.height * SCALE[size]));
      lines.push(this.track(item, top, height, fixed));
      top += height;
    };
    if (pinned.length > 0) {
      group({ id: PINNED, label: "Pinned", busy: "", counts: null }, true, pinned, pinned.length, true);
      for (const item of pinned) put(item, true, pinned.length);
    }
    const fixed = top;
    for (const section of moved(this.sections, choices.moves)) {
      const left = section.items.filter((item) => !isPinned.has(item.id));
      const items = left.filter((item) => !choices.hidden.has(item.id) && wanted(item, section));
      if (choices.hidden.has(section.id) || items.length === 0) continue;
      // What was looked for is shown, unless it was folded since.
      const open = choices.open.get(section.id) ?? choices.open.get(ALL) ?? (choices.filter !== "" || !section.folded);
      group(section, open, items, section.items.length, false);
      if (open) for (const item of moved(items, choices.moves)) put(item, false, items.length);
    }
    return { lines, height: top, fixed };
  }

  /** All tracks in their order, whether they are shown or not. */
  all(): Track[] {
    return this.sections.flatMap((section) => section.items.map((item) => this.track(item)));
  }

  /** Returns the id of a track's group. */
  home(id: string): string | null {
    return this.homes.get(id)?.id ?? null;
  }

  /** Returns the groups that were hidden, and the tracks, with their labels. */
  labels(ids: Iterable<string>): [id: string, label: string][] {
    return [...ids].flatMap((id) => {
      const label = this.sections.find((section) => section.id === id)?.label ?? this.tracks.get(id)?.label;
      return label === undefined ? [] : [[id, label] as [string, string]];
    });
  }

  private make(choices: Choices, order: Order | null): void {
    if (this.made?.sort === choices.sort && this.made.order === order) return;
    this.made = { sort: choices.sort, order };
    this.sections = sectionsOf(this.of, choices.sort, order);
    this.homes = new Map(this.sections.flatMap((section) => section.items.map((item) => [item.id, section] as const)));
    for (const section of this.sections) for (const item of section.items) this.track(item).value = item.value;
  }

  /** Returns the one object of a track; with a place, at that place. */
  private track(item: Item, top = 0, height = item.height, fixed = false): Mutable<Track> {
    const { id, kind, number, track, label, value, most, line, layers } = item;
    const known = this.tracks.get(id);
    if (known && arguments.length > 1) return Object.assign(known, { top, height, fixed });
    if (known) return known;
    const made: Mutable<Track> = { kind, id: number, track, label, value, top, height, fixed, ...(most === undefined ? {} : { most, line: line ?? null }), ...(layers && { layers }) };
    this.tracks.set(id, made);
    return made;
  }

  /** Returns which tracks a filter wants: those a search finds, and those whose label or group contains the text. */
  private wanted(filter: string): (item: Item, section: Section) => boolean {
    const text = filter.trim().toLowerCase();
    if (text === "") return () => true;
    const search = parse(filter);
    const found = search !== null && typeof search === "object" && !search.stretches ? search : null;
    return (item, section) => {
      if (item.label.toLowerCase().includes(text) || section.label.toLowerCase().includes(text)) return true;
      const [cpu, thread] = [this.cpus.get(item.number), this.threads.get(item.number)];
      if (item.kind === "cpu") return cpu !== undefined && found?.cpu(cpu) === true;
      return item.kind === "thread" && thread !== undefined && found?.thread(thread) === true;
    };
  }
}
