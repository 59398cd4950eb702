/** Formats times; all are nanoseconds from the start of the recording. */

const UNITS: readonly [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** Formats a duration in a suitable unit, with at most four decimal places: `1.25 ms`. */
export function length(ns: number): string {
  const [of, name] = UNITS.find(([of]) => Math.abs(ns) >= of) ?? [1, "ns"];
  return `${Number((ns / of).toFixed(4))} ${name}`;
}

/** Formats a point in time in seconds, with as many digits as a step of `step` ns needs. */
export function point(ns: number, step = 1): string {
  const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(Math.max(1, step)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/** Returns the step between ticks of an axis: 1, 2 or 5 times a power of ten, at least `min` ns. */
export function step(min: number): number {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, min)));
  return [1, 2, 5, 10].map((by) => by * ten).find((s) => s >= min) ?? 10 * ten;
}
