//! The series of each metric.

use super::definitions::*;
use crate::view::View;
use std::collections::BTreeMap;
use std::fmt;
use watch::histogram::Histogram;
use watch::snapshot::{ClassSums, CpuSums, EnergySums, GroupKind, GroupSums, ReadySums, SiblingSums};

/// The values of a metric's labels, in their order.
type Labels<'a> = Vec<&'a str>;

/// The labels of a series, and its value.
pub(super) type Series<'a> = (Labels<'a>, Value<'a>);

/// The value of a series.
pub(super) enum Value<'a> {
    Count(u64),
    Number(f64),
    Histogram(&'a Histogram),
}

impl Value<'_> {
    fn seconds(ns: u64) -> Self {
        Self::Number(ns as f64 / 1e9)
    }
}

/// Writes metrics in a format.
pub(super) trait Encoder {
    /// Writes a metric with its series, of which there is at least one.
    fn metric(&mut self, of: &Definition, series: &mut dyn Iterator<Item = Series<'_>>) -> fmt::Result;
}

/// Writes the series of one metric after the other.
struct Families<'e>(&'e mut dyn Encoder);

impl Families<'_> {
    /// Writes a metric with its series; nothing if it has none.
    fn family<'a>(&mut self, of: &Definition, series: impl IntoIterator<Item = Series<'a>>) -> fmt::Result {
        let mut series = series.into_iter().peekable();
        if series.peek().is_none() {
            return Ok(());
        }
        self.0.metric(of, &mut series)
    }

    fn one(&mut self, of: &Definition, value: Value<'_>) -> fmt::Result {
        self.family(of, [(Vec::new(), value)])
    }
}

/// Writes all metrics.
pub(super) fn encode(view: &View, encoder: &mut dyn Encoder) -> fmt::Result {
    let mut to = Families(encoder);
    class_sums(&mut to, view, &MACHINE, &[(Vec::new(), &view.snapshot.total)])?;
    let labels = |group: &'_ GroupSums| -> (&'static str, String) {
        let name = if group.kind == GroupKind::Other { "other".to_owned() } else { group.name.clone() };
        (group.kind.as_str(), name)
    };
    let names: Vec<_> = view.groups.iter().map(labels).collect();
    let groups: Vec<(Labels<'_>, &GroupSums)> =
        names.iter().zip(&view.groups).map(|((kind, name), group)| (vec![*kind, name.as_str()], group)).collect();
    class_sums(&mut to, view, &GROUPS, &groups)?;
    let throttled = || groups.iter().filter_map(|(labels, group)| Some((labels.clone(), group.throttled?)));
    to.family(&GROUP_THROTTLED, throttled().map(|(labels, t)| (labels, Value::seconds(t.ns))))?;
    to.family(&GROUP_THROTTLED_PERIODS, throttled().map(|(labels, t)| (labels, Value::Count(t.periods))))?;
    cpus(&mut to, view)?;
    cores(&mut to, view)?;
    idle_states(&mut to, view)?;
    energy(&mut to, view)?;
    counters(&mut to, view)?;
    health(&mut to, view)
}

/// Writes the sums on classes of cores; each with its labels.
fn class_sums(
    to: &mut Families<'_>,
    view: &View,
    metrics: &ClassMetrics,
    all: &[(Labels<'_>, &GroupSums)],
) -> fmt::Result {
    let names = &view.class_names;
    // The classes that were used: a group has no series of cores on which it never ran or waited.
    let classes = || {
        all.iter().flat_map(|(labels, group)| {
            let is_used = |sums: &ClassSums| group.kind == GroupKind::Machine || *sums != ClassSums::default();
            let used = names.iter().zip(&group.by_class).filter(move |(_, sums)| is_used(sums));
            used.map(move |(name, sums)| (labels, name.as_str(), sums))
        })
    };
    to.family(
        &metrics.running,
        classes().flat_map(|(labels, class, sums)| {
            siblings(&sums.sibling)
                .into_iter()
                .map(move |(sibling, ns)| ([labels.as_slice(), &[class, sibling]].concat(), Value::seconds(ns)))
        }),
    )?;
    to.family(
        &metrics.ready,
        classes().flat_map(|(labels, class, sums)| {
            ready(&sums.ready).into_iter().map(move |(ran_meanwhile, ns)| {
                ([labels.as_slice(), &[class, ran_meanwhile]].concat(), Value::seconds(ns))
            })
        }),
    )?;
    let each = |value: for<'b> fn(&'b ClassSums) -> Value<'b>| {
        classes().map(move |(labels, class, sums)| ([labels.as_slice(), &[class]].concat(), value(sums)))
    };
    to.family(&metrics.ready_latency, each(|sums| Value::Histogram(&sums.ready_latency)))?;
    to.family(&metrics.run_length, each(|sums| Value::Histogram(&sums.run_length)))?;
    to.family(&metrics.wakeups, each(|sums| Value::Count(sums.wakeups)))?;
    to.family(&metrics.preemptions, each(|sums| Value::Count(sums.preemptions)))?;
    let edges: Vec<Vec<String>> =
        names.iter().map(|to| names.iter().map(|from| format!("{from}_to_{to}")).collect()).collect();
    to.family(
        &metrics.migrations,
        all.iter().flat_map(|(labels, group)| {
            let is_machine = group.kind == GroupKind::Machine;
            edges.iter().zip(&group.by_class).flat_map(move |(edges, sums)| {
                edges
                    .iter()
                    .zip(&sums.migrations_from)
                    .filter(move |(_, count)| is_machine || **count > 0)
                    .map(move |(edge, count)| ([labels.as_slice(), &[edge.as_str()]].concat(), Value::Count(*count)))
            })
        }),
    )
}

fn siblings(sums: &SiblingSums) -> [(&'static str, u64); 4] {
    let SiblingSums { busy_ns, idle_ns, none_ns, unknown_ns } = *sums;
    [("busy", busy_ns), ("idle", idle_ns), ("none", none_ns), ("unknown", unknown_ns)]
}

fn ready(sums: &ReadySums) -> [(&'static str, u64); 5] {
    let ReadySums { same_group_ns, other_group_ns, kernel_ns, idle_ns, unknown_ns } = *sums;
    [
        ("same_group", same_group_ns),
        ("other_group", other_group_ns),
        ("kernel", kernel_ns),
        ("idle", idle_ns),
        ("unknown", unknown_ns),
    ]
}

fn cpus(to: &mut Families<'_>, view: &View) -> fmt::Result {
    let numbers: Vec<String> = view.snapshot.cpus.iter().map(|cpu| cpu.cpu.to_string()).collect();
    let cpus = || {
        view.snapshot.cpus.iter().zip(&numbers).map(|(cpu, number)| {
            let class = view.class_names.get(cpu.class).map_or("unknown", String::as_str);
            (vec![number.as_str(), class], cpu)
        })
    };
    let places: Vec<[String; 4]> = view
        .snapshot
        .cpus
        .iter()
        .map(|cpu| {
            let known = view.snapshot.machine.cpu(model::CpuId(cpu.cpu));
            let text = |place: Option<u32>| place.map_or_else(String::new, |n| n.to_string());
            let place = |of: fn(&topology::Cpu) -> Option<u32>| text(known.and_then(of));
            [place(|c| c.package), place(|c| c.die), place(|c| c.cluster), place(|c| c.core)]
        })
        .collect();
    to.family(
        &CPU,
        cpus().zip(&places).map(|((labels, _), place)| {
            let place: Labels<'_> = place.iter().map(String::as_str).collect();
            ([labels, place].concat(), Value::Count(1))
        }),
    )?;
    let each = |value: fn(&CpuSums) -> Value<'static>| cpus().map(move |(labels, cpu)| (labels, value(cpu)));
    to.family(&CPU_ONLINE, each(|cpu| Value::Count(cpu.online.into())))?;
    to.family(
        &CPU_BUSY,
        cpus().flat_map(|(labels, cpu)| {
            let one = move |(sibling, ns)| ([labels.as_slice(), &[sibling]].concat(), Value::seconds(ns));
            siblings(&cpu.sibling).map(one)
        }),
    )?;
    to.family(&CPU_IDLE, each(|cpu| Value::seconds(cpu.idle_ns)))?;
    to.family(&CPU_UNKNOWN, each(|cpu| Value::seconds(cpu.unknown_ns)))?;
    to.family(&CPU_SWITCHES, each(|cpu| Value::Count(cpu.switches)))?;
    to.family(&CPU_WAKEUPS, each(|cpu| Value::Count(cpu.wakeups)))?;
    to.family(
        &CPU_INTERRUPTS,
        cpus().flat_map(|(labels, cpu)| {
            let mut kinds: BTreeMap<&'static str, u64> = BTreeMap::new();
            cpu.interrupts.iter().for_each(|of| *kinds.entry(of.kind.as_str()).or_default() += of.count);
            kinds.into_iter().map(move |(kind, count)| ([labels.as_slice(), &[kind]].concat(), Value::Count(count)))
        }),
    )
}

fn cores(to: &mut Families<'_>, view: &View) -> fmt::Result {
    const BUSY_THREADS: [&str; 4] = ["none", "one", "several", "unknown"];
    to.family(
        &CORE,
        view.class_names.iter().zip(&view.cores).flat_map(|(class, parts)| {
            BUSY_THREADS.iter().zip(parts).map(|(busy, ns)| (vec![class.as_str(), *busy], Value::seconds(*ns)))
        }),
    )
}

fn idle_states(to: &mut Families<'_>, view: &View) -> fmt::Result {
    /// Of a state of a class of cores: time, periods, short periods, break-even time.
    #[derive(Default)]
    struct State(u64, u64, u64, Option<u64>);
    let mut states: BTreeMap<(&str, &str), State> = BTreeMap::new();
    for cpu in &view.snapshot.cpus {
        let class = view.class_names.get(cpu.class).map_or("unknown", String::as_str);
        for of in &cpu.idle_states {
            let sums = states.entry((class, &of.state)).or_default();
            sums.0 += of.ns;
            sums.1 += of.periods;
            sums.2 += of.short_periods;
            sums.3 = sums.3.or(of.break_even_ns);
        }
    }
    let each = |value: fn(&State) -> Option<Value<'static>>| {
        states.iter().filter_map(move |((class, state), sums)| Some((vec![*class, *state], value(sums)?)))
    };
    to.family(&IDLE_STATE, each(|sums| Some(Value::seconds(sums.0))))?;
    to.family(&IDLE_PERIODS, each(|sums| Some(Value::Count(sums.1))))?;
    // Without a break-even time it is not known which periods were too short.
    to.family(&IDLE_SHORT, each(|sums| sums.3.map(|_| Value::Count(sums.2))))?;
    to.family(&IDLE_BREAK_EVEN, each(|sums| sums.3.map(Value::seconds)))
}

fn energy(to: &mut Families<'_>, view: &View) -> fmt::Result {
    let each = |value: fn(&EnergySums) -> Value<'static>| {
        let domains = view.snapshot.energy.iter();
        domains.map(move |e| (vec![e.domain.as_str(), e.part, e.method.as_str()], value(e)))
    };
    to.family(&ENERGY, each(|e| Value::Number(e.joules)))?;
    to.family(&ENERGY_KNOWN, each(|e| Value::seconds(e.known_ns)))?;
    to.family(&ENERGY_RANGE, each(|e| Value::Number(e.high_joules - e.low_joules)))?;
    to.family(&ENERGY_LIVE, each(|e| Value::Count(e.is_live.into())))
}

fn counters(to: &mut Families<'_>, view: &View) -> fmt::Result {
    let all = || {
        view.snapshot.counters.iter().map(|c| {
            let class = view.class_names.get(c.class).map_or("unknown", String::as_str);
            (vec![c.event.as_str(), class, c.pmu.as_str()], c)
        })
    };
    to.family(&HARDWARE_EVENTS, all().map(|(labels, c)| (labels, Value::Count(c.count))))?;
    let times = all().flat_map(|(labels, c)| {
        let parts = [("yes", c.counted_ns), ("estimated", c.estimated_ns), ("no", c.missing_ns)];
        parts.map(|(counted, ns)| ([labels.as_slice(), &[counted]].concat(), Value::seconds(ns)))
    });
    to.family(&HARDWARE_EVENT_TIME, times)
}

fn health(to: &mut Families<'_>, view: &View) -> fmt::Result {
    let (snapshot, health) = (&view.snapshot, &view.snapshot.health);
    to.family(&BUILD, [(vec![env!("CARGO_PKG_VERSION")], Value::Count(1))])?;
    to.one(&WATCHED, Value::seconds(snapshot.elapsed_ns()))?;
    to.one(&GROUPS_SEEN, Value::Count(health.groups_seen))?;
    to.one(&GROUPS_KEPT, Value::Count(health.groups_kept))?;
    to.one(&GROUPS_LIMIT, Value::Count(health.groups_max))?;
    to.one(&GROUPS_SHOWN, Value::Count(view.groups.len().saturating_sub(1) as u64))?;
    to.one(&GROUPS_SHOWN_LIMIT, Value::Count(view.places as u64))?;
    to.one(&GROUPS_REPLACED, Value::Count(view.replaced))?;
    to.one(&OVERFLOWS, Value::Count(health.overflows))?;
    to.one(&MISSED_EVENTS, Value::Count(health.missed_events))?;
    to.one(&INFERRED, Value::Count(health.inferred_switches))?;
    to.one(&INCONSISTENT, Value::Count(health.inconsistent_switches))?;
    to.one(&FORGOTTEN, Value::Count(health.forgotten_waits))?;
    to.one(&KERNEL_MEMORY, Value::Count(health.kernel_bytes))?;
    if let Some(ns) = health.bpf_ns {
        to.one(&BPF_TIME, Value::seconds(ns))?;
    }
    to.one(&READING, Value::seconds(health.reading_ns))?;
    let identities = || snapshot.identities.iter();
    to.family(&IDENTITY_HOLDS, identities().map(|i| (vec![i.name], Value::Count(i.holds.into()))))?;
    to.family(&IDENTITY_RESIDUAL, identities().map(|i| (vec![i.name], Value::seconds(i.residual_ns))))?;
    let violations = identities().zip(&view.violations);
    to.family(&IDENTITY_VIOLATIONS, violations.map(|(i, count)| (vec![i.name], Value::Count(*count))))
}
