//! Checks of a log's columns against each other, row by row. Rows that fail are counted, and read nevertheless: in most
//! cases, rows before them are missing in the log.

use super::rows::Row;
use ingest::{Anomaly, Ledger};
use model::{FramePart, Ns, Pid};
use rustc_hash::FxHashMap;

/// Logs round milliseconds to three or more digits, and points in time to microseconds. The longest check adds five
/// such numbers.
const ROUNDING: i64 = 3_000;
/// The maximum number of swap chains whose last frame is remembered.
const MAX_CHAINS: usize = 4096;

const PRESENTS: &str = "a frame was not presented MsBetweenPresents after the previous one";
const BEGINS: &str = "a frame does not start where the previous one ends";
const CALLS: &str = "a frame's CPU time does not end when Present is called";
const DISPLAYS: &str = "a frame was not displayed MsBetweenDisplayChange after the previous one";
const DISPLAYED: &str = "a frame's display time does not end when the next one is displayed";
const RENDERING: &str = "MsBetweenDisplayChange is not the rendering time of a frame, although it and the previous one were displayed as soon as they were rendered";

/// Checks each row against the previous one of its swap chain.
#[derive(Default)]
pub(super) struct Checks {
    last: FxHashMap<(Pid, i64), Last>,
}

/// The last frame of a swap chain.
#[derive(Clone, Copy, Default)]
struct Last {
    present: Option<Ns>,
    end: Option<Ns>,
    /// When the last displayed frame was displayed, and until when.
    displayed_at: Option<Ns>,
    displayed_until: Option<Ns>,
    /// Whether the last frame was displayed as soon as it was rendered.
    as_rendered: bool,
}

impl Checks {
    /// Checks the next row.
    pub(super) fn row(&mut self, row: &Row<'_>, offset: u64, bad: &mut dyn Ledger) {
        let part = |of| row.part(of);
        let call = part(FramePart::UntilPresent).map(|until| row.begin + until);
        let present = row.present.or(call);
        let displayed_at = Some(true) == row.displayed;
        let displayed_at =
            part(FramePart::UntilDisplayed).filter(|_| displayed_at).and_then(|until| Some(present? + until));
        let mut check = |what, one: Option<Ns>, other: Option<Ns>| {
            if let (Some(one), Some(other)) = (one, other)
                && (one - other).0.abs() > ROUNDING
            {
                bad.anomaly(what, offset, Anomaly::Warning);
            }
        };
        let rendering = || Some(part(FramePart::UntilRenderComplete)? - part(FramePart::UntilRenderStart)?);
        if row.present.is_some() {
            check(CALLS, call, row.present);
        }
        if self.last.len() >= MAX_CHAINS && !self.last.contains_key(&(row.pid, row.swap_chain)) {
            self.last.clear();
        }
        let last = self.last.entry((row.pid, row.swap_chain)).or_default();
        let since = |now: Option<Ns>, before: Option<Ns>| Some(now? - before?);
        check(PRESENTS, since(present, last.present), part(FramePart::BetweenPresents));
        if row.has_begin {
            check(BEGINS, last.end, Some(row.begin));
        }
        let as_rendered =
            displayed_at.is_some() && part(FramePart::UntilDisplayed) == part(FramePart::UntilRenderComplete);
        if as_rendered && last.as_rendered {
            check(RENDERING, rendering(), part(FramePart::BetweenDisplayChange));
        }
        check(DISPLAYS, since(displayed_at, last.displayed_at), part(FramePart::BetweenDisplayChange));
        if displayed_at.is_some() {
            check(DISPLAYED, last.displayed_until, displayed_at);
            last.displayed_at = displayed_at;
            last.displayed_until = part(FramePart::DisplayedFor).and_then(|length| Some(displayed_at? + length));
        }
        last.as_rendered = as_rendered;
        last.present = present;
        last.end = part(FramePart::Whole).map(|whole| row.begin + whole);
    }
}
