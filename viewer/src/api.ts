/** Asking the server. Answers are Arrow IPC; integers become numbers, which are exact for 104 days of nanoseconds. */

import { tableFromIPC, type Table } from "apache-arrow";
import type { Slices as SliceColumns, Steps, ThreadTracks } from "./generated/tables";
import type { Cpu, Shown } from "./model/layout";
import type { Slices } from "./model/slices";
import { PIXELS, spanOf, TRACKS, type Place } from "./model/tiles";

/** What the server says of the recording. */
export interface About {
  readonly name: string | null;
  readonly version: string;
  readonly span_ns: number;
  readonly threads: number;
  readonly switches: number;
  readonly ready_known: boolean;
  readonly lost_events: number;
  readonly model_name: string | null;
  readonly cpus: readonly Cpu[];
  readonly kinds: readonly Shown[];
}

async function ask(path: string): Promise<Response> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

async function table(path: string): Promise<Table> {
  return tableFromIPC(new Uint8Array(await (await ask(path)).arrayBuffer()));
}

/** The recording. */
export async function about(): Promise<About> {
  return (await (await ask("/api/about")).json()) as About;
}

/** Threads in the order of their tracks, as many as one answer holds. */
export async function threads(): Promise<ThreadTracks[]> {
  return rowsOf<ThreadTracks>(await table("/api/threads?first=0&last=99999"));
}

/** Rows of a table that overlap a time, of one thread or CPU. */
export async function rows<T>(name: string, from: number, to: number, of: { thread?: number; cpu?: number }): Promise<T[]> {
  const query = new URLSearchParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)) });
  for (const [key, value] of Object.entries(of)) query.set(key, String(value));
  return rowsOf<T>(await table(`/api/table/${name}?${query.toString()}`));
}

/** Rows as objects: for tables that people read, not for slices. */
function rowsOf<T>(from: Table): T[] {
  return from.toArray().map((row) => {
    const plain: Record<string, unknown> = {};
    for (const [name, value] of row as Iterable<[string, unknown]>) plain[name] = typeof value === "bigint" ? Number(value) : value;
    return plain as T;
  });
}

/** A tile. */
export async function slices(place: Place): Promise<Slices> {
  const { from, to } = spanOf(place);
  const first = place.block * TRACKS;
  const query = `kind=${place.kind}&first=${first}&last=${first + TRACKS - 1}&from=${from}&to=${to}&width=${(to - from) / PIXELS}`;
  const got = await table(`/api/slices?${query}`);
  const column = (name: keyof SliceColumns | keyof Steps) => got.getChild(name)?.toArray() as ArrayLike<number | bigint>;
  const numbers = (name: keyof SliceColumns | keyof Steps) => Float64Array.from(column(name) as ArrayLike<number>, Number);
  const track = column("track") as Int32Array;
  const begins = new Int32Array(TRACKS + 1);
  for (const t of track) begins[t - first + 1]!++;
  for (let t = 0; t < TRACKS; t++) begins[t + 1]! += begins[t]!;
  if (got.getChild("mean")) {
    const none = new Float64Array(0);
    return {
      start: numbers("start_ns"),
      end: numbers("end_ns"),
      state: new Uint8Array(0),
      stateNs: none,
      what: none,
      whatNs: none,
      stretches: Int32Array.from(column("stretches") as Int32Array),
      values: { least: numbers("least"), most: numbers("most"), mean: numbers("mean") },
      begins,
    };
  }
  return {
    start: numbers("start_ns"),
    end: numbers("end_ns"),
    state: Uint8Array.from(column("state") as Uint8Array),
    stateNs: numbers("state_ns"),
    what: numbers("what"),
    whatNs: numbers("what_ns"),
    stretches: Int32Array.from(column("stretches") as Int32Array),
    begins,
  };
}
