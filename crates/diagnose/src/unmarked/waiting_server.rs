//! Threads that wait for one thread, which waits itself for each of their requests: io-wait-serialised.
//!
//! ```text
//!   S   │ sleeps for A ▲ sleeps for B ▲ sleeps for C ▲      S asks a device or another host, one request after the other
//!   A    wait          │ run
//!   B    wait                         │ run                 B and C wait while S sleeps for A
//!   C    wait                                        │ run
//! ```
//!
//! Workers that wait for a thread that hands out work look the same from outside. A thread must have asked: see the table `served_waits`.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding};
use crate::pools::{Pool, Processes};
use crate::range::Range;
use crate::rules::MIN_SHARE;
use engine::EngineError;
use model::tables::served_waits;
use model::words::{ms, percent, plural, short};
use model::{Fix, Ns, ThreadKey, Threads, Tid};
use std::collections::BTreeMap;

/// The part of the questions that the server must have answered to the thread that asked: nearly all. Of workers that say when they are done,
/// another one gets the next piece of work.
const MIN_ANSWERED: f64 = 0.8;

/// With less than this part of the server's waits saved, most requests are served together already, or there is only one at a time.
const MIN_GAIN: f64 = 0.4;

/// How many of the requests depend on each other is unknown, and so is how many the device handles at the same time.
const RANGE: Range = Range { low: 0.6, high: 1.3 };

/// The threads of a pool that wait for a server.
#[derive(Default)]
struct Clients {
    tids: BTreeMap<ThreadKey, Tid>,
    waits: i64,
    both_waited: Ns,
    asked: i64,
    answered: i64,
    evidence: EvidenceRows,
}

/// A thread for which others wait.
#[derive(Default)]
struct Server {
    tid: Tid,
    waits: i64,
    waited: Ns,
    reason: String,
    clients: BTreeMap<Pool, Clients>,
}

/// Returns a finding for each server that answered at least `min_served` requests and loses a notable share of the time in this way. Each has
/// the server as the thread that was waited for.
pub(crate) fn find(ctx: &RuleContext<'_>, processes: &Processes, min_served: f64) -> Result<Vec<Finding>, EngineError> {
    let mut servers = BTreeMap::<ThreadKey, Server>::new();
    ctx.each_row(served_waits::Table, |row| {
        let (thread, server) = (row.get(served_waits::THREAD), row.get(served_waits::SERVER));
        if ctx.is_kernel_thread(thread) || ctx.is_kernel_thread(server) {
            return;
        }
        let of = servers.entry(server).or_default();
        (of.tid, of.waits, of.waited) =
            row.all((served_waits::SERVER_TID, served_waits::SERVER_WAITS, served_waits::SERVER_WAITED_NS));
        row.get(served_waits::SERVER_REASON.or_empty()).clone_into(&mut of.reason);
        let clients = of.clients.entry(processes.pool(ctx, thread)).or_default();
        let [waits, asked, answered] = row.all([served_waits::WAITS, served_waits::ASKED, served_waits::ANSWERED]);
        let both_waited = row.get(served_waits::BOTH_WAITED_NS);
        if waits > 0 {
            clients.tids.insert(thread, row.get(served_waits::TID));
        }
        clients.waits = clients.waits.saturating_add(waits);
        clients.asked = clients.asked.saturating_add(asked);
        clients.answered = clients.answered.saturating_add(answered);
        clients.both_waited += both_waited;
        clients.evidence.push(
            both_waited,
            row,
            &[&served_waits::WAITS, &served_waits::BOTH_WAITED_NS, &served_waits::ASKED, &served_waits::ANSWERED],
        );
    })?;
    Ok(servers.into_iter().filter_map(|(server, of)| finding(ctx, server, of, min_served)).collect())
}

fn finding(ctx: &RuleContext<'_>, server: ThreadKey, of: Server, min_served: f64) -> Option<Finding> {
    let Server { tid, waits: own_waits, waited, reason, clients } = of;
    let ((_, pool), clients) = clients.into_iter().max_by_key(|(_, clients)| clients.both_waited)?;
    // How many requests were in its hands while it waited, and how many it answered after each wait.
    let concurrent = clients.both_waited.as_f64() / waited.max(Ns(1)).as_f64();
    let together = (clients.waits as f64 / own_waits.max(1) as f64).max(1.0);
    let gain = 1.0 - together / concurrent.max(1.0);
    let saved = waited.scaled(gain.max(0.0));
    let is_server = clients.asked > 0 && clients.answered as f64 >= MIN_ANSWERED * clients.asked as f64;
    if clients.tids.len() < 2
        || !is_server
        || (clients.waits as f64) < min_served
        || gain < MIN_GAIN
        || saved < ctx.share_ns(&MIN_SHARE).max(Ns(1))
    {
        return None;
    }
    let claims: Vec<_> = clients.tids.iter().map(|(thread, tid)| ctx.claim(*thread, *tid, saved)).collect();
    let name = ctx.name(server);
    let threads = ctx.name_of_all(clients.tids.keys().copied(), &pool);
    let requests = (concurrent.round() as u32).clamp(2, u32::try_from(claims.len()).unwrap_or(u32::MAX));
    let change = Fix::InFlight { threads: Threads { name: name.clone(), tids: vec![tid] }, requests };
    let what = format!(
        "Let {name} begin the next request while it waits for the previous one, or serve all that are there with one wait"
    );
    let finding = ctx.finding(claims, change, what);
    Some(Finding {
        title: format!(
            "{} named {} waited for {name}, which waited itself{} for one request after the other: {} for {} ms ({} of the time), with {concurrent:.1} of \
             them waiting on average",
            plural(clients.tids.len() as u64, "thread"),
            short(&threads, 40),
            if reason.is_empty() { String::new() } else { format!(" ({reason})") },
            plural(own_waits.unsigned_abs(), "time"),
            ms(waited),
            percent(waited, ctx.span().len())
        ),
        range_ns: RANGE.of(saved).map(|ns| ns.min(waited)),
        confidence: Confidence::Medium,
        waited_for: vec![server],
        evidence: clients.evidence.finish(),
        assumptions: vec![
            format!(
                "{name} can wait for {requests} requests in the time of one, and none depends on the answer to another (lower bound: some do)"
            ),
            format!(
                "it gets requests: in {} of {} cases in which a thread ended its wait and then waited, it answered that thread first",
                clients.answered, clients.asked
            ),
        ],
        ..finding
    })
}
