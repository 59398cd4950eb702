/**
 * Searching: words, all of which must hold. `name:`, `tid:`, `pid:`, `cpu:`, `core:` and `type:` say of what track; with
 * `state:` or a length as `>1ms` it is stretches of threads that are searched for, where the server looks.
 */

import type { ThreadTracks } from "../generated/tables";
import type { Cpu } from "./layout";

export interface Wanted {
  readonly cpu: (cpu: Cpu) => boolean;
  readonly thread: (thread: ThreadTracks) => boolean;
  /** The question for stretches, as the server takes it; nothing where tracks are searched for. */
  readonly stretches: Readonly<Record<string, string>> | null;
}

const FIELDS = ["name", "tid", "pid", "cpu", "core", "type", "state"] as const;
/** Those that are numbers. */
const NUMBERS = ["tid", "pid", "cpu", "core"];
const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

/** A length as `1.5ms`, in ns. */
function ns(text: string): number | null {
  const told = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s)$/.exec(text);
  return told ? Math.round(Number(told[1]) * UNITS[told[2]!]!) : null;
}

/** What is searched for; a sentence where a word makes no sense; nothing where nothing is. */
export function parse(text: string): Wanted | string | null {
  const words = text.trim().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const tests: [string, string][] = [];
  const stretches: Record<string, string> = {};
  for (const word of words) {
    if (word.startsWith(">")) {
      const longer = ns(word.slice(1));
      if (longer === null) return `${word} is no length: write it as >1ms, >20us or >1.5s`;
      stretches["longer"] = String(longer);
      continue;
    }
    const colon = word.indexOf(":");
    const field = colon < 0 ? "name" : word.slice(0, colon);
    const value = word.slice(colon + 1).toLowerCase();
    if (!(FIELDS as readonly string[]).includes(field)) return `${field}: is not one of ${FIELDS.join(", ")}`;
    if (value === "") return `${field}: what?`;
    if (NUMBERS.includes(field) && !/^\d{1,15}$/.test(value)) return `${field}: is a number`;
    if (field === "state") stretches["state"] = value;
    else tests.push([field, value]);
  }
  const holds = (of: (field: string) => string | null, test: [string, string]): boolean => {
    const value = of(test[0]);
    if (value === null) return false;
    return test[0] === "name" || test[0] === "type" ? value.toLowerCase().includes(test[1]) : value === test[1];
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
    thread: (thread) => {
      const of = (field: string) =>
        field === "name" ? (thread.name ?? "") : field === "tid" ? number(thread.tid) : field === "pid" ? number(thread.pid) : null;
      return tests.every((test) => holds(of, test));
    },
  };
}
