/** Answers from the page itself: a page that contains the trace, written by crates/serve/src/alone. It sends no requests. */

import { tableFromIPC, type Table } from "apache-arrow";
import { HeldFrames } from "./alone_frames";
import { columnsOf, frameListOf, partOf, rowsOf, type About, type Cell, type Held, type Part } from "./api";
import { THREAD_STATES, type ThreadState, type ThreadTracks } from "./generated/tables";
import { cut, finer } from "./model/detail";
import type { Columns, Slices } from "./model/slices";
import { made, MADE, type CpuStretches, type Facts, type ThreadStretches } from "./model/ranges";
import { byStart, chainOf, hitsOf, overlapping, type Stored } from "./model/stored";
import { TRACKS, type Place } from "./model/tiles";
import { length } from "./model/time";
import type { Span } from "./model/view";
import type { Source } from "./source";

/** The number of assembled blocks of tracks that are kept. */
const KEPT = 64;
const SERVED = "open the recording with `corewise view`";

function block(name: string): string | null {
  return document.getElementById(`data-${name}`)?.textContent ?? null;
}

/** Decodes base64 and gzip. */
async function unpacked(name: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const text = block(name);
  if (text === null) return null;
  const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function json<T>(name: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode((await unpacked(name)) ?? undefined)) as T;
}

async function table(name: string): Promise<Table | null> {
  const bytes = await unpacked(name);
  return bytes && tableFromIPC(bytes);
}

/** A cache of values that are made on first use; the least recently used are dropped. */
class Cache<T> {
  private readonly made = new Map<string, Promise<T>>();
  private readonly max: number;

  constructor(max = Infinity) {
    this.max = max;
  }

  get(key: string, make: () => Promise<T>): Promise<T> {
    const made = this.made.get(key) ?? make();
    this.made.delete(key);
    this.made.set(key, made);
    const oldest = this.made.keys().next();
    if (this.made.size > this.max && !oldest.done) this.made.delete(oldest.value);
    return made;
  }
}

/** Returns the page's own data, or null if a server is to be asked. */
export function alone(): Source | null {
  const text = typeof document === "undefined" ? null : block("held");
  return text === null ? null : new Alone(JSON.parse(text) as Held);
}

/** Returns the address of the view with which the page begins; empty if it has none, or if a server is asked. */
export async function firstView(): Promise<string> {
  const bytes = typeof document === "undefined" ? null : await unpacked("start");
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}

/** Describes what the page does not contain; empty if it contains everything. */
export function limitsOf(held: Held | undefined): string {
  if (!held || held.rows) return "";
  if (held.finest_ns > 0) return `Finest detail in this page: ${length(held.finest_ns)}. For full detail, ${SERVED}.`;
  return `This page has all stretches, but no wakeups and causes of waits. For these, ${SERVED}.`;
}

/** Tables that the page may not have. */
const OPTIONAL: ReadonlySet<string> = new Set(["object_waits", "throttled"]);

class Alone implements Source {
  private readonly held: Held;
  private readonly levels = new Cache<Columns | null>();
  private readonly blocks = new Cache<Slices>(KEPT);
  private readonly answers = new Cache<unknown>();
  private readonly heldFrames = new HeldFrames<Table>({
    text: async (name) => {
      const bytes = await unpacked(name);
      return bytes && new TextDecoder().decode(bytes);
    },
    table,
    listOf: frameListOf,
    more: SERVED,
  });

  constructor(held: Held) {
    this.held = held;
  }

  async progress() {
    return { ready: true };
  }

  async about(): Promise<About> {
    return { ...((await this.answers.get("about", () => json("about"))) as About), alone: this.held };
  }

  async threads(): Promise<ThreadTracks[]> {
    return (await this.answers.get("threads", async () => rowsOf<ThreadTracks>((await table("threads"))!))) as ThreadTracks[];
  }

  findings<T>(): Promise<T | null> {
    return json<T>("findings");
  }

  tables(): Promise<{ name: string; doc: string }[]> {
    return json("tables");
  }

  async slices(place: Place): Promise<Slices> {
    const level = Math.min(this.held.coarsest, Math.max(this.held.finest[place.kind] ?? 0, place.level));
    return this.drawn(place.kind, place.block, level);
  }

  /** Returns a block of tracks at a level: the coarser level, refined with the slices of this one. */
  private drawn(kind: string, block: number, level: number): Promise<Slices> {
    return this.blocks.get(`${kind} ${block} ${level}`, async () => {
      const name = `slices-${kind}-${level}`;
      const all = await this.levels.get(name, async () => {
        const got = await table(name);
        return got && columnsOf(got);
      });
      const own = cut(all ?? NONE, block * TRACKS, TRACKS);
      return level === this.held.coarsest ? own : finer(await this.drawn(kind, block, level + 1), own);
    });
  }

  async rows<T>(name: string, from: number, to: number, of: { thread?: number; cpu?: number; waker?: number }): Promise<T[]> {
    // What waits were for, and when threads were throttled, is left out where it does not fit; waits for locks are among the others.
    if (name === "lock_waits" || (OPTIONAL.has(name) && !(await table(name)))) return [];
    return overlapping((await this.stored(name)) as Stored<T>, from, to, of as Record<string, number>);
  }

  async chain(thread: number, at: number) {
    return chainOf(await this.stored<ThreadState>("thread_state"), thread, at);
  }

  async hits(query: Readonly<Record<string, string>>, from: number, to: number, most: number) {
    const state = query["state"];
    if (state !== undefined && !(THREAD_STATES as readonly string[]).includes(state)) throw new Error(`unknown state ${state}; the states are ${THREAD_STATES.join(", ")}`);
    const [threads, { cpus }] = await Promise.all([this.threads(), this.about()]);
    const byKey = new Map(threads.map((t) => [t.thread, t]));
    const byId = new Map(cpus.map((cpu) => [cpu.cpu, cpu]));
    return hitsOf(await this.stored("thread_state"), query, from, to, most, { thread: (key) => byKey.get(key), cpu: (id) => byId.get(id) });
  }

  frameSources(intervals: boolean) {
    return this.heldFrames.sources(intervals);
  }

  frames(of: string, budget: number | null) {
    return this.heldFrames.list(of, budget);
  }

  async frameCauses<T>(of: string, budget: number | null, rank: number): Promise<T[]> {
    return rowsOf<T>(await this.heldFrames.causes(of, budget, rank));
  }

  async path(): Promise<never> {
    throw new Error(`this page has no critical paths of frames: ${SERVED}`);
  }

  private stored<T>(name: string): Promise<Stored<T>> {
    return this.answers.get(name, async () => {
      const got = await table(name);
      if (!got) throw new Error(`this page does not contain the rows of all stretches: ${SERVED}`);
      const column = (of: string) => {
        const vector = got.getChild(of);
        return Float64Array.from({ length: vector ? got.numRows : 0 }, (_, at) => Number(vector!.get(at) ?? -1));
      };
      const row = (at: number) => rowsOf<T>(got.slice(at, at + 1))[0]!;
      const keys = Object.fromEntries(["thread", "cpu", "waker"].map((of) => [of, column(of)]));
      return byStart({ start: column("start_ns"), end: column("end_ns"), keys, row });
    }) as Promise<Stored<T>>;
  }

  async part(name: string, span: Span, how: { column?: string; down?: boolean; most: number }): Promise<Part> {
    const { span_ns } = await this.about();
    const all = (await this.answers.get(`part-${name}`, async () => {
      const got = await table(`part-${name}`);
      return got && partOf(got);
    })) as Part | null;
    if (!all) throw new Error(`this page does not contain the table ${name}: ${SERVED}`);
    const of = span.from > 0 || span.to < span_ns ? await this.ofPart(name, span, all) : all;
    return { ...of, rows: sorted(of, how).slice(0, how.most) };
  }

  /** Makes a table for a part of the recording from the stretches in the page. */
  private async ofPart(name: string, span: Span, whole: Part): Promise<Part> {
    if (!(name in MADE)) {
      throw new Error(`this page has the table ${name} only for the whole recording (keys 0, Escape, R), and for a part only ${Object.keys(MADE).join(", ")}; for others, ${SERVED}`);
    }
    const table = made(name, (await this.answers.get("facts", () => this.facts())) as Facts, span, whole.columns);
    if (typeof table === "string") throw new Error(`this page has no data about ${table} for a part of the recording: ${SERVED}`);
    return { ...table, all: table.rows.length };
  }

  private async facts(): Promise<Facts> {
    const [about, tracks] = await Promise.all([this.about(), this.threads()]);
    const [byKey, byId] = [new Map(tracks.map((of) => [of.thread, of])), new Map(about.cpus.map((cpu) => [cpu.cpu, cpu]))];
    const [threads, cpus] = this.held.rows ? await Promise.all([threadRows(), cpuRows()]) : [await this.threadSlices(tracks), null];
    return { threads, cpus, thread: (key) => byKey.get(key), cpu: (id) => byId.get(id), readyKnown: about.ready_known, finest: this.held.rows ? 0 : this.held.finest_ns };
  }

  /** Returns the slices of all threads at the finest level, as stretches. */
  private async threadSlices(tracks: readonly ThreadTracks[]): Promise<ThreadStretches> {
    const level = this.held.finest["thread"] ?? this.held.coarsest;
    const count = Math.ceil(tracks.length / TRACKS);
    const blocks = await Promise.all(Array.from({ length: count }, (_, block) => this.drawn("thread", block, level)));
    const slices = blocks.flatMap((of, block) => Array.from({ length: TRACKS }, (_, track) => ({ of, track, key: tracks[block * TRACKS + track]?.thread ?? -1 })));
    const places = slices.flatMap(({ of, track, key }) => {
      const [first, end] = [of.begins[track]!, of.begins[track + 1]!];
      return Array.from({ length: key < 0 ? 0 : end - first }, (_, at) => ({ of, at: first + at, key }));
    });
    places.sort((a, b) => a.of.start[a.at]! - b.of.start[b.at]!);
    const column = (value: (place: (typeof places)[number]) => number) => Float64Array.from(places, value);
    return {
      start: column(({ of, at }) => of.start[at]!),
      end: column(({ of, at }) => of.end[at]!),
      thread: column(({ key }) => key),
      state: Uint8Array.from(places, ({ of, at }) => of.state[at]!),
      cpu: column(({ of, at }) => of.what[at]!),
      stateNs: column(({ of, at }) => of.stateNs[at]!),
      cpuNs: column(({ of, at }) => of.whatNs[at]!),
      causes: null,
    };
  }
}

/** Reads columns of numbers; −1 for null. */
async function numbersOf(name: string, ...columns: string[]): Promise<[Table, Float64Array[]]> {
  const got = await table(name);
  if (!got) throw new Error(`this page does not contain the rows of all stretches: ${SERVED}`);
  const column = (of: string) => {
    const vector = got.getChild(of);
    return Float64Array.from({ length: got.numRows }, (_, at) => Number(vector?.get(at) ?? -1));
  };
  return [got, columns.map(column)];
}

async function threadRows(): Promise<ThreadStretches> {
  const [got, [start, end, thread, cpu, waker]] = await numbersOf("thread_state", "start_ns", "end_ns", "thread", "cpu", "waker");
  const [states, reasons] = [got.getChild("state"), got.getChild("reason")];
  const time = start!.map((from, at) => end![at]! - from);
  return {
    start: start!,
    end: end!,
    thread: thread!,
    cpu: cpu!,
    state: Uint8Array.from({ length: got.numRows }, (_, at) => THREAD_STATES.indexOf(String(states?.get(at)) as (typeof THREAD_STATES)[number])),
    stateNs: time,
    cpuNs: time,
    causes: { waker: waker!, reason: (at) => (reasons?.get(at) ?? null) as string | null },
  };
}

async function cpuRows(): Promise<CpuStretches> {
  const [, [start, end, cpu, thread]] = await numbersOf("cpu_state", "start_ns", "end_ns", "cpu", "thread");
  return { start: start!, end: end!, cpu: cpu!, thread: thread! };
}

/** Columns without slices. */
const NONE: Columns = {
  track: new Int32Array(0),
  start: new Float64Array(0),
  end: new Float64Array(0),
  state: new Uint8Array(0),
  stateNs: new Float64Array(0),
  what: new Float64Array(0),
  whatNs: new Float64Array(0),
  stretches: new Int32Array(0),
};

/** Sorts rows by a column as the server does: null is last in both directions. */
function sorted(of: Part, how: { column?: string; down?: boolean }): Part["rows"] {
  const at = of.columns.findIndex((column) => column.name === how.column);
  if (at < 0) return of.rows;
  const by = how.down ? -1 : 1;
  const order = (a: Cell, b: Cell) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a === b ? 0 : a < b ? -by : by;
  };
  const rows = [...of.rows].sort((a, b) => order(a[at]!, b[at]!));
  if (of.all > of.rows.length && rows.some((row, place) => row !== of.rows[place])) {
    throw new Error(`this page has only the first ${of.rows.length} of ${of.all} rows: ${SERVED}`);
  }
  return rows;
}
