//! The periods, frames or requests of an objective: which of them are late, and with which these are compared.

use engine::critical::Which;
use engine::{PathWindow, PathWindows};
use model::{Ns, Span, ThreadKey};
use std::collections::BTreeSet;

/// The maximum number of late periods or frames whose paths are followed: the latest.
const MAX_WINDOWS: usize = 4096;
/// The maximum number of typical ones with which they are compared.
const MAX_TYPICAL: usize = 256;
/// The number of windows, without regard to their lateness, from which the typical ones are taken: at most this many, at least half of them.
const MAX_SAMPLED: usize = 8192;
/// With fewer windows, their lengths do not show which are typical.
const MIN_COMPARED: i64 = 20;
/// If all of the time counts, the slow windows are explained where what they take above the median is at least this part of all time.
const MIN_ABOVE_MEDIAN: f64 = 0.15;
/// Up to this part of the windows, late ones are accidents.
const MAX_FEW: f64 = 0.005;
/// The part of the windows that are slow, if all of their time counts.
const SLOW: f64 = 0.05;

/// What the account explains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compared {
    /// What the slow windows have that typical ones do not have.
    Slow,
    /// All windows: they are alike, or most are late.
    All,
    /// Nothing: no window was late, or so few that they are accidents.
    FewLate,
}

/// The periods or frames of an objective: the latest ones, if there are too many.
#[derive(Default)]
pub(super) struct LateWindows {
    latest: BTreeSet<(Ns, Ns, Ns, ThreadKey)>,
    pub(super) count: i64,
    pub(super) late: i64,
    pub(super) late_ns: Ns,
    pub(super) longest: Ns,
    sampled: Vec<PathWindow>,
    /// Every how many windows is sampled, as a power of 2.
    every: u32,
}

/// The windows whose paths are followed, by how much each of the objective's was late, and what is compared.
pub(super) struct Followed {
    pub(super) windows: PathWindows,
    pub(super) late: Vec<Ns>,
    pub(super) compared: Compared,
    /// The median of all lengths.
    pub(super) median: Ns,
}

impl LateWindows {
    /// Adds a period or frame and by how much it was late.
    pub(super) fn push(&mut self, window: PathWindow, late_ns: Ns) {
        if self.count % (1 << self.every) == 0 {
            self.sampled.push(window);
            if self.sampled.len() > MAX_SAMPLED {
                let mut at = 0;
                self.sampled.retain(|_| {
                    at += 1;
                    at % 2 == 1
                });
                self.every += 1;
            }
        }
        self.count += 1;
        self.longest = self.longest.max(window.span.len());
        if late_ns > Ns::ZERO {
            self.late += 1;
            self.late_ns += late_ns;
            self.latest.insert((late_ns, window.span.start, window.span.end, window.thread));
            if self.latest.len() > MAX_WINDOWS {
                self.latest.pop_first();
            }
        }
    }

    /// The late windows in order of time, and by how much each was late.
    fn in_order(&mut self) -> Vec<(PathWindow, Ns)> {
        let window = |(late, start, end, thread)| (PathWindow { span: Span::new(start, end), thread }, late);
        let mut windows: Vec<_> = std::mem::take(&mut self.latest).into_iter().map(window).collect();
        windows.sort_by_key(|(window, _)| (window.span.start, window.span.end));
        windows
    }

    /// The lengths of the sampled windows, in order.
    fn lengths(&self) -> Vec<Ns> {
        let mut lengths: Vec<Ns> = self.sampled.iter().map(|window| window.span.len()).collect();
        lengths.sort_unstable();
        lengths
    }

    /// By how much windows are longer than the median in all, ns: an estimate from those that were sampled.
    pub(super) fn above_median(&self) -> Ns {
        let lengths = self.lengths();
        above(&lengths) * (1_i64 << self.every)
    }

    /// Whether slow windows take a part of all time that is worth explaining.
    pub(super) fn are_uneven(&self) -> bool {
        let lengths = self.lengths();
        let is_much = above(&lengths).as_f64() >= MIN_ABOVE_MEDIAN * lengths.iter().sum::<Ns>().as_f64();
        is_much && self.count >= MIN_COMPARED && at(&lengths, 1.0 - SLOW) > at(&lengths, 0.5)
    }

    /// Chooses what is compared. `has_deadline`: without, all of the windows' time counts, and each counts as late.
    pub(super) fn finish(mut self, has_deadline: bool) -> Followed {
        let own = self.in_order();
        let lengths = self.lengths();
        let [median, slowest] = [0.5, 1.0 - SLOW].map(|part| at(&lengths, part));
        let quartiles = at(&lengths, 0.25)..=at(&lengths, 0.75);
        let compared = match has_deadline {
            true if self.late as f64 <= (MAX_FEW * self.count as f64).max(1.0) && self.count >= MIN_COMPARED => {
                Compared::FewLate
            }
            true if self.late == 0 => Compared::FewLate,
            true if self.late * 2 >= self.count => Compared::All,
            true => Compared::Slow,
            false if self.are_uneven() => Compared::Slow,
            false => Compared::All,
        };
        let is_slow = |window: &PathWindow| has_deadline || compared == Compared::All || window.span.len() >= slowest;
        let which = |window: &PathWindow| is_slow(window).then_some(Which::Slow);
        let (mut all, late): (Vec<_>, Vec<_>) =
            own.into_iter().map(|(window, late)| ((window, which(&window)), late)).unzip();
        let slow: BTreeSet<(Ns, ThreadKey)> = all
            .iter()
            .filter(|(_, which)| which.is_some())
            .map(|(window, _)| (window.span.start, window.thread))
            .collect();
        let own = all.len();
        if compared != Compared::All {
            let is_typical = |window: &&PathWindow| {
                quartiles.contains(&window.span.len()) && !slow.contains(&(window.span.start, window.thread))
            };
            let typical: Vec<_> = self.sampled.iter().filter(is_typical).collect();
            let step = typical.len().div_ceil(MAX_TYPICAL).max(1);
            all.extend(typical.iter().step_by(step).map(|window| (**window, Some(Which::Typical))));
        }
        Followed { windows: PathWindows { all, own }, late, compared, median }
    }
}

/// The length below which this part of sorted lengths is.
fn at(lengths: &[Ns], part: f64) -> Ns {
    lengths.get((part * lengths.len() as f64) as usize).copied().unwrap_or_default()
}

/// By how much sorted lengths are above the median, in sum.
fn above(lengths: &[Ns]) -> Ns {
    let median = at(lengths, 0.5);
    lengths.iter().map(|length| (*length - median).max(Ns::ZERO)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: i64, length: i64) -> PathWindow {
        PathWindow { span: Span::new(Ns(start), Ns(start + length)), thread: ThreadKey(1) }
    }

    #[test]
    fn the_latest_windows_are_kept_and_all_are_counted() {
        let mut late = LateWindows::default();
        let count = i64::try_from(MAX_WINDOWS).unwrap() + 2;
        for n in (1..=count).rev() {
            late.push(window(10 * n, 5), Ns(n));
        }
        late.push(window(0, 5), Ns::ZERO);
        assert_eq!((late.count, late.late, late.late_ns), (count + 1, count, Ns(count * (count + 1) / 2)));
        let kept = late.in_order();
        assert_eq!((kept.len(), kept.first().map(|kept| kept.1)), (MAX_WINDOWS, Some(Ns(3))), "in order of time");
    }

    fn followed(lengths: impl Iterator<Item = i64>, deadline: Option<i64>) -> (Compared, [usize; 2]) {
        let mut late = LateWindows::default();
        for (at, length) in (0..).zip(lengths) {
            late.push(window(100 * at, length), Ns(length - deadline.unwrap_or(0)));
        }
        let of = late.finish(deadline.is_some());
        let count = |which| of.windows.all.iter().filter(|(_, of)| *of == Some(which)).count();
        (of.compared, [count(Which::Slow), count(Which::Typical)])
    }

    #[test]
    fn late_windows_are_compared_with_typical_ones() {
        let lengths = || (0..100).map(|at| if at % 10 == 0 { 90 } else { 10 + at % 3 });
        assert_eq!(followed(lengths(), Some(50)), (Compared::Slow, [10, 90]));
        assert_eq!(followed(lengths(), Some(95)), (Compared::FewLate, [0, 90]));
        assert_eq!(followed(lengths(), Some(5)), (Compared::All, [100, 0]));
        assert_eq!(followed(lengths(), None).0, Compared::Slow);
        assert_eq!(followed((0..100).map(|_| 10), None), (Compared::All, [100, 0]));
        assert_eq!(followed(std::iter::empty(), None), (Compared::All, [0, 0]));
    }

    #[test]
    fn of_many_windows_every_nth_is_sampled() {
        let mut late = LateWindows::default();
        (0..100_000).for_each(|at| late.push(window(10 * at, 5), Ns::ZERO));
        assert!((MAX_SAMPLED / 2..=MAX_SAMPLED).contains(&late.sampled.len()), "{}", late.sampled.len());
        let of = late.finish(true);
        assert!(of.windows.all.len() <= MAX_TYPICAL, "{}", of.windows.all.len());
    }
}
