//! Periodic threads that wait for a CPU when they are due.

use crate::context::{EvidenceRows, RuleContext, add};
use crate::finding::{Confidence, Finding, Severity};
use crate::pools::Processes;
use crate::priorities::{self, FIRST_FAIR_PRIO, NICE_0};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::interpreter_lock;
use engine::EngineError;
use model::tables::{self, periods, ran_instead};
use model::words::{grouped, ms, percent, plural, time};
use model::{Fix, Ns, Policy, ThreadKey, Threads, Tid};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    id: "periodic-thread-delayed",
    about: "a thread that a timer wakes at a steady period waited for a CPU when it was due",
    page: Page {
        description: "Threads of the table `periods` that were queued behind other threads for a large part of the time from when they were due until \
                their work was done. A thread with a real-time priority counts as queued behind other real-time threads only: the others make way \
                for it as soon as the kernel lets them. Only threads with a deadline of their own are named: the one that the objective names, and those that were \
                given a real-time policy or a nice value below 0. For others, such as those that look whether there is work or those of a runtime, being late \
                may cost nothing.",
        rationale: "A periodic thread (audio, control, a frame loop) is judged by how late it is. Threads that may run longer without a pause \
                  delay it by up to a time slice, although it needs little CPU time.",
        certainty: "Periods are found without marks: a steady timer is certain after some wakeups. Which threads ran instead is recorded. \
               A delay within the slack of a period, after which the thread still waits for the next one, makes nothing late: it is named, but \
               saves nothing. The potential saving is the time by which work ended after its period and that the thread waited in it.",
        fix: "Give it a real-time policy (chrt -f) or a lower nice value, or give the others a higher one; for the fair class, a shorter slice \
              (sched_setattr) makes it run sooner. With a real-time policy, no other thread runs on its CPU while it works.",
        example: "A is due every 4 ms and is queued behind B for 2 ms each time.",
    },
    tables: &[&tables::PERIODS, &tables::RAN_INSTEAD, &tables::PRIORITY_RESIDENCY, &tables::WAITS, &tables::SAMPLES],
    thresholds: &[&MIN_PERIODS, &MIN_OF_RESPONSE, &MIN_OF_TIME, &MIN_WORK, &MIN_STEADY, &MIN_MISSED, &MIN_LATE],
    explains: &["critical-thread-same-priority-as-workers"],
    worst: Fits::Ready,
    shares_out_work: false,
    check,
};

const MIN_PERIODS: Threshold = Threshold {
    name: "min_periods",
    unit: Unit::Count,
    value: 20.0,
    reason: "with fewer periods, a single late one decides",
};

const MIN_OF_RESPONSE: Threshold = Threshold {
    name: "min_of_response",
    unit: Unit::Ratio,
    value: 0.3,
    reason: "share of the time from due to done in which it was queued behind other threads: with less, its own work counts more",
};

const MIN_OF_TIME: Threshold = Threshold {
    name: "min_of_time",
    unit: Unit::Ratio,
    value: 0.02,
    reason: "share of its periods: a delay of 0.3 ms in a frame of 16.7 ms is not noticed",
};

const MIN_WORK: Threshold = Threshold {
    name: "min_work",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "running time relative to its periods: a thread that works less only polls, and is not reported, except the objective's or one with a \
             real-time priority, for which delays by threads of its own process do not count then",
};

const MIN_STEADY: Threshold = Threshold {
    name: "min_steady",
    unit: Unit::Ratio,
    value: 0.9,
    reason: "mean share of wakeups on time: the timers of a runtime follow its work",
};

const MIN_MISSED: Threshold = Threshold {
    name: "min_missed",
    unit: Unit::Ratio,
    value: 0.02,
    reason: "share of the periods that were missed: one in fifty is audible and visible",
};

const MIN_LATE: Threshold = Threshold {
    name: "min_late",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "share of the periods that ended late, from which delays of the thread that the objective names are medium: one in two hundred is \
             one every 3 s at 60 Hz",
};

/// What remains of the delay: interrupts, and threads of the same policy.
const RANGE: Range = Range { low: 0.5, high: 1.4 };

/// The most urgent priority that a program can have (kernel numbering). The kernel's own threads with a more urgent one, such as those that
/// move threads to other CPUs, run before all programs.
const FIRST_PRIO: i64 = 1;

/// For how long a thread was ready, and which threads it was queued behind.
#[derive(Default)]
struct Queued {
    ready: Ns,
    /// Behind threads before which it could run.
    behind: Ns,
    by: BTreeMap<String, Ns>,
    /// The most urgent priority of these.
    first_prio: Option<i64>,
}

/// The periods of a thread.
#[derive(Default)]
struct Periods {
    tid: Tid,
    count: i64,
    period: Ns,
    waited: Ns,
    running: Ns,
    response: Ns,
    missed: i64,
    /// The number of periods whose work ended after them.
    late: i64,
    /// How much of that time the thread waited for a CPU in these periods at most.
    late_waited: Ns,
    /// The sum of [`periods::STEADY`].
    steady: f64,
}

impl Periods {
    /// Whether its timer has a rhythm that its work has to keep.
    fn has_deadline(&self, ctx: &RuleContext<'_>) -> bool {
        self.running.as_f64() >= ctx.threshold(&MIN_WORK) * self.period.as_f64()
            && self.steady >= ctx.threshold(&MIN_STEADY) * self.count as f64
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if !ctx.summary().ready_known {
        return Ok(RuleOutcome::MissingData("the source has no wakeups, so periods are unknown".to_owned()));
    }
    let (mut threads, mut evidence) =
        (BTreeMap::<ThreadKey, Periods>::new(), BTreeMap::<ThreadKey, EvidenceRows>::new());
    ctx.each_row(periods::Table, |row| {
        let (thread, late, ready) = row.all((periods::THREAD, periods::LATE_NS, periods::READY_NS));
        if ctx.is_kernel_thread(thread) {
            return;
        }
        let sums = threads.entry(thread).or_default();
        let (tid, period, response, missed) =
            row.all((periods::TID, periods::PERIOD_NS, periods::RESPONSE_NS, periods::MISSED));
        (sums.tid, sums.count) = (tid, sums.count + 1);
        sums.period += period;
        sums.waited += late.max(Ns::ZERO) + ready;
        sums.running += row.get(periods::RUNNING_NS);
        sums.response += response;
        sums.steady += row.get(periods::STEADY);
        sums.missed = sums.missed.saturating_add(missed);
        let after = if ctx.has_no_slack(thread) { response } else { response - period };
        sums.late += i64::from(response > period);
        if after > Ns::ZERO {
            sums.late_waited += after.min(late.max(Ns::ZERO) + ready);
        }
        evidence.entry(thread).or_default().push(
            ready,
            row,
            &[&periods::LATE_NS, &periods::READY_NS, &periods::RESPONSE_NS],
        );
    })?;
    threads.retain(|_, sums| sums.count as f64 >= ctx.threshold(&MIN_PERIODS));
    let processes = Processes::new(ctx)?;
    let waiting = interpreter_lock::waiting(ctx, &processes)?;
    threads.retain(|thread, _| !waiting.contains_key(thread));
    let (prios, real_time) = (priorities::longest(ctx)?, priorities::real_time(ctx)?);
    let is_urgent = |thread: &ThreadKey| prios.get(thread).is_some_and(|prio| *prio < NICE_0);
    threads.retain(|thread, sums| {
        ctx.is_objective(*thread) || real_time.contains_key(thread) || is_urgent(thread) && sums.has_deadline(ctx)
    });
    let mut queued = BTreeMap::<ThreadKey, Queued>::new();
    ctx.each_row(ran_instead::Table, |row| {
        let (thread, ns) = row.all((ran_instead::THREAD, ran_instead::READY_NS));
        let Some(own) = threads.get(&thread) else { return };
        let queued = queued.entry(thread).or_default();
        queued.ready += ns;
        let Some(other) = row.get(ran_instead::RAN_INSTEAD).filter(|other| *other > ThreadKey::IDLE) else { return };
        let prio = row.get(ran_instead::RAN_INSTEAD_PRIO);
        // A thread that hardly works only looks whether there is work, so its own process does not wait for it.
        let polls = own.running.as_f64() < ctx.threshold(&MIN_WORK) * own.period.as_f64();
        let is_first = prio.is_some_and(|prio| prio < FIRST_PRIO);
        let makes_way = real_time.contains_key(&thread) && prio.is_some_and(|prio| prio >= FIRST_FAIR_PRIO);
        if !(is_first || makes_way || polls && processes.are_one(other, thread)) {
            queued.behind += ns;
            queued.first_prio = [queued.first_prio, prio].into_iter().flatten().min();
            add(&mut queued.by, ctx.name(other), ns);
        }
    })?;
    let mut found = Vec::new();
    for (thread, sums) in &threads {
        let queued = queued.remove(thread).unwrap_or_default();
        // Outside its periods it may have waited for others.
        let delayed = Ns::whole(sums.waited.as_f64() * queued.behind.as_f64() / queued.ready.max(Ns(1)).as_f64());
        let of_response = delayed.as_f64() / sums.response.max(Ns(1)).as_f64();
        let missed = sums.missed as f64 / (sums.count + sums.missed) as f64;
        let misses = missed >= ctx.threshold(&MIN_MISSED);
        let of_time = delayed.as_f64() / sums.period.max(Ns(1)).as_f64();
        if of_time < ctx.threshold(&MIN_OF_TIME) || !(of_response >= ctx.threshold(&MIN_OF_RESPONSE) || misses) {
            continue;
        }
        let lateness = Ns::whole(sums.late_waited.as_f64() * delayed.as_f64() / sums.waited.max(Ns(1)).as_f64());
        let often = ctx.has_no_slack(*thread) || sums.late as f64 >= ctx.threshold(&MIN_LATE) * sums.count as f64;
        let least = if ctx.is_objective(*thread) && often { Severity::Medium } else { Severity::Low };
        let name = ctx.name(*thread);
        let most = queued.by.iter().max_by_key(|(_, ns)| **ns).map_or("", |(name, _)| name);
        let own = Threads { name: name.clone(), tids: vec![sums.tid] };
        // One above those that ran instead.
        let level = queued.first_prio.filter(|_| real_time.contains_key(thread)).map(|prio| FIRST_FAIR_PRIO - prio);
        let level = level.and_then(|level| u8::try_from(level).ok());
        let change = Fix::Policy { threads: own, policy: Policy::Fifo, level };
        let mut finding = ctx.finding(
            vec![ctx.claim(*thread, sums.tid, delayed)],
            change,
            format!("Let {name} run as soon as it is due: before {most}"),
        );
        if real_time.contains_key(thread) {
            finding.action.linux = match level {
                Some(_) => format!("{}, or a lower priority for {most}", finding.change.linux()),
                None => format!("a lower priority for {most} than for {name} (chrt)"),
            };
        }
        found.push(Finding {
            title: format!(
                "{name}, due every {}, was queued behind other threads ({most} most of all) for {} ms in {}: {} of its response \
                 time; {} late",
                time(sums.period / sums.count.max(1)),
                ms(delayed),
                plural(sums.count.unsigned_abs(), "period"),
                percent(delayed, sums.response),
                grouped(sums.late)
            ),
            severity: ctx.severity(lateness).max(least),
            recoverable_ns: lateness,
            range_ns: RANGE.of(lateness),
            confidence: Confidence::Medium,
            evidence: evidence.remove(thread).map(EvidenceRows::finish).unwrap_or_default(),
            assumptions: vec![
                "the potential saving is lateness, summed over the periods whose work ended late, not time of the run".to_owned(),
                "it runs as soon as it is due (lower bound: half of the delay remains; upper bound: wakeups are faster, too)".to_owned(),
                "other threads of its CPU may wait for as long as it works".to_owned(),
            ],
            ..finding
        });
    }
    Ok(RuleOutcome::Findings(found))
}
