/** Requests to the server. Answers are Arrow IPC; integers become numbers, which are exact for 104 days of nanoseconds. */

import { tableFromIPC, type Table } from "apache-arrow";
import type { ListedFrames, Slices as SliceColumns, Steps, ThreadState, ThreadTracks, WakeChain } from "./generated/tables";
import type { Cpu, KindInfo } from "./model/layout";
import type { Changes } from "./model/changes";
import type { FrameList, FrameSource } from "./model/frames";
import { numbers as toNumbers } from "./model/columns";
import { ofTracks, type Columns, type Slices } from "./model/slices";
import { PIXELS, spanOf, TRACKS, type Place } from "./model/tiles";
import type { Span } from "./model/view";
import type { Progress } from "./panels/preparing";

/** The server's description of the recording. */
export interface About {
  readonly name: string | null;
  readonly version: string;
  /** Whether two traces are shown. */
  readonly two: boolean;
  /** Identifies the recording. */
  readonly stamp: string;
  /** The process of the recorded command; null if there is none. */
  readonly focus: number | null;
  readonly span_ns: number;
  readonly threads: number;
  readonly switches: number;
  readonly ready_known: boolean;
  readonly lost_events: number;
  readonly model_name: string | null;
  readonly cpus: readonly Cpu[];
  readonly kinds: readonly KindInfo[];
  /** The contents of a page that needs no server. */
  readonly alone?: Held;
}

/** The contents of a page that needs no server. */
export interface Held {
  /** Levels of detail, as the power of two of ns per pixel; `finest` is per kind of track. */
  readonly coarsest: number;
  readonly finest: Readonly<Record<string, number>>;
  /** On some tracks, stretches shorter than this are merged, in ns; 0 if none are. */
  readonly finest_ns: number;
  /** Whether the page contains the rows of all stretches. */
  readonly rows: boolean;
}

/** The pause before a request is repeated because the server was busy, in ms. */
const RETRY_MS = 300;
const ENDED = "corewise view is not running or cannot be reached: start it again and open the address that it prints";

/** Which of two traces this page shows, from its address; null for both, or for the only one. */
export const OF = new URLSearchParams(location.search).get("of");
const PREFIX = OF === "second" ? "/second" : "";

/** Fetches an answer; replaces the browser's error, which says only that it failed. */
async function fetched(path: string, signal: AbortSignal | null): Promise<Response> {
  return fetch((path === "/api/progress" ? "" : PREFIX) + path, { signal }).catch((why: unknown) => {
    throw signal?.aborted ? why : new Error(ENDED);
  });
}

async function ask(path: string, signal: AbortSignal | null = null): Promise<Response> {
  let answer = await fetched(path, signal);
  for (let tries = 0; answer.status === 503 && tries < 20; tries++) {
    await new Promise((done) => setTimeout(done, RETRY_MS));
    answer = await fetched(path, signal);
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

async function table(path: string, signal: AbortSignal | null = null): Promise<Table> {
  return tableFromIPC(new Uint8Array(await (await ask(path, signal)).arrayBuffer()));
}

/** Returns how far the preparation of the trace is. */
export async function progress(): Promise<Progress> {
  return (await (await ask("/api/progress")).json()) as Progress;
}

/** Returns the description of the recording. */
export async function about(): Promise<About> {
  return (await (await ask("/api/about")).json()) as About;
}

/** Returns the threads in the order of their tracks, as many as one answer may have. */
export async function threads(): Promise<ThreadTracks[]> {
  return rowsOf<ThreadTracks>(await table("/api/threads?first=0&last=99999"));
}

/** Returns the rows of a table that overlap a time range, for one thread or CPU. */
export async function rows<T>(name: string, from: number, to: number, of: { thread?: number; cpu?: number; waker?: number }): Promise<T[]> {
  const query = new URLSearchParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)) });
  for (const [key, value] of Object.entries(of)) query.set(key, String(value));
  return rowsOf<T>(await table(`/api/table/${name}?${query.toString()}`));
}

/** Returns the findings, or null while the recording is being diagnosed. */
export async function findings<T>(): Promise<T | null> {
  const answer = await ask("/api/findings");
  return answer.status === 202 ? null : ((await answer.json()) as T);
}

/** Returns what changed between two traces, or why that is not known; null while they are being compared. */
export async function changes(): Promise<Changes | { readonly message: string } | null> {
  const answer = await ask("/api/changes");
  return answer.status === 202 ? null : ((await answer.json()) as Changes | { readonly message: string });
}

/** Returns the tables that are available for a time range. */
export async function tables(): Promise<{ name: string; doc: string }[]> {
  return (await (await ask("/api/tables")).json()) as { name: string; doc: string }[];
}

/** A column of a table. */
export interface Column {
  readonly name: string;
  readonly unit: string;
  readonly doc: string;
  /** Whether it contains thread keys. */
  readonly thread: boolean;
}

export type Cell = string | number | boolean | null;

/** The first rows of a table for a part of the recording. */
export interface Part {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** The total number of rows. */
  readonly all: number;
  /** What a page that needs no server lacks of this table, and which of its figures are not exact, in sentences; absent or empty if nothing. */
  readonly lacks?: string;
  readonly caution?: string;
}

/** Requests the first rows of a table for a time range, sorted by a column if one is given. */
export async function part(name: string, span: Span, how: { column?: string; down?: boolean; most: number; signal?: AbortSignal }): Promise<Part> {
  const query = new URLSearchParams({ from: String(Math.floor(span.from)), to: String(Math.ceil(span.to)), most: String(how.most) });
  if (how.column !== undefined) query.set("by", how.column);
  if (how.down !== undefined) query.set("down", String(how.down));
  return partOf(await table(`/api/part/${name}?${query.toString()}`, how.signal ?? null));
}

/** Converts an answer to rows of a table. */
export function partOf(got: Table): Part {
  const columns = got.schema.fields.map((field) => ({
    name: field.name,
    unit: field.metadata.get("unit") ?? "",
    doc: field.metadata.get("doc") ?? "",
    thread: field.metadata.get("thread") === "key",
  }));
  const cell = (value: unknown) => (typeof value === "bigint" ? Number(value) : ((value ?? null) as Cell));
  const rows = got.toArray().map((row) => [...(row as Iterable<[string, unknown]>)].map(([, value]) => cell(value)));
  return { columns, rows, all: Number(got.schema.metadata.get("rows") ?? rows.length) };
}

/** Returns the chain of wakeups that led to a thread's state at a time, the last one first. */
export async function chain(thread: number, at: number): Promise<WakeChain[]> {
  return rowsOf<WakeChain>(await table(`/api/chain?thread=${thread}&at=${Math.floor(at)}`));
}

/** Returns the sources of frames; with `intervals`, also the periods, requests and parallel regions, which may take a pass over the recording. */
export async function frameSources(intervals: boolean): Promise<FrameSource[]> {
  return (await (await ask(`/api/frames/sources?intervals=${intervals}`)).json()) as FrameSource[];
}

/** The words of a request about frames. */
function framesOf(of: string, budget: number | null): URLSearchParams {
  return new URLSearchParams({ of, ...(budget === null ? {} : { budget: String(budget) }) });
}

/** Returns the slowest frames of a source; the default of the budget is that of `corewise view`, or the median. */
export async function frames(of: string, budget: number | null): Promise<FrameList> {
  return frameListOf(await table(`/api/frames?${framesOf(of, budget).toString()}`));
}

/** Converts an answer to a list of frames. */
export function frameListOf(got: Table): FrameList {
  const number = (name: string) => Number(got.schema.metadata.get(name) ?? 0);
  const bars = JSON.parse(got.schema.metadata.get("bars") ?? "[]") as number[];
  return { frames: rowsOf<ListedFrames>(got), budget: number("budget_ns"), median: number("median_ns"), count: number("frames"), over: number("over"), bars, bar: number("bar_ns") };
}

/** Returns the causes of a frame, by its rank. */
export async function frameCauses<T>(of: string, budget: number | null, rank: number): Promise<T[]> {
  const query = framesOf(of, budget);
  query.set("rank", String(rank));
  return rowsOf<T>(await table(`/api/frames/causes?${query.toString()}`));
}

/** Returns the first pieces of the critical path to the end of a thread, as in the table `critical_path`. */
export async function path(of: Span, thread: number): Promise<Part> {
  return partOf(await table(`/api/path?from=${Math.floor(of.from)}&to=${Math.ceil(of.to)}&thread=${thread}`));
}

/** Returns stretches that match a query; all that begin before `until` were examined. */
export async function hits(query: Readonly<Record<string, string>>, from: number, to: number, most: number): Promise<{ rows: ThreadState[]; until: number }> {
  const words = new URLSearchParams({ ...query, from: String(Math.floor(from)), to: String(Math.ceil(to)), most: String(most) });
  const got = await table(`/api/hits?${words.toString()}`);
  return { rows: rowsOf<ThreadState>(got), until: Number(got.schema.metadata.get("until_ns") ?? to) };
}

/** Converts rows to objects; for tables shown as text, not for slices. */
export function rowsOf<T>(from: Table): T[] {
  // By columns, since Arrow's row objects look each cell up.
  const columns = from.schema.fields.map((field) => [field.name, from.getChild(field.name)] as const);
  return Array.from({ length: from.numRows }, (_, row) => {
    const plain: Record<string, unknown> = {};
    for (const [name, column] of columns) {
      const value: unknown = column?.get(row);
      plain[name] = typeof value === "bigint" ? Number(value) : value;
    }
    return plain as T;
  });
}

/** Returns a tile. */
export async function slices(place: Place): Promise<Slices> {
  const { from, to } = spanOf(place);
  const first = place.block * TRACKS;
  const query = `kind=${place.kind}&first=${first}&last=${first + TRACKS - 1}&from=${from}&to=${to}&width=${(to - from) / PIXELS}`;
  return ofTracks(columnsOf(await table(`/api/slices?${query}`)), first, TRACKS);
}

/** Converts an answer to columns of slices. */
export function columnsOf(got: Table): Columns {
  const column = (name: keyof SliceColumns | keyof Steps) => got.getChild(name)?.toArray() as ArrayLike<number> | BigInt64Array;
  const numbers = (name: keyof SliceColumns | keyof Steps) => toNumbers(column(name));
  const placed = {
    track: column("track") as Int32Array,
    start: numbers("start_ns"),
    end: numbers("end_ns"),
    stretches: Int32Array.from(column("stretches") as Int32Array),
  };
  if (got.getChild("mean")) {
    const none = new Float64Array(0);
    return {
      ...placed,
      state: new Uint8Array(0),
      stateNs: none,
      what: none,
      whatNs: none,
      values: { least: numbers("least"), most: numbers("most"), mean: numbers("mean") },
    };
  }
  return {
    ...placed,
    state: Uint8Array.from(column("state") as Uint8Array),
    stateNs: numbers("state_ns"),
    what: numbers("what"),
    whatNs: numbers("what_ns"),
  };
}
