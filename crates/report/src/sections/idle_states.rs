//! How often CPUs were woken, and how their time divides among idle states, compared with the stay that each needs to save energy.

use super::Section;
use crate::context::{SectionContext, add};
use crate::words::{grouped, ms, percent, share, time};
use engine::EngineError;
use model::Ns;
use model::tables::{self, cpu_wakeups, cpus, idle_residency, idle_wakeups};
use page::{Bar, Bars, Column, Page, Tone, push};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const SECTION: Section = Section {
    id: "idle_states",
    about: "CPUs: time in each idle state against its break-even, and wakeups per second by core type",
    tables: &[&tables::IDLE_RESIDENCY, &tables::IDLE_WAKEUPS, &tables::CPU_WAKEUPS, &tables::CPUS],
    write,
};

/// The colours of idle states by number; deeper ones have the last.
const TONES: [Tone; 5] = [Tone::Sky, Tone::Green, Tone::Purple, Tone::Orange, Tone::Red];
/// Parts of the picture before those of idle states: busy, and idle in no recorded state.
const FIRST: usize = 2;

/// The stays of the CPUs of a type in an idle state.
#[derive(Default)]
struct Stays {
    entries: Option<i64>,
    residency: Ns,
    longest: Option<Ns>,
    too_short: Option<i64>,
}

/// The CPUs of a type.
#[derive(Default)]
struct OfType {
    cpus: i64,
    busy: Ns,
    whole: Ns,
    /// By state; `None`: idle in no recorded state.
    states: BTreeMap<Option<i64>, Ns>,
    entries: i64,
    wakeups: i64,
    woken_idle: Ns,
    /// Time outside of idle states, of the time in which the state of the CPUs is known.
    c0: Option<Ns>,
    known: Ns,
}

/// By core type, number, name, and break-even of a state.
type Key = (String, Option<i64>, String, Option<Ns>);

fn write(page: &mut Page, ctx: &SectionContext<'_>) -> Result<(), EngineError> {
    if !ctx.is_whole() {
        return Ok(());
    }
    let mut types: BTreeMap<String, OfType> = BTreeMap::new();
    ctx.each_row(cpus::Table, |row| {
        let of = types.entry(row.get(cpus::CORE_TYPE).to_owned()).or_default();
        of.cpus += 1;
        let [busy, idle, unknown] = row.all([cpus::BUSY_NS, cpus::IDLE_NS, cpus::UNKNOWN_NS]);
        add(&mut of.busy, busy);
        [busy, idle, unknown].into_iter().for_each(|ns| add(&mut of.whole, ns));
    })?;
    let mut stays: BTreeMap<Key, Stays> = BTreeMap::new();
    ctx.each_row(idle_residency::Table, |row| {
        let core_type = row.get(idle_residency::CORE_TYPE).to_owned();
        let (state, residency) = (row.get(idle_residency::STATE), row.get(idle_residency::RESIDENCY_NS));
        let of = types.entry(core_type.clone()).or_default();
        add(of.states.entry(state).or_default(), residency);
        add(&mut of.entries, row.get(idle_residency::ENTRIES).unwrap_or(0));
        let name = row.get(idle_residency::STATE_NAME.or_empty()).to_owned();
        let key = (core_type, state, name, row.get(idle_residency::TARGET_RESIDENCY_NS));
        let of = stays.entry(key).or_default();
        add(&mut of.residency, residency);
        let sum = |to: &mut Option<i64>, more: Option<i64>| more.into_iter().for_each(|n| add(to.get_or_insert(0), n));
        sum(&mut of.entries, row.get(idle_residency::ENTRIES));
        sum(&mut of.too_short, row.get(idle_residency::TOO_SHORT));
        of.longest = of.longest.max(row.get(idle_residency::LONGEST_NS));
    })?;
    ctx.each_row(idle_wakeups::Table, |row| {
        // Nothing is known about the end of the others.
        if row.get(idle_wakeups::CAUSE) != "cut" {
            let of = types.entry(row.get(idle_wakeups::CORE_TYPE).to_owned()).or_default();
            add(&mut of.wakeups, row.get(idle_wakeups::PERIODS));
            add(&mut of.woken_idle, row.get(idle_wakeups::IDLE_NS));
        }
    })?;
    ctx.each_row(cpu_wakeups::Table, |row| {
        let of = types.entry(row.get(cpu_wakeups::CORE_TYPE).to_owned()).or_default();
        if let Some(c0) = row.get(cpu_wakeups::C0_NS) {
            add(of.c0.get_or_insert(Ns::ZERO), c0);
            add(&mut of.known, row.get(cpu_wakeups::KNOWN_NS));
        }
    })?;
    let has_states = stays.keys().any(|(_, state, ..)| state.is_some());
    if !has_states && types.values().all(|of| of.wakeups == 0) {
        return Ok(());
    }
    let mut types: Vec<(String, OfType)> = types.into_iter().collect();
    // Fast ones first.
    let class = |word: &str| ctx.session.machine().class_names.iter().position(|of| of.as_str() == word);
    types.sort_by_key(|(word, _)| Reverse(class(word)));
    page.heading("Wakeups and idle states of CPUs");
    if has_states {
        page.picture(split(&types, &stays));
        states(page, &types, &stays);
    }
    wakeups(page, &types, Ns(ctx.session.summary().span_ns), has_states);
    Ok(())
}

fn name_of(core_type: &str) -> String {
    if core_type == "uniform" { "all CPUs".to_owned() } else { core_type.replace('_', " ") }
}

/// `1 (C1E)`.
fn state_name(state: Option<i64>, name: &str) -> String {
    match state {
        None => "not recorded".to_owned(),
        Some(state) if name.is_empty() => state.to_string(),
        Some(state) => format!("{state} ({name})"),
    }
}

/// How the time of the CPUs of each type divides.
fn split(types: &[(String, OfType)], stays: &BTreeMap<Key, Stays>) -> Bars {
    let mut numbers: Vec<i64> = types.iter().flat_map(|(_, of)| of.states.keys().copied().flatten()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let legend_of = |number: i64| {
        let mut names: Vec<&str> = stays.keys().filter(|key| key.1 == Some(number)).map(|key| key.2.as_str()).collect();
        names.dedup();
        let name = if let [name] = names[..] { name } else { "" };
        format!("idle state {}", state_name(Some(number), name))
    };
    let tone = |number: i64| TONES[usize::try_from(number).unwrap_or(0).min(TONES.len() - 1)];
    let mut legend = vec![(Tone::Blue, "busy".to_owned()), (Tone::Idle, "idle, state not recorded".to_owned())];
    legend.extend(numbers.iter().map(|number| (tone(*number), legend_of(*number))));
    legend.push((Tone::Unknown, "unknown".to_owned()));
    let bar = |(core_type, of): &(String, OfType)| {
        let mut parts = vec![of.busy, of.states.get(&None).copied().unwrap_or(Ns::ZERO)];
        parts.extend(numbers.iter().map(|number| of.states.get(&Some(*number)).copied().unwrap_or(Ns::ZERO)));
        let known = parts.iter().sum::<Ns>();
        let idle = parts[1..].iter().sum::<Ns>();
        let in_state = parts[FIRST..].iter().sum::<Ns>();
        parts.push(of.whole - known);
        let value = format!("idle {}, of this {} in a state", percent(idle, of.whole), percent(in_state, idle));
        Bar::new(name_of(core_type), value, parts, of.whole)
    };
    Bars { title: "Time split of CPUs by core type".to_owned(), legend, bars: types.iter().map(bar).collect() }
}

/// The stays in each state, against its break-even.
fn states(page: &mut Page, types: &[(String, OfType)], stays: &BTreeMap<Key, Stays>) {
    let has_targets = stays.keys().any(|key| key.3.is_some());
    if has_targets {
        page.paragraph(
            "break-even: the stay from which on the state saves energy (the driver's target residency). too short: stays with a known \
             begin and end that were shorter.",
        );
    } else {
        page.paragraph("The machine description has no break-even of the idle states.");
    }
    let several = types.len() > 1;
    let mut columns = Vec::new();
    if several {
        columns.push(Column::text("type", 0));
    }
    columns.push(Column::text("idle state", 0));
    columns.extend([("entries", 0), ("ms", 0), ("% of idle", 0), ("mean ms", 0), ("longest ms", 1)].map(numbers));
    if has_targets {
        columns.extend([("break-even", 0), ("too short", 0), ("too short %", 0)].map(numbers));
    }
    for (core_type, of) in types {
        let idle = of.states.values().sum::<Ns>();
        for ((_, state, name, target), stays) in stays.iter().filter(|(key, _)| key.0 == *core_type) {
            let mut cells = Vec::new();
            if several {
                cells.push(name_of(core_type));
            }
            let entries = stays.entries;
            let mean = entries.filter(|n| *n > 0).map(|n| ms(stays.residency / n));
            cells.extend([state_name(*state, name), known(entries.map(grouped)), ms(stays.residency)]);
            cells.extend([share(stays.residency, idle), known(mean), known(stays.longest.map(ms))]);
            if has_targets {
                let short = stays.too_short;
                cells.extend([known(target.map(time)), known(short.map(grouped))]);
                cells.push(known(short.zip(entries.filter(|n| *n > 0)).map(|(short, all)| share(short, all))));
            }
            push(&mut columns, cells);
        }
    }
    page.grid(columns, 0);
}

/// How often CPUs of each type were woken.
fn wakeups(page: &mut Page, types: &[(String, OfType)], span_ns: Ns, has_states: bool) {
    page.paragraph(if has_states {
        "wakeups: idle periods that a thread ended. entries: those of idle states, also after an interrupt that woke no thread, as powertop \
         counts wakeups. C0: the share of the time outside of idle states."
    } else {
        "wakeups: idle periods that a thread ended."
    });
    let mut columns = vec![Column::text("type", 0), Column::numbers("CPUs", 0)];
    columns.extend([("wakeups", 1), ("wakeups/s", 0), ("per CPU/s", 0), ("mean idle ms", 0)].map(numbers));
    if has_states {
        columns.extend([("entries/s", 0), ("C0 %", 0)].map(numbers));
    }
    for (core_type, of) in types {
        let mut cells = vec![name_of(core_type), of.cpus.to_string(), grouped(of.wakeups)];
        cells.extend([rate(of.wakeups, span_ns), rate(of.wakeups, span_ns * of.cpus.max(1))]);
        cells.push(if of.wakeups > 0 { ms(of.woken_idle / of.wakeups) } else { "-".to_owned() });
        if has_states {
            cells.extend([rate(of.entries, span_ns), known(of.c0.map(|c0| share(c0, of.known)))]);
        }
        push(&mut columns, cells);
    }
    page.grid(columns, 0);
}

fn numbers((head, rank): (&str, u8)) -> Column {
    Column::numbers(head, rank)
}

fn known(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// A count per second.
fn rate(count: i64, ns: Ns) -> String {
    format!("{:.1}", count as f64 * 1e9 / ns.max(Ns(1)).as_f64())
}
