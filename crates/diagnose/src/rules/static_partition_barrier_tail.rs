//! Parallel regions whose threads get one piece each, and wait for the slowest.

use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown};
use crate::regions::{LEAST_OF_REGIONS, NONE_MARKED, PIECES, by_name, pieces, workers};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, parallel_regions};
use model::words::{ms, percent, plain, plural, short};
use model::{Fix, Ns, Span};

pub(super) const RULE: Rule = Rule {
    id: "static-partition-barrier-tail",
    about: "a parallel region was cut into one piece a thread, and all waited for the slowest",
    page: Page {
        finds: "Parallel regions (stretches of one name that several threads of a process mark at once) with at most one piece for each \
                thread, in which threads waited for the last one to arrive.",
        matters: "Equal pieces end together only where all CPUs are equally fast and nobody else needs them: on a machine with unequal \
                  cores the fast ones wait for the slow ones at every barrier.",
        sure: "The stretches are what the program marked. If all threads go equally fast, the lesser or greater end of the range follows \
               from who waited; if pieces are equal work, the other one does; of the lesser, as much as one of the smaller pieces is taken to be left: \
               pieces that are handed out end together but for the largest of them at most (Graham 1969), half of it in the mean, for all but who is done last. What handing out pieces costs is in neither.",
        mend: "Cut the work into some pieces for each thread, and hand them out one by one to whoever is free.",
        example: "A works for 2 ms and B for 4 ms, each on its half: had the work been handed out, both would have been done after 3 ms.",
    },
    tables: &[&tables::PARALLEL_REGIONS, &tables::MARKS, &tables::READY_WAIT],
    thresholds: &[&LEAST_OF_REGIONS, &MOST_PIECES],
    explains: &[],
    look,
};

const MOST_PIECES: Threshold = Threshold {
    name: "most_pieces",
    unit: Unit::Ratio,
    value: 1.0,
    reason: "pieces for each thread: with more than one the work was handed out in some way, and chunks-too-large looks",
};

/// All regions of a name.
#[derive(Default)]
struct Regions {
    count: u64,
    threads: i64,
    best: i64,
    from: i64,
    to: i64,
    spans: Vec<(i64, Span)>,
    shown: Shown,
}

/// So many times are named.
const SPANS: usize = 8;

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let regions = by_name(given, |of: &mut Regions, row| {
        let [threads, stretches, worked, from, to, ran, ready] = row.all([
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::WORKED_NS,
            parallel_regions::RECOVERABLE_FROM_NS,
            parallel_regions::RECOVERABLE_TO_NS,
            parallel_regions::WAITING_RUNNING_NS.or_zero(),
            parallel_regions::LAST_READY_NS.or_zero(),
        ]);
        if stretches as f64 > given.threshold(&MOST_PIECES) * threads as f64 {
            return;
        }
        // The largest piece is about twice the mean. Who is done first waits for one, who is done last for none, the others for
        // any part of it: half of it each, for all but the last. Of two threads that is half as much as of many.
        let left = worked / threads.max(1) / PIECES * (threads - 1) / threads.max(1);
        of.count += 1;
        // Smaller pieces do not take a CPU from who spins on it.
        let held_up = ran.min(ready);
        of.best = of.best.saturating_add(from.saturating_sub(left).saturating_sub(held_up).max(0));
        of.threads = of.threads.max(threads);
        (of.from, of.to) = (of.from.saturating_add(from), of.to.saturating_add(to));
        of.shown.push(
            from,
            row,
            &[
                &parallel_regions::THREADS,
                &parallel_regions::STRETCHES,
                &parallel_regions::TAIL_NS,
                &parallel_regions::WAITING_NS,
                &parallel_regions::RECOVERABLE_FROM_NS,
                &parallel_regions::RECOVERABLE_TO_NS,
            ],
        );
        of.spans
            .push((from, Span::new(Ns(row.get(parallel_regions::START_NS)), Ns(row.get(parallel_regions::END_NS)))));
        if of.spans.len() > 2 * SPANS {
            cut(&mut of.spans);
        }
    })?;
    let Some(regions) = regions else { return Ok(Looked::Lacks(NONE_MARKED.to_owned())) };
    let least = given.share(&LEAST_OF_REGIONS).max(1);
    let mut found = Vec::new();
    for ((pid, name), of) in regions.into_iter().filter(|(_, of)| of.best >= least) {
        found.push(finding(given, pid, &name, of)?);
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, pid: Option<i64>, name: &str, mut of: Regions) -> Result<Finding, EngineError> {
    let claims = workers(given, pid, name, of.best)?;
    let region = short(&plain(name), 40);
    let chunks = pieces(of.threads, PIECES);
    let change = Fix::Chunks { region: region.clone(), chunks };
    cut(&mut of.spans);
    let mut spans: Vec<Span> = of.spans.into_iter().map(|(_, span)| span).collect();
    spans.sort_by_key(|span| span.start);
    Ok(Finding {
        title: format!(
            "{} waited for the slowest in {} of {region}, one piece each: {} ms ({} of the time) is lost",
            plural(of.threads.unsigned_abs(), "thread"),
            plural(of.count, "region"),
            ms(of.best),
            percent(of.best, given.span().len().0)
        ),
        severity: given.severity(of.best),
        recoverable_ns: of.best,
        range_ns: [0, of.to],
        confidence: Confidence::Medium,
        spans,
        evidence: of.shown.finish(),
        assumptions: vec![
            "pieces can be handed out at no cost".to_owned(),
            "the lesser of: all threads go equally fast; all pieces are equal work (the greater is the upper end)"
                .to_owned(),
            format!(
                "{PIECES} pieces a thread leave half of the largest, which is twice the mean, for all but the last at the end; the lower end: one part cannot be cut"
            ),
        ],
        ..given.finding(claims, change, format!("Cut {region} into more pieces, handed out one by one"))
    })
}

/// Keeps those that lose most.
fn cut(spans: &mut Vec<(i64, Span)>) {
    spans.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    spans.truncate(SPANS);
}
