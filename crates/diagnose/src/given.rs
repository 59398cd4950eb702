//! What rules read.

use crate::finding::{Action, Claim, Confidence, Evidence, Finding, Severity, Subject};
use crate::rule::{Rule, Threshold};
use crate::settings::{HIGH_SHARE, MEDIUM_SHARE, Settings};
use engine::{EngineError, Facts, Names, Offer, Session, Summary};
use model::tables::{cpus, switch_causes};
use model::words::{grouped, short};
use model::{AnyOf, Declared, Fix, Ns, Row, Span, Table, Threads, tables};
use std::collections::BTreeMap;

/// So many threads and rows a finding names; what it claims is of all of them.
const NAMED: usize = 16;

/// A trace, the part of it that is looked at, and the rule that looks.
pub(crate) struct Given<'a> {
    session: &'a Session,
    names: &'a Names,
    settings: &'a Settings,
    rule: &'static Rule,
    /// The part that was asked for; none: all.
    part: Option<Span>,
    /// The tables of that part.
    of_part: &'a [Table],
}

impl<'a> Given<'a> {
    pub(crate) fn new(
        session: &'a Session,
        settings: &'a Settings,
        part: Option<Span>,
        of_part: &'a [Table],
        rule: &'static Rule,
    ) -> Result<Self, EngineError> {
        Ok(Self { session, names: session.names()?, settings, rule, part, of_part })
    }

    /// The same, with the thresholds of another rule.
    pub(crate) fn of(&self, rule: &'static Rule) -> Self {
        Self { rule, ..*self }
    }

    /// Hands out the rows of a table; of one that holds sums of the whole recording only, those.
    pub(crate) fn each<T: Declared>(&self, table: T, mut each: impl FnMut(&Row<'_, T>)) -> Result<(), EngineError> {
        let def = T::DEF;
        if let Some(made) = self.of_part.iter().find(|t| t.def.name == def.name) {
            made.rows_of(table).for_each(|row| each(&row));
            return Ok(());
        }
        let of_whole =
            [tables::THREADS, tables::CPUS, tables::LOSS, tables::THREAD_BY_CPU].iter().any(|t| t.name == def.name);
        self.session.rows_within(def.name, self.part.filter(|_| !of_whole), &mut |rows| {
            rows.iter().for_each(|cells| each(&Row::new(cells)));
            Ok(())
        })
    }

    /// How often each thread was preempted for another. What left its CPU runnable, and nobody says why, counts too, and makes it
    /// uncertain: mostly it was preempted on its way back to user mode, but it may have yielded.
    pub(crate) fn preempted(&self) -> Result<Preempted, EngineError> {
        let mut preempted = Preempted::default();
        self.each(switch_causes::Table, |row| {
            let cause = row.get(switch_causes::CAUSE);
            let unsure = cause == "unknown" && row.get(switch_causes::LETTER.or_empty()) == "R";
            if (unsure || cause == "preempted") && row.get(switch_causes::NEXT.or_empty()) != "idle" {
                let (thread, count) = (row.get(switch_causes::THREAD), row.get(switch_causes::COUNT));
                add(&mut preempted.counts, thread, count);
                if unsure {
                    add(&mut preempted.unsure, thread, count);
                }
            }
        })?;
        Ok(preempted)
    }

    /// The time looked at.
    pub(crate) fn span(&self) -> Span {
        span(self.session, self.part)
    }

    /// Whether only a part of the recording is looked at.
    pub(crate) fn is_part(&self) -> bool {
        self.part.or(self.session.part()).is_some()
    }

    /// Counts and sums of the whole recording.
    pub(crate) fn summary(&self) -> &Summary {
        self.session.summary()
    }

    /// What the source says of itself.
    pub(crate) fn facts(&self) -> &Facts {
        self.session.facts()
    }

    /// What recordings of its format can tell; none: it is none of those that are imported.
    pub(crate) fn offers(&self) -> Option<Offer> {
        engine::formats().iter().find(|format| format.id() == self.facts().format).map(|format| format.offer())
    }

    /// A figure of this rule.
    pub(crate) fn threshold(&self, threshold: &Threshold) -> f64 {
        let listed = self.rule.thresholds.contains(&threshold);
        debug_assert!(listed, "{} does not list its threshold {}", self.rule.id, threshold.name);
        self.settings.of(self.rule.id, threshold)
    }

    /// A part of the time looked at, ns.
    pub(crate) fn share(&self, threshold: &Threshold) -> i64 {
        (self.threshold(threshold) * self.span().len().0 as f64) as i64
    }

    /// What a thread is called.
    pub(crate) fn name(&self, key: i64) -> String {
        self.names.get(key).map_or_else(|| "?".to_owned(), |name| short(name, 16))
    }

    /// How many CPUs the recording tells of. Reads `cpus`.
    pub(crate) fn cpus(&self) -> Result<i64, EngineError> {
        let mut cpus = 0;
        self.each(cpus::Table, |_| cpus += 1)?;
        Ok(cpus)
    }

    /// Whether it is one of the kernel's own threads of one CPU, by their names (`ksoftirqd/0`, `kworker/1:2`): these cannot
    /// be moved.
    pub(crate) fn is_of_one_cpu(&self, key: i64) -> bool {
        let name = self.names.get(key).unwrap_or_default();
        let behind = name.rsplit_once('/').map_or("", |(_, behind)| behind);
        behind.split(':').next().is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit()))
    }

    /// What a thread could get back.
    pub(crate) fn claim(&self, thread: i64, tid: i64, recoverable_ns: i64) -> Claim {
        Claim { thread, tid, name: self.name(thread), recoverable_ns }
    }

    /// A finding of some threads; of none, where nobody loses more than nothing. What is more is told by whoever found it.
    pub(crate) fn finding(&self, mut claims: Vec<Claim>, change: Fix, what: String) -> Finding {
        claims.sort_by_key(|c| (std::cmp::Reverse(c.recoverable_ns), c.thread));
        let most = claims.first().map_or(0, |c| c.recoverable_ns);
        Finding {
            rule: self.rule.id,
            of: Subject::Program,
            severity: self.severity(most),
            title: String::new(),
            recoverable_ns: most,
            range_ns: [most, most],
            cpu_ns: None,
            confidence: Confidence::Medium,
            threads: claims,
            spans: vec![self.span()],
            evidence: Vec::new(),
            action: Action { what, linux: change.linux(), windows: change.windows() },
            change,
            assumptions: Vec::new(),
            also: Vec::new(),
        }
    }

    /// What is of low confidence matters no more than what it counts for, and what no program can mend is low.
    pub(crate) fn weighed(&self, finding: Finding) -> Finding {
        let severity = match (finding.of, finding.confidence) {
            (Subject::Conditions, _) => Severity::Low,
            (_, Confidence::Low) => finding.severity.min(self.severity(finding.counted_ns())),
            (_, Confidence::Medium | Confidence::High) => finding.severity,
        };
        Finding { severity, ..finding }
    }

    /// By the part of the time looked at.
    pub(crate) fn severity(&self, recoverable_ns: i64) -> Severity {
        let share = recoverable_ns as f64 / (self.span().len().0.max(1)) as f64;
        match share {
            share if share >= self.settings.of("severity", &HIGH_SHARE) => Severity::High,
            share if share >= self.settings.of("severity", &MEDIUM_SHARE) => Severity::Medium,
            _ => Severity::Low,
        }
    }
}

/// The part of a session that is looked at.
pub(crate) fn span(session: &Session, part: Option<Span>) -> Span {
    let whole = session.part().unwrap_or(Span::new(Ns::ZERO, Ns(session.summary().span_ns)));
    part.map_or(whole, |part| part.overlap(whole).unwrap_or(Span::new(whole.start, whole.start)))
}

/// Those that claims name, as a change takes them: by the name of the first, those of the same name.
pub(crate) fn threads(claims: &[Claim]) -> Threads {
    let most = claims.iter().max_by_key(|c| (c.recoverable_ns, std::cmp::Reverse(c.thread)));
    let Some(most) = most else { return Threads::default() };
    let alike = claims.iter().filter(|c| c.name == most.name).take(NAMED);
    Threads { name: most.name.clone(), tids: alike.map(|c| c.tid).collect() }
}

/// How often threads were preempted, by their keys.
#[derive(Default)]
pub(crate) struct Preempted {
    pub(crate) counts: BTreeMap<i64, i64>,
    /// Of these, where the source does not tell a preemption from a yield.
    pub(crate) unsure: BTreeMap<i64, i64>,
}

impl Preempted {
    /// Of one thread.
    pub(crate) fn of(&self, thread: i64) -> i64 {
        self.counts.get(&thread).copied().unwrap_or(0)
    }

    /// What is assumed of those of these threads that may have yielded, if there are any.
    pub(crate) fn assumed(&self, threads: impl Iterator<Item = i64>) -> Option<String> {
        let unsure = threads.fold(0_i64, |sum, key| sum.saturating_add(self.unsure.get(&key).copied().unwrap_or(0)));
        (unsure > 0).then(|| {
            format!(
                "{} of them left a thread runnable, and the source does not tell a preemption from a yield",
                grouped(unsure)
            )
        })
    }
}

/// Rows that show something, those of most time first; few are kept.
#[derive(Default)]
pub(crate) struct Shown(Vec<(i64, Evidence)>);

impl Shown {
    /// A row, and for how long it counts.
    pub(crate) fn push<T: Declared>(&mut self, ns: i64, row: &Row<'_, T>, cols: &[&dyn AnyOf<T>]) {
        if self.0.len() >= 2 * NAMED {
            self.cut();
        }
        self.0.push((ns, Evidence::of(row, cols)));
    }

    fn cut(&mut self) {
        self.0.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
        self.0.truncate(NAMED);
    }

    pub(crate) fn finish(mut self) -> Vec<Evidence> {
        self.cut();
        self.0.into_iter().map(|(_, evidence)| evidence).collect()
    }
}

/// Sums of time by key; those of a damaged file may be larger than any sum.
pub(crate) fn add<K: Ord>(to: &mut BTreeMap<K, i64>, key: K, ns: i64) {
    let sum = to.entry(key).or_default();
    *sum = sum.saturating_add(ns);
}
