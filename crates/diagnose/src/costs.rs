//! Figures of the recorded machine that findings are calculated with: what the user set, else what was measured on the machine, else what is
//! assumed of another machine. Each output that uses one says which.

use crate::context::RuleContext;
use crate::rule::Threshold;
use engine::{Session, TypicalCost};
use model::Ns;
use model::words::{plain, time};

/// The thresholds that a measured cost replaces, and what they say as a sentence; `{}` is the value.
const SENTENCES: [(&str, &str); 3] = [
    ("switch_ns", "a switch costs {}"),
    ("smt_gain", "two busy siblings do {} of the work of one alone"),
    ("slower_speed", "a slower core does {} of a faster core's work"),
];

/// The measured costs of the recorded machine, as far as rules use them.
#[derive(Default)]
pub(crate) struct MeasuredCosts {
    switch: Option<TypicalCost>,
    smt_gain: Option<TypicalCost>,
    slower_speed: Option<TypicalCost>,
    day: String,
    stale: Option<String>,
}

impl MeasuredCosts {
    /// Reads them from the machine of a session.
    pub(crate) fn new(session: &Session) -> Self {
        let machine = session.machine();
        let Some(costs) = &machine.costs else { return Self::default() };
        Self {
            switch: costs.switch_ns(),
            smt_gain: costs.smt_gain(None),
            slower_speed: machine.slower_speed(),
            day: costs.measured.day().to_owned(),
            stale: engine::stale_costs(costs, &session.facts().conditions),
        }
    }

    /// The measured cost that replaces a threshold.
    pub(crate) fn of(&self, threshold: &Threshold) -> Option<&TypicalCost> {
        match threshold.name {
            "switch_ns" => self.switch.as_ref(),
            "smt_gain" => self.smt_gain.as_ref(),
            "slower_speed" => self.slower_speed.as_ref(),
            _ => None,
        }
    }
}

impl RuleContext<'_> {
    /// The measured interval of a figure; `None` if it was set by the user, or not measured.
    pub(crate) fn interval(&self, threshold: &Threshold) -> Option<[f64; 2]> {
        match self.chosen(threshold) {
            Some(_) => None,
            None => self.costs().of(threshold).map(|of| [of.low, of.high]),
        }
    }

    /// The upper end of a saving that is proportional to a figure: the same if there is no measured interval.
    pub(crate) fn upper(&self, threshold: &Threshold, ns: Ns) -> Ns {
        let factor = self.interval(threshold).map_or(1.0, |[_, high]| high / self.threshold(threshold));
        Ns::nearest(ns.as_f64() * factor)
    }

    /// A figure as an assumption, and whose it is: `a switch costs 2.1 µs (measured on this machine 2026-11-26: …)`.
    pub(crate) fn whose(&self, threshold: &Threshold) -> String {
        let words = |value: f64| match threshold.name {
            "switch_ns" => time(Ns::nearest(value)),
            _ => format!("{}", (value * 1000.0).round() / 1000.0),
        };
        let source = match (self.chosen(threshold), self.costs().of(threshold)) {
            (Some(_), _) => "set by the user".to_owned(),
            (None, Some(of)) => {
                let costs = self.costs();
                let stale = costs.stale.as_ref().map_or_else(String::new, |why| format!("; stale: {why}"));
                let (low, high) = (words(of.low), words(of.high));
                plain(&format!("measured on this machine {}: {}, {low} to {high}{stale}", costs.day, of.of))
            }
            (None, None) => "an assumption from another machine".to_owned(),
        };
        let sentence =
            SENTENCES.iter().find(|(name, _)| *name == threshold.name).map_or("{}", |(_, sentence)| sentence);
        format!("{} ({source})", sentence.replace("{}", &words(self.threshold(threshold))))
    }
}

/// Whether an assumption is a sentence of [`RuleContext::whose`].
pub(crate) fn is_figure(assumption: &str) -> bool {
    SENTENCES.iter().any(|(_, sentence)| {
        let (before, after) = sentence.split_once("{}").unwrap_or((sentence, ""));
        assumption.strip_prefix(before).is_some_and(|rest| rest.contains(&format!("{after} (")))
    })
}
