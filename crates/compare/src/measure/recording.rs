//! Measures a recording of threads.

use super::{conditions, path, series};
use crate::{Run, Series, ThreadFacts};
use diagnose::{Choice, Target};
use engine::{EngineError, PathWindow, Redaction, Session};
use model::tables::{
    cpus, energy, idle_residency, idle_wakeups, migrations, ran_instead, smt_threads, thread_by_core_type,
    thread_by_frequency, threads,
};
use model::{Amount, Ns, TableType, ThreadKey, Tid};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// At most this many frames, periods or requests are followed along the critical path, spread evenly over the run.
const MAX_WINDOWS: usize = 20_000;

/// The name of the series of frames.
const FRAME: &str = "frame";

/// What is measured.
#[derive(Clone, Debug, Default)]
pub struct MeasureOptions {
    /// What the program is judged by; `None`: what the recording shows.
    pub target: Option<Target>,
    /// The process whose frames are measured, of frame logs with several: a name or a PID.
    pub process: Option<String>,
    /// Also find scheduling problems, which takes longer than all else together.
    pub findings: bool,
    /// How the runs are redacted, if they are: with the same stand-ins in all.
    pub redaction: Option<Arc<Redaction>>,
}

/// Measures a recording of threads.
///
/// # Errors
/// The trace cannot be read, or lacks the objective that the user set.
pub fn recording(session: &Session, path: &str, options: &MeasureOptions) -> Result<Run, EngineError> {
    let mut run = Run {
        path: path.to_owned(),
        format: session.facts().format.clone(),
        span_ns: session.summary().span_ns,
        began_ns: Some(session.origin().0).filter(|ns| *ns > 0),
        ..Run::default()
    };
    conditions::write(&mut run, session);
    // All tables in one pass.
    let more = [
        ran_instead::Table::DEF,
        migrations::Table::DEF,
        smt_threads::Table::DEF,
        thread_by_frequency::Table::DEF,
        energy::Table::DEF,
        idle_residency::Table::DEF,
        idle_wakeups::Table::DEF,
    ];
    let names = more.map(|def| def.name).into_iter().chain(super::threads::TABLES).chain(diagnose::choice_tables());
    session.prepare(&names.collect::<Vec<_>>())?;
    run.threads = super::threads::threads(session)?;
    conditions::programs(&mut run, session);
    let places: FxHashMap<ThreadKey, usize> = run.threads.iter().enumerate().map(|(at, t)| (t.thread, at)).collect();
    add_thread_values(session, &mut run.threads, &places)?;
    let own_name = |thread: ThreadKey| {
        let facts = &run.threads[*places.get(&thread)?];
        (facts.is_own && !facts.is_kernel).then_some(facts.name.as_str())
    };
    let (series, periods) = series::read(session, own_name)?;
    run.series = series;
    let choice = diagnose::choose(session, options.target.as_ref(), periods.as_slice())?;
    if let (Choice::Marks(name), None) = (&choice, &options.target) {
        name_frames(&mut run, name);
    }
    objective(session, &mut run, &choice, &places)?;
    program_values(session, &mut run)?;
    idleness_and_energy(session, &mut run)?;
    if options.findings {
        findings(session, &mut run, options.target.clone())?;
    }
    Ok(run)
}

/// Marks that are frames are one series with the name that frame logs have, and with their metrics.
fn name_frames(run: &mut Run, mark: &str) {
    let name = format!("mark:{mark}");
    if let Some(series) = run.series.iter_mut().find(|series| series.name == name) {
        series.name = FRAME.to_owned();
        run.values.extend(super::frames::frame_metrics(&series.ns));
    }
}

/// Adds the objective, and the critical path to it.
fn objective(
    session: &Session,
    run: &mut Run,
    choice: &Choice,
    places: &FxHashMap<ThreadKey, usize>,
) -> Result<(), EngineError> {
    let is_own = |threads: &[ThreadFacts], thread: ThreadKey| {
        places.get(&thread).is_some_and(|at| threads[*at].is_own && !threads[*at].is_kernel)
    };
    // The time to the end is measured in any case: frames may matter more, but it is what a script would compare.
    if let Some((main, exit)) = end_of_command(session)?
        && let Some((elapsed, parts)) = path::to_end(session, main, exit, |thread| is_own(&run.threads, thread))?
    {
        run.values.insert("elapsed".to_owned(), elapsed.as_f64());
        if matches!(choice, Choice::End(_)) {
            run.objective = "elapsed".to_owned();
            run.path_parts = parts.finish(&run.threads);
            run.path_windows = 1;
        }
    }
    let name = match choice {
        Choice::Period(thread) => places.get(thread).map(|at| format!("period:{}", run.threads[*at].name)),
        Choice::Requests(name) => {
            run.series.iter().find(|s| s.name == format!("request:{}", model::pool_name(name))).map(|s| s.name.clone())
        }
        Choice::Marks(_) if run.series.iter().any(|s| s.name == FRAME) => Some(FRAME.to_owned()),
        Choice::Marks(name) => Some(format!("mark:{name}")),
        // Without an end, requests are what a server is judged by.
        Choice::Throughput => run.series.iter().find(|s| s.name.starts_with("request:")).map(|s| s.name.clone()),
        Choice::End(_) | Choice::Thread(_) => None,
    };
    let Some(of) = name.and_then(|name| run.series.iter().find(|s| s.name == name)) else { return Ok(()) };
    run.objective = format!("{}.mean", of.name);
    let windows = windows(of);
    run.path_windows = windows.len();
    run.path_parts = path::of_windows(session, &windows)?.finish(&run.threads);
    Ok(())
}

/// The windows of a series whose critical paths are followed.
fn windows(of: &Series) -> Vec<PathWindow> {
    let every = of.spans.len().div_ceil(MAX_WINDOWS).max(1);
    let spans = of.spans.iter().zip(&of.threads).step_by(every).filter(|(span, _)| span.end > span.start);
    spans.filter_map(|(span, thread)| Some(PathWindow { span: *span, thread: (*thread)? })).collect()
}

/// The main thread of the recorded command, and when it exited; `None` if it did not.
fn end_of_command(session: &Session) -> Result<Option<(ThreadKey, Ns)>, EngineError> {
    let Some(focus) = session.facts().focus.map(Tid) else { return Ok(None) };
    let (mut found, span) = (None, Ns(session.summary().span_ns));
    session.each(threads::Table, |row| {
        let exited = row.get(threads::EXITED_NS);
        if row.get(threads::TID) == focus && exited > Ns::ZERO {
            found = Some((row.get(threads::THREAD), span - exited));
        }
    })?;
    Ok(found)
}

/// Adds to the values of threads what tables other than `threads` and `ready_wait` have.
fn add_thread_values(
    session: &Session,
    facts: &mut [ThreadFacts],
    places: &FxHashMap<ThreadKey, usize>,
) -> Result<(), EngineError> {
    fn add(facts: &mut [ThreadFacts], at: Option<&usize>, id: &'static str, value: impl Amount) {
        if let (Some(at), true) = (at, value.number() != 0) {
            *facts[*at].values.entry(id).or_default() += value.number() as f64;
        }
    }
    let process: Vec<Option<i64>> = facts.iter().map(|t| t.pid).collect();
    let own: Vec<bool> = facts.iter().map(|t| t.is_own && !t.is_kernel).collect();
    if session.summary().ready_known {
        session.each(ran_instead::Table, |row| {
            let at = places.get(&row.get(ran_instead::THREAD));
            let instead = row.get(ran_instead::RAN_INSTEAD).and_then(|thread| places.get(&thread));
            let id = match (row.get(ran_instead::QUEUED_BEHIND), at, instead) {
                ("thread", Some(at), Some(other)) if process[*at].is_some() && process[*at] == process[*other] => {
                    "queued_behind_process_ns"
                }
                ("thread", _, Some(other)) if own[*other] => "queued_behind_program_ns",
                ("thread", ..) => "queued_behind_others_ns",
                _ => return,
            };
            add(facts, at, id, row.get(ran_instead::READY_NS));
        })?;
    }
    session.each(migrations::Table, |row| {
        let at = places.get(&row.get(migrations::THREAD));
        let columns = [
            ("migrations_same_core", migrations::SAME_CORE),
            ("migrations_same_l2", migrations::SAME_L2),
            ("migrations_same_l3", migrations::SAME_L3),
            ("migrations_same_type", migrations::SAME_TYPE),
            ("migrations_to_faster", migrations::TO_FASTER),
            ("migrations_to_slower", migrations::TO_SLOWER),
            ("migrations_other_package", migrations::OTHER_PACKAGE),
        ];
        columns.into_iter().for_each(|(id, column)| add(facts, at, id, row.get(column)));
    })?;
    session.each(thread_by_core_type::Table, |row| {
        let at = places.get(&row.get(thread_by_core_type::THREAD));
        let id = match row.get(thread_by_core_type::CORE_TYPE) {
            "performance" => "running_performance_ns",
            "middle" => "running_middle_ns",
            "efficient" => "running_efficient_ns",
            "low_power" => "running_low_power_ns",
            _ => return,
        };
        add(facts, at, id, row.get(thread_by_core_type::RUNNING_NS));
    })?;
    session.each(smt_threads::Table, |row| {
        let at = places.get(&row.get(smt_threads::THREAD));
        add(facts, at, "sibling_busy_ns", row.get(smt_threads::SIBLING_BUSY_NS));
        add(facts, at, "sibling_idle_ns", row.get(smt_threads::ALONE_NS));
    })?;
    session.each(thread_by_frequency::Table, |row| {
        let at = places.get(&row.get(thread_by_frequency::THREAD));
        if let Some(khz) = row.get(thread_by_frequency::KHZ) {
            let ns = row.get(thread_by_frequency::RUNNING_NS);
            add(facts, at, "frequency_known_ns", ns);
            if let (Some(at), true) = (at, ns > Ns::ZERO) {
                *facts[*at].values.entry("frequency_khz_ns").or_default() += khz as f64 * ns.as_f64();
            }
        }
    })
}

/// Adds the values of the whole program and of the machine.
fn program_values(session: &Session, run: &mut Run) -> Result<(), EngineError> {
    let (mut busy, mut idle) = (Ns::ZERO, Ns::ZERO);
    session.each(cpus::Table, |row| {
        busy += row.get(cpus::BUSY_NS);
        idle += row.get(cpus::IDLE_NS);
    })?;
    let other: f64 =
        run.threads.iter().filter(|t| !t.is_own && !t.is_kernel).filter_map(|t| t.values.get("running_ns")).sum();
    if busy + idle > Ns::ZERO {
        let all = (busy + idle).as_f64();
        run.values.insert("cpu_busy_share".to_owned(), busy.as_f64() / all);
        run.values.insert("other_programs_share".to_owned(), other / all);
    }
    let steal =
        run.conditions.get("steal_ns").and_then(|[start, end]| Some(total(end.as_ref()?)? - total(start.as_ref()?)?));
    if let (Some(steal), true) = (steal, session.summary().span_ns > 0) {
        let all = session.summary().span_ns as f64 * session.summary().cpus.max(1) as f64;
        run.values.insert("steal_share".to_owned(), (steal / all).max(0.0));
    }
    Ok(())
}

/// Adds the energy of packages and their cores, and how the CPUs were idle.
fn idleness_and_energy(session: &Session, run: &mut Run) -> Result<(), EngineError> {
    let mut joules: BTreeMap<&str, Option<f64>> = BTreeMap::new();
    session.each(energy::Table, |row| {
        let id = match row.get(energy::PART.or_empty()) {
            "package" => "energy.package",
            "core" => "energy.core",
            _ => return,
        };
        if row.get(energy::SAME_AS).is_none() {
            // Without the energy of one package, that of all is unknown.
            let sum = joules.entry(id).or_insert(Some(0.0));
            *sum = sum.zip(row.get(energy::JOULES)).map(|(sum, joules)| sum + joules);
        }
    })?;
    for (id, joules) in joules {
        if let Some(joules) = joules {
            run.values.insert(id.to_owned(), joules);
        }
    }
    session.each(idle_residency::Table, |row| {
        let name = match (row.get(idle_residency::STATE), row.get(idle_residency::STATE_NAME)) {
            (None, _) => String::new(),
            (Some(number), None) => format!("state {number}"),
            (Some(_), Some(name)) => name.to_owned(),
        };
        *run.idle_states.entry(name).or_default() += row.get(idle_residency::RESIDENCY_NS).as_f64();
    })?;
    let idle: f64 = run.idle_states.values().sum();
    if idle > 0.0 {
        run.values.insert("idle_ns".to_owned(), idle);
    }
    let mut wakeups = 0_i64;
    session.each(idle_wakeups::Table, |row| {
        if row.get(idle_wakeups::CAUSE) != "cut" {
            wakeups = wakeups.saturating_add(row.get(idle_wakeups::PERIODS));
        }
    })?;
    if wakeups > 0 {
        run.values.insert("idle_wakeups".to_owned(), wakeups as f64);
        run.values.insert("idle_per_wakeup_ns".to_owned(), idle / wakeups as f64);
    }
    Ok(())
}

/// The sum of `cpu0=1 cpu1=2`.
fn total(of: &str) -> Option<f64> {
    of.split_whitespace().map(|word| word.split_once('=')?.1.parse::<f64>().ok()).sum()
}

/// Adds the saving of each rule's findings above low.
fn findings(session: &Session, run: &mut Run, target: Option<Target>) -> Result<(), EngineError> {
    let diagnosis = diagnose::diagnose(session, &diagnose::Options { target, ..diagnose::Options::default() })?;
    for finding in &diagnosis.findings {
        *run.values.entry(format!("finding:{}", finding.rule)).or_default() += finding.recoverable_ns.as_f64();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Ns;

    #[test]
    fn steal_of_all_cpus_is_summed() {
        assert_eq!(total("cpu0=2560000000 cpu1=2700000000"), Some(5.26e9));
        assert_eq!(total("cpu0=x"), None);
    }

    #[test]
    fn windows_are_spread_over_a_long_run() {
        let spans: Vec<_> = (0..50_000).map(|at| model::Span::new(Ns(at * 10), Ns(at * 10 + 5))).collect();
        let series = Series { threads: vec![Some(ThreadKey(1)); spans.len()], spans, ..Series::default() };
        let windows = windows(&series);
        assert!(windows.len() <= MAX_WINDOWS && windows.last().unwrap().span.start > Ns(499_000));
    }
}
