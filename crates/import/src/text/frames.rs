//! Shared by the importers of frame logs: turns rows into events.

use super::Lines;
use crate::tracepoint::Names;
use ingest::{Availability, BATCH, Capability, Fatal, Input, Offer};
use model::{Batch, CpuId, Event, EventKind, FramePart, FrameTime, NameId, Ns, Present, Tid};

/// The number of rows at the start of a log that are examined for facts that its header does not contain.
const FIRST_ROWS: usize = 4096;
/// A log writes a row when its frame was displayed, so rows of several programs are not ordered by their start times.
/// If a row is later than this, all rows are sorted.
const MAX_DISORDER: Ns = Ns(1_000_000_000);

/// The capabilities of frame logs: frames only.
pub(crate) const FRAMES_ALONE: Offer =
    Offer { made_by: "", provides: &[(Capability::Frames, Availability::Yes)], cannot: &[] };

/// Opens a log's lines.
pub(crate) fn lines<'a>(from: Input<'a>) -> Result<Lines<'a>, Fatal> {
    match from {
        Input::File(file) => Ok(Lines::new(Box::new(file))),
        Input::Pipe(pipe) => Ok(Lines::new(pipe)),
        Input::Folder(_) => Err(Fatal::new("this is a folder, not a frame log: give the log file itself", 0)),
    }
}

/// The maximum length of a list of columns, in characters.
const MAX_NOT_READ: usize = 256;

/// Says which columns of a log are not read.
pub(crate) fn not_read(columns: &[&str]) -> String {
    let names: String = columns.join(", ").chars().take(MAX_NOT_READ).collect();
    format!("Columns of the log that are not read: {names}.")
}

/// The times of a frame, in the order of [`FramePart::ALL`].
pub(crate) type Parts = [Option<Ns>; FramePart::ALL.len()];

/// Returns the complete rows after a log's header, without their line ends.
pub(crate) fn first_rows(after_header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let complete = after_header.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"));
    complete.take(FIRST_ROWS).map(<[u8]>::trim_ascii)
}

/// Skips a log's header.
pub(crate) fn skip(lines: &mut Lines<'_>, header_lines: usize) -> Result<(), Fatal> {
    for _ in 0..header_lines {
        lines.peek()?;
        lines.take();
    }
    Ok(())
}

/// Writes a log's rows as events, and tracks how far they go.
pub(crate) struct FrameWriter {
    names: Names,
    /// The number of rows so far, including those that could not be read.
    rows: i64,
    /// The latest start of a frame, and the latest end.
    latest: Ns,
    end: Ns,
}

impl FrameWriter {
    pub(crate) fn new() -> Self {
        Self { names: Names::new(), rows: 0, latest: Ns::MIN, end: Ns::MIN }
    }

    /// Returns the ID of a text.
    pub(crate) fn name(&mut self, text: &[u8], out: &mut Batch) -> NameId {
        self.names.id(text, out)
    }

    /// Counts a row that contains no frame.
    pub(crate) fn skip_row(&mut self) {
        self.rows += 1;
    }

    /// Adds the frame of the next row, which started at `at`. The frame's number is the row's number.
    pub(crate) fn frame(&mut self, at: Ns, present: Present, parts: &Parts, offset: u64, out: &mut Batch) {
        let frame = self.rows;
        let (cpu, current) = (CpuId::UNKNOWN, Tid::UNKNOWN);
        let mut push = |what| out.events.push(Event { at, offset, cpu, current, what });
        push(EventKind::Present(Present { frame, ..present }));
        for (of, took) in FramePart::ALL.into_iter().zip(parts) {
            if let Some(took) = *took {
                push(EventKind::FrameTime(FrameTime { frame, of, took }));
            }
        }
        let spent = [FramePart::Whole, FramePart::UntilPresent].iter().filter_map(|of| parts[*of as usize]).max();
        self.latest = self.latest.max(at);
        self.end = self.end.max(at + spent.unwrap_or_default().max(Ns::ZERO));
        self.rows += 1;
    }

    /// Whether the batch is full.
    pub(crate) fn is_full(out: &Batch) -> bool {
        out.events.len() >= BATCH
    }

    /// The time before which no more events will come, if rows are in the usual order.
    pub(crate) fn until(&self) -> Ns {
        if self.latest == Ns::MIN { Ns::MIN } else { self.latest - MAX_DISORDER }
    }

    /// Adds an event at the end of the last frame: the log covers all time up to it.
    pub(crate) fn end(&self, out: &mut Batch) {
        if self.end > Ns::MIN {
            let (cpu, current) = (CpuId::UNKNOWN, Tid::UNKNOWN);
            out.events.push(Event { at: self.end, offset: 0, cpu, current, what: EventKind::Sample });
        }
    }
}
