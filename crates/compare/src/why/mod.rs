//! Why the objective changed: its critical path on both sides, cause by cause. The pieces sum to the change of the means exactly.

mod speed;
mod words;

use crate::{Cause, Piece, Run, Why};
use rustc_hash::FxHashMap;
use speed::{Factors, Running, Split};
use stats::Scale;
use std::collections::BTreeMap;

pub(crate) use speed::{BUSY_SIBLING, SLOWER_CORE};

/// A cause that is a time of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Own {
    /// Ready while a thread of this role ran; `None`: not recorded which.
    Ready(Option<usize>),
    WakeupLatency,
    Throttled,
    Blocked(String),
    Steal,
    Unknown,
}

/// The critical path of one run: times per window, ns.
#[derive(Default)]
struct RunPath {
    /// By role. Threads without a role have `None`.
    running: BTreeMap<Option<usize>, Running>,
    own: BTreeMap<(Option<usize>, Own), f64>,
    /// The running time of all threads of roles with several, whether on the path or not.
    pools: BTreeMap<usize, f64>,
}

impl RunPath {
    fn new(run: &Run, role_of: &FxHashMap<i64, usize>) -> Self {
        let mut path = Self::default();
        let windows = run.path_windows.max(1) as f64;
        for part in &run.path_parts {
            let (role, ns) = (role_of.get(&part.thread).copied(), part.ns as f64 / windows);
            let own = match &part.cause {
                Cause::Running { core_type, sibling_busy } => {
                    let running = path.running.entry(role).or_default();
                    running.add((core_type, *sibling_busy), ns, part.khz_ns as f64 / windows);
                    continue;
                }
                Cause::Ready(thread) => Own::Ready(thread.and_then(|thread| role_of.get(&thread).copied())),
                Cause::WakeupLatency => Own::WakeupLatency,
                Cause::Throttled => Own::Throttled,
                Cause::Blocked(reason) => Own::Blocked(reason.clone()),
                Cause::Steal => Own::Steal,
                Cause::Unknown => Own::Unknown,
            };
            *path.own.entry((role, own)).or_default() += ns;
        }
        let mut threads = BTreeMap::<usize, (usize, f64)>::new();
        for thread in &run.threads {
            if let Some(role) = role_of.get(&thread.thread) {
                let sum = threads.entry(*role).or_default();
                let running = thread.values.get("running_ns").copied().unwrap_or_default();
                *sum = (sum.0 + 1, sum.1 + running / windows);
            }
        }
        let pools = threads.into_iter().filter(|(_, (threads, _))| *threads > 1);
        path.pools = pools.map(|(role, (_, ns))| (role, ns)).collect();
        path
    }

    fn time(&self) -> f64 {
        let running = self.running.values().flat_map(|running| running.places.values()).map(|(ns, _)| ns).sum::<f64>();
        running + self.own.values().sum::<f64>()
    }
}

/// The mean of some runs.
fn mean(runs: &[RunPath]) -> RunPath {
    let mut mean = RunPath::default();
    let share = 1.0 / runs.len().max(1) as f64;
    for run in runs {
        for (role, running) in &run.running {
            let sum = mean.running.entry(*role).or_default();
            running.places.iter().for_each(|(place, (ns, khz))| sum.add(*place, ns * share, khz * share));
        }
        for (role, ns) in &run.pools {
            *mean.pools.entry(*role).or_default() += ns * share;
        }
        for (key, ns) in &run.own {
            *mean.own.entry(key.clone()).or_default() += ns * share;
        }
    }
    mean
}

/// Takes the change of the objective apart. `roles` has the role of each thread of each run, `names` those of the roles. `None` if a run has no
/// critical path.
pub(crate) fn why(
    sides: [&[Run]; 2],
    roles: [&[FxHashMap<i64, usize>]; 2],
    names: &[String],
    paired: bool,
) -> Option<Why> {
    let paths = [0, 1].map(|side| {
        sides[side].iter().zip(roles[side]).map(|(run, role_of)| RunPath::new(run, role_of)).collect::<Vec<_>>()
    });
    if paths.iter().any(|of| of.is_empty() || of.iter().any(|path| path.time() <= 0.0)) {
        return None;
    }
    let means = [mean(&paths[0]), mean(&paths[1])];
    let speeds = sides[0].iter().chain(sides[1]).map(|run| &run.core_speeds).find(|of| !of.is_empty());
    let speeds = speeds.cloned().unwrap_or_default();
    let mut pieces = running_pieces(&means, &speeds, names);
    let keys: std::collections::BTreeSet<_> = means.iter().flat_map(|of| of.own.keys().cloned()).collect();
    for key in keys {
        let [a, b] = [0, 1].map(|side| means[side].own.get(&key).copied().unwrap_or_default());
        let of_runs =
            |side: usize| paths[side].iter().map(|p| p.own.get(&key).copied().unwrap_or_default()).collect::<Vec<_>>();
        let effect = stats::of_runs(&of_runs(0), &of_runs(1), paired, Scale::Difference);
        let (cause, title) = words::of_own(&key, names);
        pieces.push(Piece {
            cause: cause.to_owned(),
            title,
            role: key.0.map(|role| names[role].clone()),
            ns: b - a,
            means: Some([a, b]),
            interval: effect.and_then(|effect| effect.interval),
        });
    }
    pieces.retain(|piece| piece.ns != 0.0);
    pieces.sort_by(|a, b| b.ns.abs().total_cmp(&a.ns.abs()).then_with(|| a.title.cmp(&b.title)));
    let whole = [means[0].time(), means[1].time()];
    let line = words::line(&pieces, whole, frequencies(&means, &speeds));
    Some(Why { line, means: whole, pieces })
}

/// The pieces of running time, role by role.
fn running_pieces(means: &[RunPath; 2], speeds: &BTreeMap<&'static str, f64>, names: &[String]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let use_frequency = uses_frequency(means);
    let none = Running::default();
    let roles: std::collections::BTreeSet<_> = means.iter().flat_map(|of| of.running.keys().copied()).collect();
    for role in roles {
        let mut of = [0, 1].map(|side| means[side].running.get(&role).unwrap_or(&none).factors(speeds, use_frequency));
        // Of a pool on both sides, whether its threads ran one after another is another factor.
        let pools = [0, 1].map(|side| role.and_then(|role| means[side].pools.get(&role).copied()));
        if let [Some(in_a), Some(in_b)] = pools {
            for (factors, whole) in of.iter_mut().zip([in_a, in_b]) {
                factors.on_path = if whole > factors.time { factors.time / whole } else { 1.0 };
            }
        }
        let [a, b] = of;
        let split = Split::of(&a, &b);
        let name = role.map(|role| names[role].as_str());
        for (cause, ns, title) in words::of_running(&split, [&a, &b], name) {
            pieces.push(Piece {
                cause: cause.to_owned(),
                title,
                role: name.map(str::to_owned),
                ns,
                means: (cause == "work").then_some([a.time, b.time]),
                interval: None,
            });
        }
    }
    pieces
}

fn uses_frequency(means: &[RunPath; 2]) -> bool {
    means.iter().all(|of| !of.running.is_empty() && of.running.values().all(Running::knows_frequency))
}

/// The mean frequency of all running time on the path of each side, in GHz, if it is known.
fn frequencies(means: &[RunPath; 2], speeds: &BTreeMap<&'static str, f64>) -> Option<[Factors; 2]> {
    uses_frequency(means).then(|| {
        [0, 1].map(|side| {
            let mut all = Running::default();
            for (place, (ns, khz)) in means[side].running.values().flat_map(|of| &of.places) {
                all.add(*place, *ns, *khz);
            }
            all.factors(speeds, true)
        })
    })
}

#[cfg(test)]
mod tests;
