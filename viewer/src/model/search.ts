/** Searching tracks: words, all of which must hold; `name:`, `tid:`, `pid:`, `cpu:` and `type:` say of what. */

import type { ThreadTracks } from "../generated/tables";
import type { Cpu } from "./layout";

export interface Wanted {
  readonly cpu: (cpu: Cpu) => boolean;
  readonly thread: (thread: ThreadTracks) => boolean;
}

const FIELDS = ["name", "tid", "pid", "cpu", "type"] as const;

/** What is searched for; a sentence where a word makes no sense; nothing where nothing is. */
export function parse(text: string): Wanted | string | null {
  const words = text.trim().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return null;
  const tests: [string, string][] = [];
  for (const word of words) {
    const colon = word.indexOf(":");
    const field = colon < 0 ? "name" : word.slice(0, colon);
    const value = word.slice(colon + 1).toLowerCase();
    if (!(FIELDS as readonly string[]).includes(field)) return `${field}: is not one of ${FIELDS.join(", ")}`;
    if (value === "") return `${field}: what?`;
    tests.push([field, value]);
  }
  const holds = (of: (field: string) => string | null, test: [string, string]): boolean => {
    const value = of(test[0]);
    if (value === null) return false;
    return test[0] === "name" || test[0] === "type" ? value.toLowerCase().includes(test[1]) : value === test[1];
  };
  return {
    cpu: (cpu) => {
      const of = (field: string) =>
        field === "cpu" ? String(cpu.cpu) : field === "type" ? `${cpu.core_type} ${cpu.vendor_type ?? ""}` : field === "name" ? `cpu ${cpu.cpu}` : null;
      return tests.every((test) => holds(of, test));
    },
    thread: (thread) => {
      const text = (of: number | null) => (of === null ? null : String(of));
      const of = (field: string) =>
        field === "name" ? (thread.name ?? "") : field === "tid" ? text(thread.tid) : field === "pid" ? text(thread.pid) : null;
      return tests.every((test) => holds(of, test));
    },
  };
}
