//! What the importers of frame logs share: rows become events.

use super::Lines;
use crate::tracepoint::Names;
use ingest::{BATCH, Fatal, Input, Offer, Tells};
use model::{Batch, CpuId, Event, FramePart, FrameTime, NameId, Ns, Present, Tid, What};

/// Rows at the begin of a log that tell what its head does not.
const FIRST_ROWS: usize = 4096;
/// A row stands in a log when its frame was shown, so rows of several programs are not in the order of their begins. Where one
/// comes later than this, all are sorted.
const BEHIND: Ns = Ns(1_000_000_000);

/// What frame logs tell: frames.
pub(crate) const FRAMES_ALONE: Offer = Offer {
    made_by: "",
    switches: Tells::No,
    waking: Tells::No,
    wakeup: Tells::No,
    processes: Tells::No,
    priority: Tells::No,
    settings: Tells::No,
    ideal_cpu: Tells::No,
    idle: Tells::No,
    frequency: Tells::No,
    parking: Tells::No,
    irq: Tells::No,
    charges: Tells::No,
    marks: Tells::No,
    frames: Tells::Yes,
    stacks: Tells::No,
    yields: Tells::No,
    losses: Tells::No,
    topology: Tells::No,
    cannot: &[],
};

/// A log's lines.
pub(crate) fn lines<'a>(from: Input<'a>) -> Result<Lines<'a>, Fatal> {
    match from {
        Input::File(file) => Ok(Lines::new(Box::new(file))),
        Input::Pipe(pipe) => Ok(Lines::new(pipe)),
        Input::Folder(_) => Err(Fatal::new("a folder, not a frame log", 0)),
    }
}

/// The times of a frame, in the order of [`FramePart::ALL`].
pub(crate) type Parts = [Option<Ns>; FramePart::ALL.len()];

/// Whole rows behind a log's head, without their ends.
pub(crate) fn first_rows(behind_head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = behind_head.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n"));
    whole.take(FIRST_ROWS).map(<[u8]>::trim_ascii)
}

/// Goes past a log's head.
pub(crate) fn skip(lines: &mut Lines<'_>, head_lines: usize) -> Result<(), Fatal> {
    for _ in 0..head_lines {
        lines.peek()?;
        lines.take();
    }
    Ok(())
}

/// A log's frames so far.
pub(crate) struct Told {
    names: Names,
    /// Rows, those that could not be read too.
    rows: i64,
    /// When the last one began, and when the last one ended.
    latest: Ns,
    end: Ns,
}

impl Told {
    pub(crate) fn new() -> Self {
        Self { names: Names::new(), rows: 0, latest: Ns::MIN, end: Ns::MIN }
    }

    /// The number of a text.
    pub(crate) fn name(&mut self, text: &[u8], out: &mut Batch) -> NameId {
        self.names.id(text, out)
    }

    /// A row that says nothing.
    pub(crate) fn passed(&mut self) {
        self.rows += 1;
    }

    /// The frame of the next row, which began at `at`. Its number is that of the row.
    pub(crate) fn frame(&mut self, at: Ns, present: Present, parts: &Parts, offset: u64, out: &mut Batch) {
        let frame = self.rows;
        let (cpu, current) = (CpuId::UNKNOWN, Tid::UNKNOWN);
        let mut tell = |what| out.events.push(Event { at, offset, cpu, current, what });
        tell(What::Present(Present { frame, ..present }));
        for (of, took) in FramePart::ALL.into_iter().zip(parts) {
            if let Some(took) = *took {
                tell(What::FrameTime(FrameTime { frame, of, took }));
            }
        }
        let spent = [FramePart::Whole, FramePart::UntilPresent].iter().filter_map(|of| parts[*of as usize]).max();
        self.latest = self.latest.max(at);
        self.end = self.end.max(at + spent.unwrap_or_default().max(Ns::ZERO));
        self.rows += 1;
    }

    /// Whether enough is told to be handed on.
    pub(crate) fn is_full(out: &Batch) -> bool {
        out.events.len() >= BATCH
    }

    /// Nothing earlier will come, if rows are in the usual order.
    pub(crate) fn until(&self) -> Ns {
        if self.latest == Ns::MIN { Ns::MIN } else { self.latest - BEHIND }
    }

    /// The log tells of all time up to the end of its last frame.
    pub(crate) fn end(&self, out: &mut Batch) {
        if self.end > Ns::MIN {
            let (cpu, current) = (CpuId::UNKNOWN, Tid::UNKNOWN);
            out.events.push(Event { at: self.end, offset: 0, cpu, current, what: What::Sample });
        }
    }
}
