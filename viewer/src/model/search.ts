/**
 * Parses searches: words that must all match. `name:`, `tid:`, `pid:`, `cpu:`, `core:`, `type:` and `lock:` select tracks. With `state:` or a
 * duration such as `>1ms`, the search is for stretches of threads, which the server finds.
 */

import type { ThreadTracks } from "../generated/tables";
import type { Cpu } from "./layout";

export interface Wanted {
  readonly cpu: (cpu: Cpu) => boolean;
  readonly thread: (thread: ThreadTracks) => boolean;
  /** Whether a lock is wanted, by its text (`searched` of tracks/locks.ts) and its process. */
  readonly lock: (text: string, pid: number | null) => boolean;
  /** The server's query for stretches; null if the search is for tracks. */
  readonly stretches: Readonly<Record<string, string>> | null;
}

const FIELDS = ["name", "tid", "pid", "cpu", "core", "type", "lock", "state"] as const;
/** The fields that are numbers. */
const NUMBERS = ["tid", "pid", "cpu", "core"];
const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

/** Parses a duration such as `1.5ms`, in ns. */
function ns(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s)$/.exec(text);
  return match ? Math.round(Number(match[1]) * UNITS[match[2]!]!) : null;
}

/** Parses a search; returns an error message for an invalid word, and null for an empty search. */
export function parse(text: string): Wanted | string | null {
  const words = text.trim().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const tests: [string, string][] = [];
  const stretches: Record<string, string> = {};
  for (const word of words) {
    if (word.startsWith(">")) {
      const longer = ns(word.slice(1));
      if (longer === null) return `${word} is not a duration: write >1ms, >20us or >1.5s`;
      stretches["longer"] = String(longer);
      continue;
    }
    const colon = word.indexOf(":");
    const field = colon < 0 ? "name" : word.slice(0, colon);
    const value = word.slice(colon + 1).toLowerCase();
    if (!(FIELDS as readonly string[]).includes(field)) return `unknown filter ${field}: use one of ${FIELDS.join(", ")}`;
    if (value === "") return `${field}: needs a value`;
    if (NUMBERS.includes(field) && !/^\d{1,15}$/.test(value)) return `${field}: needs a number`;
    if (field === "state") stretches["state"] = value;
    else tests.push([field, value]);
  }
  const holds = (of: (field: string) => string | null, test: [string, string]): boolean => {
    const value = of(test[0]);
    if (value === null) return false;
    return test[0] === "name" || test[0] === "type" || test[0] === "lock" ? value.toLowerCase().includes(test[1]) : value === test[1];
  };
  const number = (of: number | null) => (of === null ? null : String(of));
  return {
    stretches: Object.keys(stretches).length > 0 ? { ...Object.fromEntries(tests), ...stretches } : null,
    cpu: (cpu) => {
      const of = (field: string) => {
        if (field === "cpu") return String(cpu.cpu);
        if (field === "core") return number(cpu.core);
        if (field === "type") return `${cpu.core_type} ${cpu.vendor_type ?? ""}`;
        return field === "name" ? `cpu ${cpu.cpu}` : null;
      };
      return tests.every((test) => holds(of, test));
    },
    lock: (text, pid) => tests.every((test) => holds((field) => (field === "name" || field === "lock" ? text : field === "pid" ? number(pid) : null), test)),
    thread: (thread) => {
      const of = (field: string) =>
        field === "name" ? (thread.name ?? "") : field === "tid" ? number(thread.tid) : field === "pid" ? number(thread.pid) : null;
      return tests.every((test) => holds(of, test));
    },
  };
}
