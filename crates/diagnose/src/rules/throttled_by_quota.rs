//! Threads that a CPU quota held.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown, threads};
use crate::rule::{Looked, Page, Rule};
use engine::EngineError;
use model::Fix;
use model::tables::{self, critical_by_thread, ready_wait};
use model::words::{ms, plural};

pub(super) const RULE: Rule = Rule {
    id: "throttled-by-quota",
    about: "threads could run, but the CPU quota of their control group held them",
    page: Page {
        finds: "Threads that were ready while the CPU quota of their control group (cpu.max; a container's CPU limit) held them, \
                whether or not a CPU was free.",
        matters: "A group that has used its quota stands still until the next period, all its threads at once: up to 100 ms with the \
                  kernel's own period, in which a request is not answered.",
        sure: "The recording tells each throttling. A thread that waits for one that is held loses time as well: what counts is for how \
               long the critical path was held, or the thread that was held longest. By how much sooner a thread is done without the quota rests on a CPU being free then; \
               where others would take it, less is given back.",
        mend: "Raise the quota, or start no more threads than it pays for: with a quota of two CPUs, eight threads use up a period's \
               quota in a quarter of it.",
        example: "A's group has used its quota at 2 ms and is held until 5 ms, with its CPU idle: 3 ms could be recovered.",
    },
    tables: &[&tables::READY_WAIT, &tables::CRITICAL_BY_THREAD],
    thresholds: &[&LEAST_SHARE],
    explains: &[],
    look,
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let (mut claims, mut shown) = (Vec::new(), Shown::default());
    let (mut told, mut ran, mut held) = (false, 0_i64, 0_i64);
    given.each(ready_wait::Table, |row| {
        let throttled = row.get(ready_wait::THROTTLED_NS);
        told |= throttled.is_some();
        let [thread, tid, running] = row.all([ready_wait::THREAD, ready_wait::TID, ready_wait::RUNNING_NS]);
        if let Some(ns) = throttled.filter(|ns| *ns > 0) {
            claims.push(given.claim(thread, tid, ns));
            shown.push(ns, row, &[&ready_wait::THROTTLED_NS, &ready_wait::READY_NS, &ready_wait::RUNNING_NS]);
            (ran, held) = (ran.saturating_add(running), held.saturating_add(ns));
        }
    })?;
    if !told {
        return Ok(Looked::Lacks(
            "nobody tells when threads were throttled: recordings by corewise do, of Linux 6.18 and later".to_owned(),
        ));
    }
    let most = claims.iter().map(|c| c.recoverable_ns).max().unwrap_or(0);
    if most < given.share(&LEAST_SHARE).max(1) {
        return Ok(Looked::At(Vec::new()));
    }
    // Who waits for a thread that is held is held up too, without being held itself: as long as the path was.
    let mut on_path = 0_i64;
    if given.summary().ready_known {
        given.each(critical_by_thread::Table, |row| {
            on_path = on_path.saturating_add(row.get(critical_by_thread::THROTTLED_NS))
        })?;
    }
    let recoverable = on_path.max(most);
    // So that what was held could have run too; a group that hardly ran needs a figure of its own.
    let more = i128::from(held) * 100 / i128::from(ran.max(1));
    let change =
        Fix::Quota { threads: threads(&claims), more_percent: u32::try_from(more.clamp(1, 10_000)).unwrap_or(10_000) };
    let what = "Raise the quota, or use fewer threads".to_owned();
    let title = format!(
        "The CPU quota of their group held {} that could run, {} for {} ms",
        plural(claims.len() as u64, "thread"),
        threads(&claims).name,
        ms(most)
    );
    Ok(Looked::At(vec![Finding {
        title,
        severity: given.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: [0, held.max(recoverable)],
        confidence: Confidence::High,
        evidence: shown.finish(),
        assumptions: vec![
            "a CPU would have been free while the group was held; the lower end: none".to_owned(),
            "as long as the critical path was held, or the thread that was held longest; the upper end: all of them one after another"
                .to_owned(),
            "what was held needs as much of the quota as it waited: the more is held at once, the less of it is needed"
                .to_owned(),
        ],
        ..given.finding(claims, change, what)
    }]))
}
