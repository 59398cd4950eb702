/** The search: tracks are found by the page, stretches by the server; keys go from hit to hit. */

import type { ThreadState, ThreadTracks } from "../generated/tables";
import type { Cpu, Lane, Track } from "../model/layout";
import { parse } from "../model/search";
import { registerTicks } from "../model/ticks";
import { source } from "../source";
import { LOCKS, searched } from "../tracks/locks";
import { Hits, type Hit } from "./hits";

/** The maximum number of hits in an answer. */
const MAX_HITS = 500;
/** The pause between the last key and the request, in ms. */
const PAUSE = 250;

/** The page's functions that the search uses. */
export interface PageActions {
  readonly tracks: () => readonly Track[];
  readonly cpu: (id: number) => Cpu | undefined;
  readonly thread: (key: number) => ThreadTracks | undefined;
  /** The description of the track of a lock. */
  readonly lock: (line: Track) => Lane | undefined;
  /** Highlights tracks. */
  readonly found: (tracks: readonly Track[]) => void;
  /** Goes to a hit, at a zoom at which it can be seen. */
  readonly goTo: (hit: Hit) => void;
  /** Shows the list of hits, or the panel that was there before. */
  readonly list: (shown: boolean) => void;
}

/** The elements that the search fills. */
export interface Elements {
  readonly status: HTMLElement;
  readonly panel: HTMLElement;
  readonly tab: HTMLElement;
}

export class Search {
  private readonly status: HTMLElement;
  private readonly page: PageActions;
  private readonly whole: number;
  private readonly list: Hits;
  private hits: Hit[] = [];
  private at = -1;
  /** The query and start time for further hits; null if all are known. */
  private more: { query: Readonly<Record<string, string>>; from: number } | null = null;
  private turn = 0;
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(elements: Elements, whole: number, page: PageActions) {
    [this.status, this.whole, this.page] = [elements.status, whole, page];
    this.list = new Hits(elements.panel, elements.tab, (at) => this.goTo(at));
  }

  /** Starts a search. */
  search(text: string): void {
    clearTimeout(this.waiting);
    const turn = ++this.turn;
    const wanted = parse(text);
    [this.hits, this.at, this.more] = [[], -1, null];
    if (wanted === null || typeof wanted === "string" || wanted.stretches) this.page.found([]);
    if (wanted === null || typeof wanted === "string") return this.say(wanted ?? "");
    if (wanted.stretches) {
      this.more = { query: wanted.stretches, from: 0 };
      this.say("Searching…");
      this.waiting = setTimeout(() => void this.ask(turn), PAUSE);
      return;
    }
    const holds = (line: Track) => {
      const cpu = line.kind === "cpu" ? this.page.cpu(line.id) : undefined;
      const thread = line.kind === "thread" ? this.page.thread(line.id) : undefined;
      const lane = line.kind === LOCKS.kind ? this.page.lock(line) : undefined;
      return (cpu !== undefined && wanted.cpu(cpu)) || (thread !== undefined && wanted.thread(thread)) || (lane?.lock != null && wanted.lock(searched(lane), lane.lock.pid));
    };
    const tracks = this.page.tracks().filter(holds);
    this.hits = tracks.map((line) => ({ kind: line.kind, id: line.id, at: -1, length: 0, label: line.label }));
    this.page.found(tracks);
    this.say(`${tracks.length} tracks`);
  }

  /** Goes to the next or previous hit. */
  async go(by: number): Promise<void> {
    const turn = this.turn;
    clearTimeout(this.waiting);
    if (this.at + by >= this.hits.length && this.more) await this.ask(turn);
    if (turn !== this.turn || this.hits.length === 0) return;
    this.goTo(this.at < 0 && by < 0 ? this.hits.length - 1 : (this.at + by + this.hits.length) % this.hits.length);
  }

  private goTo(at: number): void {
    const hit = this.hits[at];
    if (!hit) return;
    this.at = at;
    this.showCount();
    this.page.goTo(hit);
    this.list.choose(at);
  }

  /** Requests further hits, until there are some or the whole recording was searched. */
  private async ask(turn: number): Promise<void> {
    const known = this.hits.length;
    try {
      while (this.more && turn === this.turn && this.hits.length === known) {
        const { query, from } = this.more;
        const { rows, until } = await source.hits(query, from, this.whole, MAX_HITS);
        if (turn !== this.turn) return;
        this.hits.push(...rows.map((row) => this.hit(row)));
        this.more = until < this.whole && until > from ? { query, from: until } : null;
      }
      if (turn === this.turn) this.showCount();
    } catch (why) {
      if (turn === this.turn) this.say((why as Error).message);
    }
  }

  private hit(row: ThreadState): Hit {
    const name = this.page.thread(row.thread)?.name ?? "thread";
    return { kind: "thread", id: row.thread, at: row.start_ns, length: row.end_ns - row.start_ns, label: `${name} ${row.tid}` };
  }

  private showCount(): void {
    const all = `${this.hits.length}${this.more ? " or more" : ""} ${this.hits.some((hit) => hit.at >= 0) || this.hits.length === 0 ? "stretches" : "tracks"}`;
    this.say(this.at < 0 ? all : `${this.at + 1} of ${all}`);
  }

  /** Writes the status, which is cut in the header if it is long, and lists the hits. */
  private say(status: string): void {
    this.status.textContent = this.status.title = status;
    registerTicks("hit", this.hits.flatMap((hit) => (hit.at >= 0 ? [hit.at] : [])));
    this.list.show(this.hits, status);
    this.page.list(status !== "");
  }
}
