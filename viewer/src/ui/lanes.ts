/** The arrangement of tracks on a page: what the user chose, kept in the address and for the recording. */

import { ALL, Arrangement, PINNED, type Arranged } from "../model/arrange";
import { fromWord, inHash, NONE, toWord, type Choices, type Move } from "../model/choices";
import { isTrack, type Group, type Line, type Order, type Track } from "../model/layout";
import type { Recording } from "../model/sections";
import { load, store } from "./settings";

/** Returns the id of a track. */
export function idOf(of: { kind: string; id: number }): string {
  return `${of.kind}:${of.id}`;
}

/** Where something that is dragged would be put. */
export interface Place {
  /** What it would be put before; empty: at the end of its group, or of all groups. */
  readonly before: string;
  /** The height of the edge, as of lines. */
  readonly top: number;
  readonly fixed: boolean;
}

/** The page's functions that are called around every change; `before` returns what `after` gets. */
export interface Around {
  readonly before: () => number | null;
  readonly after: (was: number | null) => void;
}

export class Lanes {
  readonly arrangement: Arrangement;
  private readonly key: string;
  private readonly around: Around;
  private now: Choices;
  private order: Order | null = null;
  private made: Arranged;
  private word: string;

  constructor(of: Recording, stamp: string, hash: string, around: Around) {
    this.arrangement = new Arrangement(of);
    this.key = `corewise tracks ${stamp}`;
    this.around = around;
    this.now = fromWord(inHash(hash) ?? load(this.key) ?? "");
    this.word = toWord(this.now);
    this.made = this.arrangement.arrange(this.now);
  }

  get choices(): Choices {
    return this.now;
  }

  get lines(): readonly Line[] {
    return this.made.lines;
  }

  get height(): number {
    return this.made.height;
  }

  /** The height of the pinned lines that stay in a view of this height; 0 if they would take most of it. */
  fixedIn(height: number): number {
    return this.made.fixed <= height / 2 ? this.made.fixed : 0;
  }

  /** What the address has about tracks, with a `&`. */
  get hash(): string {
    return this.word === "" ? "" : `&tracks=${this.word}`;
  }

  get groups(): Group[] {
    return this.made.lines.filter((line): line is Group => line.kind === "group");
  }

  /** Sorts the threads by what changed between two traces, or not. */
  ordered(order: Order | null): void {
    if (order === this.order) return;
    this.order = order;
    this.arrange();
  }

  set(of: Partial<Choices>): void {
    this.now = { ...this.now, ...of };
    this.word = toWord(this.now);
    store(this.key, this.word);
    this.arrange();
  }

  private arrange(): void {
    const was = this.around.before();
    this.made = this.arrangement.arrange(this.now, this.order);
    this.around.after(was);
  }

  reset(): void {
    this.set(NONE);
  }

  /** Follows a changed address. If it is `exact`, without choices nothing was chosen. */
  visited(hash: string, exact: boolean): void {
    const word = inHash(hash) ?? (exact ? "" : null);
    if (word !== null && word !== this.word) this.set(fromWord(word));
  }

  /** Folds or opens a group. */
  toggle(id: string): void {
    const group = this.groups.find((group) => group.id === id);
    if (group && id !== PINNED) this.set({ open: new Map([...this.now.open, [id, !group.open]]) });
  }

  /** Folds all groups, or opens all if all are folded. */
  toggleAll(): void {
    const groups = this.groups.filter((group) => group.id !== PINNED);
    const open = groups.every((group) => !group.open);
    this.set({ open: new Map([[ALL, open]]) });
  }

  /** Pins a track, or removes the pin. */
  pin(id: string): void {
    const { pinned } = this.now;
    this.set({ pinned: pinned.includes(id) ? pinned.filter((of) => of !== id) : [...pinned, id] });
  }

  /** Hides a track or group, or shows it again. */
  hide(id: string): void {
    const hidden = new Set(this.now.hidden);
    if (id === PINNED) return this.set({ pinned: [] });
    if (!hidden.delete(id)) hidden.add(id);
    this.set({ hidden, pinned: this.now.pinned.filter((of) => of !== id) });
  }

  /** Puts a track or group before another, or at the end. */
  move(what: string, before: string): void {
    if (what === before) return;
    const { pinned } = this.now;
    if (pinned.includes(what)) {
      const left = pinned.filter((id) => id !== what);
      const at = before === "" ? left.length : left.indexOf(before);
      if (at >= 0) this.set({ pinned: [...left.slice(0, at), what, ...left.slice(at)] });
      return;
    }
    // An earlier move of the same does not matter.
    const moves: Move[] = this.now.moves.filter(([of]) => of !== what);
    this.set({ moves: [...moves, [what, before]] });
  }

  /** Moves a track or group up (-1) or down (1), among those that are shown. */
  shift(id: string, by: number): void {
    const list = this.siblings(id);
    const at = list.indexOf(id);
    const to = at + by;
    if (at < 0 || to < 0 || to >= list.length) return;
    this.move(id, by < 0 ? list[to]! : (list[to + 1] ?? ""));
  }

  /** Shows a track: opens its group, and ends a filter that leaves it out. Returns whether there is such a track. */
  reveal(id: string): boolean {
    const home = this.arrangement.home(id);
    if (home === null) return false;
    const has = () => this.made.lines.some((line) => isTrack(line) && idOf(line) === id);
    if (has()) return true;
    const hidden = new Set([...this.now.hidden].filter((of) => of !== id && of !== home));
    this.set({ hidden, open: new Map([...this.now.open, [home, true]]) });
    if (!has()) this.set({ filter: "" });
    return has();
  }

  /** Returns where a dragged track or group would be put at a height of the lines; null if not there. */
  place(what: string, line: Line | null, lower: boolean): Place | null {
    if (!line) return null;
    const list = this.siblings(what);
    const over = this.among(list, line);
    if (over === null) return null;
    const before = lower ? (list[list.indexOf(over) + 1] ?? "") : over;
    const target = this.lineOf(lower ? over : before);
    const last = lower ? this.lastOf(over) : target;
    if (!target || !last) return null;
    return { before, top: lower ? last.top + last.height : target.top, fixed: last.fixed };
  }

  /** The ids of the shown tracks of the same group, or of all groups. */
  private siblings(id: string): string[] {
    if (this.groups.some((group) => group.id === id)) return this.groups.filter((group) => group.id !== PINNED).map((group) => group.id);
    const tracks = this.made.lines.filter(isTrack);
    const own = tracks.find((line) => idOf(line) === id);
    const home = this.arrangement.home(id);
    return tracks.filter((line) => line.fixed === own?.fixed && (line.fixed || this.arrangement.home(idOf(line)) === home)).map(idOf);
  }

  /** Which of these a line belongs to. */
  private among(list: readonly string[], line: Line): string | null {
    const own = isTrack(line) ? idOf(line) : line.id;
    const home = isTrack(line) && !line.fixed ? this.arrangement.home(own) : null;
    return list.includes(own) ? own : home !== null && list.includes(home) ? home : null;
  }

  private lineOf(id: string): Line | undefined {
    return this.made.lines.find((line) => (isTrack(line) ? idOf(line) : line.id) === id);
  }

  /** The last line of a group, or the track itself. */
  private lastOf(id: string): Line | undefined {
    const at = this.made.lines.findIndex((line) => (isTrack(line) ? idOf(line) : line.id) === id);
    let last = at;
    if (at >= 0 && !isTrack(this.made.lines[at]!)) while (last + 1 < this.made.lines.length && isTrack(this.made.lines[last + 1]!)) last++;
    return this.made.lines[last];
  }

  /** Returns the tracks of a group that are shown. */
  tracksOf(id: string): Track[] {
    const at = this.made.lines.findIndex((line) => line.kind === "group" && line.id === id);
    const tracks: Track[] = [];
    for (let next = at + 1; at >= 0 && next < this.made.lines.length; next++) {
      const line = this.made.lines[next]!;
      if (!isTrack(line)) break;
      tracks.push(line);
    }
    return tracks;
  }
}
