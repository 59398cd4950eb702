/** Slices in words. */

import type { About } from "../api";
import { CPU_STATES, THREAD_STATES } from "../generated/tables";
import { countedFacts, countingFacts, isCounted, type Drawn } from "../model/counted";
import type { KindInfo, Lane, Track } from "../model/layout";
import type { Slice } from "../model/slices";
import { length } from "../model/time";
import { extraStyle } from "../tracks/list";
import { AWAKE, breakEven, ENDS, endOf, endWords, type IdleEnd } from "../tracks/idle_ends";
import { holderWords, LOCKS, lockWords, WAITERS } from "../tracks/locks";
import { layerFacts } from "../tracks/stack";
import { THROTTLING } from "../tracks/throttled";
import { valueFacts } from "./extra";

export class Words {
  private readonly about: Pick<About, "kinds">;
  private readonly nameOf: (thread: number) => string;
  private readonly drawn: Drawn;

  constructor(about: Pick<About, "kinds">, nameOf: (thread: number) => string, drawn: Drawn) {
    [this.about, this.nameOf, this.drawn] = [about, nameOf, drawn];
  }

  /** Returns a slice's state at a time, and its CPU or thread, as text. */
  parts(line: Track, slice: Slice, at: number): [string, string] {
    if (line.kind === LOCKS.kind) return [holderWords(slice.state, this.nameOf(slice.what)), ""];
    if (extraStyle(line.kind)) return [this.infoOf(line)?.states[slice.state] ?? "unknown", ""];
    if (line.kind === "cpu") {
      const state = CPU_STATES[slice.state] ?? "unknown";
      return [state, state === "busy" ? this.nameOf(slice.what) : ""];
    }
    const state = THREAD_STATES[slice.state] ?? "unknown";
    if (state === "ready" && slice.stretches === 1 && this.throttledAt(line, at)?.stretches === 1) return [THROTTLING, "by its cgroup's CPU quota"];
    return [state, slice.what < 0 ? "" : state === "running" ? `on CPU ${slice.what}` : state === "ready" ? `queued on CPU ${slice.what}` : `last on CPU ${slice.what}`];
  }

  /** Returns the description of a line's kind; `undefined` for CPUs and threads. */
  infoOf(line: Track): KindInfo | undefined {
    return this.about.kinds.find((info) => info.kind === line.kind);
  }

  /** Returns the description of a line's track; `undefined` for CPUs and threads. */
  laneOf(line: Track): Lane | undefined {
    return this.infoOf(line)?.lanes.find((lane) => lane.track === line.track);
  }

  /** Returns how many threads wait for a lock at a time. */
  waiting(line: Track, at: number): Slice | null {
    return this.drawn.slice(WAITERS, line.track, at);
  }

  /** Returns the slice of throttled time of a thread at a time; null if it was not throttled, or that is not recorded. */
  private throttledAt(line: Track, at: number): Slice | null {
    return line.kind === "thread" && this.about.kinds.some((info) => info.kind === THROTTLING) ? this.drawn.slice(THROTTLING, line.track, at) : null;
  }

  /** Describes a slice of a counter; null for other tracks. */
  counted(line: Track, slice: Slice): [string, string][] | null {
    const info = this.infoOf(line);
    const lane = info && isCounted(info) ? info.lanes.find((lane) => lane.track === line.track) : undefined;
    if (!info || !lane) return null;
    return slice.mean === undefined ? countingFacts(info, lane, slice) : countedFacts(info, lane, slice, this.about.kinds, this.drawn);
  }

  /** Returns the slices of a track's layers at a time. */
  private slicesOf(line: Track, at: number): (Slice | null)[] {
    return (line.layers ?? []).map(({ track }) => this.drawn.slice(line.kind, track, at));
  }

  /** Returns what ended a slice of a track of idle states, at a time of it; null for other tracks. */
  endAt(line: Track, slice: Slice, at: number): IdleEnd | null {
    // An awake CPU is idle for a moment before and after a state, which did not end the time awake.
    if (line.kind !== "idle" || slice.state === AWAKE) return null;
    return endOf(this.about.kinds.find((info) => info.kind === ENDS), this.drawn.slice(ENDS, line.track, at));
  }

  /** Describes what ended the idle time at a time of a slice. */
  private endWords(line: Track, slice: Slice, at: number): string {
    const end = this.endAt(line, slice, at);
    if (!end) return "";
    const [waker, next] = [end.what.waker, end.what.thread].map((thread) => (thread === null ? null : this.nameOf(thread)));
    const even = end.what.too_short === true ? breakEven(end) : "";
    return [even === "" ? "" : `break-even of ${even}`, `ended by ${endWords(end)}`, waker ? `woken by ${waker}` : "", next ? `then ran ${next}` : ""].filter((part) => part !== "").join(", ");
  }

  /** Describes the layers of a track at a time; null for other tracks. */
  layered(line: Track, at: number): [string, string][] | null {
    const style = extraStyle(line.kind);
    return style && line.layers ? layerFacts(style, this.infoOf(line)?.unit ?? "", line.layers, this.slicesOf(line, at)) : null;
  }

  /** Returns the number of the colour at the bottom of a track at a time: that of its lowest layer that is not 0. */
  toneOf(line: Track, at: number): number | null {
    const slices = this.slicesOf(line, at);
    return line.layers?.filter((_, index) => (slices[index]?.mean ?? 0) > 0).at(-1)?.tone ?? null;
  }

  /** Describes a slice, drawn at a time. */
  describe(line: Track, slice: Slice, at: number): string {
    const style = extraStyle(line.kind);
    const counted = this.counted(line, slice);
    if (counted) return counted.map(([name, value]) => `${name} ${value}`).join("; ");
    const layered = this.layered(line, at);
    if (layered) return layered.map(([name, value]) => `${name} ${value}`).join("; ");
    if (style && slice.mean !== undefined) return valueFacts(style, this.infoOf(line)?.unit ?? "", slice).map(([name, value]) => `${name} ${value}`).join("; ");
    if (line.kind === LOCKS.kind) return lockWords(slice, this.waiting(line, at), this.nameOf);
    const [state, what] = this.parts(line, slice, at);
    const len = length(slice.end - slice.start);
    if (slice.stretches === 1) return [state, what, len, this.endWords(line, slice, at)].filter((part) => part !== "").join(", ");
    const share = `${state} for ${length(slice.stateNs)} of ${len}`;
    const throttled = this.throttledAt(line, at);
    const more = throttled ? `; throttled for ${length(throttled.stateNs)} of ${length(throttled.end - throttled.start)}` : "";
    return `${slice.stretches} short stretches; ${share}${what === "" ? "" : `; ${what} for ${length(slice.whatNs)}`}${more}`;
  }
}
