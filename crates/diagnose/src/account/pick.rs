//! The largest parts of an account.

use super::Explained;
use engine::critical::{Activity, Cause, Times, Wait, WaitId};
use model::{Coded, Ns, ThreadKey, WaitKind};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

/// Parts below this share are not stated alone.
const MIN_SHARE: f64 = 0.1;
/// Where what a thread waits for consists of one wait of the awaited thread to this share, that one is stated instead.
const MIN_PASSED_ON: f64 = 0.7;
/// From this share of the windows on, a thread waits for another one in each of them.
const MIN_WINDOWS: f64 = 0.5;
/// Without windows: the least number of visits of threads that are waited for in turn, and how much these numbers may differ.
const MIN_TURNS: i64 = 5;
const MAX_TURNS_RATIO: f64 = 1.5;

/// What the threads of a node did, without what is of no account for a statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Does {
    Running,
    /// Ready while a thread of a role runs, if that is known.
    Ready(Option<usize>),
    WakeupLatency,
    Throttled,
    /// Blocked, for this or for others in the same call and of the same kind.
    Blocked(Option<WaitId>),
    Exited,
    Unknown,
}

/// A part of the account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// What the threads of the node did.
    Does(Does),
    /// They waited for those of a node below.
    Waits(usize),
    /// They waited for those of several nodes below, one after another.
    InTurn(Vec<usize>),
}

/// A part, and its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) node: usize,
    pub(super) what: Kind,
    pub(super) time: Ns,
    pub(super) times: Times,
    /// The nodes whose time it is: its own, or those below.
    pub(super) nodes: Vec<usize>,
}

/// Returns the largest parts, the largest first. They do not overlap.
pub(super) fn found(of: &Explained<'_, '_>) -> Vec<Found> {
    let least = of.whole().scaled(MIN_SHARE).max(Ns(1));
    let mut found = Vec::new();
    for root in of.account.below(None) {
        pick(of, root, &mut found);
    }
    let mut joined = joined(of, found);
    joined.retain(|found| found.time >= least);
    joined.sort_by_key(|found| (Reverse(found.time), found.node));
    joined
}

/// Whether what the threads did is unknown.
pub(super) fn is_unknown(found: &Found) -> bool {
    matches!(found.what, Kind::Does(Does::Unknown))
}

/// The parts of a node: what its threads did themselves.
pub(super) fn own_parts(of: &Explained<'_, '_>, node: usize) -> Vec<(Does, Times)> {
    /// The call and the kind of a wait.
    type Alike<'w> = Option<(Option<&'w str>, &'w str)>;
    let mut parts = BTreeMap::<(Does, Alike<'_>), (Times, BTreeMap<Option<WaitId>, Ns>)>::new();
    let alike = |wait: WaitId| of.account.waits.get(wait as usize).map(|wait| (wait.reason.as_deref(), &*wait.kind));
    for (doing, times) in &of.account.nodes[node].doing {
        let does = does(doing);
        let (key, wait) = match does {
            Does::Blocked(wait) => (Does::Blocked(None), wait),
            does => (does, None),
        };
        let (sum, waits) = parts.entry((key, wait.and_then(alike))).or_default();
        sum.plus(times);
        *waits.entry(wait).or_default() += times.path[0];
    }
    let part = |((does, _), (times, waits)): (_, (Times, BTreeMap<Option<WaitId>, Ns>))| {
        let longest = waits.into_iter().rev().max_by_key(|(_, time)| *time).and_then(|(wait, _)| wait);
        (if let Does::Blocked(_) = does { Does::Blocked(longest) } else { does }, times)
    };
    parts.into_iter().map(part).collect()
}

fn does(doing: &Activity) -> Does {
    match doing.cause {
        Cause::Running(_) | Cause::SiblingBusy(_) => Does::Running,
        Cause::Ready(_) => Does::Ready(doing.instead),
        Cause::WakeupLatency => Does::WakeupLatency,
        Cause::Throttled => Does::Throttled,
        Cause::Blocked => Does::Blocked(doing.wait),
        Cause::Exited => Does::Exited,
        Cause::Unknown => Does::Unknown,
    }
}

/// Adds the parts of a node and of those below it.
fn pick(of: &Explained<'_, '_>, node: usize, found: &mut Vec<Found>) {
    let times = own_parts(of, node).into_iter().map(|(does, times)| (Kind::Does(does), times));
    found.extend(times.map(|(what, times)| Found { node, what, time: of.time(&times), times, nodes: vec![node] }));
    let mut below: Vec<usize> = of.account.below(Some(node)).collect();
    let in_turn = in_turn(of, node, &below);
    if !in_turn.is_empty() {
        let mut times = Times::default();
        in_turn.iter().for_each(|below| times.plus(&of.sums[*below]));
        below.retain(|node| !in_turn.contains(node));
        let nodes = in_turn.clone();
        found.push(Found { node, what: Kind::InTurn(in_turn), time: of.time(&times), times, nodes });
    }
    for child in below {
        let times = of.sums[child];
        if is_passed_on(of, child) {
            pick(of, child, found);
        } else {
            let what = Kind::Waits(child);
            found.push(Found { node, what, time: of.time(&times), times, nodes: vec![child] });
        }
    }
}

/// Whether what the threads of a node did is stated, and not that others waited for them.
fn is_passed_on(of: &Explained<'_, '_>, node: usize) -> bool {
    let kind = link_kind(of, node);
    if matches!(kind, Some(Wait::START)) || matches!(kind.and_then(wait_kind), Some(WaitKind::Thread | WaitKind::Child))
    {
        return true;
    }
    let least = of.time(&of.sums[node]).scaled(MIN_PASSED_ON);
    let is_most = |times: &Times| of.time(times) >= least && of.time(times) > Ns::ZERO;
    if of.account.below(Some(node)).any(|below| is_most(&of.sums[below])) {
        return true;
    }
    // Work for which others wait is what bounds the end; with a lock, that it is held matters.
    let is_lock = kind.and_then(wait_kind).is_some_and(WaitKind::is_lock);
    let runs = own_parts(of, node).iter().any(|(does, times)| *does == Does::Running && is_most(times));
    of.is_to_end() && !is_lock && runs
}

/// The kind of what those above a node waited for.
pub(super) fn link_kind<'a>(of: &'a Explained<'_, '_>, node: usize) -> Option<&'a str> {
    let link = of.account.nodes[node].link?;
    of.account.waits.get(link as usize).map(|wait| &*wait.kind)
}

pub(super) fn wait_kind(word: &str) -> Option<WaitKind> {
    WaitKind::of_word(word.as_bytes())
}

/// The nodes below one whose threads are awaited in turn, in their order.
fn in_turn(of: &Explained<'_, '_>, node: usize, below: &[usize]) -> Vec<usize> {
    let nodes = &of.account.nodes;
    let least = of.whole().scaled(MIN_SHARE).max(Ns(1));
    let is_awaited = |child: &usize| {
        let kind = link_kind(of, *child).and_then(wait_kind);
        let is_end =
            matches!(kind, Some(WaitKind::Thread | WaitKind::Child)) || link_kind(of, *child) == Some(Wait::START);
        let is_lock = kind.is_some_and(WaitKind::is_lock);
        !is_end && !is_lock && nodes[*child].role != nodes[node].role && of.time(&of.sums[*child]) >= least
    };
    let mut all: Vec<usize> = below.iter().copied().filter(is_awaited).collect();
    let windows = of.account.counts[0];
    if of.is_to_end() {
        let visits = |child: &usize| nodes[*child].visits[0];
        let most = all.iter().map(visits).max().unwrap_or(0);
        let is_as_often =
            |child: &usize| visits(child) >= MIN_TURNS && visits(child) as f64 * MAX_TURNS_RATIO >= most as f64;
        all.retain(is_as_often);
    } else {
        all.retain(|child| nodes[*child].windows[0] as f64 >= MIN_WINDOWS * windows as f64);
    }
    let roles: BTreeSet<usize> = all.iter().map(|child| nodes[*child].role).collect();
    if roles.len() < 2 {
        return Vec::new();
    }
    let began = |child: &usize| nodes[*child].began[0] / nodes[*child].windows[0].max(1);
    all.sort_by_key(|child| (began(child), *child));
    all
}

/// Parts that say the same of the same roles, joined.
fn joined(of: &Explained<'_, '_>, found: Vec<Found>) -> Vec<Found> {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    enum Same {
        Does(usize, Does),
        Waits(usize, usize, Option<String>),
        InTurn(usize),
    }
    let nodes = &of.account.nodes;
    let same = |of_part: &Found| match &of_part.what {
        // What is waited for is in the sentence of the largest.
        Kind::Does(Does::Blocked(wait)) => {
            let first = wait.and_then(|wait| {
                let own = of.account.waits.get(wait as usize)?;
                of.account.waits.iter().position(|other| (&other.reason, &other.kind) == (&own.reason, &own.kind))
            });
            Same::Does(nodes[of_part.node].role, Does::Blocked(first.and_then(|first| WaitId::try_from(first).ok())))
        }
        Kind::Does(does) => Same::Does(nodes[of_part.node].role, *does),
        Kind::Waits(below) => {
            Same::Waits(nodes[of_part.node].role, nodes[*below].role, link_kind(of, *below).map(str::to_owned))
        }
        Kind::InTurn(_) => Same::InTurn(of_part.node),
    };
    let mut all = BTreeMap::<Same, Found>::new();
    for part in found {
        match all.entry(same(&part)) {
            Entry::Vacant(empty) => {
                empty.insert(part);
            }
            Entry::Occupied(mut of) => {
                let before = of.get_mut();
                let mut times = before.times;
                times.plus(&part.times);
                let time = before.time + part.time;
                let nodes = before.nodes.iter().chain(&part.nodes).copied().collect();
                let larger = if part.time > before.time { part } else { before.clone() };
                *before = Found { time, times, nodes, ..larger };
            }
        }
    }
    all.into_values().collect()
}

/// The thread of a role that is named.
pub(super) fn threads(of: &Explained<'_, '_>, found: &Found) -> Vec<ThreadKey> {
    let nodes = &of.account.nodes;
    let below = match &found.what {
        Kind::Does(_) => Vec::new(),
        Kind::Waits(below) => vec![*below],
        Kind::InTurn(all) => all.clone(),
    };
    std::iter::once(found.node).chain(below).map(|node| nodes[node].thread()).collect()
}
