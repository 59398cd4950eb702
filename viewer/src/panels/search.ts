/** What is searched for: tracks, which the page knows, or stretches, for which the server looks; one hit after the other. */

import type { ThreadState, ThreadTracks } from "../generated/tables";
import type { Cpu, Track } from "../model/layout";
import { parse } from "../model/search";
import type { Selected } from "../model/view";
import { source } from "../source";

/** Hits of an answer. */
const MOST = 500;
/** Between the last letter and the question. */
const PAUSE = 250;

/** What the search needs of the page. */
export interface Around {
  readonly tracks: () => readonly Track[];
  readonly cpu: (id: number) => Cpu | undefined;
  readonly thread: (key: number) => ThreadTracks | undefined;
  /** Marks tracks. */
  readonly found: (tracks: readonly Track[]) => void;
  readonly select: (to: Selected) => void;
  /** Where a track without a time is looked at. */
  readonly now: () => number;
}

export class Search {
  private readonly status: HTMLElement;
  private readonly around: Around;
  private readonly whole: number;
  private hits: Selected[] = [];
  private at = -1;
  /** What goes on behind the hits that are known: the question, and from when; nothing where all are. */
  private more: { query: Readonly<Record<string, string>>; from: number } | null = null;
  private turn = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(status: HTMLElement, whole: number, around: Around) {
    [this.status, this.whole, this.around] = [status, whole, around];
  }

  /** Looks for it. */
  search(text: string): void {
    clearTimeout(this.waiting);
    const turn = ++this.turn;
    const wanted = parse(text);
    [this.hits, this.at, this.more] = [[], -1, null];
    if (wanted === null || typeof wanted === "string" || wanted.stretches) this.around.found([]);
    if (wanted === null || typeof wanted === "string") {
      this.status.textContent = wanted ?? "";
      return;
    }
    if (wanted.stretches) {
      this.more = { query: wanted.stretches, from: 0 };
      this.status.textContent = "being looked for…";
      this.waiting = setTimeout(() => void this.ask(turn), PAUSE);
      return;
    }
    const holds = (line: Track) => {
      const cpu = line.kind === "cpu" ? this.around.cpu(line.id) : undefined;
      const thread = line.kind === "thread" ? this.around.thread(line.id) : undefined;
      return (cpu !== undefined && wanted.cpu(cpu)) || (thread !== undefined && wanted.thread(thread));
    };
    const tracks = this.around.tracks().filter(holds);
    this.hits = tracks.map((line) => ({ kind: line.kind, id: line.id, at: -1 }));
    this.around.found(tracks);
    this.status.textContent = `${tracks.length} tracks`;
  }

  /** Goes to the hit after or before. */
  async go(by: number): Promise<void> {
    const turn = this.turn;
    clearTimeout(this.waiting);
    if (this.at + by >= this.hits.length && this.more) await this.ask(turn);
    if (turn !== this.turn || this.hits.length === 0) return;
    this.at = this.at < 0 && by < 0 ? this.hits.length - 1 : (this.at + by + this.hits.length) % this.hits.length;
    this.tell();
    const hit = this.hits[this.at]!;
    this.around.select(hit.at < 0 ? { ...hit, at: this.around.now() } : hit);
  }

  /** The next ones, until there are some or all was looked at. */
  private async ask(turn: number): Promise<void> {
    const known = this.hits.length;
    try {
      while (this.more && turn === this.turn && this.hits.length === known) {
        const { query, from } = this.more;
        const { rows, until } = await source.hits(query, from, this.whole, MOST);
        if (turn !== this.turn) return;
        this.hits.push(...rows.map((row: ThreadState) => ({ kind: "thread", id: row.thread, at: row.start_ns }) as const));
        this.more = until < this.whole && until > from ? { query, from: until } : null;
      }
      if (turn === this.turn) this.tell();
    } catch (why) {
      if (turn === this.turn) this.status.textContent = (why as Error).message;
    }
  }

  private tell(): void {
    const all = `${this.hits.length}${this.more ? " or more" : ""} ${this.hits.some((hit) => hit.at >= 0) || this.hits.length === 0 ? "stretches" : "tracks"}`;
    this.status.textContent = this.at < 0 ? all : `${this.at + 1} of ${all}`;
  }
}
