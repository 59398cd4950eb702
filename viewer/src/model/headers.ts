/** Columns of tables as read by people: words instead of keys, and the unit in the header. */

import type { Cell, Column } from "../api";
import { exactMs } from "./summary";

/** Returns a name of a table or column in words: `ready_wait` is `ready wait`. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** Returns the header of a column with its unit: `running_ns` is `running (ms)`. */
export function header(column: Column): string {
  const suffix = `_${column.unit.toLowerCase()}`;
  const named = column.unit !== "" && column.name.toLowerCase().endsWith(suffix);
  const plain = words(named ? column.name.slice(0, -suffix.length) : column.name);
  const shown = column.name === "tid" || column.name === "pid" || column.name === "cpu" ? plain.toUpperCase() : plain;
  const unit = unitOf(column);
  return unit === "" ? shown : `${shown} (${unit})`;
}

/** The unit in which a column is shown. */
function unitOf(column: Column): string {
  if (column.unit === "ns") return "ms";
  if (column.unit === "ratio") return "%";
  return column.unit === "count" ? "" : column.unit;
}

/** Writes a cell in the unit of its header. Whole ns are exact in ms. */
export function shown(column: Column, value: Cell): string {
  if (value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (column.unit === "ns") return Number.isInteger(value) ? (value < 0 ? `-${exactMs(-value)}` : exactMs(value)) : (value / 1e6).toFixed(6);
  if (column.unit === "ratio") return (100 * value).toFixed(1);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}
