//! Events that the recorder lost.

use crate::finding::{Confidence, Finding, Severity, Subject};
use crate::given::{Given, Shown};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::{Capability, EngineError, Tells};
use model::tables::{self, concurrency, loss};
use model::words::{grouped, percent, plural};
use model::{Fix, Ns, Span};

pub(super) const RULE: Rule = Rule {
    id: "capture-lost-events",
    about: "the recorder lost events, so other findings may be missing or wrong there",
    page: Page {
        finds: "Losses that the source reports, and how much of the CPUs' time lies in them or is unknown.",
        matters: "Where switches are lost, nobody can say who ran: a finding may be missing, and one that is there may name the wrong \
                  thread. A quiet diagnosis of such a recording says little.",
        sure: "Losses are what the recorder reports; one that it does not report shows only as unknown time. No milliseconds can be \
               given back: this is about the recording, not about the program.",
        mend: "Record again with larger buffers or fewer kinds of events.",
        example: "Events are lost from 2 to 4 ms of 10: a fifth of the time.",
    },
    tables: &[&tables::LOSS, &tables::CONCURRENCY],
    thresholds: &[&MEDIUM_SHARE, &HIGH_SHARE],
    explains: &[],
    look,
};

const MEDIUM_SHARE: Threshold = Threshold {
    name: "medium_share",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "what is lost could hide as much as makes another finding medium",
};

const HIGH_SHARE: Threshold = Threshold {
    name: "high_share",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "what is lost could hide as much as makes another finding high",
};

/// So many times are named.
const SPANS: usize = 8;

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let (mut losses, mut events, mut counted, mut lossy) = (0_u64, 0_i64, true, 0_i64);
    let (mut spans, mut shown) = (Vec::new(), Shown::default());
    given.each(loss::Table, |row| {
        let span = Span::new(Ns(row.get(loss::START_NS)), Ns(row.get(loss::END_NS)));
        // A loss may have no length: two events of one instant with others lost between.
        let at = if span.is_empty() { Span::new(span.start, span.start + Ns(1)) } else { span };
        let Some(within) = at.overlap(given.span()) else { return };
        losses += 1;
        match row.get(loss::EVENTS) {
            Some(n) => events = events.saturating_add(n),
            None => counted = false,
        }
        lossy = lossy.saturating_add(within.len().0);
        shown.push(within.len().0, row, &[&loss::END_NS, &loss::EVENTS]);
        if spans.len() < SPANS {
            spans.push(within);
        }
    })?;
    if let (0, Some(None | Some(Tells::If(_)))) = (losses, given.offers().map(|offer| offer.of(Capability::Losses))) {
        let format = &given.facts().format;
        return Ok(Looked::Lacks(format!(
            "none is told, but not every recording of the format {format} tells of losses"
        )));
    }
    if losses == 0 {
        return Ok(Looked::At(Vec::new()));
    }
    let (mut unknown, mut all) = (0_i64, 0_i64);
    given.each(concurrency::Table, |row| {
        let [cpus, ns] = row.all([concurrency::UNKNOWN, concurrency::DURATION_NS]);
        unknown = unknown.saturating_add(cpus.saturating_mul(ns));
        all = all.saturating_add(ns);
    })?;
    // Of one CPU's time the part in a loss, of all CPUs' the part that is unknown: whichever is more.
    let length = given.span().len().0;
    let share = (lossy.min(length) as f64 / length.max(1) as f64).max(unknown as f64 / all.max(1) as f64);
    let severity = match share {
        share if share >= given.threshold(&HIGH_SHARE) => Severity::High,
        share if share >= given.threshold(&MEDIUM_SHARE) => Severity::Medium,
        _ => Severity::Low,
    };
    let many = if counted { format!("{} events", grouped(events)) } else { "Events".to_owned() };
    let change = Fix::RecordingBuffer { times: 4 };
    Ok(Looked::At(vec![Finding {
        of: Subject::Recording,
        severity,
        title: format!(
            "{many} were lost in {}, over {} of the time: findings there may be missing or wrong",
            plural(losses, "place"),
            percent(lossy.min(length), length)
        ),
        confidence: Confidence::High,
        spans,
        evidence: shown.finish(),
        assumptions: vec![
            "nothing is given back: it is told so that other findings, and their absence, can be judged".to_owned(),
        ],
        ..given.finding(Vec::new(), change, "Record again without losses".to_owned())
    }]))
}
