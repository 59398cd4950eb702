//! What the threads of each group did, per side: the features by which renamed threads are recognised.

use super::groups::{Groups, Kind};
use super::shares::{Labels, Shares};
use model::ThreadKey;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One group on one side. Numbers are medians over the runs in which it is.
#[derive(Clone, Default, Debug)]
pub(super) struct Profile {
    /// Threads.
    pub(super) threads: f64,
    /// Its part of the running time of its process.
    pub(super) share: f64,
    /// Its part of the running time of all threads of the program.
    pub(super) of_all: f64,
    /// Wakeups per second of the recording and thread.
    pub(super) wakings: f64,
    /// Mean time from switch-in to switch-out, ns.
    pub(super) run_ns: f64,
    /// Running time of a thread per time of its existence.
    pub(super) busy: f64,
    /// The share of the process's groups that began before it; `None` if unknown.
    pub(super) order: Option<f64>,
    /// The share of threads that exited.
    pub(super) exited: f64,
    /// Blocked time by cause.
    pub(super) waits: Shares,
    /// The groups that woke it, by number of wakeups; [`INTERRUPTS`] are the last.
    pub(super) wakers: Vec<(usize, f64)>,
    /// The groups that it woke.
    pub(super) woken: Vec<(usize, f64)>,
    /// Whether it is of the recorded program.
    pub(super) is_own: bool,
    /// Whether it is of the process that the recording was made for.
    pub(super) is_focus: bool,
    /// What it was woken or switched in, in all runs: how much is known about it.
    pub(super) evidence: f64,
}

/// In place of a group: interrupts.
pub(super) const INTERRUPTS: usize = usize::MAX;

#[derive(Default)]
struct Sums {
    threads: f64,
    running: f64,
    count: f64,
    wakings: f64,
    alive: f64,
    exited: f64,
    begin: Option<i64>,
}

/// The profiles of one side by group. A group that is not on this side has none.
pub(super) fn profiles(groups: &Groups<'_>, side: usize, labels: &mut Labels) -> BTreeMap<usize, Profile> {
    let mut per_run = BTreeMap::<usize, Vec<[f64; 7]>>::new();
    let mut order = BTreeMap::<usize, Vec<f64>>::new();
    let mut profiles = BTreeMap::<usize, Profile>::new();
    let mut edges = BTreeMap::<(usize, usize), f64>::new();
    let runs = groups.runs.get(side).copied().unwrap_or_default();
    for (run, of) in runs.iter().zip(groups.of.get(side).into_iter().flatten()) {
        let mut sums = BTreeMap::<usize, Sums>::new();
        let by_key: HashMap<ThreadKey, usize> =
            run.threads.iter().zip(of).filter_map(|(thread, group)| Some((thread.thread, (*group)?))).collect();
        for (thread, group) in run.threads.iter().zip(of).filter_map(|(thread, group)| Some((thread, (*group)?))) {
            let value = |id: &str| thread.values.get(id).copied().unwrap_or(0.0);
            let (of, profile) = (sums.entry(group).or_default(), profiles.entry(group).or_default());
            of.threads += 1.0;
            of.running += value("running_ns");
            of.count += value("running_count");
            let alive = run.span_ns.saturating_sub(thread.begin_ns) as f64 - value("exited_ns");
            of.alive += alive.max(value("running_ns"));
            of.exited += f64::from(u8::from(thread.exited));
            of.begin = Some(of.begin.map_or(thread.begin_ns, |begin| begin.min(thread.begin_ns)));
            profile.is_own |= thread.is_own;
            profile.is_focus |= thread.is_focus;
            for (cause, ns) in &thread.waits {
                profile.waits.add(labels.id(cause), *ns as f64);
            }
            for (waker, count) in &thread.wakers {
                of.wakings += *count as f64;
                let by = if *waker == ThreadKey::IDLE { Some(INTERRUPTS) } else { by_key.get(waker).copied() };
                if let Some(by) = by {
                    *edges.entry((by, group)).or_default() += *count as f64;
                }
            }
        }
        let (mut of_process, mut of_all) = (HashMap::<&str, f64>::new(), 0.0);
        for (group, sums) in &sums {
            *of_process.entry(process(groups, *group)).or_default() += sums.running;
            of_all += if profiles.get(group).is_some_and(|profile| profile.is_own) { sums.running } else { 0.0 };
        }
        for (group, of) in &sums {
            let share = |of_whole: f64| if of_whole > 0.0 { of.running / of_whole } else { 0.0 };
            let seconds = (run.span_ns.max(1) as f64) / 1e9;
            per_run.entry(*group).or_default().push([
                of.threads,
                share(of_process.get(process(groups, *group)).copied().unwrap_or(0.0)),
                share(of_all),
                of.wakings / of.threads / seconds,
                of.running / of.count.max(1.0),
                of.running / of.alive.max(1.0),
                of.exited / of.threads,
            ]);
            if let Some(profile) = profiles.get_mut(group) {
                profile.evidence += of.wakings.max(of.count);
            }
        }
        add_order(groups, &sums, &mut order);
    }
    for (group, rows) in per_run {
        let Some(profile) = profiles.get_mut(&group) else { continue };
        let column = |at: usize| median(rows.iter().filter_map(|row| row.get(at).copied()).collect());
        profile.threads = column(0);
        profile.share = column(1);
        profile.of_all = column(2);
        profile.wakings = column(3);
        profile.run_ns = column(4);
        profile.busy = column(5);
        profile.exited = column(6);
        profile.order = order.remove(&group).map(median);
    }
    for ((by, group), count) in edges {
        if let Some(of) = profiles.get_mut(&group) {
            of.wakers.push((by, count));
        }
        if let Some(of) = profiles.get_mut(&by) {
            of.woken.push((group, count));
        }
    }
    profiles
}

fn process<'a>(groups: &'a Groups<'_>, group: usize) -> &'a str {
    groups.keys.get(group).map_or("", |key| key.process.as_str())
}

/// Adds which share of the groups of its process began before each group in one run.
fn add_order(groups: &Groups<'_>, sums: &BTreeMap<usize, Sums>, order: &mut BTreeMap<usize, Vec<f64>>) {
    let mut of_process = BTreeMap::<&str, Vec<(i64, usize)>>::new();
    for (group, of) in sums {
        if groups.keys.get(*group).is_some_and(|key| key.kind != Kind::Kernel) {
            of_process.entry(process(groups, *group)).or_default().push((of.begin.unwrap_or(0), *group));
        }
    }
    for mut began in of_process.into_values() {
        began.sort_unstable();
        let times: BTreeSet<i64> = began.iter().map(|(begin, _)| *begin).collect();
        if times.len() < 2 {
            continue;
        }
        for (begin, group) in &began {
            let before = began.partition_point(|(other, _)| other < begin);
            let until = began.partition_point(|(other, _)| other <= begin);
            let others = (began.len() - 1) as f64;
            order.entry(*group).or_default().push((before as f64 + (until - before - 1) as f64 / 2.0) / others);
        }
    }
}

/// The middle of some values; of an even number the mean of the two in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    let at = |at: usize| values.get(at).copied().unwrap_or(0.0);
    (at(low) + at(high)) / 2.0
}
