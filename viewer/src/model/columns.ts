/** Columns of the server's answers, as numbers. */

/**
 * Converts 64-bit integers to numbers, which are exact up to 2^53. It uses their halves, as making a BigInt of each takes a hundred times as long.
 */
export function numbers(column: ArrayLike<number> | BigInt64Array): Float64Array {
  if (!(column instanceof BigInt64Array)) return Float64Array.from(column);
  const halves = new Int32Array(column.buffer, column.byteOffset, 2 * column.length);
  const out = new Float64Array(column.length);
  for (let i = 0; i < out.length; i++) out[i] = halves[2 * i + 1]! * 2 ** 32 + (halves[2 * i]! >>> 0);
  return out;
}
