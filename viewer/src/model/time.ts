/** Times as people read them; all are nanoseconds from the start of the recording. */

const UNITS: readonly [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A length of time in its own unit, of four digits at most behind the point: `1.25 ms`. */
export function length(ns: number): string {
  const [of, name] = UNITS.find(([of]) => Math.abs(ns) >= of) ?? [1, "ns"];
  return `${Number((ns / of).toFixed(4))} ${name}`;
}

/** A point in time, in seconds with as many digits as a step of `step` ns needs. */
export function point(ns: number, step = 1): string {
  const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(Math.max(1, step)))));
  return `${(ns / 1e9).toFixed(digits)} s`;
}

/** The step between marks of an axis: 1, 2 or 5 of a power of ten, at least `least` ns. */
export function step(least: number): number {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((by) => by * ten).find((s) => s >= least) ?? 10 * ten;
}
