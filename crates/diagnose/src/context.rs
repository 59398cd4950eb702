//! What a rule can read while it checks a trace.

use crate::costs::MeasuredCosts;
use crate::finding::{Action, Claim, Confidence, Evidence, Finding, Severity, Subject};
use crate::objective::{self, ObjectivePath};
use crate::program::Program;
use crate::rule::{Rule, Threshold};
use crate::settings::{HIGH_SHARE, MEDIUM_SHARE, Settings};
use engine::critical::Outside;
use engine::{AccountedPaths, EngineError, Facts, Offer, PathWindows, Session, Summary, ThreadNames};
use model::tables::{cpus, ready_wait, switch_causes, threads};
use model::words::{grouped, short};
use model::{Amount, AnyColumn, Fix, Ns, Row, Span, Table, TableType, ThreadKey, Threads, Tid, tables};
use std::collections::BTreeMap;

/// The maximum number of threads and rows that a finding names. Its sums cover all of them.
const NAMED: usize = 16;

/// A trace, the analysed range, and the rule that is being checked.
pub(crate) struct RuleContext<'a> {
    session: &'a Session,
    names: &'a ThreadNames,
    settings: &'a Settings,
    rule: &'static Rule,
    /// The requested range; `None`: the whole recording.
    part: Option<Span>,
    /// The tables of that range.
    part_tables: &'a [Table],
    /// The measured costs of the machine.
    costs: &'a MeasuredCosts,
    /// The objective and the critical path to it; `None` while it is being chosen.
    objective: Option<&'a ObjectivePath>,
}

impl<'a> RuleContext<'a> {
    pub(crate) fn new(
        session: &'a Session,
        settings: &'a Settings,
        part: Option<Span>,
        part_tables: &'a [Table],
        costs: &'a MeasuredCosts,
        rule: &'static Rule,
    ) -> Result<Self, EngineError> {
        Ok(Self { session, names: session.names()?, settings, rule, part, part_tables, costs, objective: None })
    }

    /// Returns the same context with an objective: tables of the critical path are those of the path to it.
    pub(crate) fn with_objective(self, objective: &'a ObjectivePath) -> Self {
        Self { objective: Some(objective), ..self }
    }

    /// Whether autogroup was on, so that nice values count within a session only; `None` if that was not recorded.
    pub(crate) fn autogroup(&self) -> Option<bool> {
        let condition = self.facts().conditions.iter().find(|c| c.name == "autogroup")?;
        condition.start.as_ref().ok().map(|value| value.trim() == "1")
    }

    /// The critical path to the objective, if it is chosen.
    pub(crate) fn objective_path(&self) -> Option<&'a ObjectivePath> {
        self.objective
    }

    /// Whether the objective is the lateness of this thread.
    pub(crate) fn is_objective(&self, thread: ThreadKey) -> bool {
        self.objective.is_some_and(|of| of.is_of_thread(thread))
    }

    /// Whether the objective is the response time of this thread, not only its lateness.
    pub(crate) fn has_no_slack(&self, thread: ThreadKey) -> bool {
        self.objective.is_some_and(|of| of.is_of_thread(thread) && of.objective.deadline_ns.is_none())
    }

    /// The critical paths of some windows, or (`None`) to the end of the analysed range.
    pub(crate) fn account(
        &self,
        windows: Option<&PathWindows>,
        outside: &Outside,
    ) -> Result<AccountedPaths, EngineError> {
        self.session.account(windows, self.part, outside)
    }

    /// The threads that are not of the recorded program.
    pub(crate) fn outside(&self, program: &Program) -> Result<Outside, EngineError> {
        let mut outside = Outside::default();
        self.each_row(threads::Table, |row| {
            let thread = row.get(threads::THREAD);
            if !program.is_own(thread) || self.is_kernel_thread(thread) {
                outside.insert(thread, self.full_name(thread));
            }
        })?;
        Ok(outside)
    }

    /// Returns the same context with the thresholds of another rule.
    pub(crate) fn with_rule(&self, rule: &'static Rule) -> Self {
        Self { rule, ..*self }
    }

    /// Calls `each` for every row of a table. Tables of whole-recording sums are never restricted to the range.
    pub(crate) fn each_row<T: TableType>(
        &self,
        table: T,
        mut each: impl FnMut(&Row<'_, T>),
    ) -> Result<(), EngineError> {
        let def = T::DEF;
        let listed = objective::TABLES.iter().chain(self.rule.tables);
        let is_listed = listed.into_iter().any(|table| table.name == def.name);
        debug_assert!(is_listed, "{} does not list the table {}", self.rule.id, def.name);
        // The rules take samples for running time.
        if def.name == tables::SAMPLES.name && self.facts().sampled.as_ref().is_some_and(|sampled| !sampled.of_time) {
            return Ok(());
        }
        if let Some(objective) = self.objective {
            if def.name == tables::CRITICAL_BY_THREAD.name {
                objective.paths.by_thread.rows_of(table).for_each(|row| each(&row));
                return Ok(());
            }
            if def.name == tables::CRITICAL_PATH.name
                && let Some(windows) = objective.own_windows()
            {
                return self.session.path_rows(&windows, &mut |rows| {
                    rows.iter().for_each(|cells| each(&Row::new(cells)));
                    Ok(())
                });
            }
        }
        if let Some(made) = self.part_tables.iter().find(|t| t.def.name == def.name) {
            made.rows_of(table).for_each(|row| each(&row));
            return Ok(());
        }
        let is_whole_only =
            [tables::THREADS, tables::CPUS, tables::LOSS, tables::THREAD_BY_CPU].iter().any(|t| t.name == def.name);
        self.session.rows_within(def.name, self.part.filter(|_| !is_whole_only), &mut |rows| {
            rows.iter().for_each(|cells| each(&Row::new(cells)));
            Ok(())
        })
    }

    /// Counts how often each thread was preempted by another. A thread that left its CPU runnable for an unrecorded reason counts
    /// too, as uncertain: usually it was preempted on its way back to user mode, but it may have yielded.
    pub(crate) fn preempted(&self) -> Result<Preempted, EngineError> {
        let mut preempted = Preempted::default();
        self.each_row(switch_causes::Table, |row| {
            let cause = row.get(switch_causes::CAUSE);
            let maybe_yielded = cause == "unknown" && row.get(switch_causes::STATE_LETTER.or_empty()) == "R";
            if (maybe_yielded || cause == "preempted") && row.get(switch_causes::NEXT.or_empty()) != "idle" {
                let (thread, count) = (row.get(switch_causes::THREAD), row.get(switch_causes::COUNT));
                add(&mut preempted.counts, thread, count);
                if maybe_yielded {
                    add(&mut preempted.maybe_yielded, thread, count);
                }
            }
        })?;
        Ok(preempted)
    }

    /// The analysed range.
    pub(crate) fn span(&self) -> Span {
        span(self.session, self.part)
    }

    /// Whether texts may have no paths.
    pub(crate) fn is_redacted(&self) -> bool {
        self.session.is_redacted()
    }

    /// Whether only a part of the recording is analysed.
    pub(crate) fn is_part(&self) -> bool {
        self.part.or(self.session.range()).is_some()
    }

    /// Counts and sums of the whole recording.
    pub(crate) fn summary(&self) -> &Summary {
        self.session.summary()
    }

    /// The metadata of the source.
    pub(crate) fn facts(&self) -> &Facts {
        self.session.facts()
    }

    /// What recordings of this format can contain; `None` if it is not an imported format.
    pub(crate) fn offers(&self) -> Option<Offer> {
        engine::formats().iter().find(|format| format.id() == self.facts().format).map(|format| format.offer())
    }

    /// The value of one of this rule's thresholds: the user's, else what was measured on the machine, else the default.
    pub(crate) fn threshold(&self, threshold: &Threshold) -> f64 {
        let listed = self.rule.thresholds.contains(&threshold);
        debug_assert!(listed, "{} does not list its threshold {}", self.rule.id, threshold.name);
        let measured = || self.costs.of(threshold).map(|of| of.value);
        self.chosen(threshold).or_else(measured).unwrap_or(threshold.value)
    }

    /// The value that the user set for one of this rule's thresholds.
    pub(crate) fn chosen(&self, threshold: &Threshold) -> Option<f64> {
        self.settings.chosen(self.rule.id, threshold)
    }

    /// The measured costs of the machine.
    pub(crate) fn costs(&self) -> &MeasuredCosts {
        self.costs
    }

    /// A threshold's share of the analysed range, ns.
    pub(crate) fn share_ns(&self, threshold: &Threshold) -> Ns {
        Ns::whole(self.threshold(threshold) * self.span().len().as_f64())
    }

    /// The display name of a thread.
    pub(crate) fn name(&self, key: ThreadKey) -> String {
        self.names.get(key).map_or_else(|| "?".to_owned(), |name| short(name, 16))
    }

    /// The whole name of a thread; empty if unknown.
    pub(crate) fn full_name(&self, key: ThreadKey) -> &str {
        self.names.get(key).unwrap_or_default()
    }

    /// How to call the threads of a pool: by their name if all have the same, as in programs named lbzip2, else by that of the pool.
    pub(crate) fn name_of_all(&self, threads: impl IntoIterator<Item = ThreadKey>, pool: &str) -> String {
        let mut names = threads.into_iter().map(|thread| self.name(thread));
        let first = names.next();
        first.filter(|first| names.all(|name| name == *first)).unwrap_or_else(|| pool.to_owned())
    }

    /// The number of CPUs in the recording. Reads `cpus`.
    pub(crate) fn cpus(&self) -> Result<i64, EngineError> {
        let mut cpus = 0;
        self.each_row(cpus::Table, |_| cpus += 1)?;
        Ok(cpus)
    }

    /// The running time of all threads for which `is_counted` holds, ns. Reads `ready_wait`.
    pub(crate) fn running_ns(&self, is_counted: impl Fn(ThreadKey) -> bool) -> Result<Ns, EngineError> {
        let mut running = Ns::ZERO;
        self.each_row(ready_wait::Table, |row| {
            if is_counted(row.get(ready_wait::THREAD)) {
                running += row.get(ready_wait::RUNNING_NS);
            }
        })?;
        Ok(running)
    }

    /// Whether a thread is a per-CPU kernel thread. These cannot be moved.
    pub(crate) fn is_per_cpu_kthread(&self, key: ThreadKey) -> bool {
        model::is_kernel_thread_of_cpu(self.names.get(key).unwrap_or_default())
    }

    /// Whether a thread is a kernel thread, judged by its name.
    pub(crate) fn is_kernel_thread(&self, key: ThreadKey) -> bool {
        model::is_kernel_thread(self.names.get(key).unwrap_or_default())
    }

    /// The time that a thread could save.
    pub(crate) fn claim(&self, thread: ThreadKey, tid: Tid, recoverable_ns: Ns) -> Claim {
        Claim { thread, tid, name: self.name(thread), recoverable_ns }
    }

    /// Builds a finding with default fields. The rule fills in the rest.
    pub(crate) fn finding(&self, mut claims: Vec<Claim>, change: Fix, what: String) -> Finding {
        claims.sort_by_key(|c| (std::cmp::Reverse(c.recoverable_ns), c.thread));
        let most = claims.first().map_or(Ns::ZERO, |c| c.recoverable_ns);
        Finding {
            rule: self.rule.id,
            subject: Subject::Program,
            severity: self.severity(most),
            title: String::new(),
            recoverable_ns: most,
            delay_ns: most,
            range_ns: [most, most],
            cpu_ns: None,
            energy: None,
            confidence: Confidence::Medium,
            threads: claims,
            waited_for: Vec::new(),
            spans: vec![self.span()],
            worst: Vec::new(),
            evidence: Vec::new(),
            action: Action {
                what,
                linux: change.linux(),
                windows: change.windows(),
                side_effect: change.side_effect(),
            },
            change,
            assumptions: Vec::new(),
            fixed_tids: Vec::new(),
            tried: None,
            also: Vec::new(),
        }
    }

    /// Limits the severity: a finding of low confidence gets that of its lower bound; recording conditions are always low.
    pub(crate) fn with_final_severity(&self, finding: Finding) -> Finding {
        let severity = match (finding.subject, finding.confidence) {
            (Subject::Conditions, _) => Severity::Low,
            (_, Confidence::Low) => finding.severity.min(self.severity(finding.counted_ns())),
            (_, Confidence::Medium | Confidence::High) => finding.severity,
        };
        Finding { severity, ..finding }
    }

    /// The severity of a saving, by its share of the analysed range.
    pub(crate) fn severity(&self, recoverable_ns: Ns) -> Severity {
        let share = recoverable_ns.as_f64() / self.span().len().max(Ns(1)).as_f64();
        match share {
            share if share >= self.settings.of("severity", &HIGH_SHARE) => Severity::High,
            share if share >= self.settings.of("severity", &MEDIUM_SHARE) => Severity::Medium,
            _ => Severity::Low,
        }
    }
}

/// The part of a session that is analysed.
pub(crate) fn span(session: &Session, part: Option<Span>) -> Span {
    let whole = session.range().unwrap_or(Span::new(Ns::ZERO, Ns(session.summary().span_ns)));
    part.map_or(whole, |part| part.overlap(whole).unwrap_or(Span::new(whole.start, whole.start)))
}

/// The threads of a fix: the one with the largest saving and those of the same name.
pub(crate) fn threads(claims: &[Claim]) -> Threads {
    let most = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread)));
    let Some(most) = most else { return Threads::default() };
    let alike = claims.iter().filter(|c| c.name == most.name).take(NAMED);
    Threads { name: most.name.clone(), tids: alike.map(|c| c.tid).collect() }
}

/// Fewer of the preemptions than this part (1/100) are not worth a word.
const NOTABLE: i64 = 100;

/// How often threads were preempted, by thread key.
#[derive(Default)]
pub(crate) struct Preempted {
    pub(crate) counts: BTreeMap<ThreadKey, i64>,
    /// The part of `counts` where the source does not distinguish a preemption from a yield.
    pub(crate) maybe_yielded: BTreeMap<ThreadKey, i64>,
}

impl Preempted {
    /// The count of one thread.
    pub(crate) fn count(&self, thread: ThreadKey) -> i64 {
        self.counts.get(&thread).copied().unwrap_or(0)
    }

    /// The assumption about those of these threads that may have yielded; `None` if there are hardly any.
    pub(crate) fn assumption(&self, threads: impl Iterator<Item = ThreadKey>) -> Option<String> {
        let (mut all, mut maybe_yielded) = (0_i64, 0_i64);
        for thread in threads {
            let of = |counts: &BTreeMap<ThreadKey, i64>| counts.get(&thread).copied().unwrap_or(0);
            (all, maybe_yielded) =
                (all.saturating_add(of(&self.counts)), maybe_yielded.saturating_add(of(&self.maybe_yielded)));
        }
        (maybe_yielded > all / NOTABLE).then(|| {
            format!(
                "{} of them left a thread runnable, and the source does not distinguish preemption from yielding",
                grouped(maybe_yielded)
            )
        })
    }
}

/// The rows that support a finding, those of the longest time or the highest count first; only the top rows are kept.
#[derive(Default)]
pub(crate) struct EvidenceRows(Vec<(i64, Evidence)>);

impl EvidenceRows {
    /// Adds a row and the time or count by which it ranks.
    pub(crate) fn push<T: TableType>(&mut self, by: impl Amount, row: &Row<'_, T>, cols: &[&dyn AnyColumn<T>]) {
        if self.0.len() >= 2 * NAMED {
            self.cut();
        }
        self.0.push((by.number(), Evidence::of(row, cols)));
    }

    fn cut(&mut self) {
        self.0.sort_by_key(|(by, _)| std::cmp::Reverse(*by));
        self.0.truncate(NAMED);
    }

    pub(crate) fn finish(mut self) -> Vec<Evidence> {
        self.cut();
        self.0.into_iter().map(|(_, evidence)| evidence).collect()
    }
}

/// Adds to a sum by key. It saturates, as times of a damaged file may overflow.
pub(crate) fn add<K: Ord, A: Amount>(to: &mut BTreeMap<K, A>, key: K, amount: A) {
    let sum = to.entry(key).or_default();
    *sum = sum.plus(amount);
}
