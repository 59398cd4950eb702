//! MangoHud logs: the frames of one program on Linux.
//!
//! Spec: `src/logging.cpp` of github.com/flightlessmango/MangoHud. Two lines describe the machine, one contains the
//! column names, then one line per frame; with `log_versioning`, there are lines of words in between. Clock:
//! nanoseconds since logging started. `frametime` was in microseconds and is in milliseconds in newer versions; `fps`,
//! which is its inverse, shows which.
//!
//! What the format does not contain: the program (it is in the file's name), when a frame was displayed, and its GPU
//! time. `gpu_load` and `cpu_load` are averages over time and not specific to a frame.

use crate::text::Lines;
use crate::text::csv::{cells, decimal, is_empty, median, time};
use crate::text::frames::{FRAMES_ALONE, FrameWriter, Parts, first_rows, lines, not_read, skip};
use ingest::{Anomaly, Facts, Fatal, Importer, Input, Ledger, Offer, Opened, Reach, Sniff, Stream};
use model::{Batch, FramePart, MaybeNs, NameId, Ns, Pid, Present};

/// The maximum length of a text that describes the machine, in characters.
const MAX_ABOUT: usize = 256;

/// The importer.
pub struct MangoHud;

impl Importer for MangoHud {
    fn id(&self) -> &'static str {
        "MangoHud"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "MangoHud (log_interval=0 logs every frame)",
            cannot: &[
                "threads and CPUs (there are no scheduler events)",
                "what limited a frame (there are no GPU times)",
                "when a frame was displayed",
                "frames between two rows, if log_interval is not 0",
            ],
            ..FRAMES_ALONE
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        match Head::of(start) {
            Some(_) => Sniff::Yes,
            None => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = lines(from)?;
        let start = lines.head()?;
        let head = Head::of(start).ok_or_else(|| {
            Fatal::new(
                "no line names the columns fps, cpu_load and elapsed: not a MangoHud log, or its header is missing",
                0,
            )
        })?;
        let Some(frametime) = head.frametime else {
            let what = "the column frametime is missing: old MangoHud versions logged only frames per second at intervals, \
                        so this log contains no frames; record it again with a newer MangoHud";
            return Err(Fatal::new(what, head.offset as u64));
        };
        let mut reader = Reader { unit_ns: 1e6, fps: head.fps, frametime, elapsed: head.elapsed };
        let rows = &start[head.end..];
        if let Some(unit_ns) = median(first_rows(rows).filter_map(|line| reader.unit(line)).collect()) {
            reader.unit_ns = unit_ns;
        }
        let first: Vec<(Ns, Ns)> = first_rows(rows).filter_map(|line| reader.read(line)).collect();
        let mut facts = head.facts();
        facts.begin = first.iter().map(|(at, took)| *at - *took).min();
        if is_sampled(&first) {
            facts.sampled_frames = true;
            facts.lacks.push(
                "The log was written at intervals (log_interval): each row is one of many frames, so sums are incomplete."
                    .to_owned(),
            );
        }
        let header_lines = start[..head.end].iter().filter(|b| **b == b'\n').count();
        skip(&mut lines, header_lines)?;
        Ok(Opened { facts, streams: vec![Box::new(Frames { lines, reader, frames: FrameWriter::new() })] })
    }
}

/// Whether the rows are typically further apart than their frames are long.
fn is_sampled(rows: &[(Ns, Ns)]) -> bool {
    let ratio = |pair: &[(Ns, Ns)]| match pair {
        [(before, _), (at, took)] if took.0 > 0 => Some((*at - *before).0 as f64 / took.0 as f64),
        _ => None,
    };
    median(rows.windows(2).filter_map(ratio).collect()).is_some_and(|ratio| ratio > 1.5)
}

/// The lines before the rows.
struct Head {
    about: Vec<(String, String)>,
    fps: usize,
    frametime: Option<usize>,
    elapsed: usize,
    /// The columns that are not read.
    others: Vec<String>,
    /// The offset of the line of column names, and the offset of the rows.
    offset: usize,
    end: usize,
}

impl Head {
    fn of(start: &[u8]) -> Option<Self> {
        let bare = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let mut at = start.len() - bare.len();
        let (mut about, mut before): (Vec<(String, String)>, Vec<&[u8]>) = (Vec::new(), Vec::new());
        for (number, line) in bare.split_inclusive(|b| *b == b'\n').take(8).enumerate() {
            let (offset, mut names) = (at, Vec::new());
            at += line.len();
            cells(line.trim_ascii(), &mut names);
            let place = |name: &[u8]| names.iter().position(|n| *n == name);
            if let (Some(fps), Some(_), Some(elapsed)) = (place(b"fps"), place(b"cpu_load"), place(b"elapsed")) {
                let frametime = place(b"frametime");
                let is_other = |at: &usize| *at != fps && Some(*at) != frametime && *at != elapsed;
                let others =
                    (0..names.len()).filter(is_other).map(|at| String::from_utf8_lossy(names[at]).into_owned());
                let others = others.collect();
                return Some(Self { about, fps, frametime, elapsed, others, offset, end: at });
            }
            if before.first() == Some(&b"os".as_slice()) {
                let entries = before.iter().zip(&names).filter(|(_, value)| !is_empty(value));
                about.extend(entries.map(|(name, value)| (shortened(name), shortened(value))));
            } else if number == 1 && before == [b"v1".as_slice()] {
                about.push(("mangohud".to_owned(), shortened(line)));
            }
            before = names;
        }
        None
    }

    fn facts(&self) -> Facts {
        Facts {
            format: MangoHud.id().to_owned(),
            clock: "MangoHud (since logging started)".to_owned(),
            has_waking: Some(false),
            has_wakeup: Some(false),
            about: self.about.clone(),
            lacks: [
                "A frame log has no scheduler events: where threads ran and what they waited for is unknown.",
                "The log does not name the program: MangoHud names the file after it.",
                "There are no GPU and display times, so what limited a frame is unknown.",
            ]
            .map(str::to_owned)
            .into_iter()
            .chain(
                (!self.others.is_empty())
                    .then(|| not_read(&self.others.iter().map(String::as_str).collect::<Vec<_>>())),
            )
            .collect(),
            ..Facts::default()
        }
    }
}

fn shortened(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().chars().take(MAX_ABOUT).collect()
}

/// Parses rows.
struct Reader {
    /// The unit of `frametime`.
    unit_ns: f64,
    fps: usize,
    frametime: usize,
    elapsed: usize,
}

impl Reader {
    /// Determines the unit of `frametime` from a row's `fps`: their product is 1,000 milliseconds or 1,000,000
    /// microseconds.
    fn unit(&self, line: &[u8]) -> Option<f64> {
        let mut row = Vec::new();
        cells(line, &mut row);
        let [fps, took] = [self.fps, self.frametime].map(|at| row.get(at).and_then(|cell| decimal(cell)));
        let product = fps? * took?;
        (product > 0.0).then_some(if product > 30_000.0 { 1e3 } else { 1e6 })
    }

    /// Returns when a frame was submitted, and the time since the frame before.
    fn read(&self, line: &[u8]) -> Option<(Ns, Ns)> {
        let mut row = Vec::new();
        cells(line, &mut row);
        let number = |at: usize| row.get(at).and_then(|cell| decimal(cell));
        Some((time(number(self.elapsed)?, 1.0)?, time(number(self.frametime)?, self.unit_ns)?))
    }
}

/// The frames of a log.
struct Frames<'a> {
    lines: Lines<'a>,
    reader: Reader,
    frames: FrameWriter,
}

impl Stream for Frames<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let (none, pid) = (NameId::NONE, Pid::UNKNOWN);
        let present = Present { frame: 0, swap_chain: 0, pid, application: none, mode: none, displayed: None };
        while let Some(line) = self.lines.peek()? {
            if FrameWriter::is_full(out) {
                return Ok(Reach::Until(MaybeNs::new(self.frames.until())));
            }
            let row = line.bytes.trim_ascii();
            if let Some((at, took)) = self.reader.read(row) {
                let mut parts = Parts::default();
                for of in [FramePart::Whole, FramePart::UntilPresent, FramePart::BetweenPresents] {
                    parts[of as usize] = Some(took);
                }
                self.frames.frame(at - took, present, &parts, line.offset, out);
            } else if !row.is_empty() {
                bad.anomaly("a row has no readable elapsed or frametime", line.offset, Anomaly::Lost);
                self.frames.skip_row();
            }
            self.lines.take();
        }
        self.frames.end(out);
        Ok(Reach::End)
    }
}
