//! The critical path to the objective, and what the objective gains from a finding.

use super::{Objective, ObjectiveKind};
use crate::context::RuleContext;
use crate::finding::{Finding, Subject};
use crate::rules::COUNTS_LATENESS;
use engine::{EngineError, PathSums, PathWindow};
use model::tables::critical_by_thread;
use model::{Ns, Span, ThreadKey};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of late periods or frames whose paths are followed: the latest.
const MAX_WINDOWS: usize = 4096;

/// The late periods or frames: the ones that are latest, if there are too many.
#[derive(Default)]
pub(super) struct LateWindows {
    latest: BTreeSet<(Ns, Ns, Ns, ThreadKey)>,
    pub(super) count: i64,
    pub(super) late: i64,
    pub(super) late_ns: Ns,
}

impl LateWindows {
    /// Adds a period or frame and by how much it was late.
    pub(super) fn push(&mut self, window: PathWindow, late_ns: Ns) {
        self.count += 1;
        if late_ns > Ns::ZERO {
            self.late += 1;
            self.late_ns += late_ns;
            self.latest.insert((late_ns, window.span.start, window.span.end, window.thread));
            if self.latest.len() > MAX_WINDOWS {
                self.latest.pop_first();
            }
        }
    }

    /// The windows in order of time, and by how much each was late.
    fn finish(self) -> Vec<(PathWindow, Ns)> {
        let window = |(late, start, end, thread)| {
            let span = Span::new(start, end);
            (PathWindow { span, thread }, late)
        };
        let mut windows: Vec<_> = self.latest.into_iter().map(window).collect();
        windows.sort_by_key(|(window, _)| (window.span.start, window.span.end));
        windows
    }
}

/// An objective and the critical path to it.
pub(crate) struct ObjectivePath {
    pub(crate) objective: Objective,
    /// The late periods or frames; `None`: the path to the end of the analysed range.
    pub(crate) windows: Option<Vec<PathWindow>>,
    pub(crate) sums: Option<PathSums>,
    /// For each window, the most that the objective can gain, and the time of each thread on its path, ns. `None`: unlimited.
    gains: Option<Vec<(Ns, BTreeMap<ThreadKey, Ns>)>>,
}

impl ObjectivePath {
    /// All that threads gain is counted.
    pub(super) fn unlimited(objective: Objective) -> Self {
        Self { objective, windows: None, sums: None, gains: None }
    }

    /// The path to the end of the range.
    pub(super) fn to_end(ctx: &RuleContext<'_>, objective: Objective) -> Result<Self, EngineError> {
        let mut path = BTreeMap::new();
        ctx.each_row(critical_by_thread::Table, |row| {
            path.insert(row.get(critical_by_thread::THREAD), row.get(critical_by_thread::PATH_NS));
        })?;
        let gains = (!path.is_empty()).then(|| vec![(Ns::MAX, path)]);
        Ok(Self { objective, windows: None, sums: None, gains })
    }

    /// The paths of late periods or frames.
    pub(super) fn of_windows(
        ctx: &RuleContext<'_>,
        objective: Objective,
        late: LateWindows,
    ) -> Result<Self, EngineError> {
        let objective = Objective { count: late.count, late: late.late, late_ns: late.late_ns, ..objective };
        let (windows, late): (Vec<_>, Vec<_>) = late.finish().into_iter().unzip();
        let sums = ctx.path_sums(&windows)?;
        let gains = late.into_iter().zip(sums.windows.iter().cloned()).collect();
        Ok(Self { objective, windows: Some(windows), sums: Some(sums), gains: Some(gains) })
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
        ObjectivePath { gains: Some(gains), ..ObjectivePath::unlimited(Objective::of(ObjectiveKind::Period)) }
    }

    #[test]
    fn threads_save_their_time_on_late_paths_up_to_the_lateness() {
        let path = path(&[(5, &[(1, 3), (2, 10)]), (2, &[(1, 4)])]);
        for (threads, gain) in [(vec![1], 3 + 2), (vec![2], 5), (vec![1, 2], 5 + 2), (vec![3], 0)] {
            assert_eq!(path.max_gain(&threads.iter().copied().map(ThreadKey).collect()), Some(Ns(gain)), "{threads:?}");
        }
        let unlimited = ObjectivePath::unlimited(Objective::of(ObjectiveKind::Throughput));
        assert_eq!(unlimited.max_gain(&BTreeSet::from([ThreadKey(3)])), None);
    }

    #[test]
    fn the_latest_windows_are_kept_and_all_are_counted() {
        let mut late = LateWindows::default();
        let count = i64::try_from(MAX_WINDOWS).unwrap() + 2;
        for n in (1..=count).rev() {
            late.push(PathWindow { span: Span::new(Ns(10 * n), Ns(10 * n + 5)), thread: ThreadKey(1) }, Ns(n));
        }
        late.push(PathWindow { span: Span::new(Ns(0), Ns(5)), thread: ThreadKey(1) }, Ns::ZERO);
        assert_eq!((late.count, late.late, late.late_ns), (count + 1, count, Ns(count * (count + 1) / 2)));
        let kept = late.finish();
        assert_eq!((kept.len(), kept.first().map(|kept| kept.1)), (MAX_WINDOWS, Some(Ns(3))), "in order of time");
    }
}
