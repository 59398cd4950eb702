//! A client that waits for the answer to each request before it sends the next one: too-few-workers.
//!
//! ```text
//!   client   run ├ waits for the server ┤ run ├ waits ...         one request is under way at a time, whatever the number of
//!   server   │   run                    │     run                 processes that it passes through
//! ```

use crate::context::{EvidenceRows, RuleContext, add, threads};
use crate::finding::{Action, Confidence, Finding};
use crate::pools::Processes;
use crate::serial::SERIAL_RANGE;
use engine::EngineError;
use model::tables::waits;
use model::words::{ms, percent, plural, time};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

/// The share of the analysed time for which the client waits for other processes.
const MIN_WAITING: f64 = 0.6;
/// A thread that waits for others for this share of the time may be a second client.
const MIN_OTHER: f64 = 0.3;
/// The minimum number of its waits per second: rarer ones are for something else than answers.
const MIN_PER_SECOND: f64 = 100.0;
/// The share of the CPUs' time that must be idle.
const MIN_IDLE: f64 = 0.2;
/// If threads wait for a device for this part of the client's waiting, the device decides: io-wait-serialised.
const MAX_DEVICE: f64 = 0.4;
/// Waits for the end of other processes.
const FOR_AN_END: [&str; 3] = ["wait4", "waitid", "waitpid"];

#[derive(Default)]
struct Client {
    tid: Tid,
    count: i64,
    blocked: Ns,
    /// By the thread that ended the wait.
    by: BTreeMap<ThreadKey, Ns>,
}

/// Returns the finding about the only client, if it waits for most of the time.
pub(crate) fn find(ctx: &RuleContext<'_>, processes: &Processes) -> Result<Option<Finding>, EngineError> {
    if processes.focus().is_none() {
        return Ok(None);
    }
    let (mut clients, mut evidence) =
        (BTreeMap::<ThreadKey, Client>::new(), BTreeMap::<ThreadKey, EvidenceRows>::new());
    let mut of_device = Ns::ZERO;
    ctx.each_row(waits::Table, |row| {
        let (thread, tid, count, blocked) = row.all((waits::THREAD, waits::TID, waits::WAITS, waits::BLOCKED_NS));
        if row.get(waits::STATE_LETTER.or_empty()) == "D" && !ctx.is_kernel_thread(thread) {
            of_device += blocked;
        }
        let Some(waker) =
            row.get(waits::WAKER).filter(|waker| *waker > ThreadKey::IDLE && !ctx.is_kernel_thread(*waker))
        else {
            return;
        };
        let is_end = FOR_AN_END.contains(&row.get(waits::REASON.or_empty()));
        if is_end || ctx.is_kernel_thread(thread) || processes.are_one(thread, waker) || processes.is_servers(thread) {
            return;
        }
        let client = clients.entry(thread).or_default();
        client.tid = tid;
        client.count = client.count.saturating_add(count);
        client.blocked += blocked;
        add(&mut client.by, waker, blocked);
        evidence.entry(thread).or_default().push(blocked, row, &[&waits::WAITS, &waits::BLOCKED_NS]);
    })?;
    let span = ctx.span().len();
    let waits_for = |client: &Client, part: f64| client.blocked.as_f64() >= part * span.as_f64();
    clients.retain(|_, client| waits_for(client, MIN_OTHER));
    let (1, Some((thread, client))) = (clients.len(), clients.pop_first()) else { return Ok(None) };
    let often = client.count as f64 >= MIN_PER_SECOND * span.as_f64() / 1e9;
    let rest = (span - ctx.running_ns(|_| true)? / ctx.cpus()?.max(1)).max(Ns::ZERO);
    let is_of_device = of_device.as_f64() >= MAX_DEVICE * client.blocked.as_f64();
    if is_of_device || !(often && waits_for(&client, MIN_WAITING) && rest.as_f64() >= MIN_IDLE * span.as_f64()) {
        return Ok(None);
    }
    let saved = (client.blocked / 2).min(rest);
    let (name, claims) = (ctx.name(thread), vec![ctx.claim(thread, client.tid, saved)]);
    let server = client.by.iter().max_by_key(|(_, ns)| **ns).map_or_else(String::new, |(waker, _)| ctx.name(*waker));
    let change = Fix::InFlight { threads: threads(&claims), requests: 2 };
    let finding = ctx.finding(claims, change, String::new());
    let linux = format!(
        "let {name} use several connections at a time, send requests without waiting for the previous answers, or put more into each request"
    );
    Ok(Some(Finding {
        title: format!(
            "{name} waited {} for an answer from {server}, {} on average: {} ms in total ({} of the time), one request at a time",
            plural(client.count.unsigned_abs(), "time"),
            time(client.blocked / client.count.max(1)),
            ms(client.blocked),
            percent(client.blocked, span)
        ),
        range_ns: SERIAL_RANGE.of(saved),
        confidence: Confidence::Medium,
        evidence: evidence.remove(&thread).map(EvidenceRows::finish).unwrap_or_default(),
        action: Action {
            what: format!("Let {name} have several requests under way at a time"),
            windows: linux.clone(),
            linux,
            ..finding.action
        },
        assumptions: vec![
            "no request depends on the answer to the one before (lower bound: half of that is gained)".to_owned(),
            "two at a time halve the waiting, as far as the CPUs have time (upper bound: more at a time, and fewer switches)".to_owned(),
        ],
        ..finding
    }))
}
