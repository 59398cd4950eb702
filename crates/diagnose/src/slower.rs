//! Time on slower cores, and how much of it a faster core would save.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::Claim;
use crate::rule::{Threshold, Unit};
use crate::rules::MIN_SHARE;
use crate::speeds::{Speed, Speeds};
use engine::EngineError;
use model::tables::slower_cores;
use model::{Column, Ns, ThreadKey};

/// The assumed speed of a slower core, if neither capacities nor bursts show it.
pub(crate) const SLOWER_SPEED: Threshold = Threshold {
    name: "slower_speed",
    unit: Unit::Ratio,
    value: 0.615,
    reason: "relative to a performance core: six threads of a game on a hybrid desktop executed 0.32 to 0.87 of the instructions per second on \
             efficient cores, with a median of 0.615; kernel capacities, bursts on both types, or what `corewise bench` measured on the \
             recorded machine are used instead if available",
};

/// The speeds of these threads for which the core type mattered least and most.
const SLOWER_SPEEDS: [f64; 2] = [0.87, 0.32];

/// The time that a faster core saves.
pub(crate) struct Saving {
    pub(crate) best: Ns,
    pub(crate) range: [Ns; 2],
    basis: Basis,
}

/// The source of the speed of a slower core.
enum Basis {
    /// The kernel's capacities.
    Capacities,
    /// The thread's own bursts on both types.
    Own(Speed),
    /// Other threads' bursts on both types.
    Others(f64),
    /// The threshold.
    Assumed,
}

impl Saving {
    /// The saving of a thread's known and possible time on slower cores. `costed` is the loss by capacities, and the time that it covers.
    pub(crate) fn of(
        ctx: &RuleContext<'_>,
        speeds: &Speeds,
        thread: ThreadKey,
        [known, possible]: [Ns; 2],
        costed: Option<(Ns, Ns)>,
    ) -> Self {
        let slower = slower_by;
        let costed = costed.filter(|(_, of)| *of > Ns::ZERO);
        let basis = match (costed, speeds.slower(thread)) {
            (Some(_), _) => Basis::Capacities,
            (None, Some(own)) => Basis::Own(own),
            (None, None) => speeds.slower_in_general().map_or(Basis::Assumed, Basis::Others),
        };
        let best = match (&basis, costed) {
            (_, Some((cost, of))) => Ns::nearest(known.as_f64() * cost.as_f64() / of.as_f64()),
            (Basis::Own(Speed { best, .. }) | Basis::Others(best), _) => slower(*best, known),
            _ => slower(ctx.threshold(&SLOWER_SPEED), known),
        };
        // The bursts on the two types may not have been the same work.
        let [fastest, slowest] = match &basis {
            Basis::Own(own) => [own.range[1].max(SLOWER_SPEEDS[0]), own.range[0].min(SLOWER_SPEEDS[1])],
            Basis::Assumed => ctx.interval(&SLOWER_SPEED).map_or(SLOWER_SPEEDS, |[low, high]| [high, low]),
            Basis::Capacities | Basis::Others(_) => SLOWER_SPEEDS,
        };
        let range = [slower(fastest, known).min(best), slower(slowest, known.max(possible)).max(best)];
        Self { best, range, basis }
    }

    /// The maximum saving of some time of a thread.
    pub(crate) fn at_most(speeds: &Speeds, thread: ThreadKey, ns: Ns) -> Ns {
        let [_, slowest] = SLOWER_SPEEDS;
        slower_by(speeds.slower(thread).map_or(slowest, |own| own.range[0].min(slowest)), ns)
    }

    /// The assumption that it is based on.
    pub(crate) fn words(&self, ctx: &RuleContext<'_>) -> String {
        let [most, least] = SLOWER_SPEEDS;
        match &self.basis {
            Basis::Capacities => format!(
                "a slower core is slower by the kernel's capacities (the range: it does {least} to {most} of the work)"
            ),
            Basis::Own(own) => format!(
                "its speed on a slower core, relative to the fastest type, is taken from {}, if they did the same work (the \
                 range, if not: {least} to {most})",
                own.words()
            ),
            Basis::Others(speed) => format!(
                "a slower core does {speed:.2} of a faster core's work, as for other threads in this recording ({least} to {most})"
            ),
            Basis::Assumed => match ctx.interval(&SLOWER_SPEED) {
                Some(_) => ctx.whose(&SLOWER_SPEED),
                None => format!("{}, without kernel capacities ({least} to {most})", ctx.whose(&SLOWER_SPEED)),
            },
        }
    }
}

/// The time that a core of full speed saves.
fn slower_by(speed: f64, ns: Ns) -> Ns {
    Ns::nearest(ns.as_f64() * (1.0 - speed).clamp(0.0, 1.0))
}

/// Threads that ran on slower cores for one of the reasons in the table `slower_cores`.
pub(crate) struct Slower {
    /// The threads for which a faster core would save enough.
    pub(crate) claims: Vec<Claim>,
    pub(crate) evidence: EvidenceRows,
    /// The thread with the largest saving, the saving, and its time on slower cores, ns.
    pub(crate) most: Option<(ThreadKey, Saving, Ns)>,
}

/// Finds the threads that lose at least [`MIN_SHARE`] by the time in one column; `cost` is its cost, and `counts` selects
/// threads. `None` if thread affinity was not recorded.
pub(crate) fn slower(
    ctx: &RuleContext<'_>,
    time: Column<slower_cores::Table, Ns>,
    cost: Column<slower_cores::Table, Option<Ns>>,
    counts: impl Fn(ThreadKey) -> bool,
) -> Result<Option<Slower>, EngineError> {
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    let speeds = Speeds::new(ctx)?;
    let (mut ran, mut allowed_known) = (Ns::ZERO, Ns::ZERO);
    let mut slower = Slower { claims: Vec::new(), evidence: EvidenceRows::default(), most: None };
    ctx.each_row(slower_cores::Table, |row| {
        let (thread, tid, running, not_recorded, ns) = row.all((
            slower_cores::THREAD,
            slower_cores::TID,
            slower_cores::RUNNING_NS,
            slower_cores::PERMISSION_UNKNOWN_NS,
            time,
        ));
        ran += running;
        allowed_known += running - not_recorded;
        let saving = Saving::of(ctx, &speeds, thread, [ns, Ns::ZERO], row.get(cost).map(|cost| (cost, ns)));
        if saving.best < least || !counts(thread) {
            return;
        }
        slower.claims.push(ctx.claim(thread, tid, saving.best));
        slower.evidence.push(ns, row, &[&time, &slower_cores::RUNNING_NS, &cost]);
        if slower.most.as_ref().is_none_or(|(_, of, _)| of.best < saving.best) {
            slower.most = Some((thread, saving, ns));
        }
    })?;
    Ok((ran == Ns::ZERO || allowed_known > Ns::ZERO).then_some(slower))
}

/// Why rules about affinity are not checked.
pub(crate) const NO_MASKS: &str = "thread affinity was not recorded; recordings by corewise include it";
