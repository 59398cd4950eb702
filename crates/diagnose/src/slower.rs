//! Time on slower cores, and what a faster one would give back of it.

use crate::finding::Claim;
use crate::given::{Given, Shown};
use crate::rule::{Threshold, Unit};
use crate::rules::LEAST_SHARE;
use crate::speeds::{Speed, Speeds};
use engine::EngineError;
use model::Column;
use model::tables::slower_cores;

/// How fast a slower core is taken to be where the kernel's capacities do not tell.
pub(crate) const SLOWER_SPEED: Threshold = Threshold {
    name: "slower_speed",
    unit: Unit::Ratio,
    value: 0.615,
    reason: "of a performance core's: six threads of a game on a hybrid desktop did 0.32 to 0.87 of the instructions a second on \
             efficient cores, in the middle 0.615; where the kernel tells capacities, or what was run on both, these count instead",
};

/// The same threads, those to which the type of core mattered least and most.
const SLOWER_SPEEDS: [f64; 2] = [0.87, 0.32];

/// What a faster core gives back of time on a slower one.
pub(crate) struct Saving {
    pub(crate) best: i64,
    pub(crate) range: [i64; 2],
    told: Told,
}

/// What tells how much slower a slower core is.
enum Told {
    /// The kernel's capacities.
    Capacities,
    /// What the thread itself ran on both.
    Own(Speed),
    /// What other threads ran on both.
    Others(f64),
    Nothing,
}

impl Saving {
    /// Of so much time of a thread, `perhaps` of so much more; `costed` is what the capacities say that some of it costs.
    pub(crate) fn of(
        given: &Given<'_>,
        speeds: &Speeds,
        thread: i64,
        [certain, perhaps]: [i64; 2],
        costed: Option<(i64, i64)>,
    ) -> Self {
        let slower = slower_by;
        let costed = costed.filter(|(_, of)| *of > 0);
        let told = match (costed, speeds.slower(thread)) {
            (Some(_), _) => Told::Capacities,
            (None, Some(own)) => Told::Own(own),
            (None, None) => speeds.slower_in_general().map_or(Told::Nothing, Told::Others),
        };
        let best = match (&told, costed) {
            (_, Some((cost, of))) => (certain as f64 * cost as f64 / of as f64).round() as i64,
            (Told::Own(Speed { best, .. }) | Told::Others(best), _) => slower(*best, certain),
            _ => slower(given.threshold(&SLOWER_SPEED), certain),
        };
        // What it ran on the two may not have been the same work.
        let [most, least] = match &told {
            Told::Own(own) => [own.range[1].max(SLOWER_SPEEDS[0]), own.range[0].min(SLOWER_SPEEDS[1])],
            _ => SLOWER_SPEEDS,
        };
        let range = [slower(most, certain).min(best), slower(least, certain.max(perhaps)).max(best)];
        Self { best, range, told }
    }

    /// The most that it may give back of so much time of a thread.
    pub(crate) fn at_most(speeds: &Speeds, thread: i64, ns: i64) -> i64 {
        let [_, least] = SLOWER_SPEEDS;
        slower_by(speeds.slower(thread).map_or(least, |own| own.range[0].min(least)), ns)
    }

    /// What it rests on.
    pub(crate) fn words(&self, given: &Given<'_>) -> String {
        let [most, least] = SLOWER_SPEEDS;
        match &self.told {
            Told::Capacities => format!(
                "a slower core is slower by the kernel's capacities (the range: it does {least} to {most} of the work)"
            ),
            Told::Own(own) => format!(
                "what it does on a slower core, by what it does on the fastest: by {}, if they were of the same work (the \
                 range, if not: {least} to {most})",
                own.words()
            ),
            Told::Others(speed) => format!(
                "a slower core does {speed:.2} of a faster one's work for it, as for other threads in this recording ({least} to {most})"
            ),
            Told::Nothing => {
                let speed = given.threshold(&SLOWER_SPEED);
                format!(
                    "without capacities of the kernel, a slower core does {speed} of a faster one's work ({least} to {most})"
                )
            }
        }
    }
}

/// What of some time a core of full speed saves.
fn slower_by(speed: f64, ns: i64) -> i64 {
    (ns as f64 * (1.0 - speed).clamp(0.0, 1.0)).round() as i64
}

/// Who was on slower cores for no good, by one of the reasons that the table slower_cores tells apart.
pub(crate) struct Slower {
    /// Those that a faster core would give enough back.
    pub(crate) claims: Vec<Claim>,
    pub(crate) shown: Shown,
    /// The one that loses most, what it would get back, and for how long it was there, ns.
    pub(crate) most: Option<(i64, Saving, i64)>,
}

/// Those that lose [`LEAST_SHARE`](crate::rules::LEAST_SHARE) by the time in one column, which costs what another one says;
/// `counts` says which threads. None where nobody tells on which CPUs threads are allowed.
pub(crate) fn slower(
    given: &Given<'_>,
    time: Column<slower_cores::Table, i64>,
    cost: Column<slower_cores::Table, Option<i64>>,
    counts: impl Fn(i64) -> bool,
) -> Result<Option<Slower>, EngineError> {
    let least = given.share(&LEAST_SHARE).max(1);
    let speeds = Speeds::new(given)?;
    let (mut ran, mut told) = (0_i64, 0_i64);
    let mut slower = Slower { claims: Vec::new(), shown: Shown::default(), most: None };
    given.each(slower_cores::Table, |row| {
        let [thread, tid, running, untold, ns] = row.all([
            slower_cores::THREAD,
            slower_cores::TID,
            slower_cores::RUNNING_NS,
            slower_cores::PERMISSION_UNKNOWN_NS,
            time,
        ]);
        ran = ran.saturating_add(running);
        told = told.saturating_add(running.saturating_sub(untold));
        let saving = Saving::of(given, &speeds, thread, [ns, 0], row.get(cost).map(|cost| (cost, ns)));
        if saving.best < least || !counts(thread) {
            return;
        }
        slower.claims.push(given.claim(thread, tid, saving.best));
        slower.shown.push(ns, row, &[&time, &slower_cores::RUNNING_NS, &cost]);
        if slower.most.as_ref().is_none_or(|(_, of, _)| of.best < saving.best) {
            slower.most = Some((thread, saving, ns));
        }
    })?;
    Ok((ran == 0 || told > 0).then_some(slower))
}

/// Why rules of masks do not look.
pub(crate) const NO_MASKS: &str = "nobody tells on which CPUs threads are allowed: recordings by corewise do";
