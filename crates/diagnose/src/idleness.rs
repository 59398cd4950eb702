//! Idle time that was lost, for rules about energy: in periods too short for a deep idle state.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Claim, Confidence, Finding};
use crate::rule::{Threshold, Unit};
use crate::saved_energy::PackagePower;
use engine::EngineError;
use model::tables::{idle_residency, lost_idleness};
use model::words::time;
use model::{Fix, Ns, ThreadKey, Threads, Tid};
use std::collections::BTreeMap;

pub(crate) const BREAK_EVEN_NS: Threshold = Threshold {
    name: "break_even_ns",
    unit: Unit::Ns,
    value: 600_000.0,
    reason: "used if the machine's description has no idle states except those of guests (haltpoll): the C6 state of Skylake servers and Alder Lake in the Linux driver intel_idle",
};

pub(crate) const MIN_LOST: Threshold = Threshold {
    name: "min_lost",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "lost idle time as a share of the analysed time; heuristic: a twentieth of a CPU's or a package's time decides \
             whether a battery lasts noticeably longer",
};

/// The idle state of guests (Linux, `drivers/cpuidle/cpuidle-haltpoll.c`). The host decides what follows; its 1 µs is not a hardware value.
const GUEST_STATE: &str = "haltpoll";

/// Returns the target residency of the machine's deepest idle state, if known, and the break-even time to use, ns. Reads `idle_residency`.
pub(crate) fn break_even(ctx: &RuleContext<'_>) -> Result<(Option<Ns>, Ns), EngineError> {
    let mut target_residency = None;
    ctx.each_row(idle_residency::Table, |row| {
        // A target residency of 0 is that of polling, in which a CPU saves nothing.
        let target = row.get(idle_residency::TARGET_RESIDENCY_NS).filter(|ns| *ns > Ns::ZERO);
        if !row.get(idle_residency::STATE_NAME.or_empty()).starts_with(GUEST_STATE) {
            target_residency = target_residency.max(target);
        }
    })?;
    Ok((target_residency, target_residency.unwrap_or(Ns::whole(ctx.threshold(&BREAK_EVEN_NS)))))
}

/// The assumption about the break-even time.
pub(crate) fn whose_break_even(target_residency: Option<Ns>, break_even: Ns) -> String {
    match target_residency {
        Some(_) => "the deepest idle state is as in the machine's description".to_owned(),
        None => format!(
            "the machine's description has no idle states of its own; {} is assumed for the deepest one",
            time(break_even)
        ),
    }
}

/// What one thread or the ticks cost.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lost {
    pub(crate) tid: Tid,
    /// Number of runs or ticks between idle periods.
    pub(crate) ended: i64,
    /// Number of lost idle periods.
    pub(crate) short: i64,
    /// Idle time in these.
    pub(crate) ns: Ns,
}

/// Idleness that was lost, by thread; ticks have the key 0.
pub(crate) struct LostIdleness {
    target_residency: Option<Ns>,
    break_even: Ns,
    /// The break-even time of the table's rows that are used.
    pub(crate) counted_at: Ns,
    /// Whether it is that of packages.
    pub(crate) is_of_package: bool,
    pub(crate) by_thread: BTreeMap<ThreadKey, Lost>,
    evidence: EvidenceRows,
    power: PackagePower,
    /// The number of CPUs of the machine.
    cpus: i64,
}

/// The largest break-even time of the table `lost_idleness` that is not above a given one, ns.
fn counted_at(break_even: Ns) -> Ns {
    (0..)
        .map(|power| Ns(1000 << power))
        .take_while(|at| *at <= break_even && *at <= MAX_COUNTED)
        .last()
        .unwrap_or_default()
}

/// The cause of the rows to read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Thread,
    Tick,
}

impl LostIdleness {
    /// Reads what threads or ticks cost on CPUs; of packages if that is wanted and there are several CPUs. Reads `lost_idleness`,
    /// `idle_residency`, `cpus`, `energy` and `power_over_time`.
    pub(crate) fn new(ctx: &RuleContext<'_>, cause: Cause, of_packages: bool) -> Result<Self, EngineError> {
        let (target_residency, break_even) = break_even(ctx)?;
        let counted_at = counted_at(break_even);
        let mut all: BTreeMap<(bool, ThreadKey), Lost> = BTreeMap::new();
        ctx.each_row(lost_idleness::Table, |row| {
            let at = row.get(lost_idleness::BREAK_EVEN_NS);
            if (row.get(lost_idleness::CAUSE) == "tick") != (cause == Cause::Tick) || at != counted_at {
                return;
            }
            let is_of_package = row.get(lost_idleness::SCOPE) == "package";
            let (ended, short, ns) = row.all((lost_idleness::ENDED, lost_idleness::SHORT, lost_idleness::LOST_NS));
            let tid = row.get(lost_idleness::TID).unwrap_or(Tid::IDLE);
            let thread = row.get(lost_idleness::THREAD).unwrap_or(ThreadKey::IDLE);
            all.insert((is_of_package, thread), Lost { tid, ended, short, ns });
        })?;
        let cpus = ctx.cpus()?;
        let is_of_package = of_packages && cpus > 1;
        let wanted = all.into_iter().filter(|((of_package, _), _)| *of_package == is_of_package);
        let by_thread: BTreeMap<ThreadKey, Lost> = wanted.map(|((_, thread), lost)| (thread, lost)).collect();
        let mut evidence = EvidenceRows::default();
        let scope = if is_of_package { "package" } else { "cpu" };
        ctx.each_row(lost_idleness::Table, |row| {
            let thread = row.get(lost_idleness::THREAD).unwrap_or(ThreadKey::IDLE);
            let is_of_cause = (row.get(lost_idleness::CAUSE) == "tick") == (cause == Cause::Tick);
            if is_of_cause
                && row.get(lost_idleness::SCOPE) == scope
                && row.get(lost_idleness::BREAK_EVEN_NS) == counted_at
                && by_thread.get(&thread).is_some_and(|lost| lost.ns >= ctx.share_ns(&MIN_LOST))
            {
                let ns = row.get(lost_idleness::LOST_NS);
                evidence.push(ns, row, &[&lost_idleness::ENDED, &lost_idleness::SHORT, &lost_idleness::LOST_NS]);
            }
        })?;
        let power = PackagePower::new(ctx)?;
        Ok(Self { target_residency, break_even, counted_at, is_of_package, by_thread, evidence, power, cpus })
    }

    /// What is idle: `a CPU`, `the package`.
    pub(crate) fn scope(&self) -> &'static str {
        if self.is_of_package { "package" } else { "CPU" }
    }

    /// Builds a finding about threads, those that cost most first, or about the ticks (0). `fix` gets the first one and those of its name.
    /// The energy follows the title.
    pub(crate) fn finding(
        self,
        ctx: &RuleContext<'_>,
        threads: &[(ThreadKey, Lost)],
        fix: impl FnOnce(Threads) -> Fix,
        what: impl FnOnce(&str) -> String,
        confidence: Confidence,
        title: String,
    ) -> Finding {
        let mut sorted = threads.to_vec();
        sorted.sort_by_key(|(thread, lost)| (std::cmp::Reverse(lost.ns), *thread));
        let claims: Vec<Claim> = sorted
            .iter()
            .filter(|(thread, _)| *thread != ThreadKey::IDLE)
            .map(|(thread, lost)| ctx.claim(*thread, lost.tid, Ns::ZERO))
            .collect();
        let name = claims.first().map_or_else(String::new, |claim| claim.name.clone());
        let alike = claims.iter().filter(|claim| claim.name == name).take(NAMED);
        let change = fix(Threads { name: name.clone(), tids: alike.map(|claim| claim.tid).collect() });
        let finding = ctx.finding(Vec::new(), change, what(&name));
        let most = sorted.first().map_or(Ns::ZERO, |(_, lost)| lost.ns);
        let (energy, energy_assumption) = self.power.saved(most, (!self.is_of_package).then_some(self.cpus));
        Finding {
            title: match &energy {
                Some(energy) => format!("{title}; {energy} of the package's energy"),
                None => title,
            },
            energy,
            // It takes no time from anything, so it is never more severe than medium.
            severity: ctx.severity(most).min(crate::Severity::Medium),
            confidence,
            threads: claims,
            assumptions: vec![
                whose_break_even(self.target_residency, self.break_even),
                format!("idle time was counted for {}, the power of two (of 1 us) below that", time(self.counted_at)),
                energy_assumption,
            ],
            evidence: self.evidence.finish(),
            ..finding
        }
    }
}

/// The largest break-even time of the table, ns.
const MAX_COUNTED: Ns = Ns(16_384_000);
/// The maximum number of threads that a fix names.
const NAMED: usize = 16;
