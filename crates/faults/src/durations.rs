//! Durations of single periods of running and blocking in real programs: quantiles of recordings (`loads/`).

use testkit::Rng;

const RECORDED: &str = include_str!("../loads/durations.csv");

/// The quantiles of one state of one load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Durations(Vec<i64>);

impl Durations {
    /// Returns the durations of `load` (`compile`, `web`, `pipe`, `video`) in `state` (`running`, `blocked`).
    ///
    /// # Panics
    /// If none were recorded.
    #[must_use]
    pub fn of(load: &str, state: &str) -> Durations {
        let lines = RECORDED.lines().filter_map(|l| l.strip_prefix(&format!("{load},{state},")));
        let ns: Vec<i64> = lines.filter_map(|l| l.split_once(',')?.1.parse().ok()).collect();
        assert!(ns.len() > 1, "no durations of {load} {state}");
        Durations(ns)
    }

    /// Draws a duration: uniform between two quantiles, and at most `max` ns, so that one does not fill a short trace.
    pub fn draw(&self, rng: &mut Rng, max: i64) -> i64 {
        let at = rng.below(self.0.len() - 1);
        let within = (self.0[at + 1] - self.0[at]) * rng.below(1000) as i64 / 1000;
        (self.0[at] + within).clamp(1000, max)
    }
}
