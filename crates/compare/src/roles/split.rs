//! Splits threads whose names do not suffice: unnamed threads of one process, and processes of one name. By what wakes them and what
//! they wait for, never by how long they ran: workers that share out work remain one pool. What only one side has is not a reason to
//! split either, as it may be the effect of the change.

use super::groups::{Groups, Kind, Place};
use super::names::{is_generic, numbered_pool, process_base};
use super::profile::median;
use super::shares::{Labels, Shares};
use crate::ThreadFacts;
use model::ThreadKey;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Threads that were woken less often show too little.
const MIN_WAKINGS: f64 = 8.0;
/// Threads whose shares differ by less are of one kind: half of their waits or wakeups are alike.
const JOIN: f64 = 0.5;
/// The threads of a name that are compared with each other; the others go to the nearest kind.
const COMPARED: usize = 192;

/// What must stay together: one thread, or a pool with a number of its own.
#[derive(Default)]
struct Unit {
    threads: Vec<Place>,
    woken_by: Shares,
    waits: Shares,
    running: f64,
    wakings: f64,
}

/// What makes threads of a run one unit.
#[derive(PartialEq, Eq, Hash)]
enum UnitKey {
    Thread(ThreadKey),
    /// The process, and the name of the pool with its number.
    Pool(Option<i64>, String),
}

#[derive(Clone, Default)]
struct Cluster {
    units: Vec<usize>,
    woken_by: Shares,
    waits: Shares,
}

/// Splits groups. Returns the number of groups that it made.
pub(super) fn split(groups: &mut Groups<'_>) -> usize {
    let by_key: [Vec<HashMap<ThreadKey, &ThreadFacts>>; 2] = groups.runs.map(|side| {
        side.iter().map(|run| run.threads.iter().map(|thread| (thread.thread, thread)).collect()).collect()
    });
    let mut labels = Labels::default();
    let mut units = BTreeMap::<usize, HashMap<(usize, usize, UnitKey), Unit>>::new();
    for (place, group, thread) in groups.threads() {
        let Some(key) = groups.keys.get(group) else { continue };
        let is_pool = key.kind == Kind::Named && is_generic(&key.thread);
        if !(is_pool || matches!(key.kind, Kind::Main | Kind::Unnamed)) {
            continue;
        }
        let together = match numbered_pool(&thread.name).filter(|_| is_pool) {
            Some(pool) => UnitKey::Pool(thread.pid, pool.to_owned()),
            None => UnitKey::Thread(thread.thread),
        };
        let unit = units.entry(group).or_default().entry((place.0, place.1, together)).or_default();
        unit.threads.push(place);
        unit.running += thread.values.get("running_ns").copied().unwrap_or(0.0);
        let others = by_key.get(place.0).and_then(|side| side.get(place.1));
        for (waker, count) in &thread.wakers {
            let label = match others.and_then(|others| others.get(waker)) {
                _ if *waker == ThreadKey::IDLE => "interrupts".to_owned(),
                Some(waker) if waker.is_kernel => "the kernel".to_owned(),
                Some(waker) if waker.pid == thread.pid => "its process".to_owned(),
                Some(waker) => process_base(&waker.process),
                None => continue,
            };
            unit.woken_by.add(labels.id(&label), *count as f64);
            unit.wakings += *count as f64;
        }
        for (cause, ns) in &thread.waits {
            unit.waits.add(labels.id(cause), *ns as f64);
        }
    }
    let before = groups.keys.len();
    for (group, units) in units {
        let mut units: Vec<Unit> = units.into_values().collect();
        if units.len() < 2 {
            continue;
        }
        units.sort_by(|a, b| b.running.total_cmp(&a.running).then(a.threads.cmp(&b.threads)));
        let clusters = clusters(&units, groups.runs.map(<[_]>::len));
        if clusters.len() < 2 {
            continue;
        }
        for (cluster, part) in clusters.iter().zip(parts(&clusters, &labels)) {
            let Some(mut key) = groups.keys.get(group).cloned() else { continue };
            key.part = Some(part);
            groups.keys.push(key);
            let id = groups.keys.len() - 1;
            let members = cluster.units.iter().filter_map(|unit| units.get(*unit));
            members.flat_map(|unit| &unit.threads).for_each(|place| groups.set(*place, id));
        }
    }
    groups.keys.len() - before
}

fn distance(a: (&Shares, &Shares), b: (&Shares, &Shares)) -> f64 {
    a.0.distance(b.0).max(a.1.distance(b.1))
}

fn clusters(units: &[Unit], runs: [usize; 2]) -> Vec<Cluster> {
    let known: Vec<usize> =
        units.iter().enumerate().filter(|(_, u)| u.wakings >= MIN_WAKINGS).map(|(at, _)| at).collect();
    let compared: Vec<usize> = known.iter().copied().take(COMPARED).collect();
    // Single linkage, so that kinds with members in between are one.
    let mut clusters: Vec<Cluster> = Vec::new();
    for at in compared {
        let Some(unit) = units.get(at) else { continue };
        let of = (&unit.woken_by, &unit.waits);
        let is_near = |cluster: &Cluster| {
            cluster.units.iter().filter_map(|at| units.get(*at)).any(|u| distance((&u.woken_by, &u.waits), of) < JOIN)
        };
        let (near, mut far): (Vec<_>, Vec<_>) = clusters.into_iter().partition(is_near);
        let mut joined = Cluster { units: vec![at], woken_by: unit.woken_by.normal(), waits: unit.waits.normal() };
        near.into_iter().for_each(|cluster| joined.join(cluster));
        far.push(joined);
        clusters = far;
    }
    let is_known: HashSet<usize> = clusters.iter().flat_map(|cluster| cluster.units.iter().copied()).collect();
    keep_those_of_both_sides(&mut clusters, units, runs);
    join_those_that_exchanged(&mut clusters, units, runs);
    let largest = (0..clusters.len()).max_by_key(|at| (clusters.get(*at).map(|c| c.units.len()), usize::MAX - at));
    let Some(largest) = largest else { return clusters };
    let centres: Vec<(Shares, Shares)> = clusters.iter().map(|c| (c.woken_by.clone(), c.waits.clone())).collect();
    for (at, unit) in units.iter().enumerate().filter(|(at, _)| !is_known.contains(at)) {
        let far = |to: &(Shares, Shares)| distance((&unit.woken_by, &unit.waits), (&to.0, &to.1));
        let nearest = (0..centres.len()).min_by(|a, b| {
            let far = |at: &usize| centres.get(*at).map_or(2.0, far);
            far(a).total_cmp(&far(b))
        });
        let to = nearest.filter(|_| unit.wakings >= 1.0).unwrap_or(largest);
        if let Some(cluster) = clusters.get_mut(to) {
            cluster.units.push(at);
        }
    }
    clusters
}

impl Cluster {
    fn join(&mut self, other: Self) {
        self.units.extend(other.units);
        self.woken_by.add_all(&other.woken_by);
        self.waits.add_all(&other.waits);
    }
}

/// Joins each kind that is not in half of the runs of each side with the nearest other kind.
fn keep_those_of_both_sides(clusters: &mut Vec<Cluster>, units: &[Unit], runs: [usize; 2]) {
    let is_of_both = |cluster: &Cluster| {
        let in_runs: HashSet<(usize, usize)> = cluster
            .units
            .iter()
            .filter_map(|unit| units.get(*unit)?.threads.first())
            .map(|(side, run, _)| (*side, *run))
            .collect();
        (0..2).zip(runs).all(|(side, all)| 2 * in_runs.iter().filter(|run| run.0 == side).count() >= all.max(1))
    };
    while clusters.len() > 1 {
        let Some(at) = clusters.iter().position(|cluster| !is_of_both(cluster)) else { break };
        let lone = clusters.swap_remove(at);
        let far = |to: &Cluster| distance((&lone.woken_by, &lone.waits), (&to.woken_by, &to.waits));
        if let Some(nearest) = clusters.iter_mut().min_by(|a, b| far(a).total_cmp(&far(b))) {
            nearest.join(lone);
        }
    }
}

/// Joins the kinds whose numbers of threads differ between the sides, if several do: threads may have gone from one to the other, as
/// when workers no longer wait for a lock. One kind that differs is a pool of another size.
fn join_those_that_exchanged(clusters: &mut Vec<Cluster>, units: &[Unit], runs: [usize; 2]) {
    let differs = |cluster: &Cluster| {
        let mut counts = runs.map(|all| vec![0.0; all]);
        for (side, run, _) in cluster.units.iter().filter_map(|unit| units.get(*unit)).flat_map(|unit| &unit.threads) {
            if let Some(count) = counts.get_mut(*side).and_then(|of| of.get_mut(*run)) {
                *count += 1.0;
            }
        }
        let [a, b] = counts.map(median);
        a != b
    };
    let (mut different, mut same): (Vec<_>, Vec<_>) = std::mem::take(clusters).into_iter().partition(differs);
    if different.len() > 1 {
        let mut joined = Cluster::default();
        different.drain(..).for_each(|cluster| joined.join(cluster));
        different.push(joined);
    }
    same.append(&mut different);
    *clusters = same;
}

/// What is most special about each kind, in words.
fn parts(clusters: &[Cluster], labels: &Labels) -> Vec<String> {
    let shares: [fn(&Cluster) -> &Shares; 2] = [|c| &c.woken_by, |c| &c.waits];
    let mut words = Vec::<String>::new();
    for cluster in clusters {
        let mut best = (f64::NEG_INFINITY, String::new());
        for (of, verb) in shares.into_iter().zip(["woken by", "waiting in"]) {
            for (label, share) in of(cluster).iter() {
                let others = clusters.iter().filter(|other| !std::ptr::eq(*other, cluster));
                let most = others.map(|other| of(other).share(label)).fold(0.0, f64::max);
                let text = format!("{verb} {}", labels.text(label));
                if share - most > best.0 + 1e-9 || (share - most > best.0 - 1e-9 && text < best.1) {
                    best = (share - most, text);
                }
            }
        }
        let mut word = best.1;
        while words.contains(&word) {
            word.push_str(" too");
        }
        words.push(word);
    }
    words
}
