//! Events that the recorder lost.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Finding, Severity, Subject};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::{Availability, Capability, EngineError};
use model::tables::{self, concurrency, loss};
use model::words::{grouped, percent, plural};
use model::{Fix, Ns, Span};

pub(super) const RULE: Rule = Rule {
    id: "capture-lost-events",
    about: "the recorder lost events, so other findings may be missing or wrong",
    page: Page {
        description: "Event losses that the source reports, and how much of the CPUs' time is affected or unknown.",
        rationale: "Where context switches are lost, it is unknown which thread ran: a finding may be missing or may name the wrong thread. The \
                  absence of findings in such a recording says little.",
        certainty: "Losses are those that the recorder reports, and records that are damaged or cut off; others show only as unknown time. There is no potential saving: this finding is about \
               the recording, not the program.",
        fix: "Record again with larger buffers or fewer event types.",
        example: "Events are lost from 2 to 4 ms of 10 ms: a fifth of the time.",
    },
    tables: &[&tables::LOSS, &tables::CONCURRENCY],
    thresholds: &[&MEDIUM_SHARE, &HIGH_SHARE],
    explains: &[],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MEDIUM_SHARE: Threshold = Threshold {
    name: "medium_share",
    unit: Unit::Ratio,
    value: 0.01,
    reason: "share of the time that is inside losses or unknown, the same as severity.medium_share: the lost events could hide a finding of medium severity",
};

const HIGH_SHARE: Threshold = Threshold {
    name: "high_share",
    unit: Unit::Ratio,
    value: 0.05,
    reason: "share of the time that is inside losses or unknown, the same as severity.high_share: the lost events could hide a finding of high severity",
};

/// The maximum number of spans that are listed.
const SPANS: usize = 8;

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut losses, mut events, mut counted) = (0_u64, 0_i64, true);
    let (mut spans, mut evidence) = (Vec::new(), EvidenceRows::default());
    ctx.each_row(loss::Table, |row| {
        let span = Span::new(row.get(loss::START_NS), row.get(loss::END_NS));
        // A loss may have no length: events lost between two events of the same timestamp.
        let at = if span.is_empty() { Span::new(span.start, span.start + Ns(1)) } else { span };
        let Some(within) = at.overlap(ctx.span()) else { return };
        losses += 1;
        match row.get(loss::EVENTS) {
            Some(n) => events = events.saturating_add(n),
            None => counted = false,
        }
        evidence.push(within.len(), row, &[&loss::END_NS, &loss::EVENTS]);
        spans.push(within);
    })?;
    if let (0, Some(None | Some(Availability::If(_)))) =
        (losses, ctx.offers().map(|offer| offer.of(Capability::Losses)))
    {
        let format = &ctx.facts().format;
        return Ok(RuleOutcome::MissingData(format!(
            "no loss is recorded, but not every recording of the format {format} reports losses"
        )));
    }
    if losses == 0 {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let (mut unknown, mut all) = (Ns::ZERO, Ns::ZERO);
    ctx.each_row(concurrency::Table, |row| {
        let (cpus, ns) = row.all((concurrency::UNKNOWN, concurrency::DURATION_NS));
        unknown += ns * cpus;
        all += ns;
    })?;
    // The larger of two shares: that of the range inside losses, and that of all CPUs' time that is unknown.
    let length = ctx.span().len();
    // Losses of several CPUs may overlap.
    let lossy = Span::merged(spans.clone()).into_iter().map(Span::len).sum::<Ns>();
    let share = (lossy.as_f64() / length.max(Ns(1)).as_f64()).max(unknown.as_f64() / all.max(Ns(1)).as_f64());
    let severity = match share {
        share if share >= ctx.threshold(&HIGH_SHARE) => Severity::High,
        share if share >= ctx.threshold(&MEDIUM_SHARE) => Severity::Medium,
        _ => Severity::Low,
    };
    let many = if counted { format!("{} events", grouped(events)) } else { "Events".to_owned() };
    // No recorder says how many events a damaged record was.
    let damaged = ctx.summary().damaged_records();
    let is_damage = damaged > 0 && events == 0;
    let (verb, change, what) = if is_damage {
        ("are missing", Fix::CompleteCopy { records: damaged }, "Get the recording whole")
    } else {
        ("were lost", Fix::RecordingBuffer { times: 4 }, "Record again without losses")
    };
    spans.truncate(SPANS);
    Ok(RuleOutcome::Findings(vec![Finding {
        subject: Subject::Recording,
        severity,
        title: format!(
            "{many} {verb} in {}, covering {} of the time: findings there may be missing or wrong",
            plural(losses, "gap"),
            percent(lossy, length)
        ),
        confidence: Confidence::High,
        spans,
        evidence: evidence.finish(),
        assumptions: vec![
            "no saving is estimated: this finding only helps to judge other findings and their absence".to_owned(),
        ],
        ..ctx.finding(Vec::new(), change, what.to_owned())
    }]))
}
