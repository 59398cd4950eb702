/** What several unit tests share. */

import type { ThreadTracks } from "../../src/generated/tables";
import { Arrangement, type Arranged } from "../../src/model/arrange";
import { NONE, type Choices } from "../../src/model/choices";
import type { Cpu, KindInfo, Order } from "../../src/model/layout";

/** Returns the lines of a recording of 1 s, with nothing chosen but `choices`. */
export function arranged(cpus: readonly Cpu[], threads: readonly ThreadTracks[], kinds: readonly KindInfo[] = [], order: Order | null = null, choices: Partial<Choices> = {}): Arranged {
  return new Arrangement({ cpus, threads, kinds, span_ns: 1e9, focus: null }).arrange({ ...NONE, ...choices }, order);
}
