//! The readings of domains of energy, from events to the intervals from which `power` makes figures.

use crate::World;
use model::{Change, EnergyDomain, EnergyUse, NameId, Ns, Span, TimelineEvent};
use power::{Energy, Estimate, Interval, Unknown, Updates};

/// The maximum number of intervals of a domain. With more, those that follow each other are joined in pairs.
const MAX_INTERVALS: usize = 1 << 16;
/// The time for which there is no reading at all, as when the recorder lost some.
const MISSING: &str = "its readings are missing";
const NOT_RECORDED: &str = "the reason was not recorded";

/// A domain, and what is read of it.
#[derive(Debug)]
pub(crate) struct Readings {
    pub(crate) domain: NameId,
    /// What is known of it; `None`: the source did not say.
    pub(crate) facts: Option<EnergyDomain>,
    /// In order of time, without gaps.
    pub(crate) intervals: Vec<Interval>,
    /// The number of readings with an interval.
    pub(crate) count: i64,
    changes: u64,
    changed: Option<Ns>,
    longest_gap: i64,
    least_change: Option<f64>,
}

/// All domains, in order of their first event.
#[derive(Debug, Default)]
pub(crate) struct Domains(pub(crate) Vec<Readings>);

impl Domains {
    /// Returns the readings of the domain that an event is about, and what it used. Takes notice of what is known of the domain.
    pub(crate) fn event(&mut self, event: &TimelineEvent) -> Option<(usize, EnergyUse)> {
        match event.what {
            Change::EnergyDomain(facts) => {
                let place = self.place(facts.domain);
                self.0[place].facts = Some(facts);
                None
            }
            Change::Energy(used) => Some((self.place(used.domain), used)),
            _ => None,
        }
    }

    fn place(&mut self, domain: NameId) -> usize {
        self.0.iter().position(|known| known.domain == domain).unwrap_or_else(|| {
            self.0.push(Readings::new(domain));
            self.0.len() - 1
        })
    }
}

impl Readings {
    fn new(domain: NameId) -> Self {
        let (facts, changed, least_change) = (None, None, None);
        Self { domain, facts, intervals: Vec::new(), count: 0, changes: 0, changed, longest_gap: 0, least_change }
    }

    /// Whether its energy follows from power, so that it has no counter.
    pub(crate) fn is_power(&self) -> bool {
        self.facts.is_some_and(|facts| facts.from_power)
    }

    /// Adds what it used up to a time.
    pub(crate) fn add(&mut self, at: Ns, used: &EnergyUse, world: &World) {
        let mut span = used.span(at);
        if let Some(last) = self.intervals.last().map(|interval| interval.span.end) {
            if span.end <= last {
                return;
            }
            if span.start > last {
                let energy = Err(Unknown::Recorded(MISSING.to_owned()));
                self.intervals.push(Interval { span: Span::new(last, span.start), energy });
            }
            span.start = span.start.max(last);
        }
        self.count += 1;
        let energy = match used.nj.get() {
            Some(nj) => {
                let (uj, spread) = (nj as f64 * 1e-3, used.spread_nj as f64 * 1e-3);
                self.see(at, uj);
                Ok(Energy { uj, low: uj - spread, high: uj + spread })
            }
            None => Err(Unknown::Recorded(world.name(used.unknown).unwrap_or(NOT_RECORDED).to_owned())),
        };
        self.intervals.push(Interval { span, energy });
        if self.intervals.len() > MAX_INTERVALS {
            self.intervals = joined(std::mem::take(&mut self.intervals), self.is_power());
        }
    }

    /// Takes notice of a change of its value.
    fn see(&mut self, at: Ns, uj: f64) {
        if uj <= 0.0 {
            return;
        }
        if let Some(changed) = self.changed.replace(at) {
            self.longest_gap = self.longest_gap.max((at - changed).0);
        }
        self.changes += 1;
        self.least_change = Some(self.least_change.map_or(uj, |least| least.min(uj)));
    }

    /// Returns the time between two updates, ns: as it was measured, or else the longest time between two readings with a change.
    pub(crate) fn update_ns(&self) -> Option<i64> {
        let measured = self.facts.and_then(|facts| facts.update.get()).map(|update| update.0);
        measured.or((self.changes > 1 && !self.is_power()).then_some(self.longest_gap))
    }

    /// Returns the time in which it uses as much as its value's least change, at the mean power of the intervals, ns.
    pub(crate) fn step_ns(&self) -> Option<i64> {
        let known = self
            .intervals
            .iter()
            .filter_map(|interval| Some((interval.energy.as_ref().ok()?.uj, interval.span.len().0)));
        let (uj, ns) = known.fold((0.0, 0.0), |(uj, ns), (more, length)| (uj + more, ns + length as f64));
        let step = self.least_change.filter(|_| !self.is_power() && uj > 0.0)?;
        Some((ns * step / uj) as i64)
    }

    /// Returns what is known of its updates.
    pub(crate) fn updates(&self) -> Updates {
        let (changes, changed, least_change) = (self.changes, self.changed, self.least_change);
        Updates { changes, changed, update_ns: self.update_ns(), least_change }
    }
}

/// Joins intervals in pairs. Pairs of which only one is known stay apart.
fn joined(intervals: Vec<Interval>, is_power: bool) -> Vec<Interval> {
    let mut out: Vec<Interval> = Vec::with_capacity(intervals.len() / 2 + 1);
    let mut may_join = false;
    for next in intervals {
        if let (true, Some(Interval { span, energy: Ok(a) }), Ok(b)) = (may_join, out.last_mut(), &next.energy) {
            let range = if is_power {
                // Between two readings the power is anywhere between both, each time independently.
                ((a.high - a.low).powi(2) + (b.high - b.low).powi(2)).sqrt()
            } else {
                (a.high - a.low) + (b.high - b.low)
            };
            let uj = a.uj + b.uj;
            *a = Energy { uj, low: uj - range / 2.0, high: uj + range / 2.0 };
            span.end = next.span.end;
            may_join = false;
        } else {
            out.push(next);
            may_join = true;
        }
    }
    out
}

/// Returns the reasons for which energy is unknown, each once.
pub(crate) fn reasons(estimate: &Estimate) -> Option<String> {
    let mut reasons: Vec<String> = Vec::new();
    for (_, why) in &estimate.unknown {
        let why = why.to_string();
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_keeps_the_sum_and_the_time() {
        let known = |n: i64| Interval {
            span: Span::new(Ns(n), Ns(n + 1)),
            energy: Ok(Energy { uj: 3.0, low: 2.0, high: 4.0 }),
        };
        let unknown = Interval { span: Span::new(Ns(4), Ns(5)), energy: Err(Unknown::TooLong) };
        let all = vec![known(0), known(1), known(2), known(3), unknown.clone(), known(5)];
        let out = joined(all, true);
        assert_eq!(out.iter().map(|i| i.span.len().0).collect::<Vec<_>>(), [2, 2, 1, 1]);
        assert_eq!(out[2], unknown);
        let Ok(first) = &out[0].energy else { panic!("it is known") };
        assert_eq!(first.uj, 6.0);
        // Independent errors add up as squares.
        assert!((first.high - first.uj - 2.0_f64.sqrt()).abs() < 1e-12);
    }
}
