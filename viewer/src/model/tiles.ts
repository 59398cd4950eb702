/**
 * What is fetched: tiles of some tracks and a power of two of ns a pixel, so that what was fetched once serves all views near
 * it. While a tile is on its way, a coarser one is drawn: it tells its own intervals as truly.
 */

import { bytesOf, type Slices } from "./slices";
import type { Span } from "./view";

/** Pixels of a tile. */
export const PIXELS = 1024;
/** Tracks of a tile. */
export const TRACKS = 16;
/** Kept at once, bytes: some 600 tiles of a full screen. */
const KEPT = 64e6;
/** Asked for at once: as many connections as a browser opens; of what is not seen fewer, so that what is seen finds one free. */
const AT_ONCE = 4;
const AROUND_AT_ONCE = 2;
/** In a motion: to ask and to read an answer take as long as a picture has left. */
const MOVING_AT_ONCE = 1;
/** After a question that failed nothing is asked for so long, ms: a server that ended is not to be asked at each picture. */
const REST = 1000;
/** How much coarser a tile may be that stands in for another. */
const COARSER = 24;

/** `cpu`, `thread`, or one of the kinds beside them. */
export type Kind = string;

/** A tile's place. */
export interface Place {
  readonly kind: Kind;
  /** Of tracks: those from TRACKS times this on. */
  readonly block: number;
  /** A pixel is 2 to this ns. */
  readonly level: number;
  /** In time: from PIXELS pixels times this on. */
  readonly index: number;
}

/** The level for a width of a pixel: the coarsest that is not coarser. */
export function levelOf(perPixel: number): number {
  return Math.max(0, Math.floor(Math.log2(perPixel)));
}

/** The time of a tile. */
export function spanOf(place: Place): Span {
  const len = PIXELS * 2 ** place.level;
  return { from: place.index * len, to: (place.index + 1) * len };
}

/** The tiles that cover a span. */
export function covering(span: Span, level: number): { first: number; last: number } {
  const len = PIXELS * 2 ** level;
  return { first: Math.floor(span.from / len), last: Math.ceil(span.to / len) - 1 };
}

function keyOf(p: Place): string {
  return `${p.kind} ${p.block} ${p.level} ${p.index}`;
}

/** Tiles that were fetched, and that are to be. */
export class Tiles {
  private readonly kept = new Map<string, Slices>();
  private bytes = 0;
  private moves = false;
  private readonly asked = new Map<string, Place>();
  private wanted: Place[] = [];
  private around: Place[] = [];
  /** Keys of what is seen and was not there when it was wanted. */
  private missing = new Set<string>();
  private rests = false;
  private why: Error | null = null;

  private readonly fetch: (place: Place) => Promise<Slices>;
  private readonly arrived: () => void;
  private readonly failed: (why: Error | null) => void;
  private readonly most: number;

  /** `arrived`: what is seen changes; `failed`: why an answer cannot be had, and nothing when one came again. */
  constructor(fetch: (place: Place) => Promise<Slices>, arrived: () => void, failed: (why: Error | null) => void = () => undefined, most = KEPT) {
    [this.fetch, this.arrived, this.failed, this.most] = [fetch, arrived, failed, most];
  }

  /** The tile itself, or the finest coarser one that is there. */
  best(place: Place): { place: Place; slices: Slices } | null {
    for (let up = 0; up <= COARSER; up++) {
      const coarser = { ...place, level: place.level + up, index: Math.floor(place.index / 2 ** up) };
      const key = keyOf(coarser);
      const slices = this.kept.get(key);
      if (slices) {
        // The one used last is forgotten last.
        this.kept.delete(key);
        this.kept.set(key, slices);
        return { place: coarser, slices };
      }
    }
    return null;
  }

  /**
   * What is seen now, and what lies around it; what was wanted before and is not on its way is not fetched any more. `moves`: it is
   * a picture of a motion, and the next one is not to wait for answers.
   */
  want(seen: readonly Place[], around: readonly Place[] = [], moves = false): void {
    this.moves = moves;
    const there = (place: Place) => this.kept.has(keyOf(place));
    const begun = (place: Place) => this.asked.has(keyOf(place));
    const missing = seen.filter((place) => !there(place));
    this.missing = new Set(missing.map(keyOf));
    this.wanted = missing.filter((place) => !begun(place));
    this.around = around.filter((place) => !there(place) && !begun(place));
    this.next();
  }

  /** Whether something that is seen is on its way. */
  get busy(): boolean {
    return this.wanted.length > 0 || [...this.asked.keys()].some((key) => this.missing.has(key));
  }

  private next(): void {
    while (!this.rests) {
      const [of, most] = this.wanted.length > 0 ? [this.wanted, AT_ONCE] : [this.around, AROUND_AT_ONCE];
      const place = this.asked.size < (this.moves ? MOVING_AT_ONCE : most) ? of.shift() : undefined;
      if (!place) return;
      const key = keyOf(place);
      this.asked.set(key, place);
      this.fetch(place).then(
        (slices) => {
          this.kept.set(key, slices);
          this.bytes += bytesOf(slices);
          this.forget();
          this.answered(null);
          this.ended(key);
        },
        (why: unknown) => {
          this.rest();
          this.answered(why as Error);
          this.ended(key);
        },
      );
    }
  }

  private answered(why: Error | null): void {
    if (why?.message === this.why?.message) return;
    this.why = why;
    this.failed(why);
  }

  /** What is still wanted is asked for again after a while. */
  private rest(): void {
    if (this.rests) return;
    this.rests = true;
    setTimeout(() => {
      this.rests = false;
      this.arrived();
    }, REST);
  }

  private forget(): void {
    for (const [key, slices] of this.kept) {
      if (this.bytes <= this.most) return;
      this.kept.delete(key);
      this.bytes -= bytesOf(slices);
    }
  }

  private ended(key: string): void {
    this.asked.delete(key);
    // What is not seen changes no picture.
    if (this.missing.has(key)) this.arrived();
    this.next();
  }
}
