//! The answer in a few lines: the worst finding, which programs used the CPUs and waited for them, slow frames, and how far the
//! recording can be trusted.

use crate::frames::{is_of, noun};
use crate::gather::Group;
use crate::profile::Profile;
use crate::sampled::of_event;
use crate::sections::{ChosenSections, Findings};
use crate::words::{TIE, grouped, ms, percent, plain, plural, short, time};
use crate::{Options, quality};
use diagnose::{Finding, Program, Severity, Subject};
use engine::{EngineError, FrameCounts, Session};
use model::tables::{self, frame_sums, threads};
use model::{Ns, ThreadKey};
use page::Page;
use std::collections::{BTreeMap, HashMap};

/// The number of programs that are named.
const NAMED: usize = 3;
/// The maximum number of processes that are summed; a recording with more names none of them.
const MAX_PROCESSES: usize = 10_000;

/// Writes the verdict of a trace.
pub fn write(
    page: &mut Page,
    session: &Session,
    options: &Options,
    groups: &[Group],
    chosen: &ChosenSections,
    findings: &Findings<'_>,
) -> Result<(), EngineError> {
    page.heading("Verdict");
    for statement in findings.diagnosis().iter().flat_map(|diagnosis| &diagnosis.account) {
        let finding = statement.finding.map_or_else(String::new, |at| format!("; see finding {at}"));
        page.item(&format!("{}{finding}.", plain(&statement.text)));
    }
    if let Some(words) = worst(session, findings) {
        page.item(&words);
    } else if chosen.left_out {
        let path = plain(&session.path().display().to_string());
        page.item(&format!(
            "Findings: not searched, as that takes long for {}: `corewise diagnose {path}`.",
            plural(session.summary().events, "event")
        ));
    }
    if chosen.is_of_samples {
        samples(page, session, options)?;
    } else {
        page.item(&cpu_time(session, options, groups, chosen.left_out)?);
    }
    if let Some(counts) = session.frame_counts(None)? {
        page.item(&frames(session, counts));
    }
    page.item(&quality::trust(session, chosen.is_of_samples));
    Ok(())
}

/// Writes the verdict of a frame log.
pub fn write_of_frames(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    use frame_sums::{APPLICATION, CPU_BOUND, FPS, FRAMES, GPU_BOUND, P99_NS, UNKNOWN_BOUND};
    page.heading("Verdict");
    let mut sums = session.table(tables::FRAME_SUMS.name)?;
    if let Some(process) = &options.process {
        sums.rows.retain(|row| is_of(process, sums.def, row));
    }
    if let Some(row) = sums.rows_of(frame_sums::Table).max_by_key(|row| row.get(FRAMES)) {
        let all = row.get(FRAMES);
        let name = row.get(APPLICATION).map_or_else(|| "the program".to_owned(), |name| short(name, 24));
        let rate = row.get(FPS).map_or_else(String::new, |fps| format!(", {fps:.1} per second"));
        let p99 = row.get::<Option<Ns>>(P99_NS).map_or_else(String::new, |ns| format!(", p99 {}{TIE}ms", ms(ns)));
        let bound = match row.get(UNKNOWN_BOUND) {
            unknown if unknown >= all => "what limited them is unknown".to_owned(),
            unknown => {
                let rest = if unknown > 0 { format!(", unknown {}", percent(unknown, all)) } else { String::new() };
                let [gpu, cpu] = row.all([GPU_BOUND, CPU_BOUND]).map(|frames| percent(frames, all));
                format!("GPU-bound {gpu}, CPU-bound {cpu}{rest}")
            }
        };
        page.item(&format!("{name}: {}{rate}{p99}; {bound}.", plural(all.unsigned_abs(), noun(session))));
    }
    if session.facts().sampled_frames {
        page.item("The log has one frame of each interval: how many frames there were, and how long the longest took, is unknown.");
    }
    if options.process.is_none()
        && let Some(counts) = session.frame_counts(None)?
    {
        page.item(&frames(session, counts));
    }
    Ok(())
}

/// Says what the worst finding is and how many there are.
fn worst(session: &Session, findings: &Findings<'_>) -> Option<String> {
    let diagnosis = findings.diagnosis()?;
    if let Some(why) = diagnosis.why_nothing() {
        return Some(format!("Findings: not searched: {why}."));
    }
    let all = findings.count();
    let of_program = findings.shown().find(|(_, finding)| finding.subject <= Subject::Outside);
    let rules = match (diagnosis.checked.len(), diagnosis.not_checked.len()) {
        (checked, lacking) if checked < lacking => {
            format!("but only {checked} of {} rules had data", checked + lacking)
        }
        (checked, _) => format!("by {}", plural(checked as u64, "rule")),
    };
    Some(match of_program {
        None if all == 0 => format!("Findings: none, {rules}."),
        None => format!("Findings about the program: none, {rules}."),
        Some((at, finding)) if finding.severity == Severity::Low => {
            format!("Findings: {all}, none above low severity; the first about the program is {at}. {}.", finding.rule)
        }
        Some((at, finding)) => {
            let more = if all > 1 { format!("; {} in all", plural(all as u64, "finding")) } else { String::new() };
            let severity = finding.severity.as_str();
            format!("Worst finding: {}: {at}. {} ({severity}){more}.", loss(session, finding), finding.rule)
        }
    })
}

/// Which thread loses how much by the finding.
fn loss(session: &Session, of: &Finding) -> String {
    let thread =
        of.threads.first().map_or_else(|| "the program".to_owned(), |t| format!("{}{TIE}{}", plain(&t.name), t.tid));
    if of.range_ns[1] == Ns::ZERO {
        return format!("{thread} is delayed by {}{TIE}ms, without loss for the objective", ms(of.delay_ns));
    }
    let share = percent(of.recoverable_ns, Ns(session.summary().span_ns));
    format!("{thread} loses {}{TIE}ms ({share} of the time)", ms(of.recoverable_ns))
}

/// What a program did.
#[derive(Clone, Default)]
struct Sums {
    name: String,
    /// Whether the recording was made for it, or it was started by that program or works with it.
    is_own: bool,
    running: Ns,
    /// Without throttled time.
    ready: Ns,
    throttled: Ns,
}

/// Says how busy the CPUs were, with which programs, which of these waited for a CPU, and which were throttled: the recorded program first.
/// `is_quick`: without a pass of its own over the trace.
fn cpu_time(session: &Session, options: &Options, groups: &[Group], is_quick: bool) -> Result<String, EngineError> {
    let s = session.summary();
    if s.cpu_time_ns() == 0 && s.switches > 0 {
        return Ok("CPUs: all events have the same time.".to_owned());
    }
    let throttled = crate::select::throttled(session)?;
    let programs = match options.process.as_deref().zip(groups.first()) {
        Some((process, group)) => {
            let throttled = group.keys.iter().filter_map(|key| throttled.get(key)).sum();
            let (running, ready) = (group.all.running, group.all.ready - throttled);
            vec![Sums { name: plain(process), is_own: true, running, ready, throttled }]
        }
        None => programs(session, &throttled, is_quick)?,
    };
    let listed = |of: fn(&Sums) -> Ns, format: &dyn Fn(Ns) -> String| {
        let mut all: Vec<&Sums> = programs.iter().filter(|p| of(p) > Ns::ZERO).collect();
        all.sort_by_key(|p| (!p.is_own, std::cmp::Reverse(of(p)), &p.name));
        let named = |of_program: &&Sums| format!("{} {}", short(&of_program.name, 20), format(of(of_program)));
        let (own, others): (Vec<&Sums>, Vec<&Sums>) = all.into_iter().partition(|p| p.is_own);
        let [own, others] = [own, others].map(|of| of.iter().take(NAMED).map(named).collect::<Vec<_>>().join(", "));
        match (own.is_empty(), others.is_empty()) {
            (false, false) => format!("{own} (others: {others})"),
            (true, _) => others,
            (_, true) => own,
        }
    };
    if s.switches == 0 {
        let ran = listed(|p| p.running, &time);
        return Ok(match ran.as_str() {
            "" => "CPUs: no context switch was recorded, so it is unknown which threads ran.".to_owned(),
            _ => format!("CPUs: context switches were recorded without their CPU. Running: {ran}."),
        });
    }
    let busy = format!("CPUs: {} busy", percent(s.busy_ns, s.cpu_time_ns()));
    let ran = listed(|p| p.running, &|ns| percent(ns, Ns(s.cpu_time_ns())));
    let waited = listed(|p| p.ready, &time);
    let ran = if ran.is_empty() { String::new() } else { format!(": {ran}") };
    let least = if s.ready_known { "" } else { ", at least" };
    let waited = if waited.is_empty() { String::new() } else { format!(". Ready without a CPU{least}: {waited}") };
    let kept = listed(|p| p.throttled, &time);
    let kept = if kept.is_empty() { String::new() } else { format!(". Throttled by a CPU quota: {kept}") };
    Ok(format!("{busy}{ran}{waited}{kept}."))
}

/// The sums of each program: of the processes of one name.
fn programs(session: &Session, throttled: &HashMap<ThreadKey, Ns>, is_quick: bool) -> Result<Vec<Sums>, EngineError> {
    let mut processes: HashMap<i64, Sums> = HashMap::new();
    let focus = session.facts().focus.map(i64::from);
    let reads = !is_quick || session.is_quick(&tables::WAKERS);
    let recorded = focus.filter(|_| reads).map(|_| Program::of(session)).transpose()?;
    session.each(threads::Table, |row| {
        use threads::{NAME, PID, READY_NS, RUNNING_NS, THREAD, TID};
        let (tid, name) = (i64::from(row.get(TID).0), row.get(NAME));
        let pid = row.get(PID).unwrap_or(tid);
        if processes.len() >= MAX_PROCESSES && !processes.contains_key(&pid) {
            return;
        }
        let sums = processes.entry(pid).or_default();
        // A process has the name of its first thread; that of another thread says something else.
        if tid == pid {
            name.unwrap_or_default().clone_into(&mut sums.name);
        }
        sums.is_own |= recorded.as_ref().map_or(focus == Some(pid), |of| of.is_own(row.get(THREAD)));
        sums.running += row.get(RUNNING_NS);
        let throttled = throttled.get(&row.get(THREAD)).copied().unwrap_or(Ns::ZERO);
        sums.ready += row.get(READY_NS) - throttled;
        sums.throttled += throttled;
    })?;
    if processes.len() >= MAX_PROCESSES {
        return Ok(Vec::new());
    }
    let mut programs: HashMap<String, Sums> = HashMap::new();
    for (pid, mut process) in processes {
        if process.name.is_empty() {
            process.name = format!("process {pid}");
        }
        let sums =
            programs.entry(process.name.clone()).or_insert_with(|| Sums { name: process.name, ..Sums::default() });
        sums.is_own |= process.is_own;
        sums.running += process.running;
        sums.ready += process.ready;
        sums.throttled += process.throttled;
    }
    Ok(programs.into_values().collect())
}

/// Says how many samples there are, and of which threads and functions most of them are.
fn samples(page: &mut Page, session: &Session, options: &Options) -> Result<(), EngineError> {
    let profile = Profile::read(session, None, options.process.as_deref(), String::new())?;
    if session.full_summary().events == 0 {
        page.item("Samples: none.");
        return Ok(());
    }
    if profile.is_empty() {
        page.item("Samples: none of threads; the idle task is left out.");
        return Ok(());
    }
    let mut threads = BTreeMap::<&str, i64>::new();
    for (stack, count) in &profile.stacks {
        *threads.entry(&stack.thread).or_default() += count;
    }
    let mut functions = BTreeMap::<String, i64>::new();
    for ((name, file), of) in &profile.functions {
        let name = if name.is_empty() { format!("code without a symbol in {}", last_part(file)) } else { name.clone() };
        *functions.entry(name).or_default() += of.own;
    }
    let all = profile.samples;
    let largest = |counts: Vec<(&str, i64)>| {
        let mut counts: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        let named =
            counts.iter().take(NAMED).map(|(name, count)| format!("{} {}", short(name, 40), percent(*count, all)));
        named.collect::<Vec<_>>().join(", ")
    };
    let sampled = session.facts().sampled.as_ref();
    let of_cores = sampled.and_then(|sampled| profile.by_core(sampled)).map(|words| format!(" of {words}"));
    let event = of_cores.unwrap_or_else(|| of_event(sampled));
    let threads = largest(threads.into_iter().collect());
    page.item(&format!("{}{event}: {threads}.", plural(all.unsigned_abs(), "sample")));
    page.item(&format!("Functions: {}.", largest(functions.iter().map(|(name, n)| (name.as_str(), *n)).collect())));
    Ok(())
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    match path.rsplit('/').next() {
        Some(last) if !last.is_empty() => last,
        _ => "an unknown file",
    }
}

/// Says how many frames were slow.
fn frames(session: &Session, of: FrameCounts) -> String {
    let name = session.frames_of().map_or_else(String::new, |name| format!(" ({})", plain(name)));
    let logged = if session.facts().sampled_frames { " of the logged frames" } else { "" };
    format!("Frame times{logged}{name}: {}.", over_budget(of))
}

/// Says how many frames took longer than the requested budget; without one, how long frames took.
#[must_use]
pub fn over_budget(of: FrameCounts) -> String {
    let (frames, longest) = (grouped(of.frames.cast_signed()), ms(of.longest));
    if of.is_budget_set {
        let over = grouped(of.over.cast_signed());
        return format!(
            "{over} of {frames} over the budget of {}{TIE}ms; the longest took {longest}{TIE}ms",
            ms(of.budget)
        );
    }
    format!(
        "{frames} frames, median {}{TIE}ms, longest {longest}{TIE}ms (--budget TIME counts the slow ones)",
        ms(of.median)
    )
}
