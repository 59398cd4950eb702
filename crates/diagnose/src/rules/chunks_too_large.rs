//! Parallel regions handed out in pieces so large that the last of them keeps all waiting.

use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown};
use crate::regions::{LEAST_OF_REGIONS, NONE_MARKED, by_name, pieces, workers};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, parallel_regions};
use model::words::{grouped, ms, percent, plain, plural, short};

pub(super) const RULE: Rule = Rule {
    id: "chunks-too-large",
    about: "a parallel region was handed out in a few large pieces, and all waited for whoever had the last",
    page: Page {
        finds: "Parallel regions with more than one, but few pieces for each thread, in which threads waited for the last one to arrive.",
        matters: "Handing pieces out lets fast threads do more of them, but the last piece is done by one thread alone: the larger it is, the \
                  longer all others wait, most of all where a slow core has it.",
        sure: "The stretches are what the program marked. If all threads go equally fast, or if pieces are equal work, the ends of what could be \
               recovered follow; of the lesser, half of a smaller piece is taken to be left. Where one piece is much larger than all others, smaller ones \
               help only if that one can be cut.",
        mend: "Cut the work into more pieces, about eight or more for each thread.",
        example: "Three pieces of 2 ms for two threads: one thread does two of them, the other waits for 2 ms.",
    },
    tables: &[&tables::PARALLEL_REGIONS, &tables::MARKS, &tables::READY_WAIT],
    thresholds: &[&MOST_PIECES, &LEAST_OF_REGIONS],
    explains: &[],
    look,
};

const MOST_PIECES: Threshold = Threshold {
    name: "most_pieces",
    unit: Unit::Ratio,
    value: 7.0,
    reason: "for each thread: with eight or more, as is advised, what the last piece leaves is about what handing out finer ones costs",
};

/// All regions of a name with few pieces.
#[derive(Default)]
struct Regions {
    count: u64,
    threads: i64,
    pieces: i64,
    most_pieces: i64,
    best: i64,
    to: i64,
    shown: Shown,
}

/// Into so many times as many pieces it should be cut.
const FINER: i64 = 4;

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let regions = by_name(given, |of: &mut Regions, row| {
        let [threads, pieces, worked, from, to] = row.all([
            parallel_regions::THREADS,
            parallel_regions::STRETCHES,
            parallel_regions::WORKED_NS,
            parallel_regions::RECOVERABLE_FROM_NS,
            parallel_regions::RECOVERABLE_TO_NS,
        ]);
        // One each: static-partition-barrier-tail looks.
        if threads < 1 || pieces <= threads || pieces as f64 > given.threshold(&MOST_PIECES) * threads as f64 {
            return;
        }
        of.count += 1;
        of.threads = of.threads.max(threads);
        of.pieces = of.pieces.saturating_add(pieces);
        of.most_pieces = of.most_pieces.max(pieces);
        // Half of a piece: who is done first waits for one, who is done last for none.
        let left = worked / pieces / FINER / 2;
        of.best = of.best.saturating_add(from.saturating_sub(left).max(0));
        of.to = of.to.saturating_add(to);
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
    })?;
    let Some(regions) = regions else { return Ok(Looked::Lacks(NONE_MARKED.to_owned())) };
    let least = given.share(&LEAST_OF_REGIONS).max(1);
    let mut found = Vec::new();
    for ((pid, name), of) in regions.into_iter().filter(|(_, of)| of.best >= least) {
        found.push(finding(given, pid, &name, of)?);
    }
    Ok(Looked::At(found))
}

fn finding(given: &Given<'_>, pid: Option<i64>, name: &str, of: Regions) -> Result<Finding, EngineError> {
    let claims = workers(given, pid, name, of.best)?;
    let region = short(&plain(name), 40);
    let change = Fix::Chunks { region: region.clone(), chunks: pieces(of.most_pieces, FINER) };
    Ok(Finding {
        title: format!(
            "{} waited for whoever had the last piece in {} of {region}, {} pieces in all: {} ms ({} of the time) is lost",
            plural(of.threads.unsigned_abs(), "thread"),
            plural(of.count, "region"),
            grouped(of.pieces),
            ms(of.best),
            percent(of.best, given.span().len().0)
        ),
        severity: given.severity(of.best),
        recoverable_ns: of.best,
        range_ns: [0, of.to],
        confidence: Confidence::Medium,
        evidence: of.shown.finish(),
        assumptions: vec![
            format!(
                "with {FINER} times as many pieces half of such a piece is waited for at the end, and handing them out costs nothing"
            ),
            "the lesser of: all threads go equally fast; all pieces are equal work (the greater is the upper end)"
                .to_owned(),
            "the lower end: one piece is larger than all others and cannot be cut".to_owned(),
        ],
        ..given.finding(claims, change, format!("Cut {region} into {FINER} times as many pieces"))
    })
}
