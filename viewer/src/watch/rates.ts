/** What happened between two readings of the sums: differences, per second. Nothing here touches the page. */

/** Running time by what the siblings did, ns. */
export interface SiblingSums {
  readonly busy_ns: number;
  readonly idle_ns: number;
  readonly none_ns: number;
  readonly unknown_ns: number;
}

/** Ready time by what the CPU did, ns. */
export interface ReadySums {
  readonly same_group_ns: number;
  readonly other_group_ns: number;
  readonly kernel_ns: number;
  readonly idle_ns: number;
  readonly unknown_ns: number;
}

export interface CpuNow {
  readonly cpu: number;
  readonly core_type: string;
  readonly vendor_type: string | null;
  readonly package: number | null;
  readonly die: number | null;
  readonly cluster: number | null;
  readonly core: number | null;
  readonly siblings: readonly number[];
  readonly online: boolean;
  readonly busy_ns: number;
  readonly idle_ns: number;
  readonly unknown_ns: number;
  readonly sibling: SiblingSums;
  readonly switches: number;
  readonly current: { readonly tid: number; readonly name: string } | null;
}

export interface GroupNow {
  readonly kind: "machine" | "cgroup" | "process" | "other";
  readonly name: string;
  readonly by_type: readonly { readonly running_ns: number; readonly sibling: SiblingSums; readonly ready: ReadySums }[];
  /** Buckets with counts: number, count. */
  readonly ready_latency: readonly (readonly [number, number])[];
  readonly wakeups: number;
  readonly throttled_ns: number | null;
}

/** The energy of a domain. */
export interface EnergyNow {
  readonly domain: string;
  readonly part: string;
  readonly method: "counted" | "sampled";
  /** The domain that is the same by another reading. */
  readonly same_as: string | null;
  readonly joules: number;
  /** The time for which the energy is known. */
  readonly known_ns: number;
  readonly is_live: boolean;
  readonly unknown: string | null;
}

/** What the CPUs of a type of core counted. */
export interface CounterNow {
  readonly event: string;
  readonly pmu: string;
  /** Its place in `core_types`. */
  readonly class: number;
  readonly count: number;
  readonly counted_ns: number;
  readonly estimated_ns: number;
  readonly missing_ns: number;
}

/** An answer of /api/now. */
export interface Now {
  readonly version: string;
  readonly at_ns: number;
  readonly started_ns: number;
  readonly model_name: string | null;
  readonly core_types: readonly string[];
  /** Upper bounds of the buckets, in s; the last bucket has none. */
  readonly bounds_seconds: readonly number[];
  readonly cpus: readonly CpuNow[];
  /** By type of core: free, one thread busy, several, unknown. */
  readonly cores_ns: readonly (readonly number[])[];
  readonly total: GroupNow;
  readonly groups: readonly GroupNow[];
  readonly groups_limit: number;
  readonly energy: readonly EnergyNow[];
  readonly counters: readonly CounterNow[];
  readonly health: { readonly groups_seen: number; readonly overflows: number; readonly missed_events: number; readonly inconsistent_switches: number; readonly bpf_ns: number | null };
  readonly identities: readonly { readonly name: string; readonly meaning: string; readonly holds: boolean }[];
}

/** The parts of ready time, in the order of their colours. */
export const RAN_MEANWHILE = ["same_group_ns", "other_group_ns", "kernel_ns", "idle_ns", "unknown_ns"] as const;

/** What a CPU did; shares of the time, 0 to 1. */
export interface CpuRate {
  readonly busy: number;
  /** The part of `busy` while a sibling was busy too. */
  readonly shared: number;
  readonly unknown: number;
}

export interface GroupRate {
  readonly kind: GroupNow["kind"];
  readonly name: string;
  /** CPUs used, by type of core. */
  readonly running: readonly number[];
  /** Mean number of threads that were ready, by {@link RAN_MEANWHILE}. */
  readonly ready: readonly number[];
  /** Counts of ready latencies by bucket. */
  readonly latencies: readonly number[];
  /** CPUs that a quota withheld; `null`: no quota. */
  readonly throttled: number | null;
}

/** The power of all domains of a part of the machine. */
export interface PowerRate {
  readonly part: string;
  /** `null`: that of a domain is not known. */
  readonly watts: number | null;
  /** Whether it is an estimate from single readings of power. */
  readonly sampled: boolean;
}

/** Instructions per cycle on a type of core. */
export interface IpcRate {
  readonly type: string;
  readonly ipc: number;
  /** Whether a part of the counts is an estimate. */
  readonly estimated: boolean;
}

export interface Rates {
  readonly seconds: number;
  readonly cpus: ReadonlyMap<number, CpuRate>;
  /** Shares of the time of all cores: free, one thread busy, several, unknown. */
  readonly cores: readonly number[];
  readonly total: GroupRate;
  /** The groups that ran or waited, the busiest first, then all others together. */
  readonly groups: readonly GroupRate[];
  readonly power: readonly PowerRate[];
  readonly ipc: readonly IpcRate[];
  /** Run time of the BPF programs as a share of one CPU; `null`: not measured. */
  readonly bpf: number | null;
}

const less = (after: number, before: number) => Math.max(0, after - before);
export const sum = (of: readonly number[]) => of.reduce((all, one) => all + one, 0);

/** Returns what happened between two readings; `null` if they are not of one run. */
export function rates(before: Now, after: Now): Rates | null {
  const ns = after.at_ns - before.at_ns;
  if (before.started_ns !== after.started_ns || ns <= 0) return null;
  const cpusBefore = new Map(before.cpus.map((cpu) => [cpu.cpu, cpu]));
  const cpus = new Map<number, CpuRate>();
  for (const cpu of after.cpus) {
    const had = cpusBefore.get(cpu.cpu);
    if (!had) continue;
    const share = (now: number, then: number) => Math.min(1, less(now, then) / ns);
    cpus.set(cpu.cpu, { busy: share(cpu.busy_ns, had.busy_ns), shared: share(cpu.sibling.busy_ns, had.sibling.busy_ns), unknown: share(cpu.unknown_ns, had.unknown_ns) });
  }
  const cores = [0, 1, 2, 3].map((part) => sum(after.cores_ns.map((of, type) => less(of[part] ?? 0, before.cores_ns[type]?.[part] ?? 0))));
  const all = sum(cores);
  const groupsBefore = new Map(before.groups.map((group) => [keyOf(group), group]));
  const groups = after.groups.map((group) => groupRate(groupsBefore.get(keyOf(group)), group, ns, after.bounds_seconds.length + 1));
  const active = groups.filter((group) => group.kind !== "other" && sum(group.running) + sum(group.ready) > 0);
  active.sort((a, b) => sum(b.running) - sum(a.running) || a.name.localeCompare(b.name));
  const bpf = after.health.bpf_ns === null || before.health.bpf_ns === null ? null : less(after.health.bpf_ns, before.health.bpf_ns) / ns;
  return {
    seconds: ns / 1e9,
    cpus,
    cores: cores.map((part) => (all > 0 ? part / all : 0)),
    total: groupRate(before.total, after.total, ns, after.bounds_seconds.length + 1),
    groups: [...active, ...groups.filter((group) => group.kind === "other")],
    power: powers(before, after),
    ipc: ipcs(before, after),
    bpf,
  };
}

/** The mean power of each part of the machine, of the time for which its energy is known. */
function powers(before: Now, after: Now): PowerRate[] {
  const had = new Map(before.energy.map((of) => [of.domain, of]));
  const parts = new Map<string, PowerRate>();
  for (const of of after.energy.filter((domain) => domain.same_as === null)) {
    const known = less(of.known_ns, had.get(of.domain)?.known_ns ?? 0);
    const watts = known > 0 && of.is_live ? less(of.joules, had.get(of.domain)?.joules ?? 0) / (known / 1e9) : null;
    const sum = parts.get(of.part);
    const sampled = of.method === "sampled" || sum?.sampled === true;
    parts.set(of.part, { part: of.part, sampled, watts: watts === null || sum?.watts === null ? null : (sum?.watts ?? 0) + watts });
  }
  return [...parts.values()];
}

/** Instructions per cycle of each type of core, the fastest first. */
function ipcs(before: Now, after: Now): IpcRate[] {
  const key = (of: CounterNow) => `${of.event} ${of.pmu} ${of.class}`;
  const had = new Map(before.counters.map((of) => [key(of), of]));
  const counted = (of: CounterNow) => less(of.count, had.get(key(of))?.count ?? 0);
  return after.core_types
    .flatMap((type, at) => {
      const named = (event: string) => after.counters.filter((of) => of.event === event && of.class === at);
      const [instructions, cycles] = [named("instructions"), named("cycles")];
      const all = sum(cycles.map(counted));
      const estimated = [...instructions, ...cycles].some((of) => of.estimated_ns > (had.get(key(of))?.estimated_ns ?? 0));
      return instructions.length > 0 && all > 0 ? [{ type, ipc: sum(instructions.map(counted)) / all, estimated }] : [];
    })
    .reverse();
}

export const keyOf = (group: { readonly kind: string; readonly name: string }) => `${group.kind} ${group.name}`;

/** A group that was not there before began with 0: its sums are since it has a place. */
function groupRate(before: GroupNow | undefined, after: GroupNow, ns: number, buckets: number): GroupRate {
  const counts = new Array<number>(buckets).fill(0);
  for (const [bucket, count] of after.ready_latency) counts[bucket] = count;
  for (const [bucket, count] of before?.ready_latency ?? []) counts[bucket] = less(counts[bucket] ?? 0, count);
  const throttled = after.throttled_ns === null ? null : less(after.throttled_ns, before?.throttled_ns ?? after.throttled_ns) / ns;
  return {
    kind: after.kind,
    name: after.name,
    running: after.by_type.map((of, type) => less(of.running_ns, before?.by_type[type]?.running_ns ?? 0) / ns),
    ready: RAN_MEANWHILE.map((part) => sum(after.by_type.map((of, type) => less(of.ready[part], before?.by_type[type]?.ready[part] ?? 0))) / ns),
    latencies: counts,
    throttled,
  };
}

/** Returns the upper bound in s of the bucket that has a quantile; infinite for the last one, `null` if nothing was counted. */
export function quantile(counts: readonly number[], bounds: readonly number[], q: number): number | null {
  const all = sum(counts);
  if (all === 0) return null;
  const wanted = Math.max(1, Math.ceil(all * q));
  let below = 0;
  const at = counts.findIndex((count) => (below += count) >= wanted);
  return bounds[at] ?? Number.POSITIVE_INFINITY;
}

/** Returns the counts by power of two: the first bucket, each four, and the last. */
export function octaves(counts: readonly number[]): number[] {
  const middle = counts.slice(1, -1);
  const fours = Array.from({ length: Math.ceil(middle.length / 4) }, (_, at) => sum(middle.slice(at * 4, at * 4 + 4)));
  return [counts[0] ?? 0, ...fours, counts.at(-1) ?? 0];
}

/** A core with its hardware threads. */
export interface Core {
  readonly type: string;
  readonly vendor: string | null;
  readonly cpus: CpuNow[];
}

/** A cluster, or the cores of one type of a package whose clusters are not known. */
export interface Cluster {
  readonly name: string;
  readonly cores: Core[];
}

export interface Package {
  readonly name: string;
  readonly clusters: Cluster[];
}

/** Returns the cores by package, cluster and core, in the order of the CPUs. */
export function packages(cpus: readonly CpuNow[]): Package[] {
  const found = new Map<string, { name: string; clusters: Map<string, { name: string; cores: Map<string, Core> }> }>();
  for (const cpu of cpus) {
    const name = cpu.package === null ? "Package not known" : `Package ${cpu.package}`;
    const of = getOr(found, name, () => ({ name, clusters: new Map() }));
    // A single die says nothing.
    const hasDies = cpus.some((other) => other.package === cpu.package && other.die !== cpu.die);
    const die = cpu.die === null || !hasDies ? "" : `die ${cpu.die}`;
    const parts = [die, cpu.cluster === null ? "" : `cluster ${cpu.cluster}`].filter((part) => part !== "");
    // On many machines each core is a cluster of its own, which would say nothing.
    const alone = cpu.cluster !== null && cpus.filter((other) => other.package === cpu.package && other.cluster === cpu.cluster).every((other) => coreKey(other) === coreKey(cpu));
    const shown = alone ? die : parts.join(", ");
    const cluster = getOr(of.clusters, `${shown} ${cpu.core_type}`, () => ({ name: shown, cores: new Map<string, Core>() }));
    getOr(cluster.cores, coreKey(cpu), (): Core => ({ type: cpu.core_type, vendor: cpu.vendor_type, cpus: [] })).cpus.push(cpu);
  }
  return [...found.values()].map(({ name, clusters }) => ({
    name,
    clusters: [...clusters.values()].map(({ name, cores }) => ({ name, cores: [...cores.values()] })),
  }));
}

function coreKey(cpu: CpuNow): string {
  return cpu.siblings.length > 0 ? `s${Math.min(...cpu.siblings, cpu.cpu)}` : `c${cpu.cpu}`;
}

function getOr<V>(map: Map<string, V>, key: string, make: () => V): V {
  const had = map.get(key);
  if (had !== undefined) return had;
  const made = make();
  map.set(key, made);
  return made;
}

/** Returns a time in words: 954 ns, 15 µs, 2.5 ms, 1.3 s. */
export function duration(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds === Number.POSITIVE_INFINITY) return "> 16 s";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]] as const) {
    if (seconds >= size) return `${Number((seconds / size).toPrecision(2))} ${unit}`;
  }
  return `${Math.round(seconds * 1e9)} ns`;
}

/** Returns a share in percent. */
export const percent = (share: number) => `${share > 0 && share < 0.01 ? "< 1" : Math.round(share * 100)} %`;
/** Returns a number of CPUs or threads. */
export const amount = (of: number) => (of > 0 && of < 0.01 ? "< 0.01" : of < 10 ? of.toFixed(2) : of.toFixed(1));
