//! The critical path to the objective, and what the objective gains from a finding.

use super::windows::{Compared, LateWindows};
use super::{Objective, ObjectiveKind};
use crate::context::RuleContext;
use crate::finding::{Finding, Subject};
use crate::rules::COUNTS_LATENESS;
use engine::critical::{Outside, Which};
use engine::{AccountedPaths, EngineError, PathWindow, PathWindows};
use model::tables::critical_by_thread;
use model::{Ns, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// An objective and the critical path to it.
pub(crate) struct ObjectivePath {
    pub(crate) objective: Objective,
    /// The periods or frames, and those with which they are compared; `None`: the path to the end of the analysed range.
    pub(crate) windows: Option<PathWindows>,
    pub(crate) paths: AccountedPaths,
    /// What the account of the windows explains, and the median of their lengths.
    pub(crate) compared: Compared,
    pub(crate) median: Ns,
    /// For each window, the most that the objective can gain, and the time of each thread on its path, ns. `None`: unlimited.
    gains: Option<Vec<(Ns, BTreeMap<ThreadKey, Ns>)>>,
}

impl ObjectivePath {
    /// The path to the end of the range. `is_limited`: only what is on it is gained.
    pub(super) fn to_end(
        ctx: &RuleContext<'_>,
        objective: Objective,
        outside: &Outside,
        is_limited: bool,
    ) -> Result<Self, EngineError> {
        let paths = ctx.account(None, outside)?;
        let mut path = BTreeMap::new();
        paths.by_thread.rows_of(critical_by_thread::Table).for_each(|row| {
            path.insert(row.get(critical_by_thread::THREAD), row.get(critical_by_thread::PATH_NS));
        });
        let gains = (is_limited && !path.is_empty()).then(|| vec![(Ns::MAX, path)]);
        Ok(Self { objective, windows: None, paths, compared: Compared::All, median: Ns::ZERO, gains })
    }

    /// The paths of late periods or frames.
    pub(super) fn of_windows(
        ctx: &RuleContext<'_>,
        objective: Objective,
        late: LateWindows,
        outside: &Outside,
    ) -> Result<Self, EngineError> {
        let (count, number, late_ns, longest) = (late.count, late.late, late.late_ns, late.longest);
        let objective = Objective { count, late: number, late_ns, longest_ns: longest, ..objective };
        let followed = late.finish(objective.deadline_ns.is_some());
        let paths = ctx.account(Some(&followed.windows), outside)?;
        let gains = followed.late.into_iter().zip(paths.windows.iter().cloned()).collect();
        let (compared, median) = (followed.compared, followed.median);
        Ok(Self { objective, windows: Some(followed.windows), paths, compared, median, gains: Some(gains) })
    }

    /// The path to the end of the range, which ends with this thread.
    pub(super) fn of_thread(ctx: &RuleContext<'_>, thread: ThreadKey, outside: &Outside) -> Result<Self, EngineError> {
        let objective =
            Objective { name: Some(ctx.name(thread)), thread: Some(thread), ..Objective::of(ObjectiveKind::Thread) };
        let mut all = LateWindows::default();
        all.push(PathWindow { span: ctx.span(), thread }, ctx.span().len());
        Self::of_windows(ctx, objective, all, outside)
    }

    /// The windows of the objective; `None`: the path to the end of the analysed range.
    pub(crate) fn own_windows(&self) -> Option<Vec<PathWindow>> {
        let windows = self.windows.as_ref()?;
        Some(windows.all.iter().take(windows.own).map(|(window, _)| *window).collect())
    }

    /// The indices of the windows that are explained, in order of time.
    pub(crate) fn slow_windows(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.windows.iter().flat_map(|windows| &windows.all);
        all.enumerate().filter(|(_, (_, which))| *which == Some(Which::Slow)).map(|(at, _)| at)
    }

    /// For each window of the objective, the most that the objective can gain.
    pub(crate) fn gains(&self) -> impl Iterator<Item = Ns> + '_ {
        self.gains.iter().flatten().map(|(gain, _)| *gain)
    }

    /// Whether the objective is the lateness of this thread.
    pub(crate) fn is_of_thread(&self, thread: ThreadKey) -> bool {
        self.objective.kind == ObjectiveKind::Period && self.objective.thread == Some(thread)
    }

    /// Whether a finding is about the objective's thread.
    pub(crate) fn concerns(&self, finding: &Finding) -> bool {
        finding.threads.iter().any(|claim| self.objective.thread == Some(claim.thread))
    }

    /// The most that the objective can gain if these threads lose no time; `None`: unlimited.
    fn max_gain(&self, threads: &BTreeSet<ThreadKey>) -> Option<Ns> {
        let of_window = |(late, path): &(Ns, BTreeMap<ThreadKey, Ns>)| {
            let on_path = threads.iter().filter_map(|thread| path.get(thread)).sum::<Ns>();
            on_path.min(*late)
        };
        self.gains.as_ref().map(|gains| gains.iter().map(of_window).sum::<Ns>())
    }

    /// Limits what a finding saves to what the objective gains from it. Returns whether that is less.
    pub(crate) fn limit(&self, finding: &mut Finding) -> bool {
        let counts_lateness = finding.rule == COUNTS_LATENESS.id;
        // What other rules estimate for the whole range is about its end already; lateness of a thread matters as far as the end waits for it.
        let is_about_end = self.objective.kind == ObjectiveKind::End && !counts_lateness;
        if is_about_end {
            return false;
        }
        if counts_lateness && finding.threads.iter().all(|claim| self.is_of_thread(claim.thread)) {
            return false;
        }
        let waited_for = finding.waited_for.iter().copied();
        let threads = finding.threads.iter().map(|claim| claim.thread).chain(waited_for).collect::<BTreeSet<_>>();
        let gain =
            if finding.subject == Subject::Program && !threads.is_empty() { self.max_gain(&threads) } else { None };
        let gain = gain.filter(|gain| *gain < finding.recoverable_ns);
        if let Some(gain) = gain {
            let factor = gain.as_f64() / finding.recoverable_ns.max(Ns(1)).as_f64();
            let [low, high] = finding.range_ns;
            finding.range_ns = [low.scaled(factor), high.min(gain)];
            finding.recoverable_ns = gain;
        }
        gain.is_some()
    }

    /// Limits the claims of a finding's threads to what the finding saves.
    pub(crate) fn limit_claims(finding: &mut Finding) {
        for claim in &mut finding.threads {
            claim.recoverable_ns = claim.recoverable_ns.min(finding.recoverable_ns);
        }
        finding.threads.sort_by_key(|claim| std::cmp::Reverse(claim.recoverable_ns));
        finding.also.iter_mut().for_each(Self::limit_claims);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(gains: &[(i64, &[(i64, i64)])]) -> ObjectivePath {
        let path = |of: &[(i64, i64)]| of.iter().map(|(thread, ns)| (ThreadKey(*thread), Ns(*ns))).collect();
        let gains = gains.iter().map(|(late, of)| (Ns(*late), path(of))).collect();
        of(ObjectiveKind::Period, Some(gains))
    }

    fn of(kind: ObjectiveKind, gains: Option<Vec<(Ns, BTreeMap<ThreadKey, Ns>)>>) -> ObjectivePath {
        let (objective, paths) = (Objective::of(kind), AccountedPaths::of_nothing());
        ObjectivePath { objective, windows: None, paths, compared: Compared::All, median: Ns::ZERO, gains }
    }

    #[test]
    fn threads_save_their_time_on_late_paths_up_to_the_lateness() {
        let path = path(&[(5, &[(1, 3), (2, 10)]), (2, &[(1, 4)])]);
        for (threads, gain) in [(vec![1], 3 + 2), (vec![2], 5), (vec![1, 2], 5 + 2), (vec![3], 0)] {
            assert_eq!(path.max_gain(&threads.iter().copied().map(ThreadKey).collect()), Some(Ns(gain)), "{threads:?}");
        }
        let unlimited = of(ObjectiveKind::Throughput, None);
        assert_eq!(unlimited.max_gain(&BTreeSet::from([ThreadKey(3)])), None);
    }
}
