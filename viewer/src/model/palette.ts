/**
 * Colours that are distinguishable with colour blindness: Okabe and Ito's eight (https://jfly.uni-koeln.de/color/), with lighter and
 * darker ones of the same hues for threads. States also differ in lightness.
 */

export interface Palette {
  readonly page: string;
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly group: string;
  /** Gridlines, where nothing ran or was ready. */
  readonly grid: string;
  /** By the numbers of thread states: running, ready, blocked, unknown, exited. */
  readonly thread: readonly string[];
  /** By the numbers of CPU states: busy, idle, unknown. */
  readonly cpu: readonly string[];
  /** For threads on CPUs, by their keys. */
  readonly threads: readonly string[];
  /**
   * What changed between two traces, by the classes of `CLASSES`: blues and oranges of ColorBrewer (https://colorbrewer2.org, also
   * distinguishable with colour blindness), the more intense the larger the change; then greys.
   */
  readonly changes: readonly string[];
  /** Where colours show what changed: the states that the metric is not about, by their numbers. */
  readonly others: readonly string[];
}

const THREADS_LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8200", "#4b5fa8", "#7bc8a4", "#a65c85"];
const THREADS_DARK = ["#3d9bd6", "#f0b53d", "#2bbf93", "#dd99bd", "#7cc6ee", "#e8813a", "#c9bd1e", "#8d9bd8", "#98d8ba", "#c987ab"];

export const LIGHT: Palette = {
  page: "#ffffff",
  text: "#1b1f24",
  dim: "#57606a",
  line: "#d9dce1",
  group: "#eceef1",
  grid: "#c3c8cf",
  thread: ["#009e73", "#e69f00", "#dfe3e8", "#9c3f72", "#ffffff"],
  cpu: ["#0072b2", "#eef0f2", "#9c3f72"],
  threads: THREADS_LIGHT,
  changes: ["#08519c", "#4292c6", "#9ecae1", "#8a94a0", "#fdae6b", "#e6550d", "#8c2d04", "#dfe3e8", "#dfe3e8", "#57606a"],
  others: ["#c9cfd6", "#d9dde2", "#eceef1", "#ecdbe6", "#ffffff"],
};

export const DARK: Palette = {
  page: "#14171c",
  text: "#e8eaed",
  dim: "#a3adba",
  line: "#2b313a",
  group: "#232932",
  grid: "#4a525e",
  thread: ["#2bbf93", "#f0b53d", "#343b46", "#b5649a", "#14171c"],
  cpu: ["#3d9bd6", "#1f242c", "#b5649a"],
  threads: THREADS_DARK,
  changes: ["#9ed3f5", "#4292c6", "#2c5a85", "#77818d", "#8f4d1d", "#e8732a", "#ffc58a", "#343b46", "#343b46", "#a3adba"],
  others: ["#454d58", "#373e48", "#232932", "#4b3345", "#14171c"],
};

/** Returns the colour of a thread: always the same, and mostly different from its neighbours'. */
export function ofThread(palette: Palette, key: number): string {
  return palette.threads[placeOfThread(key, palette.threads.length)] ?? palette.dim;
}

/** Returns the index of a thread's colour. */
export function placeOfThread(key: number, colours: number): number {
  // Fibonacci hashing spreads consecutive keys.
  return (Math.imul(key, 0x9e3779b1) >>> 0) % colours;
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
