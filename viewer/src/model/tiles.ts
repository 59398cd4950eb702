/**
 * Fetches tiles: some tracks at a power of two of ns per pixel, so that a tile serves all views near it. While a tile is being
 * fetched, a coarser one is drawn; its intervals are just as exact.
 */

import { bytesOf, type Slices } from "./slices";
import type { Span } from "./view";

/** Width of a tile, in pixels. */
export const PIXELS = 1024;
/** Number of tracks in a tile. */
export const TRACKS = 16;
/** Memory for tiles, in bytes: about 600 tiles of a full screen. */
const KEPT = 64e6;
/** The maximum numbers of parallel requests: for visible tiles as many as a browser opens connections, for others fewer. */
const PARALLEL = 4;
const PARALLEL_AROUND = 2;
/** During a motion: sending a request and reading an answer take the time that is left in a frame. */
const PARALLEL_MOVING = 1;
/** The pause after a failed request, in ms, so that a server that has ended is not asked at every frame. */
const PAUSE = 1000;
/** How many levels coarser a substitute tile may be. */
const COARSER = 24;

/** `cpu`, `thread`, or an additional kind. */
export type Kind = string;

/** The place of a tile. */
export interface Place {
  readonly kind: Kind;
  /** The block of tracks: it starts at track TRACKS times this. */
  readonly block: number;
  /** A pixel is 2 to the power of this ns. */
  readonly level: number;
  /** The index in time: the tile starts at PIXELS pixels times this. */
  readonly index: number;
}

/** Returns the level for a pixel's time: the coarsest that is not coarser than the pixel. */
export function levelOf(perPixel: number): number {
  return Math.max(0, Math.floor(Math.log2(perPixel)));
}

/** Returns the time span of a tile. */
export function spanOf(place: Place): Span {
  const len = PIXELS * 2 ** place.level;
  return { from: place.index * len, to: (place.index + 1) * len };
}

/** Returns the indices of the tiles that cover a span. */
export function covering(span: Span, level: number): { first: number; last: number } {
  const len = PIXELS * 2 ** level;
  return { first: Math.floor(span.from / len), last: Math.ceil(span.to / len) - 1 };
}

function keyOf(p: Place): string {
  return `${p.kind} ${p.block} ${p.level} ${p.index}`;
}

/** The cache of tiles, and the queue of tiles to fetch. */
export class Tiles {
  private readonly kept = new Map<string, Slices>();
  private bytes = 0;
  private moves = false;
  private readonly requested = new Map<string, Place>();
  private wanted: Place[] = [];
  private around: Place[] = [];
  /** Keys of visible tiles that were missing when they were wanted. */
  private missing = new Set<string>();
  private pausing = false;
  private why: Error | null = null;

  private readonly fetch: (place: Place) => Promise<Slices>;
  private readonly arrived: () => void;
  private readonly failed: (why: Error | null) => void;
  private readonly max: number;

  /** `arrived` is called when the picture changes; `failed` with the error of a request, and with null when requests succeed again. */
  constructor(fetch: (place: Place) => Promise<Slices>, arrived: () => void, failed: (why: Error | null) => void = () => undefined, max = KEPT) {
    [this.fetch, this.arrived, this.failed, this.max] = [fetch, arrived, failed, max];
  }

  /** Returns a tile, or the finest coarser one that is cached. */
  best(place: Place): { place: Place; slices: Slices } | null {
    for (let up = 0; up <= COARSER; up++) {
      const coarser = { ...place, level: place.level + up, index: Math.floor(place.index / 2 ** up) };
      const key = keyOf(coarser);
      const slices = this.kept.get(key);
      if (slices) {
        // Move the tile to the end: the least recently used is dropped first.
        this.kept.delete(key);
        this.kept.set(key, slices);
        return { place: coarser, slices };
      }
    }
    return null;
  }

  /**
   * Sets the visible tiles and those around them. Tiles wanted before are no longer fetched unless they were already requested.
   * `moves` means that the view is moving, and the next frame must not wait for answers.
   */
  want(seen: readonly Place[], around: readonly Place[] = [], moves = false): void {
    this.moves = moves;
    const cached = (place: Place) => this.kept.has(keyOf(place));
    const requested = (place: Place) => this.requested.has(keyOf(place));
    const missing = seen.filter((place) => !cached(place));
    this.missing = new Set(missing.map(keyOf));
    this.wanted = missing.filter((place) => !requested(place));
    this.around = around.filter((place) => !cached(place) && !requested(place));
    this.next();
  }

  /** Whether a visible tile is missing. */
  get busy(): boolean {
    return this.wanted.length > 0 || [...this.requested.keys()].some((key) => this.missing.has(key));
  }

  private next(): void {
    while (!this.pausing) {
      const [queue, max] = this.wanted.length > 0 ? [this.wanted, PARALLEL] : [this.around, PARALLEL_AROUND];
      const place = this.requested.size < (this.moves ? PARALLEL_MOVING : max) ? queue.shift() : undefined;
      if (!place) return;
      const key = keyOf(place);
      this.requested.set(key, place);
      this.fetch(place).then(
        (slices) => {
          this.kept.set(key, slices);
          this.bytes += bytesOf(slices);
          this.evict();
          this.report(null);
          this.finish(key);
        },
        (why: unknown) => {
          this.pause();
          this.report(why as Error);
          this.finish(key);
        },
      );
    }
  }

  private report(why: Error | null): void {
    if (why?.message === this.why?.message) return;
    this.why = why;
    this.failed(why);
  }

  /** Requests missing tiles again after a pause. */
  private pause(): void {
    if (this.pausing) return;
    this.pausing = true;
    setTimeout(() => {
      this.pausing = false;
      this.arrived();
    }, PAUSE);
  }

  private evict(): void {
    for (const [key, slices] of this.kept) {
      if (this.bytes <= this.max) return;
      this.kept.delete(key);
      this.bytes -= bytesOf(slices);
    }
  }

  private finish(key: string): void {
    this.requested.delete(key);
    // Only visible tiles change the picture.
    if (this.missing.has(key)) this.arrived();
    this.next();
  }
}
