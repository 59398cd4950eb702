//! What must hold between a log's own columns, row by row. Rows of which it does not are counted, and read all the same: most
//! often rows before them are missing in the log.

use super::rows::Row;
use ingest::{Ledger, Trouble};
use model::{FramePart, Ns, Pid};
use rustc_hash::FxHashMap;

/// Logs round milliseconds to three digits or more, and points in time to microseconds: the longest of these laws adds five
/// such numbers.
const ROUNDING: i64 = 3_000;
/// Swap chains of which the last frame is remembered.
const MOST_CHAINS: usize = 4096;

const PRESENTS: &str = "a frame was not handed in MsBetweenPresents after the one before";
const BEGINS: &str = "a frame does not begin where the one before ends";
const CALLS: &str = "a frame's CPU time does not end where Present is called";
const DISPLAYS: &str = "a frame was not shown MsBetweenDisplayChange after the one before";
const DISPLAYED: &str = "a frame was not shown until the next one was";
const RENDERING: &str = "a frame shown as soon as it was rendered was not rendered since the one before was shown";

/// Holds each row against the one before of its swap chain.
#[derive(Default)]
pub(super) struct Checks {
    last: FxHashMap<(Pid, i64), Last>,
}

/// What is known of the frames of a swap chain so far.
#[derive(Clone, Copy, Default)]
struct Last {
    present: Option<Ns>,
    end: Option<Ns>,
    /// When the last one that was shown was shown, and until when.
    shown: Option<Ns>,
    shown_until: Option<Ns>,
    /// Whether the very last one was shown as soon as it was rendered.
    as_rendered: bool,
}

impl Checks {
    /// The next row.
    pub(super) fn row(&mut self, row: &Row<'_>, offset: u64, bad: &mut dyn Ledger) {
        let part = |of| row.part(of);
        let call = part(FramePart::UntilPresent).map(|until| row.begin + until);
        let present = row.present.or(call);
        let shown = Some(true) == row.displayed;
        let shown = part(FramePart::UntilDisplayed).filter(|_| shown).and_then(|until| Some(present? + until));
        let mut holds = |what, one: Option<Ns>, other: Option<Ns>| {
            if let (Some(one), Some(other)) = (one, other)
                && (one - other).0.abs() > ROUNDING
            {
                bad.trouble(what, offset, Trouble::Odd);
            }
        };
        let rendering = || Some(part(FramePart::UntilRenderComplete)? - part(FramePart::UntilRenderStart)?);
        if row.present.is_some() {
            holds(CALLS, call, row.present);
        }
        if self.last.len() >= MOST_CHAINS && !self.last.contains_key(&(row.pid, row.swap_chain)) {
            self.last.clear();
        }
        let last = self.last.entry((row.pid, row.swap_chain)).or_default();
        let since = |now: Option<Ns>, before: Option<Ns>| Some(now? - before?);
        holds(PRESENTS, since(present, last.present), part(FramePart::BetweenPresents));
        if row.begin_told {
            holds(BEGINS, last.end, Some(row.begin));
        }
        let as_rendered = shown.is_some() && part(FramePart::UntilDisplayed) == part(FramePart::UntilRenderComplete);
        if as_rendered && last.as_rendered {
            holds(RENDERING, rendering(), part(FramePart::BetweenDisplayChange));
        }
        holds(DISPLAYS, since(shown, last.shown), part(FramePart::BetweenDisplayChange));
        if shown.is_some() {
            holds(DISPLAYED, last.shown_until, shown);
            last.shown = shown;
            last.shown_until = part(FramePart::DisplayedFor).and_then(|length| Some(shown? + length));
        }
        last.as_rendered = as_rendered;
        last.present = present;
        last.end = part(FramePart::Whole).map(|whole| row.begin + whole);
    }
}
