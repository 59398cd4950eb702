/** Columns of what the server answers, as numbers. */

/**
 * Integers of 64 bits as numbers, which are exact up to 2^53. By their halves: to make a BigInt of each takes a hundred times as long.
 */
export function numbers(column: ArrayLike<number> | BigInt64Array): Float64Array {
  if (!(column instanceof BigInt64Array)) return Float64Array.from(column);
  const halves = new Int32Array(column.buffer, column.byteOffset, 2 * column.length);
  const out = new Float64Array(column.length);
  for (let i = 0; i < out.length; i++) out[i] = halves[2 * i + 1]! * 2 ** 32 + (halves[2 * i]! >>> 0);
  return out;
}
