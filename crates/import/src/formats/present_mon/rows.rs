//! Reads a row's cells.

use super::clock::{Clock, rate};
use super::columns::{Columns, Field, Unit};
use crate::text::csv::{cells, decimal, is_empty, time};
use crate::text::frames::Parts;
use crate::text::scan::hexadecimal;
use model::{FramePart, Ns, Pid};
use rustc_hash::FxHashMap;

/// A frame's row. Texts are slices of the line.
pub(in crate::formats) struct Row<'b> {
    pub(super) application: &'b [u8],
    pub(super) mode: &'b [u8],
    pub(super) pid: Pid,
    pub(super) swap_chain: i64,
    pub(super) displayed: Option<bool>,
    /// When the frame started.
    pub(in crate::formats) begin: Ns,
    /// Whether the start has a column of its own, or follows from when frames were presented.
    pub(super) has_begin: bool,
    /// When Present was called, according to its own column.
    pub(in crate::formats) present: Option<Ns>,
    /// In the order of [`FramePart::ALL`].
    pub(super) parts: Parts,
    /// The number of cells that should be numbers and are not.
    pub(super) unreadable: u32,
}

impl Row<'_> {
    pub(in crate::formats) fn part(&self, of: FramePart) -> Option<Ns> {
        self.parts[of as usize]
    }
}

/// Why a row cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::formats) enum RowError {
    TooManyCells,
    NoTime,
}

/// Parses rows.
pub(in crate::formats) struct Reader {
    columns: Columns,
    start: Option<(Clock, usize)>,
    present: Option<(Clock, usize)>,
}

/// The cells of a line, and the number of unreadable ones.
struct Cells<'r, 'b> {
    columns: &'r Columns,
    cells: Vec<&'b [u8]>,
    unreadable: u32,
}

impl<'b> Cells<'_, 'b> {
    fn text(&self, field: Field) -> &'b [u8] {
        let cell = self.columns.at(field).and_then(|at| self.cells.get(at)).copied().unwrap_or_default();
        if is_empty(cell) { b"" } else { cell }
    }

    /// Reads a number of milliseconds.
    fn ms(&mut self, field: Field) -> Option<Ns> {
        let cell = self.text(field);
        if cell.is_empty() {
            return None;
        }
        let read = decimal(cell).and_then(|v| time(v, 1e6));
        self.unreadable += u32::from(read.is_none());
        read
    }

    fn time(&self, column: Option<(Clock, usize)>) -> Option<Ns> {
        let (clock, at) = column?;
        clock.read(self.cells.get(at)?)
    }
}

impl Reader {
    /// Determines the units of points in time from the rows at the start of the log (`lines`): those for which they
    /// agree with the rows' frame times. Also returns a warning for the user.
    pub(in crate::formats) fn new<'b>(
        columns: Columns,
        lines: impl Iterator<Item = &'b [u8]>,
    ) -> (Self, Option<String>) {
        let (start, present) = (columns.start_time(), columns.present_time());
        let (mut starts, mut presents) = (TimeDeltas::default(), TimeDeltas::default());
        for line in lines {
            let mut row = Cells { columns: &columns, cells: Vec::with_capacity(columns.count), unreadable: 0 };
            cells(line, &mut row.cells);
            let number = |row: &Cells<'_, '_>, column: Option<(Unit, usize)>| decimal(row.cells.get(column?.1)?);
            let (began, called) = (number(&row, start), number(&row, present));
            let chain = [Field::ProcessId, Field::SwapChain].map(|f| row.text(f).to_vec());
            let whole = row.ms(Field::FrameTime);
            starts.add_start(chain.clone(), began, whole);
            // BetweenPresents of a row is the time since the previous present.
            let between = row.ms(Field::BetweenPresents);
            presents.add_present(chain, called, between);
        }
        let rate_of = |column: Option<(Unit, usize)>, steps: TimeDeltas| {
            column.map(|(unit, at)| (rate(unit, &steps.found), at)).map(|(r, at)| ((r.clock, at), r.warning)).unzip()
        };
        let (start, warning) = rate_of(start, starts);
        let (present, present_warning) = rate_of(present, presents);
        (Self { columns, start, present }, warning.or(present_warning).flatten())
    }

    /// Parses a line.
    pub(super) fn read<'b>(&self, line: &'b [u8]) -> Result<Row<'b>, RowError> {
        let mut row = Vec::with_capacity(self.columns.count);
        cells(line, &mut row);
        self.row(row)
    }

    /// Reads the cells of a row.
    pub(in crate::formats) fn row<'b>(&self, cells: Vec<&'b [u8]>) -> Result<Row<'b>, RowError> {
        let mut c = Cells { columns: &self.columns, cells, unreadable: 0 };
        if c.cells.len() > self.columns.count && c.cells[self.columns.count..].iter().any(|cell| !cell.is_empty()) {
            return Err(RowError::TooManyCells);
        }
        let (start, present) = (c.time(self.start), c.time(self.present));
        let (between, whole) = (c.ms(Field::BetweenPresents), c.ms(Field::FrameTime));
        let busy = c.ms(Field::CpuBusy);
        let begin = match (start, present) {
            (Some(start), _) => start,
            (None, Some(present)) if self.start.is_none() => present - between.unwrap_or_default(),
            _ => return Err(RowError::NoTime),
        };
        let until_present = match (self.start, busy, present) {
            (None, ..) => between.or(Some(Ns::ZERO)),
            (Some(_), Some(busy), _) => Some(busy),
            (Some(_), None, Some(present)) => Some(present - begin),
            (Some(_), None, None) => None,
        };
        let displayed = self.displayed(&c);
        let mut row = Row {
            application: c.text(Field::Application),
            mode: c.text(Field::PresentMode),
            pid: pid(c.text(Field::ProcessId)),
            swap_chain: address(c.text(Field::SwapChain)),
            displayed,
            begin,
            has_begin: start.is_some(),
            present,
            parts: [None; FramePart::ALL.len()],
            unreadable: 0,
        };
        let parts = &mut row.parts;
        parts[FramePart::Whole as usize] = if self.columns.has(Field::FrameTime) { whole } else { between };
        parts[FramePart::UntilPresent as usize] = until_present;
        parts[FramePart::CpuBusy as usize] = busy;
        parts[FramePart::InPresent as usize] = c.ms(Field::InPresent).or_else(|| c.ms(Field::CpuWait));
        parts[FramePart::BetweenPresents as usize] = between;
        gpu(&mut c, until_present, parts);
        if displayed != Some(false) {
            display(&mut c, until_present, parts);
        }
        row.unreadable = c.unreadable;
        Ok(row)
    }

    /// Whether the frame was displayed: according to the column of dropped frames, or to a time that only displayed
    /// frames have.
    fn displayed(&self, c: &Cells<'_, '_>) -> Option<bool> {
        if self.columns.has(Field::Dropped) {
            return match c.text(Field::Dropped) {
                b"0" => Some(true),
                b"1" => Some(false),
                _ => None,
            };
        }
        let times = [Field::UntilDisplayed, Field::DisplayLatency, Field::DisplayedTime];
        let mut recorded = times.into_iter().filter(|f| self.columns.has(*f)).peekable();
        recorded.peek().is_some().then(|| recorded.any(|f| !c.text(f).is_empty()))
    }
}

/// Reads the GPU times. PresentMon writes zeros if it saw no GPU work; the times are then unknown.
fn gpu(c: &mut Cells<'_, '_>, until_present: Option<Ns>, parts: &mut Parts) {
    let (latency, took) = (c.ms(Field::GpuLatency), c.ms(Field::GpuTime));
    let start = c.ms(Field::UntilRenderStart);
    let complete = c.ms(Field::UntilRenderComplete);
    let busy = c.ms(Field::GpuActive).or_else(|| c.ms(Field::GpuBusy));
    let none = Some(Ns::ZERO);
    let unseen = busy == none && (start == none || took == none);
    let from_present = |from_begin: Option<Ns>| Some(from_begin? - until_present?);
    let start = start.or_else(|| from_present(latency));
    let add_present = || from_present(Some(latency? + took?));
    // That a frame was rendered at the very call of Present is as good as impossible, and zero means unknown.
    let complete = complete.filter(|_| complete != none || busy.is_some());
    parts[FramePart::UntilRenderComplete as usize] = complete.or_else(|| add_present().filter(|_| !unseen));
    if !unseen {
        parts[FramePart::UntilRenderStart as usize] = start;
        parts[FramePart::GpuBusy as usize] = busy;
    }
}

/// Reads the times of a frame that was displayed.
fn display(c: &mut Cells<'_, '_>, until_present: Option<Ns>, parts: &mut Parts) {
    let latency = c.ms(Field::DisplayLatency);
    let until = c.ms(Field::UntilDisplayed).or_else(|| Some(latency? - until_present?));
    parts[FramePart::UntilDisplayed as usize] = until;
    // For the first displayed frame there is no previous one: PresentMon 1 writes 0.
    parts[FramePart::BetweenDisplayChange as usize] = c.ms(Field::BetweenDisplayChange).filter(|t| *t != Ns::ZERO);
    parts[FramePart::DisplayedFor as usize] = c.ms(Field::DisplayedTime);
}

fn pid(cell: &[u8]) -> Pid {
    let number = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok());
    number.filter(|n| *n >= 0).map_or(Pid::UNKNOWN, Pid)
}

/// Parses an address like `0x00000259DAE0BCF0`; 0 if there is none.
fn address(cell: &[u8]) -> i64 {
    let digits = cell.strip_prefix(b"0x").or(cell.strip_prefix(b"0X"));
    digits.and_then(hexadecimal).filter(|(_, rest)| rest.is_empty()).map_or(0, |(bits, _)| bits.cast_signed())
}

/// The differences between the points in time of consecutive rows of a swap chain, each with the ms that another column
/// gives for it.
#[derive(Default)]
struct TimeDeltas {
    last: FxHashMap<[Vec<u8>; 2], (f64, Option<Ns>)>,
    found: Vec<(f64, f64)>,
}

impl TimeDeltas {
    /// Adds a frame's start, and its time to the next frame.
    fn add_start(&mut self, chain: [Vec<u8>; 2], at: Option<f64>, took: Option<Ns>) {
        let Some(at) = at else { return };
        if let Some((before, Some(took))) = self.last.insert(chain, (at, took)) {
            self.found.push((at - before, took.0 as f64 / 1e6));
        }
    }

    /// Adds a present, and its time since the previous one.
    fn add_present(&mut self, chain: [Vec<u8>; 2], at: Option<f64>, took: Option<Ns>) {
        let Some(at) = at else { return };
        if let (Some((before, _)), Some(took)) = (self.last.insert(chain, (at, None)), took) {
            self.found.push((at - before, took.0 as f64 / 1e6));
        }
    }
}
