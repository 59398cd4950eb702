//! The power of each source of energy over time.
//!
//! ```text
//!   readings of a counter    ┃ . ┃ . . . ┃ ┃ . ┃       ┃ its value changed    . it did not
//!   rows                     ├───────────┼─────┤       a row begins and ends at a change, so that no step is shared out
//! ```

use crate::energy_readings::{Domains, reasons};
use crate::{Analysis, Begins, Context, World};
use model::{EnergyUse, Ns, Rows, Span, ThreadKey, TimelineEvent, Value};
use power::Interval;

/// The least length of a row. Shorter ones would reveal more of what programs do than their readers need.
const MIN_NS: i64 = 1_000_000_000;
/// A row is at least so many times as long as the time by which its ends are uncertain, so that it has a figure.
const MIN_CERTAIN: i64 = 30;

/// The readings of a row.
#[derive(Default)]
struct Row {
    intervals: Vec<Interval>,
    /// The time between the first and the last reading and the changes of the value at these, if known, ns.
    ends: [Option<i64>; 2],
}

impl Row {
    fn span(&self) -> Span {
        let (first, last) = (self.intervals.first(), self.intervals.last());
        first
            .zip(last)
            .map_or(Span::new(Ns::ZERO, Ns::ZERO), |(first, last)| Span::new(first.span.start, last.span.end))
    }
}

/// What is known of a domain's rows.
#[derive(Default)]
struct Rest {
    /// The last complete row; the rest of the recording may be too short for one of its own.
    complete: Option<Row>,
    /// The time between its last reading and the change of the value at that reading, if known, ns.
    end: Option<i64>,
    /// The length that a row needs to have a figure, as far as is known, ns.
    needed: i64,
}

pub(crate) struct PowerOverTime {
    span: Span,
    domains: Domains,
    rests: Vec<Rest>,
    over: Vec<(usize, Row)>,
}

impl PowerOverTime {
    /// Takes the readings since the last row as a row that ends now, with the value changed or not.
    fn complete(&mut self, place: usize, end: Option<i64>) {
        let begin = self.rests[place].end;
        let unaligned = self.domains.0[place].update_ns();
        let intervals = std::mem::take(&mut self.domains.0[place].intervals);
        let row = Row { intervals, ends: [begin.or(unaligned), end.or(unaligned)] };
        let rest = &mut self.rests[place];
        rest.end = end;
        self.over.extend(rest.complete.replace(row).map(|row| (place, row)));
    }

    fn used(&mut self, at: Ns, place: usize, used: &EnergyUse, world: &World) {
        let span = used.span(at);
        let inside = span.overlap(self.span).map_or(Ns::ZERO, Span::len);
        // A reading at the edge of the requested range belongs to where most of its time is.
        if inside.0.saturating_mul(2) < span.len().0 || inside <= Ns::ZERO {
            return;
        }
        self.rests.resize_with(self.domains.0.len(), Rest::default);
        let domain = &mut self.domains.0[place];
        domain.add(at, used, world);
        let first = domain.intervals.first().map_or(at, |interval| interval.span.start);
        let changed = domain.is_power() || used.nj.get().is_some_and(|nj| nj > 0);
        if !changed || (at - first).0 < MIN_NS {
            return;
        }
        // Before its second change, nothing is known of a counter's updates.
        let update = if domain.is_power() { Some(0) } else { domain.update_ns() };
        let Some(update) = update else { return };
        let aligned = update.min(used.length.0);
        // The value may be a step behind, but never more than an update.
        let uncertain = domain.step_ns().map_or(aligned, |step| aligned.max(step.min(update)));
        let needed = if domain.is_power() { MIN_NS } else { MIN_NS.max(uncertain.saturating_mul(MIN_CERTAIN)) };
        self.rests[place].needed = needed;
        if (at - first).0 >= needed {
            self.complete(place, Some(aligned));
        }
    }

    fn row(&self, place: usize, row: &Row, world: &World, out: &mut dyn Rows) {
        let domain = &self.domains.0[place];
        let Some(span) = row.span().overlap(self.span) else { return };
        let result = power::estimate(&row.intervals, span, row.ends, &domain.updates(), domain.is_power());
        let (figure, doubt) = match &result {
            Ok(estimate) => (Some(estimate), reasons(estimate)),
            Err(why) => (None, Some(why.to_string())),
        };
        out.row(&[
            world.name(domain.domain).unwrap_or_default().into(),
            span.start.into(),
            span.end.into(),
            figure.map(|estimate| estimate.joules).into(),
            figure.map(|estimate| estimate.watts).into(),
            Ns(figure.map_or(0, |estimate| estimate.known_ns)).into(),
            Value::from(doubt.as_deref()),
        ]);
    }
}

impl Analysis for PowerOverTime {
    fn new(context: &Context<'_>) -> Self {
        Self { span: context.span, domains: Domains::default(), rests: Vec::new(), over: Vec::new() }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        if let Some((place, used)) = self.domains.event(event) {
            self.used(event.at, place, &used, world);
        }
    }

    fn drain(&mut self, world: &World, out: &mut dyn Rows) {
        for (place, row) in std::mem::take(&mut self.over) {
            self.row(place, &row, world, out);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        self.rests.resize_with(self.domains.0.len(), Rest::default);
        for place in 0..self.domains.0.len() {
            let length = self.domains.0[place].intervals.iter().map(|interval| interval.span.len()).sum::<Ns>();
            let unaligned = self.domains.0[place].update_ns();
            let needed = self.rests[place].needed.max(MIN_NS);
            match &mut self.rests[place].complete {
                Some(row) if length > Ns::ZERO && length.0 < needed => {
                    row.intervals.append(&mut self.domains.0[place].intervals);
                    row.ends[1] = unaligned;
                }
                _ if length > Ns::ZERO => self.complete(place, None),
                _ => {}
            }
            let last = self.rests[place].complete.take();
            self.over.extend(last.map(|row| (place, row)));
        }
        self.drain(world, out);
    }
}
