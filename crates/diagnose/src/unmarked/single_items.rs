//! A thread that wakes another one for each item that it writes, as programs do that write line by line to a pipe: chunks-too-small.
//!
//! ```text
//!   A   run, write, run, write, run, write      A never waits, and most of its time is that of its system calls
//!   B   │▲ run │    ▲ run │     ▲ run           B runs for a few microseconds for each item
//! ```

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Confidence, Finding};
use crate::kernel::KernelTime;
use crate::range::Range;
use engine::EngineError;
use model::tables::{critical_by_thread, pools, wakers};
use model::words::{ms, percent_of, plural, time};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

/// The wakeups per second of one thread by the other, from which they cost more than most work.
const MIN_PER_SECOND: f64 = 5000.0;
/// The mean running time of the woken thread for each wakeup.
const MAX_RUN_NS: Ns = Ns(16_000);
/// Wakeups in the other direction, relative to these: with more, they are requests and answers.
const MAX_ANSWERED: f64 = 0.1;
/// The share of the analysed time for which the waker runs on the critical path.
const MIN_PATH: f64 = 0.5;
/// The share of the waker's samples that hit the kernel.
const MIN_KERNEL: f64 = 0.6;

/// With items in blocks, so much of the time in the kernel is left.
const LEFT: f64 = 0.1;
const RANGE: Range = Range { low: 0.5, high: 1.35 };

/// Returns the finding about the thread that loses most in this way.
pub(crate) fn find(ctx: &RuleContext<'_>) -> Result<Option<Finding>, EngineError> {
    let span = ctx.span().len();
    let mut on_path = BTreeMap::new();
    ctx.each_row(critical_by_thread::Table, |row| {
        let waiting = row.all([
            critical_by_thread::READY_NS,
            critical_by_thread::WAKEUP_LATENCY_NS,
            critical_by_thread::BLOCKED_NS,
        ]);
        let ran = waiting.iter().fold(row.get(critical_by_thread::PATH_NS), |ran, ns| ran - *ns);
        if ran.as_f64() >= MIN_PATH * span.as_f64() {
            on_path.insert(row.get(critical_by_thread::THREAD), (row.get(critical_by_thread::TID.or_zero()), ran));
        }
    })?;
    if on_path.is_empty() {
        return Ok(None);
    }
    let mut wakeups = BTreeMap::<(ThreadKey, ThreadKey), i64>::new();
    let (mut tids, mut evidence) = (BTreeMap::new(), EvidenceRows::default());
    ctx.each_row(wakers::Table, |row| {
        let (thread, waker, count) = (row.get(wakers::THREAD), row.get(wakers::WAKER), row.get(wakers::WAKINGS));
        // A kernel thread that is woken for each item does the work of a device.
        let Some(waker) = waker.filter(|waker| *waker > ThreadKey::IDLE && !ctx.is_kernel_thread(thread)) else {
            return;
        };
        add(&mut wakeups, (waker, thread), count);
        tids.insert(thread, row.get(wakers::TID));
        if on_path.contains_key(&waker) {
            evidence.push(count, row, &[&wakers::WAKINGS, &wakers::READY_NS]);
        }
    })?;
    let mut running = BTreeMap::new();
    ctx.each_row(pools::Table, |row| add(&mut running, row.get(pools::THREAD), row.get(pools::RUNNING_NS)))?;
    let least = (MIN_PER_SECOND * span.as_f64() / 1e9).max(1.0);
    let is_for_each = |of: &((ThreadKey, ThreadKey), i64)| {
        let ((waker, woken), count) = *of;
        let back = wakeups.get(&(woken, waker)).copied().unwrap_or(0);
        on_path.contains_key(&waker)
            && count as f64 >= least
            && back as f64 <= MAX_ANSWERED * count as f64
            && running.get(&woken).copied().unwrap_or(Ns::ZERO) <= MAX_RUN_NS * count
    };
    let most = wakeups.iter().map(|(of, count)| (*of, *count)).filter(is_for_each).max_by_key(|(_, count)| *count);
    let Some(((waker, woken), count)) = most else { return Ok(None) };
    let Some(kernel) = KernelTime::new(ctx)?.share(std::iter::once(waker)).filter(|share| *share >= MIN_KERNEL) else {
        return Ok(None);
    };
    let (tid, ran) = on_path[&waker];
    let saved = Ns::whole(ran.as_f64() * kernel * (1.0 - LEFT));
    let claims =
        vec![ctx.claim(waker, tid, saved), ctx.claim(woken, tids.get(&woken).copied().unwrap_or(Tid::UNKNOWN), saved)];
    let [from, to] = [waker, woken].map(|thread| ctx.name(thread));
    let change = Fix::Batch { threads: threads(&claims[..1]), pieces: 64 };
    let finding = ctx.finding(claims, change, format!("Let {from} write whole blocks to {to}, not single items"));
    Ok(Some(Finding {
        title: format!(
            "{from} woke {to} {}, every {} on average, and spent {} of its {} ms of running in the kernel",
            plural(count.unsigned_abs(), "time"),
            time(ran / count.max(1)),
            percent_of(kernel),
            ms(ran)
        ),
        severity: ctx.severity(saved),
        recoverable_ns: saved,
        range_ns: RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.finish(),
        assumptions: vec![
            format!("the system calls of {from} are those that hand over single items (lower bound: half of them are)"),
            format!("upper bound: {from} also prepares blocks faster than single items"),
        ],
        ..finding
    }))
}
