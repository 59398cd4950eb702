//! The first lines of a diagnosis: where the time of the objective went, whether or not a rule knows why.
//!
//! The account is the critical path as a tree: the threads at its end, those for which these waited, and so on
//! ([`engine::critical::Account`]). [`pick`] finds its largest parts, [`words`] says each in one sentence, with what a fix saves at most.

mod pick;
mod words;

use crate::context::RuleContext;
use crate::finding::{Confidence, Finding, Subject};
use crate::objective::{Compared, ObjectiveKind, ObjectivePath};
use crate::program::Program;
use engine::EngineError;
use engine::critical::{Account, Times};
use model::tables::periods;
use model::{Ns, Span, ThreadKey, pool_name};
use pick::{Found, Kind};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of periods of a thread whose lengths are kept.
const MAX_PERIODS: usize = 1 << 14;
/// The maximum number of statements.
const MAX_STATEMENTS: usize = 3;
/// The maximum number of windows that a statement names.
const MAX_WINDOWS: usize = 3;

/// What a statement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// A thread runs.
    Running,
    /// A thread is ready and does not run.
    Ready,
    /// A thread is kept from running by a CPU quota.
    Throttled,
    /// A thread sleeps, or waits for a device.
    Blocked,
    /// Threads wait for another thread.
    Waiting,
    /// A thread waits for several threads, one after another.
    InTurn,
    /// The objective has no fault.
    Healthy,
    /// The state of the threads is not known.
    Unknown,
}

/// A statement about the time of the objective.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Statement {
    /// What it is about.
    pub about: About,
    /// One sentence, without a full stop.
    pub text: String,
    /// Its time on the critical path, ns: of the whole path, or the mean of the windows that are explained, above that of typical windows.
    pub time_ns: Ns,
    /// The same as a share of the path, or of what is explained, 0 to 1.
    pub share: f64,
    /// What a fix saves at most, ns: of the whole path, or of all windows that are explained.
    pub saves_at_most_ns: Ns,
    /// How certain it is.
    pub confidence: Confidence,
    /// The threads that it names, by key: the one whose time it is, then those for which it waits.
    pub threads: Vec<ThreadKey>,
    /// The periods, frames or requests that have most of it, the longest part first: at most three. Of the whole path, none.
    pub windows: Vec<Span>,
    /// The first finding about threads of these names, by its number from 1; `None`: no rule names why.
    pub finding: Option<usize>,
}

/// Sets which finding is about the threads of each statement.
pub(crate) fn link(ctx: &RuleContext<'_>, statements: &mut [Statement], findings: &[Finding]) {
    for statement in statements.iter_mut().filter(|statement| statement.about != About::Healthy) {
        let names: BTreeSet<String> =
            statement.threads.iter().map(|thread| pool_name(&ctx.name(*thread)).to_owned()).collect();
        let is_named = |thread: &ThreadKey| names.contains(pool_name(&ctx.name(*thread)));
        let is_about = |finding: &Finding| {
            let mut threads = finding.threads.iter().map(|claim| &claim.thread).chain(&finding.waited_for);
            finding.subject == Subject::Program && threads.any(is_named)
        };
        statement.finding = findings.iter().position(is_about).map(|at| at + 1);
    }
}

/// The account of the objective, and what is needed to put it into words.
pub(super) struct Explained<'a, 'c> {
    ctx: &'a RuleContext<'c>,
    program: &'a Program,
    path: &'a ObjectivePath,
    account: &'a Account,
    /// The times of each node with all below it.
    sums: Vec<Times>,
    cpus: i64,
    /// The lengths of the periods of each thread, in order.
    periods: &'a BTreeMap<ThreadKey, Vec<Ns>>,
    /// The time in which all CPUs together can do the work of the program.
    work: Ns,
    /// Whether another objective is stated, too.
    is_second: bool,
}

/// Returns the statements about an objective, and about others that are as plausible: the end of the command, slow requests. The second value
/// is whether those about the end come first.
///
/// # Errors
/// The trace cannot be read.
pub(crate) fn statements(
    ctx: &RuleContext<'_>,
    program: &Program,
    path: &ObjectivePath,
) -> Result<(Vec<Statement>, bool), EngineError> {
    let cpus = ctx.cpus()?.max(1);
    let running = ctx.running_ns(|thread| program.is_own(thread) && !ctx.is_kernel_thread(thread))?;
    let periods = periods(ctx)?;
    let work = running / cpus;
    let explained = Explained::new((ctx, program), path, &periods, cpus, work);
    let (mut all, mut is_end_first) = (explained.statements(), false);
    if let Some(end) = path.end_too(ctx, program)? {
        let of_end = explained.with(&end, false);
        let until_end = of_end.statements();
        // A periodic thread that is never late is what the command is about if the end waits for its timer.
        if of_end.timed().is_some() {
            all.extend(until_end);
        } else {
            all.splice(0..0, until_end.into_iter().take(MAX_STATEMENTS - 1));
            is_end_first = true;
        }
    }
    if let Some(thread) = explained.timed()
        && let Some(period) = path.period_too(ctx, program, thread)?
    {
        let late = explained.with(&period, true).statements();
        all.splice(0..0, late.into_iter().filter(|first| first.about != About::Healthy));
    }
    if let Some(slow) = path.requests_too(ctx, program)? {
        all.truncate(MAX_STATEMENTS - 1);
        all.extend(explained.with(&slow, true).statements());
    }
    all.truncate(MAX_STATEMENTS);
    Ok((all, is_end_first))
}

/// Waits of a thread of the path for several others, one after another.
pub(crate) struct Turns {
    pub(crate) thread: ThreadKey,
    /// Those for which it waits, in order.
    pub(crate) awaited: Vec<ThreadKey>,
    /// The word for one of the windows in which it does so, and their number; `None`: the whole path.
    pub(crate) window: Option<&'static str>,
    pub(crate) count: i64,
    /// The time of these waits in all windows.
    pub(crate) waited: Ns,
    /// The same without the longest wait of each window, or of the whole path.
    pub(crate) saved: Ns,
}

/// Returns the waits for several threads in turn, the longest first.
///
/// # Errors
/// The trace cannot be read.
pub(crate) fn turns(ctx: &RuleContext<'_>) -> Result<Vec<Turns>, EngineError> {
    let Some(path) = ctx.objective_path() else { return Ok(Vec::new()) };
    let (program, periods) = (Program::new(ctx)?, BTreeMap::new());
    let of = Explained::new((ctx, &program), path, &periods, 1, Ns::ZERO);
    Ok(pick::found(&of).iter().filter_map(|found| of.turns(found)).collect())
}

/// The lengths of the periods of each thread, in order.
fn periods(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, Vec<Ns>>, EngineError> {
    let mut all = BTreeMap::<ThreadKey, Vec<Ns>>::new();
    if ctx.summary().ready_known {
        ctx.each_row(periods::Table, |row| {
            let lengths = all.entry(row.get(periods::THREAD)).or_default();
            if lengths.len() < MAX_PERIODS {
                lengths.push(row.get(periods::PERIOD_NS));
            }
        })?;
    }
    all.values_mut().for_each(|lengths| lengths.sort_unstable());
    Ok(all)
}

impl<'a, 'c> Explained<'a, 'c> {
    fn new(
        (ctx, program): (&'a RuleContext<'c>, &'a Program),
        path: &'a ObjectivePath,
        periods: &'a BTreeMap<ThreadKey, Vec<Ns>>,
        cpus: i64,
        work: Ns,
    ) -> Self {
        let account = &path.paths.account;
        Self { ctx, program, path, account, sums: account.sums(), cpus, periods, work, is_second: false }
    }

    /// The same of another objective; `is_second`: which is named.
    fn with<'b>(&'b self, path: &'b ObjectivePath, is_second: bool) -> Explained<'b, 'c> {
        let of = Explained::new((self.ctx, self.program), path, self.periods, self.cpus, self.work);
        Explained { is_second, ..of }
    }

    /// The thread whose sleeps by a timer are the largest part of the path to the end, if one's are.
    fn timed(&self) -> Option<ThreadKey> {
        let found = pick::found(self);
        let first = found.first().filter(|first| self.is_to_end() && self.is_timer(first))?;
        let node = if let Kind::Waits(below) = first.what { below } else { first.node };
        Some(self.account.nodes[node].thread())
    }

    fn statements(&self) -> Vec<Statement> {
        if !self.ctx.summary().ready_known {
            let text = "The source has no wakeups, so the critical path is unknown: record the event sched_waking, too";
            return vec![Self::of_unknown(text.to_owned())];
        }
        if self.path.compared == Compared::FewLate {
            return vec![self.few_late()];
        }
        let mut found = pick::found(self);
        // The command waits for the recorder before it begins.
        found.retain(|found| !self.program.is_of_recorder(self.account.nodes[found.node].thread()));
        if let Some(unknown) = found.first().filter(|found| pick::is_unknown(found)) {
            return vec![self.unknown(unknown)];
        }
        if self.is_full(&found) {
            return vec![self.full()];
        }
        found.iter().take(MAX_STATEMENTS).map(|found| self.statement(found)).collect()
    }
}

impl Explained<'_, '_> {
    /// The time of a part: of the whole path, or the mean of the windows that are explained above that of typical ones.
    fn time(&self, of: &Times) -> Ns {
        let mean = |at: usize| of.path[at] / self.account.counts[at].max(1);
        mean(0) - mean(1)
    }

    /// The sum of all parts.
    fn whole(&self) -> Ns {
        self.account.below(None).map(|node| self.time(&self.sums[node])).sum()
    }

    /// Whether the objective is the end of the analysed range.
    fn is_to_end(&self) -> bool {
        matches!(self.path.objective.kind, ObjectiveKind::End | ObjectiveKind::Thread | ObjectiveKind::Throughput)
    }

    /// The windows with most of a part, the one with the longest part first.
    fn windows(&self, found: &Found) -> Vec<Span> {
        if self.is_to_end() {
            return Vec::new();
        }
        let mut all: Vec<(Ns, Span)> = Vec::new();
        let each = self.in_each(found);
        for (at, (window, _)) in self.path.windows.iter().flat_map(|windows| &windows.all).enumerate() {
            let part: Ns = each.iter().filter_map(|of| of.get(at)).copied().sum();
            all.push((part, window.span));
        }
        all.retain(|(part, _)| *part > Ns::ZERO);
        all.sort_by_key(|(part, span)| (Reverse(*part), span.start));
        all.into_iter().map(|(_, span)| span).take(MAX_WINDOWS).collect()
    }

    /// The waits of a part that consists of waits in turn.
    fn turns(&self, found: &Found) -> Option<Turns> {
        let Kind::InTurn(all) = &found.what else { return None };
        let awaited = all.iter().map(|node| self.account.nodes[*node].thread()).collect();
        let (of_nodes, is_to_end) = (self.in_each(found), self.is_to_end());
        let each: Vec<Vec<Ns>> = if is_to_end {
            vec![all.iter().map(|node| self.sums[*node].path[0]).collect()]
        } else {
            let of_window = |at: usize| of_nodes.iter().filter_map(|of| of.get(at)).copied().collect();
            self.path.slow_windows().map(of_window).collect()
        };
        let waited = each.iter().flatten().copied().sum();
        let longest: Ns = each.iter().filter_map(|of| of.iter().copied().max()).sum();
        let window = (!is_to_end).then(|| self.window());
        let (thread, count) = (self.account.nodes[found.node].thread(), self.account.counts[0]);
        Some(Turns { thread, awaited, window, count, waited, saved: waited - longest })
    }

    /// The time of a part in each window, by node.
    fn in_each(&self, found: &Found) -> Vec<Vec<Ns>> {
        let of_windows = |node: &usize| match &found.what {
            Kind::Does(..) => self.account.windows.iter().map(|of| of.get(node).copied().unwrap_or_default()).collect(),
            Kind::Waits(_) | Kind::InTurn(_) => self.account.in_windows(*node),
        };
        found.nodes.iter().map(of_windows).collect()
    }

    /// What a division of a part over the CPUs saves at most: the part of it that can run on other CPUs, and no more than the work of the program
    /// leaves of the CPUs' time.
    fn divided(&self, found: &Found) -> Ns {
        let elsewhere = found.time - found.time / self.cpus;
        elsewhere.min(self.ctx.span().len() - self.work).max(Ns::ZERO)
    }

    /// What a fix of a part saves at most: all of its time, but in each window no more than that is late.
    fn saving(&self, found: &Found) -> Ns {
        if self.is_to_end() {
            return found.time;
        }
        let each = self.in_each(found);
        let is_above = self.path.objective.deadline_ns.is_none() && self.path.compared == Compared::Slow;
        let gain = |(at, gain): (usize, Ns)| {
            let part = each.iter().filter_map(|of| of.get(at)).copied().sum::<Ns>();
            // Without a deadline, what a slow window has above the median is explained.
            let explained = if is_above { gain - self.path.median } else { gain };
            part.min(explained).max(Ns::ZERO)
        };
        self.path.gains().enumerate().map(gain).sum::<Ns>().min(found.times.path[0])
    }
}
