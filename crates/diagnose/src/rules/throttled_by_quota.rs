//! Threads throttled by a CPU quota.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, threads};
use crate::finding::{Claim, Confidence, Finding};
use crate::range::Range;
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, critical_by_thread, ready_wait, thread_scheduling};
use model::words::{ms, plain, plural};
use model::{Fix, Ns, QuotaOf};

pub(super) const RULE: Rule = Rule {
    id: "throttled-by-quota",
    about: "runnable threads were throttled by the CPU quota of their control group",
    page: Page {
        description: "Threads that were ready while the CPU quota of their control group (cpu.max; a container's CPU limit) throttled them, \
                whether or not a CPU was free.",
        rationale: "A group that has used up its quota stops until the next period, with all its threads: for up to 100 ms with the \
                  kernel's default period, in which no request is answered.",
        certainty: "Each throttling is recorded. A thread that waits for a throttled one loses time as well: the estimate is how \
               long the critical path was throttled, or the longest throttled thread. How much earlier a thread would be done depends on a free CPU; \
               if other threads would use that CPU, less is saved.",
        fix: "Raise the quota, or start no more threads than it allows for: with a quota of two CPUs, eight threads use up a period's \
               quota in a quarter of it.",
        example: "A's group has used up its quota at 2 ms and is throttled until 5 ms, with its CPU idle: potential saving 3 ms.",
    },
    tables: &[&tables::READY_WAIT, &tables::CRITICAL_BY_THREAD, &tables::THREAD_SCHEDULING],
    thresholds: &[&MIN_SHARE],
    explains: &[],
    worst: Fits::Throttled,
    shares_out_work: false,
    check,
};

/// Threads that run beside the throttled ones gain too, and a CPU may be taken by others.
const RANGE: Range = Range { low: 0.55, high: 1.6 };

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut claims, mut evidence) = (Vec::new(), EvidenceRows::default());
    let (mut has_data, mut ran, mut throttled_ns) = (false, Ns::ZERO, Ns::ZERO);
    ctx.each_row(ready_wait::Table, |row| {
        let throttled = row.get(ready_wait::THROTTLED_NS);
        has_data |= throttled.is_some();
        let (thread, tid, running) = row.all((ready_wait::THREAD, ready_wait::TID, ready_wait::RUNNING_NS));
        if let Some(ns) = throttled.filter(|ns| *ns > Ns::ZERO) {
            claims.push(ctx.claim(thread, tid, ns));
            evidence.push(ns, row, &[&ready_wait::THROTTLED_NS, &ready_wait::READY_NS, &ready_wait::RUNNING_NS]);
            (ran, throttled_ns) = (ran + running, throttled_ns + ns);
        }
    })?;
    if !has_data {
        return Ok(RuleOutcome::MissingData(
            "throttling was not recorded; recordings by corewise on Linux 6.18 and later include it".to_owned(),
        ));
    }
    let most = claims.iter().map(|c| c.recoverable_ns).max().unwrap_or(Ns::ZERO);
    if most < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    // A thread that waits for a throttled one is delayed too: for as long as the critical path was throttled.
    let mut on_path = Ns::ZERO;
    if ctx.summary().ready_known {
        ctx.each_row(critical_by_thread::Table, |row| on_path += row.get(critical_by_thread::THROTTLED_NS))?;
    }
    let recoverable = on_path.max(most);
    // The quota that would have covered the throttled time; a group that hardly ran needs its own number.
    let more = i128::from(throttled_ns.0) * 100 / i128::from(ran.0.max(1));
    let more_percent = u32::try_from(more.clamp(1, 10_000)).unwrap_or(10_000);
    let cgroup = cgroup_of(ctx, &claims)?;
    let group = match &cgroup {
        Some(of @ QuotaOf { quota: Some(quota), period, .. }) => {
            format!("{} ({} ms in each {} ms)", plain(of.path()), ms(*quota), ms(*period))
        }
        Some(of) => format!("a group that contains {}", plain(of.path())),
        None => "their group".to_owned(),
    };
    let change = Fix::Quota { threads: threads(&claims), more_percent, cgroup };
    let what = "Raise the quota, or use fewer threads".to_owned();
    let title = format!(
        "The CPU quota of {group} throttled {}: {} for {} ms",
        plural(claims.len() as u64, "runnable thread"),
        threads(&claims).name,
        ms(most)
    );
    Ok(RuleOutcome::Findings(vec![Finding {
        title,
        severity: ctx.severity(recoverable),
        recoverable_ns: recoverable,
        range_ns: RANGE.of(recoverable),
        confidence: Confidence::High,
        evidence: evidence.finish(),
        assumptions: vec![
            "a CPU would have been free while the group was throttled (lower bound: none)".to_owned(),
            "the saving is the time for which the critical path, or the longest throttled thread, was throttled (upper bound: all of them one after another)"
                .to_owned(),
            "throttled threads need as much quota as the time for which they were throttled; with more throttled at the same time, less is needed"
                .to_owned(),
        ],
        ..ctx.finding(claims, change, what)
    }]))
}

/// Returns the cgroup of the thread that was throttled longest, as it was set last; none if it is not recorded or must not be shown.
fn cgroup_of(ctx: &RuleContext<'_>, claims: &[Claim]) -> Result<Option<QuotaOf>, EngineError> {
    let Some(longest) = claims.iter().max_by_key(|claim| claim.recoverable_ns).filter(|_| !ctx.is_redacted()) else {
        return Ok(None);
    };
    let mut found = None;
    ctx.each_row(thread_scheduling::Table, |row| {
        if row.get(thread_scheduling::THREAD) != longest.thread {
            return;
        }
        let path = row.get(thread_scheduling::CGROUP).map(str::to_owned);
        let period = row.get(thread_scheduling::CGROUP_PERIOD_NS);
        // It may be a bare number, and a path with other characters is not safe in a command.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._:@-\\".contains(&byte);
        let is_path =
            |path: &String| path.strip_prefix("cpu:").unwrap_or(path).starts_with('/') && path.bytes().all(is_plain);
        found = path.filter(is_path).zip(period).map(|(path, period)| QuotaOf {
            path,
            quota: row.get(thread_scheduling::CGROUP_QUOTA_NS),
            period,
        });
    })?;
    Ok(found)
}
