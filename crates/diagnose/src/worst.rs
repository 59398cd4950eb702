//! The worst intervals of findings: the longest stretches of their threads that fit, found by a fold over all stretches.

use crate::context::{RuleContext, add};
use crate::finding::{Finding, Interval};
use crate::rule::{Fits, Rule, RuleOutcome};
use crate::rules::RULES;
use engine::EngineError;
use model::tables::{self, cpu_state, thread_state};
use model::{Ns, Row, Span, ThreadKey, Tid};
use std::collections::{BTreeMap, BTreeSet};

/// The number of intervals per finding.
const KEPT: usize = 3;

/// Reads the states of threads and CPUs.
pub(crate) const READS: Rule = Rule {
    id: "worst-intervals",
    about: "",
    page: crate::rule::Page { description: "", rationale: "", certainty: "", fix: "", example: "" },
    tables: &[&tables::THREAD_STATE, &tables::CPU_STATE],
    thresholds: &[],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check: |_| Ok(RuleOutcome::Findings(Vec::new())),
};

/// The longest stretches of a finding so far, the shortest first.
#[derive(Default)]
struct Longest(Vec<(Ns, Stretch)>);

#[derive(Clone)]
struct Stretch {
    span: Span,
    thread: ThreadKey,
    tid: Tid,
    state: &'static str,
    cpu: Option<i64>,
    /// Who ended it, if it was blocked.
    waker: Option<ThreadKey>,
}

impl Longest {
    fn push(&mut self, stretch: &Stretch) {
        let length = stretch.span.len();
        if self.0.len() < KEPT || self.0.first().is_some_and(|(least, _)| length > *least) {
            let at = self.0.partition_point(|(other, _)| *other < length);
            self.0.insert(at, (length, stretch.clone()));
            if self.0.len() > KEPT {
                self.0.remove(0);
            }
        }
    }
}

/// Adds the worst intervals to all findings. They are within the analysed range.
pub(crate) fn add_worst(ctx: &RuleContext<'_>, findings: &mut [Finding]) -> Result<(), EngineError> {
    let mut wanted = BTreeMap::<ThreadKey, Vec<(usize, Fits)>>::new();
    for (at, finding) in findings.iter().enumerate() {
        let rule = RULES.iter().find(|rule| rule.id == finding.rule);
        let fits = rule.map_or(Fits::Nothing, |rule| rule.worst);
        let threads: BTreeSet<ThreadKey> = finding.threads.iter().map(|claim| claim.thread).collect();
        for thread in threads.into_iter().filter(|_| fits != Fits::Nothing) {
            wanted.entry(thread).or_default().push((at, fits));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let mut longest: Vec<Longest> = findings.iter().map(|_| Longest::default()).collect();
    let mut waits = BTreeMap::<ThreadKey, (Stretch, bool)>::new();
    ctx.each_row(thread_state::Table, |row| {
        let thread = row.get(thread_state::THREAD);
        let Some(of) = wanted.get(&thread) else { return };
        let wait = waits.remove(&thread);
        let Some(stretch) = stretch(ctx, row) else { return };
        let reason = row.get(thread_state::REASON.or_empty());
        let mut push = |stretch: &Stretch, is: &dyn Fn(Fits) -> bool| {
            of.iter().filter(|(_, fits)| is(*fits)).for_each(|(at, _)| longest[*at].push(stretch));
        };
        match stretch.state {
            "running" => {
                let slower =
                    ["efficient", "low_power", "middle"].contains(&row.get(thread_state::CORE_TYPE.or_empty()));
                push(&stretch, &|fits| fits == Fits::Running || (slower && fits == Fits::RunningSlower));
            }
            "ready" if reason == "throttled" => {
                let throttled = Stretch { state: "throttled", ..stretch };
                push(&throttled, &|fits| [Fits::Throttled, Fits::Ready].contains(&fits));
            }
            "ready" => {
                push(&stretch, &|fits| fits == Fits::Ready);
                let waker = row.get(thread_state::WAKER);
                if let (Some((wait, is_device)), Some(waker)) = (wait, waker) {
                    let by_kernel = waker == ThreadKey::IDLE || ctx.is_kernel_thread(waker);
                    let wait = Stretch { waker: Some(waker), ..wait };
                    push(&wait, &|fits| match fits {
                        Fits::WaitedForThread => !by_kernel,
                        Fits::WaitedForDevice => by_kernel || is_device,
                        _ => false,
                    });
                }
            }
            "blocked" => {
                waits.insert(thread, (stretch, reason == "D"));
            }
            _ => {}
        }
    })?;
    let instead = ran_instead(ctx, &longest)?;
    for (at, (finding, longest)) in findings.iter_mut().zip(longest).enumerate() {
        let interval = |(n, (_, stretch)): (usize, (Ns, Stretch))| {
            let cause = cause(ctx, &stretch, instead.get(&(at, n)));
            Interval {
                start_ns: stretch.span.start,
                end_ns: stretch.span.end,
                thread: stretch.thread,
                tid: stretch.tid,
                name: ctx.name(stretch.thread),
                state: stretch.state,
                cause,
            }
        };
        finding.worst = longest.0.into_iter().enumerate().map(interval).rev().collect();
    }
    Ok(())
}

/// The part of a stretch within the analysed range.
fn stretch(ctx: &RuleContext<'_>, row: &Row<'_, thread_state::Table>) -> Option<Stretch> {
    let (thread, tid, start, end) =
        row.all((thread_state::THREAD, thread_state::TID, thread_state::START_NS, thread_state::END_NS));
    let state = ["running", "ready", "blocked"].into_iter().find(|state| *state == row.get(thread_state::STATE))?;
    let span = Span { start, end }.overlap(ctx.span())?;
    Some(Stretch { span, thread, tid, state, cpu: row.get(thread_state::CPU), waker: None })
}

/// Which thread ran longest on the CPU while each ready stretch waited, by finding and number of the stretch.
fn ran_instead(ctx: &RuleContext<'_>, longest: &[Longest]) -> Result<BTreeMap<(usize, usize), ThreadKey>, EngineError> {
    let mut waiting = Vec::new();
    for (at, longest) in longest.iter().enumerate() {
        for (n, (_, stretch)) in longest.0.iter().enumerate().filter(|(_, (_, stretch))| stretch.state == "ready") {
            waiting.extend(stretch.cpu.map(|cpu| ((at, n), cpu, stretch.span, BTreeMap::new())));
        }
    }
    if waiting.is_empty() {
        return Ok(BTreeMap::new());
    }
    ctx.each_row(cpu_state::Table, |row| {
        let Some(thread) = row.get(cpu_state::THREAD).filter(|thread| *thread > ThreadKey::IDLE) else { return };
        let (cpu, start, end) = row.all((cpu_state::CPU, cpu_state::START_NS, cpu_state::END_NS));
        let ran = Span { start, end };
        for (.., span, by_thread) in waiting.iter_mut().filter(|(_, of, ..)| *of == cpu) {
            if let Some(both) = ran.overlap(*span) {
                add(by_thread, thread, both.len());
            }
        }
    })?;
    let longest_of = |by: BTreeMap<ThreadKey, Ns>| by.into_iter().max_by_key(|(_, ns)| *ns).map(|(thread, _)| thread);
    Ok(waiting.into_iter().filter_map(|(at, .., by)| Some((at, longest_of(by)?))).collect())
}

/// Why the thread was in this state.
fn cause(ctx: &RuleContext<'_>, stretch: &Stretch, instead: Option<&ThreadKey>) -> String {
    match (stretch.state, stretch.waker, instead, stretch.cpu) {
        ("ready", _, Some(other), Some(cpu)) => format!("{} ran on CPU {cpu}", ctx.name(*other)),
        ("ready", _, None, Some(cpu)) => format!("no thread ran on CPU {cpu}"),
        ("throttled", ..) => "its CPU quota was used up".to_owned(),
        ("running", .., Some(cpu)) => format!("on CPU {cpu}"),
        ("blocked", Some(ThreadKey::IDLE), ..) => "until an interrupt woke it".to_owned(),
        ("blocked", Some(waker), ..) => format!("until {} woke it", ctx.name(waker)),
        _ => "cause not recorded".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Longest, Stretch};
    use model::{Ns, Span, ThreadKey, Tid};

    #[test]
    fn the_longest_stretches_are_kept_and_the_first_of_equal_ones() {
        let mut longest = Longest::default();
        for (start, length) in [(0, 5), (10, 1), (20, 9), (30, 5), (40, 7), (50, 5)] {
            let span = Span::new(Ns(start), Ns(start + length));
            longest.push(&Stretch { span, thread: ThreadKey(1), tid: Tid(1), state: "ready", cpu: None, waker: None });
        }
        let kept: Vec<_> = longest.0.iter().map(|(length, of)| (length.0, of.span.start.0)).collect();
        assert_eq!(kept, [(5, 0), (7, 40), (9, 20)]);
    }
}
