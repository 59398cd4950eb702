//! A snapshot of `corewise watch`, as text and JSON.

use crate::failure::Failure;
use model::words::{bytes, noun, share, time};
use model::{CoreType, Ns};
use page::{Block, Column, terminal};
use watch::snapshot::{ClassSums, CounterSums, EnergySums, GroupKind, GroupSums, Snapshot};

/// Returns a snapshot as JSON.
///
/// # Errors
/// It cannot be encoded.
pub fn json(snapshot: &Snapshot) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(snapshot);
    Ok(text.map_err(|why| Failure::new(format!("cannot write the snapshot as JSON: {why}")))? + "\n")
}

/// Returns what is wrong with a snapshot, one sentence each.
pub fn complaints(snapshot: &Snapshot) -> Vec<String> {
    let failed = snapshot.identities.iter().filter(|identity| !identity.holds);
    let mut all: Vec<String> = failed
        .map(|identity| {
            let off = words(identity.residual_ns);
            format!("corewise: identity {} does not hold: {}; they differ by {off}", identity.name, identity.meaning)
        })
        .collect();
    let health = &snapshot.health;
    if health.missed_events > 0 {
        let missed = health.missed_events;
        let what = noun(missed, "event");
        let were = if missed == 1 { "was" } else { "were" };
        all.push(format!(
            "corewise: {missed} {what} {were} not passed to the BPF programs: some times are missing or wrong"
        ));
    }
    if health.overflows > 0 {
        let max = health.groups_max;
        all.push(format!(
            "corewise: more than {max} groups were active at the same time: the time of some is part of (others)"
        ));
    }
    all
}

fn words(ns: u64) -> String {
    time(Ns(i64::try_from(ns).unwrap_or(i64::MAX))).replace(model::words::TIE, " ")
}

fn percent(part: u64, whole: u64) -> String {
    share(i64::try_from(part).unwrap_or(i64::MAX), i64::try_from(whole).unwrap_or(i64::MAX))
}

/// Formats a snapshot for a terminal.
pub fn text(snapshot: &Snapshot, width: usize, color: bool) -> String {
    let elapsed = snapshot.elapsed_ns();
    let unknown: u64 = snapshot.cpus.iter().map(|cpu| cpu.unknown_ns).sum();
    let count = snapshot.cpus.len() as u64;
    let all = elapsed * count;
    let mut blocks = vec![
        Block::Paragraph(
            format!(
                "Watched for {} on {count} {}: {} % busy, {} % unknown.",
                words(elapsed),
                noun(count, "CPU"),
                percent(snapshot.total.running_ns(), all),
                percent(unknown, all)
            ),
            0,
        ),
        Block::Heading("CPUs".into(), None),
        Block::Grid(cpus(snapshot), 0),
    ];
    if snapshot.cpus.iter().any(|cpu| cpu.sibling.busy_ns + cpu.sibling.idle_ns > 0) {
        blocks.extend([Block::Heading("Cores".into(), None), Block::Grid(cores(snapshot), 0)]);
        blocks.push(Block::Note("Free: no hardware thread of the core was busy.".into()));
    }
    blocks.extend([Block::Heading("Groups".into(), None), Block::Grid(groups(snapshot), 1)]);
    blocks.push(Block::Note(
        "Ready: waiting for a CPU. p50, p99: upper bounds of the bucket of the ready latency.".into(),
    ));
    blocks.extend([
        Block::Heading("What CPUs did while threads were ready in their queues".into(), None),
        Block::Grid(instead(snapshot), 1),
    ]);
    if let Some(idle) = idle(snapshot) {
        blocks.extend([Block::Heading("Idle states".into(), None), Block::Grid(idle, 0)]);
    }
    if !snapshot.energy.is_empty() {
        blocks.extend([Block::Heading("Energy".into(), None), Block::Grid(energy(snapshot), 0)]);
        blocks.extend(snapshot.energy.iter().filter_map(unknown_energy).map(Block::Note));
    }
    if !snapshot.counters.is_empty() {
        blocks.extend([Block::Heading("Counters".into(), None), Block::Grid(counters(snapshot), 0)]);
        if snapshot.counters.iter().any(|c| c.estimated_ns + c.missing_ns > 0) {
            blocks.push(Block::Note(
                "Estimated: other events had the counter meanwhile, so the count of this time is an estimate. Missing: the count has nothing \
                 of this time."
                    .into(),
            ));
        }
    }
    blocks.extend(snapshot.lacks.iter().cloned().map(Block::Note));
    blocks.push(Block::Heading("Checks".into(), None));
    for identity in &snapshot.identities {
        let holds = if identity.holds { "yes" } else { "NO" };
        let slack = match identity.slack_ns {
            0 => String::new(),
            slack => format!(", {} passed while it was read", words(slack)),
        };
        blocks.push(Block::Item(format!(
            "{holds}: {} (difference {}{slack})",
            identity.meaning,
            words(identity.residual_ns)
        )));
    }
    blocks.push(Block::Paragraph(cost(snapshot), 0));
    terminal(&blocks, width, color)
}

fn cost(snapshot: &Snapshot) -> String {
    let health = &snapshot.health;
    let bpf = health.bpf_ns.map_or_else(
        || "not measured (sysctl kernel.bpf_stats_enabled=1)".to_owned(),
        |ns| {
            let share = percent(ns, snapshot.total.running_ns());
            format!("{} ({share} % of the busy CPU time)", words(ns))
        },
    );
    let memory = bytes(i64::try_from(health.kernel_bytes).unwrap_or(i64::MAX)).replace(model::words::TIE, " ");
    format!(
        "Watching: {memory} of kernel memory, BPF programs {bpf}, {} of at most {} groups kept, {} switches inferred, {} inconsistent.",
        health.groups_kept, health.groups_max, health.inferred_switches, health.inconsistent_switches
    )
}

fn core_type(snapshot: &Snapshot, class: usize) -> &'static str {
    snapshot.machine.class_names.get(class).copied().unwrap_or(CoreType::Uniform).as_str()
}

fn filled<const N: usize>(mut columns: [Column; N], rows: impl Iterator<Item = [String; N]>) -> Vec<Column> {
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    columns.into()
}

fn cpus(snapshot: &Snapshot) -> Vec<Column> {
    let elapsed = snapshot.elapsed_ns();
    let seconds = elapsed as f64 / 1e9;
    let columns = [
        Column::numbers("CPU", 0),
        Column::text("core type", 0),
        Column::numbers("busy %", 0),
        Column::numbers("sibling busy %", 1),
        Column::numbers("idle %", 0),
        Column::numbers("unknown %", 0),
        Column::numbers("switches/s", 0),
        Column::numbers("wakeups/s", 2),
        Column::numbers("migrations in/s", 1),
        Column::numbers("interrupts/s", 2),
    ];
    let rate = |count: u64| format!("{:.0}", count as f64 / seconds.max(1e-9));
    let row = |cpu: &watch::snapshot::CpuSums| {
        let sibling = &cpu.sibling;
        let known = sibling.busy_ns + sibling.idle_ns > 0;
        [
            cpu.cpu.to_string(),
            core_type(snapshot, cpu.class).to_owned(),
            percent(cpu.busy_ns, elapsed),
            if known { percent(sibling.busy_ns, elapsed) } else { "-".into() },
            percent(cpu.idle_ns, elapsed),
            percent(cpu.unknown_ns, elapsed),
            rate(cpu.switches),
            rate(cpu.wakeups),
            rate(cpu.migrations_from.iter().sum()),
            rate(cpu.interrupts.iter().map(|i| i.count).sum()),
        ]
    };
    filled(columns, snapshot.cpus.iter().map(row))
}

fn cores(snapshot: &Snapshot) -> Vec<Column> {
    let elapsed = snapshot.elapsed_ns();
    let columns = [
        Column::text("CPUs", 0),
        Column::text("core type", 0),
        Column::numbers("several busy %", 0),
        Column::numbers("one busy %", 0),
        Column::numbers("free %", 0),
        Column::numbers("unknown %", 0),
    ];
    let cores = snapshot.cores();
    let row = |core: &watch::snapshot::CoreSums| {
        let numbers: Vec<String> = core.cpus.iter().map(ToString::to_string).collect();
        [
            numbers.join(","),
            core_type(snapshot, core.class).to_owned(),
            percent(core.several_busy_ns, elapsed),
            percent(core.one_busy_ns, elapsed),
            percent(core.free_ns, elapsed),
            percent(core.unknown_ns, elapsed),
        ]
    };
    filled(columns, cores.iter().map(row))
}

fn name(group: &GroupSums) -> String {
    match group.kind {
        GroupKind::Machine => "(machine)".to_owned(),
        GroupKind::Other => "(others)".to_owned(),
        GroupKind::Cgroup | GroupKind::Process => {
            group.name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
        }
    }
}

/// The groups, and the machine last. The others are left out if there are none.
fn listed(snapshot: &Snapshot) -> impl Iterator<Item = (String, &GroupSums, ClassSums)> {
    let all = snapshot.groups.iter().chain([&snapshot.total]).map(|group| (name(group), group, group.all_classes()));
    all.filter(|(_, group, sums)| group.kind != GroupKind::Other || *sums != empty(sums))
}

fn empty(like: &ClassSums) -> ClassSums {
    ClassSums { migrations_from: vec![0; like.migrations_from.len()], ..ClassSums::default() }
}

fn groups(snapshot: &Snapshot) -> Vec<Column> {
    let mut columns = vec![Column::text("group", 0), Column::numbers("running", 0)];
    // The fastest first.
    let classes: Vec<usize> = (0..snapshot.machine.class_names.len()).rev().collect();
    if classes.len() > 1 {
        columns.extend(classes.iter().map(|class| Column::numbers(&format!("on {}", core_type(snapshot, *class)), 0)));
    }
    let siblings = snapshot.cpus.iter().any(|cpu| cpu.sibling.busy_ns + cpu.sibling.idle_ns > 0);
    if siblings {
        columns.push(Column::numbers("sibling busy %", 1));
    }
    let heads =
        [("ready", 0), ("p50", 1), ("p99", 0), ("wakeups", 1), ("preempted", 1), ("migrations", 2), ("throttled", 2)];
    columns.extend(heads.map(|(head, rank)| Column::numbers(head, rank)));
    let bound = |sums: &ClassSums, q| match sums.ready_latency.quantile_seconds(q) {
        None => "-".to_owned(),
        Some(bound) if bound.is_finite() => words((bound * 1e9) as u64),
        Some(_) => "> 16 s".to_owned(),
    };
    for (name, group, sums) in listed(snapshot) {
        let mut cells = vec![name, words(sums.running_ns)];
        if classes.len() > 1 {
            let on = |class: &usize| group.by_class.get(*class).map_or(0, |sums| sums.running_ns);
            cells.extend(classes.iter().map(|class| words(on(class))));
        }
        if siblings {
            cells.push(percent(sums.sibling.busy_ns, sums.running_ns));
        }
        cells.extend([
            words(sums.ready.all_ns()),
            bound(&sums, 0.5),
            bound(&sums, 0.99),
            sums.wakeups.to_string(),
            sums.preemptions.to_string(),
            sums.migrations_from.iter().sum::<u64>().to_string(),
            group.throttled.map_or_else(|| "-".to_owned(), |throttled| words(throttled.ns)),
        ]);
        columns.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
    }
    columns
}

fn instead(snapshot: &Snapshot) -> Vec<Column> {
    let columns = [
        Column::text("group", 0),
        Column::numbers("ready", 0),
        Column::numbers("same group %", 0),
        Column::numbers("other groups %", 0),
        Column::numbers("kernel threads %", 0),
        Column::numbers("idle %", 0),
        Column::numbers("unknown %", 0),
    ];
    let row = |(name, _, sums): (String, &GroupSums, ClassSums)| {
        let (ready, all) = (sums.ready, sums.ready.all_ns());
        let parts = [ready.same_group_ns, ready.other_group_ns, ready.kernel_ns, ready.idle_ns, ready.unknown_ns];
        let [same, other, kernel, idle, unknown] = parts.map(|part| percent(part, all));
        [name, words(all), same, other, kernel, idle, unknown]
    };
    filled(columns, listed(snapshot).map(row))
}

fn energy(snapshot: &Snapshot) -> Vec<Column> {
    let columns = [
        Column::text("domain", 0),
        Column::text("part", 1),
        Column::numbers("energy J", 0),
        Column::numbers("at least J", 1),
        Column::numbers("at most J", 1),
        Column::numbers("mean W", 0),
        Column::numbers("known %", 0),
        Column::text("method", 2),
    ];
    let row = |of: &EnergySums| {
        let known = of.known_ns > 0;
        let number = |value: f64| if known { format!("{value:.3}") } else { "-".to_owned() };
        [
            of.domain.clone(),
            of.part.to_owned(),
            number(of.joules),
            number(of.low_joules),
            number(of.high_joules),
            number(of.joules / (of.known_ns.max(1) as f64 * 1e-9)),
            percent(of.known_ns.min(snapshot.elapsed_ns()), snapshot.elapsed_ns()),
            of.method.as_str().to_owned(),
        ]
    };
    filled(columns, snapshot.energy.iter().map(row))
}

/// Says why the energy of a domain is not known for the whole time.
fn unknown_energy(of: &EnergySums) -> Option<String> {
    match &of.unknown {
        Some(why) => Some(format!("{}: for a part of the time the energy is not known: {why}.", of.domain)),
        None if of.known_ns == 0 => Some(format!("{}: its value has not changed, so nothing is known.", of.domain)),
        None => None,
    }
}

fn counters(snapshot: &Snapshot) -> Vec<Column> {
    let columns = [
        Column::text("event", 0),
        Column::text("core type", 0),
        Column::text("PMU", 1),
        Column::numbers("count", 0),
        Column::numbers("per cycle", 1),
        Column::numbers("counted %", 0),
        Column::numbers("estimated %", 0),
        Column::numbers("missing %", 0),
    ];
    let row = |of: &CounterSums| {
        let all = of.counted_ns + of.estimated_ns + of.missing_ns;
        let same = |cycles: &&CounterSums| cycles.event == "cycles" && cycles.class == of.class && cycles.pmu == of.pmu;
        let cycles = snapshot.counters.iter().find(same).filter(|cycles| cycles.count > 0 && of.event != "cycles");
        [
            of.event.clone(),
            core_type(snapshot, of.class).to_owned(),
            of.pmu.clone(),
            of.count.to_string(),
            cycles.map_or_else(|| "-".to_owned(), |cycles| format!("{:.3}", of.count as f64 / cycles.count as f64)),
            percent(of.counted_ns, all),
            percent(of.estimated_ns, all),
            percent(of.missing_ns, all),
        ]
    };
    filled(columns, snapshot.counters.iter().map(row))
}

fn idle(snapshot: &Snapshot) -> Option<Vec<Column>> {
    let columns = [
        Column::numbers("CPU", 0),
        Column::text("state", 0),
        Column::numbers("periods", 0),
        Column::numbers("time", 0),
        Column::numbers("break-even", 0),
        Column::numbers("shorter %", 0),
    ];
    let states = snapshot.cpus.iter().flat_map(|cpu| cpu.idle_states.iter().map(move |state| (cpu.cpu, state)));
    let mut states = states.filter(|(_, state)| state.periods > 0).peekable();
    states.peek()?;
    let row = |(cpu, state): (u32, &watch::snapshot::IdleSums)| {
        let known = state.break_even_ns.filter(|ns| *ns > 0);
        [
            cpu.to_string(),
            state.state.clone(),
            state.periods.to_string(),
            words(state.ns),
            known.map_or_else(|| "-".to_owned(), words),
            known.map_or_else(|| "-".to_owned(), |_| percent(state.short_periods, state.periods)),
        ]
    };
    Some(filled(columns, states.map(row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_snapshot_as_text() {
        let text = text(&watch::testing::drawn(1), 140, false);
        let expected = include_str!("watching.txt");
        assert_eq!(text, expected, "{text}");
        assert_eq!(complaints(&watch::testing::drawn(1)), Vec::<String>::new());
    }
}
