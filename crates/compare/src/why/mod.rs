//! Why the objective changed: its critical path on both sides, cause by cause. The pieces sum to the change of the means exactly.

mod moved;
mod speed;
mod words;

use crate::{Cause, Piece, Run, Why};
use model::ThreadKey;
use rustc_hash::FxHashMap;
use speed::{Factors, Running, Speeds, Split};
use stats::Scale;
use std::collections::BTreeMap;

pub(crate) use speed::{BUSY_SIBLING, SLOWER_CORE, measured_sibling};

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

/// The threads of a role.
#[derive(Clone, Copy, Default)]
struct Whole {
    /// Their running time per window, ns.
    ns: f64,
    /// Their number.
    threads: f64,
    /// How many of them are of the recorded program.
    own: f64,
}

impl Whole {
    fn add(&mut self, other: Self, share: f64) {
        self.ns += other.ns * share;
        self.threads += other.threads * share;
        self.own += other.own * share;
    }
}

/// The critical path of one run: times per window, ns.
#[derive(Default)]
struct RunPath {
    /// By role. Threads without a role have `None`.
    running: BTreeMap<Option<usize>, Running>,
    own: BTreeMap<(Option<usize>, Own), f64>,
    /// The threads of each role, whether on the path or not.
    whole: BTreeMap<usize, Whole>,
}

impl RunPath {
    fn new(run: &Run, role_of: &FxHashMap<ThreadKey, usize>) -> Self {
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
        // Long series are followed in part; the threads' times are those of the whole run.
        let series = run.objective.rsplit_once('.').and_then(|(name, _)| run.series.iter().find(|s| s.name == name));
        let windows = series.map_or(windows, |series| series.ns.len().max(1) as f64);
        for thread in &run.threads {
            if let Some(role) = role_of.get(&thread.thread) {
                let ns = thread.values.get("running_ns").copied().unwrap_or_default() / windows;
                let own = f64::from(u8::from(thread.is_own));
                path.whole.entry(*role).or_default().add(Whole { ns, threads: 1.0, own }, 1.0);
            }
        }
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
        for (role, whole) in &run.whole {
            mean.whole.entry(*role).or_default().add(*whole, share);
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
    roles: [&[FxHashMap<ThreadKey, usize>]; 2],
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
    let speeds = Speeds::of(sides[0].iter().chain(sides[1]));
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
fn running_pieces(means: &[RunPath; 2], speeds: &Speeds, names: &[String]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let use_frequency = uses_frequency(means);
    let none = Running::default();
    let roles: std::collections::BTreeSet<_> = means.iter().flat_map(|of| of.running.keys().copied()).collect();
    let mut factors = Vec::with_capacity(roles.len());
    let mut splits = Vec::with_capacity(roles.len());
    for role in &roles {
        let mut of = [0, 1].map(|side| means[side].running.get(role).unwrap_or(&none).factors(speeds, use_frequency));
        let whole = [0, 1].map(|side| role.and_then(|role| means[side].whole.get(&role).copied()).unwrap_or_default());
        of.iter_mut().zip(whole).for_each(|(factors, whole)| factors.whole = whole.ns);
        let is_own = whole.iter().any(|of| of.own > 0.0);
        splits.push(moved::Role { split: Split::of(&of[0], &of[1]), whole: whole.map(|of| of.ns), is_own });
        factors.push((of, whole.iter().any(|of| of.threads > 1.0)));
    }
    moved::separate(&mut splits);
    for ((role, ([a, b], is_pool)), moved::Role { split, .. }) in roles.into_iter().zip(factors).zip(splits) {
        let name = role.map(|role| names[role].as_str());
        for (cause, ns, title) in words::of_running(&split, [&a, &b], name, is_pool) {
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
fn frequencies(means: &[RunPath; 2], speeds: &Speeds) -> Option<[Factors; 2]> {
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
