//! Parallel work cut into pieces so small that handing them out takes the time.

use super::LEAST_SHARE;
use crate::finding::{Action, Confidence, Finding};
use crate::given::{Given, Shown, add};
use crate::regions::NONE_MARKED;
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, mark_stretches, marks, ready_wait};
use model::words::{grouped, ms, percent, plain, short, time};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "chunks-too-small",
    about: "parallel work was cut into so many pieces that the time between them counts",
    page: Page {
        finds: "Stretches of one name that several threads of a process mark, short and very many, with gaps between one and the next that are \
                a large part of the time.",
        matters: "Each piece is handed out: a lock or a counter that all threads write, a function call, a cache line that moves. Some pieces \
                  a thread are enough for all to arrive together; thousands only cost.",
        sure: "The time between stretches is what the program's marks tell, that of making the marks included; long gaps are none of it. A \
               thread that had no CPU between two pieces adds to it. That it goes with the number of pieces is an assumption.",
        mend: "Hand out larger pieces: about eight for each thread are enough.",
        example: "A loop over a million elements, one element a piece: each thread works for 1 µs and fetches for 1 µs.",
    },
    tables: &[&tables::MARKS, &tables::MARK_STRETCHES, &tables::READY_WAIT],
    thresholds: &[&LEAST_PIECES, &MOST_PIECE_NS, &MOST_GAP_NS, &LEAST_BETWEEN, &MARK_NS, &LEAST_SHARE],
    // Each piece that is handed over wakes one who waits for it or for room, and takes turns with it.
    explains: &["wakeup-storm", "preemption-rate"],
    look,
};

const LEAST_PIECES: Threshold = Threshold {
    name: "least_pieces",
    unit: Unit::Count,
    value: 64.0,
    reason: "of each thread on average: eight times larger ones would still be eight, which is enough for all to arrive together",
};

const MOST_PIECE_NS: Threshold = Threshold {
    name: "most_piece_ns",
    unit: Unit::Ns,
    value: 100_000.0,
    reason: "a choice: what hands out pieces of a tenth of a millisecond on average and takes a tenth of that is slow itself",
};

const MOST_GAP_NS: Threshold = Threshold {
    name: "most_gap_ns",
    unit: Unit::Ns,
    value: 100_000.0,
    reason: "a longer gap is a wait, or another part of the program, and not counted",
};

const LEAST_BETWEEN: Threshold = Threshold {
    name: "least_between",
    unit: Unit::Ratio,
    value: 0.1,
    reason: "part of the time in pieces and between them: a choice; less is what the marks themselves may cost",
};

const MARK_NS: Threshold = Threshold {
    name: "mark_ns",
    unit: Unit::Ns,
    value: 4_000.0,
    reason: "what a piece has of its marks in it, at most: in the pathology chunks_too_small, recorded by BPF, items of 1.5 µs took 5.4 between two writes to \
             trace_marker",
};

/// With pieces so many times as large, that part of the time between them is left.
const LARGER: i64 = 8;

/// All pieces of a name.
#[derive(Default)]
struct Pieces {
    count: i64,
    worked: i64,
    /// By thread: the gaps that count.
    between: BTreeMap<i64, i64>,
    /// By thread: how many pieces it did, and for how long.
    did: BTreeMap<i64, [i64; 2]>,
    shown: Shown,
}

impl Pieces {
    fn gaps(&self) -> i64 {
        self.between.values().fold(0, |sum, ns| sum.saturating_add(*ns))
    }
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let mut by_name = BTreeMap::<(Option<i64>, String), Pieces>::new();
    given.each(marks::Table, |row| {
        let Some(thread) = row.get(marks::THREAD) else { return };
        let [count, worked] = row.all([marks::COUNT, marks::DURATION_NS]);
        let of = by_name.entry((row.get(marks::PID), row.get(marks::NAME.or_empty()).to_owned())).or_default();
        of.count = of.count.saturating_add(count);
        of.worked = of.worked.saturating_add(worked);
        of.between.insert(thread, 0);
        of.did.insert(thread, [count, worked]);
        of.shown.push(worked, row, &[&marks::COUNT, &marks::DURATION_NS]);
    })?;
    if by_name.is_empty() {
        return Ok(Looked::Lacks(NONE_MARKED.to_owned()));
    }
    let limits = [LEAST_PIECES, MOST_PIECE_NS, MOST_GAP_NS, LEAST_BETWEEN];
    let [pieces, longest, gap, part] = limits.map(|limit| given.threshold(&limit));
    by_name.retain(|_, of| {
        let threads = of.between.len();
        threads > 1 && of.count as f64 >= pieces * threads as f64 && of.worked as f64 <= longest * of.count as f64
    });
    if by_name.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    // The end of the last one of each thread.
    let mut ended = BTreeMap::<(Option<i64>, String, i64), i64>::new();
    given.each(mark_stretches::Table, |row| {
        let (Some(thread), name) = (
            row.get(mark_stretches::THREAD),
            (row.get(mark_stretches::PID), row.get(mark_stretches::NAME.or_empty()).to_owned()),
        ) else {
            return;
        };
        let Some(of) = by_name.get_mut(&name) else { return };
        let [start, end] = row.all([mark_stretches::START_NS, mark_stretches::END_NS]);
        let before = ended.insert((name.0, name.1, thread), end);
        let between = before.map_or(0, |before| start.saturating_sub(before)).max(0);
        if between as f64 <= gap {
            add(&mut of.between, thread, between);
        }
    })?;
    by_name.retain(|_, of| of.gaps() as f64 >= part * of.worked.saturating_add(of.gaps()) as f64);
    let mut tids = BTreeMap::new();
    given.each(ready_wait::Table, |row| {
        tids.insert(row.get(ready_wait::THREAD), row.get(ready_wait::TID));
    })?;
    let found = by_name.into_iter().map(|((_, name), of)| finding(given, &name, of, &tids));
    let least = given.share(&LEAST_SHARE).max(1);
    Ok(Looked::At(found.filter(|finding| finding.recoverable_ns >= least).collect()))
}

fn finding(given: &Given<'_>, name: &str, of: Pieces, tids: &BTreeMap<i64, i64>) -> Finding {
    let tid = |thread: &i64| tids.get(thread).copied().unwrap_or(-1);
    let claim = |(thread, ns): (&i64, &i64)| given.claim(*thread, tid(thread), ns - ns / LARGER);
    let claims: Vec<_> = of.between.iter().map(claim).collect();
    let name = short(&plain(name), 40);
    let pieces = of.count / LARGER;
    let change = Fix::Chunks { region: name.clone(), chunks: u32::try_from(pieces).unwrap_or(u32::MAX) };
    let marks = |thread: &i64| {
        let [count, worked] = of.did.get(thread).copied().unwrap_or_default();
        worked.min((count as f64 * given.threshold(&MARK_NS)) as i64)
    };
    let gaps = of.gaps();
    let most = of.between.iter().map(|(thread, ns)| ns.saturating_add(marks(thread))).max().unwrap_or(0);
    Finding {
        title: format!(
            "{name} was done in {} pieces of {} on average: {} ms, {} of the threads' time, lie between them",
            grouped(of.count),
            time(of.worked / of.count.max(1)),
            ms(gaps),
            percent(gaps, gaps.saturating_add(of.worked))
        ),
        range_ns: [0, most],
        confidence: Confidence::Medium,
        evidence: of.shown.finish(),
        action: Action {
            what: format!("Cut {name} into pieces {LARGER} times as large"),
            linux: format!("take {LARGER} pieces of {name} at a time (OpenMP: schedule(dynamic, {LARGER}))"),
            windows: format!("take {LARGER} pieces of {name} at a time with InterlockedAdd"),
        },
        assumptions: vec![
            format!("with pieces {LARGER} times as large, one part in {LARGER} of the time between them is left"),
            format!(
                "the lower end: what takes the time is not handing out; the upper: {} ns of each piece is its marks, and all falls away",
                given.threshold(&MARK_NS)
            ),
        ],
        ..given.finding(claims, change, String::new())
    }
}
