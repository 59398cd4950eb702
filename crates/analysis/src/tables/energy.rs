//! What each source of energy used.

use crate::energy_readings::{Domains, reasons};
use crate::{Analysis, Begins, Context, World};
use model::{Ns, Rows, Span, ThreadKey, TimelineEvent, Value};

pub(crate) struct Energy {
    span: Span,
    domains: Domains,
}

impl Analysis for Energy {
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
            let update = domain.update_ns();
            let result =
                power::estimate(&domain.intervals, self.span, [update; 2], &domain.updates(), domain.is_power());
            let (figure, doubt) = match &result {
                Ok(estimate) => (Some(estimate), reasons(estimate)),
                Err(why) => (None, Some(why.to_string())),
            };
            let known = figure.map_or(0, |estimate| estimate.known_ns);
            let name = |id: Option<model::NameId>| Value::from(id.and_then(|id| world.name(id)));
            let facts = domain.facts;
            out.row(&[
                world.name(domain.domain).unwrap_or_default().into(),
                name(facts.map(|facts| facts.part)),
                name(facts.map(|facts| facts.parent)),
                name(facts.map(|facts| facts.same_as)),
                name(facts.map(|facts| facts.source)),
                figure.map(|estimate| estimate.joules).into(),
                figure.map(|estimate| estimate.low).into(),
                figure.map(|estimate| estimate.high).into(),
                figure.map(|estimate| estimate.watts).into(),
                Ns(known).into(),
                (self.span.len() - Ns(known)).into(),
                domain.count.into(),
                update.map(Ns).into(),
                Value::from(doubt.as_deref()),
            ]);
        }
    }
}
