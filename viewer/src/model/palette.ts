/**
 * Colours. Those of states are of Okabe and Ito (https://jfly.uni-koeln.de/color/), which are distinguishable with colour blindness,
 * and greys; states also differ in lightness. Those of threads differ by CIEDE2000 from every state by 15 or more, and from each other
 * by 10 or more (a unit test computes it); so many cannot all be distinguishable with colour blindness, so names are written too.
 */

export interface Palette {
  readonly page: string;
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly group: string;
  /** Gridlines, where nothing ran or was ready. */
  readonly grid: string;
  /** Behind the labels of found tracks. */
  readonly found: string;
  /** The time range. */
  readonly range: string;
  /** By the numbers of thread states: running, ready, blocked, unknown (hatched), exited. */
  readonly thread: readonly string[];
  /** Threads that a CPU quota keeps from running. */
  readonly throttled: string;
  /** By the numbers of CPU states: busy, idle, unknown (hatched). */
  readonly cpu: readonly string[];
  /** For threads and processes, by the hashes of their names; the same hue in both themes. */
  readonly threads: readonly string[];
  /** Core types, by the numbers of `CORE_TYPES`; of those of threads. */
  readonly types: readonly string[];
  /** Priorities, by the numbers of `PRIORITIES`; of those of threads. */
  readonly priorities: readonly string[];
  /**
   * What changed between two traces, by the classes of `CLASSES`: blues and oranges of ColorBrewer (https://colorbrewer2.org, also
   * distinguishable with colour blindness), the more intense the larger the change; then greys.
   */
  readonly changes: readonly string[];
  /** Where colours show what changed: the states that the metric is not about, by their numbers. */
  readonly others: readonly string[];
}

/** The core types, by the numbers of their colours. */
export const CORE_TYPES = ["performance", "middle", "efficient", "low-power", "one core type"] as const;
/** The classes of priorities, by the numbers of their colours. */
export const PRIORITIES = ["real time", "raised (nice below 0)", "normal (nice 0)", "lowered (nice above 0)", "priority not recorded"] as const;

const THREADS_LIGHT = ["#891442", "#a26862", "#842506", "#d6af8a", "#6a4a00", "#babc40", "#777a4d", "#0f5304", "#92c19d", "#0ebcd2", "#006e7b", "#7486de", "#642a8c", "#d461ba"];
const THREADS_DARK = ["#b84468", "#c98c85", "#b44e2c", "#efd2b8", "#916c25", "#dddd60", "#9c9e6f", "#3e7b2e", "#bfdfc6", "#56e3f9", "#2f8795", "#a1abf8", "#8f52b7", "#fd87e1"];
const typesOf = (threads: readonly string[]) => [12, 11, 9, 7, 10].map((at) => threads[at]!);
const prioritiesOf = (threads: readonly string[]) => [0, 13, 10, 5, 6].map((at) => threads[at]!);

export const LIGHT: Palette = {
  page: "#ffffff",
  text: "#1b1f24",
  dim: "#57606a",
  line: "#d9dce1",
  group: "#eceef1",
  grid: "#c3c8cf",
  found: "#e69f00",
  range: "#0072b2",
  thread: ["#009e73", "#e69f00", "#dfe3e8", "#949da8", "#ffffff"],
  throttled: "#87c5ff",
  cpu: ["#0072b2", "#eef0f2", "#949da8"],
  threads: THREADS_LIGHT,
  types: typesOf(THREADS_LIGHT),
  priorities: prioritiesOf(THREADS_LIGHT),
  changes: ["#08519c", "#4292c6", "#9ecae1", "#8a94a0", "#fdae6b", "#e6550d", "#8c2d04", "#dfe3e8", "#dfe3e8", "#57606a"],
  others: ["#c9cfd6", "#d9dde2", "#eceef1", "#949da8", "#ffffff"],
};

export const DARK: Palette = {
  page: "#14171c",
  text: "#e8eaed",
  dim: "#a3adba",
  line: "#2b313a",
  group: "#232932",
  grid: "#4a525e",
  found: "#f0b53d",
  range: "#3d9bd6",
  thread: ["#2bbf93", "#f0b53d", "#343b46", "#6f7986", "#14171c"],
  throttled: "#56b4e9",
  cpu: ["#3d9bd6", "#1f242c", "#6f7986"],
  threads: THREADS_DARK,
  types: typesOf(THREADS_DARK),
  priorities: prioritiesOf(THREADS_DARK),
  changes: ["#9ed3f5", "#4292c6", "#2c5a85", "#77818d", "#8f4d1d", "#e8732a", "#ffc58a", "#343b46", "#343b46", "#a3adba"],
  others: ["#454d58", "#373e48", "#232932", "#6f7986", "#14171c"],
};

/** Returns the hash of names: FNV-1a of 32 bits (RFC 9923), over their UTF-16 units, with a 0 between them. */
export function hashOf(...names: readonly string[]): number {
  let hash = 0x811c9dc5;
  const take = (unit: number) => (hash = Math.imul(hash ^ unit, 0x01000193));
  names.forEach((name, at) => {
    if (at > 0) take(0);
    for (let i = 0; i < name.length; i++) take(name.charCodeAt(i));
  });
  // The lowest bits of short names are spread worst: mix the upper ones in.
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Returns the colour of a thread or process by its hash. */
export function ofHash(palette: Palette, hash: number): string {
  return palette.threads[hash % palette.threads.length] ?? palette.dim;
}
/** Converts a colour to the four bytes of a pixel, in little-endian order. */
export function pixel(colour: string): number {
  const n = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | ((n & 0xff) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

/** Returns the colour half way between a colour and the page's. */
export function paler(colour: string, page: string): string {
  const half = (at: number) => (Number.parseInt(colour.slice(at, at + 2), 16) + Number.parseInt(page.slice(at, at + 2), 16)) >> 1;
  return `#${[1, 3, 5].map((at) => half(at).toString(16).padStart(2, "0")).join("")}`;
}

/** Returns black or white, whichever is easier to read on a colour, by luminance (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio). */
export function ink(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // The threshold is where (L + 0.05) / 0.05 equals 1.05 / (L + 0.05).
  return luminance > Math.sqrt(1.05 * 0.05) - 0.05 ? "#000000" : "#ffffff";
}
