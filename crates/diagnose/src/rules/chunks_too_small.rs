//! Parallel work split into pieces so small that distributing them takes significant time.

use super::MIN_SHARE;
use crate::context::{EvidenceRows, RuleContext, add};
use crate::finding::{Action, Confidence, Finding};
use crate::regions::NONE_MARKED;
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use crate::unmarked::short_jobs;
use engine::EngineError;
use model::tables::{self, mark_stretches, marks, ready_wait};
use model::words::{ms, percent, plain, plural, short, time};
use model::{Fix, Ns, ThreadKey, Tid};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "chunks-too-small",
    about: "parallel work was split into so many pieces that the time between them is significant",
    page: Page {
        description: "Marked stretches of one name on several threads of a process that are short and very many, with gaps between them that take \
                a large part of the time. Where nothing is marked: many short jobs, threads or programs that hand over to each other every \
                few microseconds, and a program that wakes the next one for each item that it writes.",
        rationale: "Each piece has an overhead: a lock or a counter that all threads write, a function call, a cache line that moves. A few pieces \
                  per thread are enough for all to finish together; thousands only add overhead.",
        certainty: "The time between stretches comes from the program's marks and includes the time for setting marks. Long gaps are not counted. \
               If a thread had no CPU between two pieces, that time is included. It is an assumption that the gaps scale with the number of pieces.",
        fix: "Use larger pieces: about eight per thread are enough.",
        example: "A loop over a million elements, one element per piece: each thread works for 1 µs and fetches the next piece for 1 µs.",
    },
    tables: &[
        &tables::MARKS,
        &tables::MARK_STRETCHES,
        &tables::READY_WAIT,
        &tables::POOLS,
        &tables::CRITICAL_BY_THREAD,
        &tables::WAKERS,
        &tables::WAITS,
        &tables::SAMPLES,
    ],
    thresholds: &[&MIN_PIECES, &MAX_PIECE_NS, &MAX_GAP_NS, &MIN_BETWEEN, &MARK_NS, &MIN_SHARE],
    // Each piece that is handed over wakes a thread that waits for it or for buffer space, and the two alternate.
    explains: &["wakeup-storm", "preemption-rate"],
    worst: Fits::Nothing,
    shares_out_work: false,
    check,
};

const MIN_PIECES: Threshold = Threshold {
    name: "min_pieces",
    unit: Unit::Count,
    value: 64.0,
    reason: "average per thread: with pieces eight times as large there would still be eight, enough for all threads to finish together",
};

const MAX_PIECE_NS: Threshold = Threshold {
    name: "max_piece_ns",
    unit: Unit::Ns,
    value: 100_000.0,
    reason: "heuristic: if distributing pieces of 0.1 ms on average takes a tenth of that, the distribution itself is slow",
};

const MAX_GAP_NS: Threshold = Threshold {
    name: "max_gap_ns",
    unit: Unit::Ns,
    value: 100_000.0,
    reason: "a longer gap is a wait, or another part of the program, and is not counted",
};

const MIN_BETWEEN: Threshold = Threshold {
    name: "min_between",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "share of the time in and between pieces; heuristic: less may be the cost of the marks themselves",
};

const MARK_NS: Threshold = Threshold {
    name: "mark_ns",
    unit: Unit::Ns,
    value: 4_000.0,
    reason: "maximum time that marks add to a piece: in the pathology chunks_too_small, recorded with BPF, items of 1.5 µs took 5.4 µs between two \
             writes to trace_marker",
};

/// The recommended factor for the size of pieces; the time between them shrinks by the same factor.
const LARGER: i64 = 8;

/// All pieces of a name.
#[derive(Default)]
struct Pieces {
    count: i64,
    worked: Ns,
    /// The sum of the counted gaps, by thread.
    between: BTreeMap<ThreadKey, Ns>,
    /// The number of pieces and their duration, by thread.
    done: BTreeMap<ThreadKey, (i64, Ns)>,
    evidence: EvidenceRows,
}

impl Pieces {
    fn gaps(&self) -> Ns {
        self.between.values().sum()
    }
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let mut by_name = BTreeMap::<(Option<i64>, String), Pieces>::new();
    ctx.each_row(marks::Table, |row| {
        let Some(thread) = row.get(marks::THREAD) else { return };
        let (count, worked) = row.all((marks::COUNT, marks::DURATION_NS));
        let sums = by_name.entry((row.get(marks::PID), row.get(marks::NAME.or_empty()).to_owned())).or_default();
        sums.count = sums.count.saturating_add(count);
        sums.worked += worked;
        sums.between.insert(thread, Ns::ZERO);
        sums.done.insert(thread, (count, worked));
        sums.evidence.push(worked, row, &[&marks::COUNT, &marks::DURATION_NS]);
    })?;
    if by_name.is_empty() {
        return Ok(if ctx.summary().ready_known {
            RuleOutcome::Findings(short_jobs::find(ctx, ctx.share_ns(&MIN_SHARE).max(Ns(1)))?)
        } else {
            RuleOutcome::MissingData(NONE_MARKED.to_owned())
        });
    }
    let limits = [MIN_PIECES, MAX_PIECE_NS, MAX_GAP_NS, MIN_BETWEEN];
    let [pieces, longest, gap, part] = limits.map(|limit| ctx.threshold(&limit));
    by_name.retain(|_, sums| {
        let threads = sums.between.len();
        threads > 1
            && sums.count as f64 >= pieces * threads as f64
            && sums.worked.as_f64() <= longest * sums.count as f64
    });
    if by_name.is_empty() {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    // When the last piece of each thread ended.
    let mut ended = BTreeMap::<(Option<i64>, String, ThreadKey), Ns>::new();
    ctx.each_row(mark_stretches::Table, |row| {
        let (Some(thread), name) = (
            row.get(mark_stretches::THREAD),
            (row.get(mark_stretches::PID), row.get(mark_stretches::NAME.or_empty()).to_owned()),
        ) else {
            return;
        };
        let Some(sums) = by_name.get_mut(&name) else { return };
        let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
        let before = ended.insert((name.0, name.1, thread), end);
        let between = before.map_or(Ns::ZERO, |before| start - before).max(Ns::ZERO);
        if between.as_f64() <= gap {
            add(&mut sums.between, thread, between);
        }
    })?;
    by_name.retain(|_, sums| sums.gaps().as_f64() >= part * (sums.worked + sums.gaps()).as_f64());
    let mut tids = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| {
        tids.insert(row.get(ready_wait::THREAD), row.get(ready_wait::TID));
    })?;
    let found = by_name.into_iter().map(|((_, name), sums)| finding(ctx, &name, sums, &tids));
    let least = ctx.share_ns(&MIN_SHARE).max(Ns(1));
    Ok(RuleOutcome::Findings(found.filter(|finding| finding.recoverable_ns >= least).collect()))
}

fn finding(ctx: &RuleContext<'_>, name: &str, sums: Pieces, tids: &BTreeMap<ThreadKey, Tid>) -> Finding {
    let tid = |thread: &ThreadKey| tids.get(thread).copied().unwrap_or(Tid::UNKNOWN);
    let claim = |(thread, ns): (&ThreadKey, &Ns)| ctx.claim(*thread, tid(thread), *ns - *ns / LARGER);
    let claims: Vec<_> = sums.between.iter().map(claim).collect();
    let name = short(&plain(name), 40);
    let pieces = sums.count / LARGER;
    let change = Fix::Chunks { region: name.clone(), chunks: u32::try_from(pieces).unwrap_or(u32::MAX) };
    let marks = |thread: &ThreadKey| {
        let (count, worked) = sums.done.get(thread).copied().unwrap_or_default();
        worked.min(Ns::whole(count as f64 * ctx.threshold(&MARK_NS)))
    };
    let gaps = sums.gaps();
    let most = sums.between.iter().map(|(thread, ns)| *ns + marks(thread)).max().unwrap_or(Ns::ZERO);
    Finding {
        title: format!(
            "{name} was done in {} of {} on average: {} ms, {} of the threads' time, were spent between pieces",
            plural(sums.count.unsigned_abs(), "piece"),
            time(sums.worked / sums.count.max(1)),
            ms(gaps),
            percent(gaps, gaps + sums.worked)
        ),
        range_ns: [Ns::ZERO, most],
        confidence: Confidence::Medium,
        evidence: sums.evidence.finish(),
        action: Action {
            what: format!("Make the pieces of {name} {LARGER} times as large"),
            linux: format!("take {LARGER} pieces of {name} at a time (OpenMP: schedule(dynamic, {LARGER}))"),
            windows: format!("take {LARGER} pieces of {name} at a time with InterlockedAdd"),
            side_effect: Some("larger pieces share the end of the work less evenly"),
        },
        assumptions: vec![
            format!("with pieces {LARGER} times as large, 1/{LARGER} of the time between them is left"),
            format!(
                "lower bound: the time is not spent on distribution; upper bound: {} ns of each piece are its marks, and all of the gaps are saved",
                ctx.threshold(&MARK_NS)
            ),
        ],
        ..ctx.finding(claims, change, String::new())
    }
}
