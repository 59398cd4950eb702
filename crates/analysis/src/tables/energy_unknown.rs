//! The times for which the energy of a source is unknown.

use crate::energy_readings::Domains;
use crate::{Analysis, Begins, Context, World};
use model::{Rows, Span, ThreadKey, TimelineEvent};

pub(crate) struct EnergyUnknown {
    span: Span,
    domains: Domains,
}

impl Analysis for EnergyUnknown {
    fn new(context: &Context<'_>) -> Self {
        Self { span: context.span, domains: Domains::default() }
    }

    fn event(&mut self, event: &TimelineEvent, _: ThreadKey, _: Begins, world: &World) {
        let Some((place, used)) = self.domains.event(event) else { return };
        if used.span(event.at).overlap(self.span).is_some() {
            self.domains.0[place].add(event.at, &used, world);
        }
    }

    fn finish(&mut self, world: &World, out: &mut dyn Rows) {
        for domain in &self.domains.0 {
            for (span, why) in power::unknown_times(&domain.intervals, &domain.updates(), domain.is_power()) {
                let Some(span) = span.overlap(self.span) else { continue };
                let name = world.name(domain.domain).unwrap_or_default();
                out.row(&[name.into(), span.start.into(), span.end.into(), why.to_string().into()]);
            }
        }
    }
}
