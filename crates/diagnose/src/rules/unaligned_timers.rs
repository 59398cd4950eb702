//! Timers of several threads that expire at different times, and so divide the idle time of a package.

use crate::context::RuleContext;
use crate::finding::Confidence;
use crate::idleness::{BREAK_EVEN_NS, Cause, LostIdleness, MIN_LOST};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, periods};
use model::words::{ms, plural, time};
use model::{Fix, Ns, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "unaligned-timers",
    about: "timers of several threads woke a package at different times, although they could expire together",
    page: Page {
        description: "Two threads or more that timers wake at steady periods (table `periods`), that have most of each period left when they are \
                done, and without which idle periods of the package that are too short for its deepest idle state would have been long enough \
                (table `lost_idleness`). The thread with the shortest period is left out: the timers of the others can expire with its \
                timer.",
        rationale: "A package is idle only while all of its CPUs are. Timers that expire one after the other divide that time; if they expire \
                  together, the work is the same and the idle periods are longer.",
        certainty: "Periods, work and idle periods are recorded. That a timer may expire later is inferred from the time that the thread has left \
               in each period; whether the program needs the exact time is unknown, so the confidence is low. The lost idleness is that of \
               the thread that costs most: an idle period between two threads would count for both. Energy is \
               estimated only where that of packages was measured: from nothing to what they used at their busiest power in the lost time.",
        fix: "Give the threads a timer slack (PR_SET_TIMERSLACK) of a part of their period, so that the kernel lets their timers expire together, \
              or let one thread do the work of all.",
        example: "A and B wake every 4 ms, B 0.5 ms after A: a period of 4 ms could be idle, but each is divided.",
    },
    tables: &[
        &tables::LOST_IDLENESS,
        &tables::PERIODS,
        &tables::IDLE_RESIDENCY,
        &tables::CPUS,
        &tables::ENERGY,
        &tables::POWER_OVER_TIME,
    ],
    thresholds: &[&MIN_LOST, &BREAK_EVEN_NS, &MIN_PERIODS, &MIN_SLACK],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_PERIODS: Threshold = Threshold {
    name: "min_periods",
    unit: Unit::Count,
    value: 20.0,
    reason: "with fewer, the threads may have met by chance",
};

const MIN_SLACK: Threshold = Threshold {
    name: "min_slack",
    unit: Unit::Ratio,
    value: 0.5,
    reason: "mean slack as a share of the period; heuristic: a thread that is done in the first half can begin later",
};

#[derive(Clone, Copy, Default)]
struct Periods {
    count: i64,
    length: Ns,
    slack: Ns,
}

impl Periods {
    fn mean(self) -> Ns {
        self.length / self.count.max(1)
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so periods are unknown".to_owned()));
    }
    let lost = LostIdleness::new(ctx, Cause::Thread, true)?;
    let mut periodic = BTreeMap::<ThreadKey, Periods>::new();
    ctx.each_row(periods::Table, |row| {
        let thread = row.get(periods::THREAD);
        if ctx.is_kernel_thread(thread) {
            return;
        }
        let [length, slack] = row.all([periods::PERIOD_NS, periods::SLACK_NS]);
        let sums = periodic.entry(thread).or_default();
        sums.count += 1;
        sums.length += length;
        sums.slack += slack;
    })?;
    periodic.retain(|_, of| {
        of.count as f64 >= ctx.threshold(&MIN_PERIODS)
            && of.slack.as_f64() >= ctx.threshold(&MIN_SLACK) * of.length.as_f64()
    });
    let Some((first, shortest)) = periodic.iter().min_by_key(|(thread, of)| (of.mean(), **thread)) else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let (first, shortest, least) = (*first, shortest.mean(), ctx.share_ns(&MIN_LOST));
    let is_other = |thread: ThreadKey| thread != first && periodic.contains_key(&thread);
    let threads: Vec<_> = lost
        .by_thread
        .iter()
        .filter(|(thread, lost)| lost.ns >= least && is_other(**thread))
        .map(|(thread, lost)| (*thread, *lost))
        .collect();
    let Some((thread, most)) = threads.iter().max_by_key(|(thread, of)| (of.ns, std::cmp::Reverse(*thread))).copied()
    else {
        return Ok(RuleOutcome::Findings(Vec::new()));
    };
    let (counted_at, scope) = (lost.counted_at, lost.scope());
    // The timer of the first thread expires within this time.
    let slack = shortest;
    let others = match threads.len() - 1 {
        0 => String::new(),
        n => format!(", and {} divided it, too", plural(n as u64, "other thread")),
    };
    let title = format!(
        "timers woke {} (every {}) and {} (every {}) at different times: {} ms of the idleness of the {scope} were lost, in \
         idle periods shorter than {}{others}",
        ctx.name(first),
        time(shortest),
        ctx.name(thread),
        time(periodic.get(&thread).map_or(Ns::ZERO, |of| of.mean())),
        ms(most.ns),
        time(counted_at)
    );
    let finding = lost.finding(
        ctx,
        &threads,
        |threads| Fix::TimerSlack { threads, slack },
        |name| format!("Let the timers of {name} expire with that of {}", ctx.name(first)),
        Confidence::Low,
        title,
    );
    Ok(RuleOutcome::Findings(vec![finding]))
}
