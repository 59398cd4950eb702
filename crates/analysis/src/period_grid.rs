//! Finds the steady distance of a thread's wakeups, and follows it.
//!
//! ```text
//!   due      │         │         │         │      a grid: due times, one period apart
//!   wakeups  ▲         ▲   ▲      ▲        ▲
//!            on time       │      late
//!                          within the work of a period
//! ```

use model::Ns;

/// The number of wakeups from which a period is found, at least.
const MIN_ON_TIME: usize = 8;

/// The number of wakeups that are kept while no period is known: `MIN_ON_TIME` periods with two other wakeups in each.
const KEPT: usize = 3 * MIN_ON_TIME;

/// A grid is tried from each of the first wakeups, with the distance to each of the next ones as its period: so many, as one or two
/// wakeups may be within the work.
const OTHERS: usize = 3;

/// The number of wakeups of which [`Grid::steady`] is a share.
const WATCHED: u32 = 12;

/// With more late wakeups than this among the watched ones, the thread is no longer periodic.
const MAX_LATE: u32 = 3;

/// With more wakeups than this since the last one on the grid, the thread is no longer periodic.
const MAX_IGNORED: usize = 16;

/// The range of periods, ns. Devices often answer at shorter distances; ten seconds need a recording of more than a minute.
const MIN_PERIOD: i64 = 200_000;
const MAX_PERIOD: i64 = 10_000_000_000;

/// How far a wakeup may be from its due time: 5 % of the period, and at least the timer slack of a thread (50 µs, prctl(2)) and the
/// latency of an interrupt.
fn tolerance(period: i64) -> i64 {
    (period / 20).max(60_000)
}

/// A wakeup, and how long the wait was that it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Woken {
    pub(crate) at: Ns,
    pub(crate) slept: Ns,
}

/// The periods that passed until a wakeup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    /// How many periods later than the last one the wakeup was due.
    pub(crate) periods: i64,
    /// When the wakeup was due.
    pub(crate) due: Ns,
}

/// A known period, and when it was due last.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Grid {
    pub(crate) period: i64,
    pub(crate) due: Ns,
    /// The last wakeup on the grid.
    woken: Woken,
    /// A bit for each watched wakeup that did not come on time; the last one is the lowest.
    late: u32,
    watched: u32,
    ignored: usize,
}

impl Grid {
    fn at(woken: Woken, period: i64) -> Self {
        Self { period, due: woken.at, woken, late: 0, watched: 1, ignored: 0 }
    }

    /// Finds the grid of these wakeups, in order of time: the one with the most wakeups on time. It begins at the first of them.
    pub(crate) fn find(wakeups: &[Woken]) -> Option<Self> {
        let mut best: Option<(usize, Self)> = None;
        for (first, begin) in wakeups.iter().enumerate().take(OTHERS) {
            for second in wakeups.iter().skip(first + 1).take(OTHERS) {
                let period = (second.at - begin.at).0;
                if !(MIN_PERIOD..=MAX_PERIOD).contains(&period) {
                    continue;
                }
                let (mut grid, mut on_time) = (Self::at(*begin, period), 1);
                for woken in &wakeups[first + 1..] {
                    on_time += usize::from(grid.woken_at(*woken).is_some() && grid.late & 1 == 0);
                }
                let periods = (grid.due - begin.at).0 / grid.period.max(1);
                let is_dense = on_time as i64 * 5 >= periods * 4;
                if on_time >= MIN_ON_TIME && is_dense && !grid.is_lost() && best.is_none_or(|(most, _)| on_time > most)
                {
                    best = Some((on_time, Self::at(*begin, grid.period)));
                }
            }
        }
        best.map(|(_, grid)| grid)
    }

    /// Takes the next wakeup. Returns `None` if it belongs to the work of the current period.
    pub(crate) fn woken_at(&mut self, woken: Woken) -> Option<Next> {
        let since = (woken.at - self.due).0;
        let periods = since.saturating_add(self.period / 2) / self.period;
        let expected = self.due + Ns(periods * self.period);
        let (off, tolerance) = ((woken.at - expected).0, tolerance(self.period));
        let is_on_time = off.abs() <= tolerance;
        // A thread that sleeps for a fixed time after its work has a new grid after each delay.
        let step = (woken.at - self.woken.at).0;
        let is_as_late = off > 0 && (step - periods * self.period).abs() <= tolerance;
        // Not a short wait within the work, such as for a device, which takes as long each time.
        let is_sleep = woken.slept.0 >= self.period / 2;
        let slept_as_before = is_sleep && (woken.slept - self.woken.slept).0.abs() <= tolerance;
        let shifts = !is_on_time && (is_as_late || slept_as_before);
        if periods < 1 || off < -tolerance && !shifts {
            self.ignored += 1;
            // Work that waits in the second half of its period is rare: the rhythm may be another one.
            if periods > 0 {
                self.watch(true);
            }
            return None;
        }
        self.due = match off {
            _ if shifts => woken.at,
            _ if !is_on_time => expected,
            // Timers never end early, so the grid is earlier.
            ..=0 => woken.at,
            _ => expected + Ns(off / 8),
        };
        if is_on_time {
            self.period = (self.period + off / periods / 8).clamp(MIN_PERIOD, MAX_PERIOD);
        }
        self.woken = woken;
        self.watch(!is_on_time && !is_as_late);
        self.ignored = 0;
        Some(Next { periods, due: self.due })
    }

    fn watch(&mut self, is_late: bool) {
        self.late = self.late << 1 | u32::from(is_late);
        self.watched = WATCHED.min(self.watched + 1);
    }

    /// Whether the wakeups no longer fit the grid.
    pub(crate) fn is_lost(&self) -> bool {
        self.late_ones() > MAX_LATE || self.ignored > MAX_IGNORED
    }

    /// The share of the watched wakeups that came on time.
    pub(crate) fn steady(&self) -> f64 {
        1.0 - f64::from(self.late_ones()) / f64::from(self.watched)
    }

    fn late_ones(&self) -> u32 {
        (self.late & ((1 << WATCHED) - 1)).count_ones()
    }
}

/// The wakeups of a thread until its period is found.
#[derive(Clone, Debug)]
pub(crate) struct Wakeups<T> {
    kept: Vec<(Woken, T)>,
    since_tried: usize,
}

impl<T> Default for Wakeups<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), since_tried: 0 }
    }
}

impl<T> Wakeups<T> {
    /// Adds a wakeup. Returns the grid, if there is one now, and the wakeups since its begin.
    pub(crate) fn push(&mut self, woken: Woken, of: T) -> Option<(Grid, Vec<(Woken, T)>)> {
        if self.kept.len() == KEPT {
            // Several at once, so that they move rarely.
            self.kept.drain(..MIN_ON_TIME / 2);
        }
        self.kept.push((woken, of));
        self.since_tried += 1;
        if self.kept.len() < MIN_ON_TIME || self.since_tried < MIN_ON_TIME / 2 {
            return None;
        }
        self.since_tried = 0;
        let wakeups: Vec<Woken> = self.kept.iter().map(|(woken, _)| *woken).collect();
        let grid = Grid::find(&wakeups)?;
        let mut kept = std::mem::take(&mut self.kept);
        kept.retain(|(woken, _)| woken.at >= grid.due);
        Some((grid, kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Wakeups at these times, us, after waits of these lengths.
    fn woken(us: &[(i64, i64)]) -> Vec<Woken> {
        us.iter().map(|(at, slept)| Woken { at: Ns(at * 1000), slept: Ns(slept * 1000) }).collect()
    }

    /// Eight wakeups, 10 ms apart, after waits of 8 ms.
    fn steady() -> Vec<Woken> {
        woken(&[0, 10, 20, 30, 40, 50, 60, 70].map(|ms| (1000 * ms, 8000)))
    }

    /// The grid of these wakeups, after the last of them.
    fn after(found: &[Woken]) -> Grid {
        let mut grid = Grid::find(found).expect("a grid");
        let begin = grid.due;
        found.iter().filter(|woken| woken.at > begin).for_each(|woken| {
            grid.woken_at(*woken);
        });
        grid
    }

    /// The periods and the due time, us, of each of the wakeups that follow.
    fn followed(found: &[Woken], then: &[(i64, i64)]) -> Vec<Option<(i64, i64)>> {
        let mut grid = after(found);
        let next = |woken| grid.woken_at(woken).map(|next| (next.periods, next.due.0 / 1000));
        woken(then).into_iter().map(next).collect()
    }

    #[test]
    fn wakeups_at_a_steady_distance_are_a_grid() {
        assert_eq!(Grid::find(&steady()).map(|g| (g.period, g.due)), Some((10_000_000, Ns(0))));
        assert_eq!(Grid::find(&steady()[1..]), None, "seven are too few");
        let growing: Vec<_> = (0..24).map(|n| (1000 * n + 100 * n * n, 1)).collect();
        assert_eq!(Grid::find(&woken(&growing)), None);
    }

    #[test]
    fn wakeups_within_the_work_do_not_hide_the_period() {
        let reads: Vec<_> =
            (0..8).flat_map(|n| [(10_000 * n, 7000), (10_000 * n + 1700 + 300 * (n % 3), 500)]).collect();
        let grid = Grid::find(&woken(&reads)).expect("a grid");
        assert_eq!((grid.period, grid.due), (10_000_000, Ns(0)));
        let then = [(80_000, 7000), (82_300, 500), (87_000, 1000), (90_000, 2000)];
        assert_eq!(followed(&woken(&reads), &then), [Some((1, 80_000)), None, None, Some((1, 90_000))]);
    }

    #[test]
    fn late_wakeups_keep_the_grid_and_skipped_ones_count() {
        let then = [(83_000, 11_000), (90_000, 5000), (120_000, 7000), (130_000, 8000)];
        let expected = [(1, 80_000), (1, 90_000), (3, 120_000), (1, 130_000)];
        assert_eq!(followed(&steady(), &then), expected.map(Some));
    }

    #[test]
    fn a_thread_that_sleeps_after_its_work_shifts_the_grid() {
        let then = [(83_000, 8000), (99_000, 8000), (109_000, 8000)];
        assert_eq!(followed(&steady(), &then), [(1, 83_000), (2, 99_000), (1, 109_000)].map(Some));
        let short = [(83_000, 8000), (99_000, 1000), (103_000, 1000)];
        assert_eq!(
            followed(&steady(), &short),
            [Some((1, 83_000)), None, Some((2, 103_000))],
            "a wait within the work"
        );
        let later = [(83_000, 11_000), (93_000, 9000)];
        assert_eq!(followed(&steady(), &later), [(1, 80_000), (1, 93_000)].map(Some), "10 ms later again");
    }

    #[test]
    fn a_grid_is_lost_with_its_rhythm() {
        let mut grid = after(&steady());
        for late in woken(&[(83_000, 1000), (94_200, 2000), (102_000, 3000), (114_000, 4000)]) {
            assert!(!grid.is_lost(), "before {late:?}");
            grid.woken_at(late);
        }
        assert!(grid.is_lost());
    }

    proptest! {
        /// A timer's wakeups come up to 2.5 % of the period late (at least 30 µs), and the thread waits once within each period's work.
        #[test]
        fn every_period_of_a_timer_is_followed(
            period in 300_000_i64..5_000_000_000,
            begin in 0_i64..1_000_000_000_000,
            of_period in proptest::collection::vec((0_i64..=1000, 0_i64..=1000), 60),
        ) {
            let due = |n: usize| begin + period * n as i64;
            let (mut wakeups, mut truth) = (Vec::new(), Vec::new());
            for (n, (late, within)) in of_period.into_iter().enumerate() {
                let at = due(n) + late * (period / 40).max(30_000) / 1000;
                wakeups.push(Woken { at: Ns(at), slept: Ns(period / 2) });
                truth.push(Some(Ns(due(n))));
                wakeups.push(Woken { at: Ns(due(n) + period / 5 + within * period / 5000), slept: Ns(period / 10) });
                truth.push(None);
            }
            let (found, follow) = wakeups.split_at(20);
            let mut grid = after(found);
            for (woken, truth) in follow.iter().zip(&truth[20..]) {
                let next = grid.woken_at(*woken);
                prop_assert_eq!(next.map(|next| next.periods), truth.map(|_| 1));
                if let (Some(next), Some(truth)) = (next, truth) {
                    prop_assert!((next.due - *truth).0.abs() <= (period / 20).max(30_000), "{next:?}, {truth:?}");
                }
                prop_assert!(!grid.is_lost());
            }
        }
    }
}
