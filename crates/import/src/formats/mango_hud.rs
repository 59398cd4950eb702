//! MangoHud's logs: one program's frames on Linux.
//!
//! Spec: `src/logging.cpp` of github.com/flightlessmango/MangoHud. Two lines describe the machine, one names the columns, then a
//! line a frame; with `log_versioning`, lines of words between. Clock: nanoseconds since logging began. `frametime` has been
//! microseconds and is milliseconds in newer versions: `fps`, which is one by it, tells which.
//!
//! What the format cannot tell: the program (it is in the file's name), when a frame was shown, and how long the GPU worked on
//! it. `gpu_load` and `cpu_load` are averages over time, and say nothing of a frame.

use crate::text::Lines;
use crate::text::csv::{cells, decimal, is_empty, median, time};
use crate::text::frames::{FRAMES_ALONE, Parts, Told, first_rows, lines, skip};
use ingest::{Facts, Fatal, Importer, Input, Ledger, Offer, Opened, Reach, Sniff, Stream, Trouble};
use model::{Batch, FramePart, MaybeNs, NameId, Ns, Pid, Present};

/// Characters kept of what describes the machine.
const LONGEST_ABOUT: usize = 256;

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
                "threads and CPUs: it has no scheduler events",
                "what bound a frame: it has no times of the GPU",
                "when a frame was shown",
                "frames between two rows, where log_interval is not 0",
            ],
            ..FRAMES_ALONE
        }
    }

    fn sniff(&self, begin: &[u8]) -> Sniff {
        match Head::of(begin) {
            Some(_) => Sniff::Yes,
            None => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = lines(from)?;
        let begin = lines.head()?;
        let head = Head::of(begin).ok_or_else(|| {
            Fatal::new(
                "no line names the columns fps, cpu_load and elapsed: not a log of MangoHud, or its head was cut off",
                0,
            )
        })?;
        let Some(frametime) = head.frametime else {
            let what = "the column frametime is missing: an old MangoHud logged frames per second only, at intervals, so no \
                        frame is in this log";
            return Err(Fatal::new(what, head.offset as u64));
        };
        let mut reader = Reader { unit_ns: 1e6, fps: head.fps, frametime, elapsed: head.elapsed };
        let behind = &begin[head.end..];
        if let Some(unit_ns) = median(first_rows(behind).filter_map(|line| reader.unit(line)).collect()) {
            reader.unit_ns = unit_ns;
        }
        let first: Vec<(Ns, Ns)> = first_rows(behind).filter_map(|line| reader.read(line)).collect();
        let mut facts = head.facts();
        facts.begin = first.iter().map(|(at, took)| *at - *took).min();
        if is_sampled(&first) {
            facts.lacks.push(
                "It was logged at intervals (log_interval): each row is one frame of many, and no sum is that of all frames."
                    .to_owned(),
            );
        }
        let head_lines = begin[..head.end].iter().filter(|b| **b == b'\n').count();
        skip(&mut lines, head_lines)?;
        Ok(Opened { facts, streams: vec![Box::new(Frames { lines, reader, told: Told::new() })] })
    }
}

/// Whether the rows are further apart than their frames are long, all in all.
fn is_sampled(rows: &[(Ns, Ns)]) -> bool {
    let ratio = |pair: &[(Ns, Ns)]| match pair {
        [(before, _), (at, took)] if took.0 > 0 => Some((*at - *before).0 as f64 / took.0 as f64),
        _ => None,
    };
    median(rows.windows(2).filter_map(ratio).collect()).is_some_and(|ratio| ratio > 1.5)
}

/// What stands before the rows.
struct Head {
    about: Vec<(String, String)>,
    fps: usize,
    frametime: Option<usize>,
    elapsed: usize,
    /// Where the line of names begins, and where the rows do.
    offset: usize,
    end: usize,
}

impl Head {
    fn of(begin: &[u8]) -> Option<Self> {
        let bare = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let mut at = begin.len() - bare.len();
        let (mut about, mut before): (Vec<(String, String)>, Vec<&[u8]>) = (Vec::new(), Vec::new());
        for (number, line) in bare.split_inclusive(|b| *b == b'\n').take(8).enumerate() {
            let (offset, mut names) = (at, Vec::new());
            at += line.len();
            cells(line.trim_ascii(), &mut names);
            let place = |name: &[u8]| names.iter().position(|n| *n == name);
            if let (Some(fps), Some(_), Some(elapsed)) = (place(b"fps"), place(b"cpu_load"), place(b"elapsed")) {
                return Some(Self { about, fps, frametime: place(b"frametime"), elapsed, offset, end: at });
            }
            if before.first() == Some(&b"os".as_slice()) {
                let told = before.iter().zip(&names).filter(|(_, value)| !is_empty(value));
                about.extend(told.map(|(name, value)| (short(name), short(value))));
            } else if number == 1 && before == [b"v1".as_slice()] {
                about.push(("mangohud".to_owned(), short(line)));
            }
            before = names;
        }
        None
    }

    fn facts(&self) -> Facts {
        Facts {
            format: MangoHud.id().to_owned(),
            clock: "MangoHud (since it began to log)".to_owned(),
            has_waking: Some(false),
            has_wakeup: Some(false),
            about: self.about.clone(),
            lacks: [
                "A frame log has no scheduler events: where threads ran, and for what they waited, is not in it.",
                "Which program it is stands in the name of the log only.",
                "It has no times of the GPU and of the display, so what bound a frame is unknown.",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..Facts::default()
        }
    }
}

fn short(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().chars().take(LONGEST_ABOUT).collect()
}

/// Reads rows.
struct Reader {
    /// Of `frametime`.
    unit_ns: f64,
    fps: usize,
    frametime: usize,
    elapsed: usize,
}

impl Reader {
    /// The unit of `frametime`, by a row's `fps`: 1,000 milliseconds, or 1,000,000 microseconds, are a second.
    fn unit(&self, line: &[u8]) -> Option<f64> {
        let mut row = Vec::new();
        cells(line, &mut row);
        let [fps, took] = [self.fps, self.frametime].map(|at| row.get(at).and_then(|cell| decimal(cell)));
        let product = fps? * took?;
        (product > 0.0).then_some(if product > 30_000.0 { 1e3 } else { 1e6 })
    }

    /// When a frame was handed in, and how long it took since the one before.
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
    told: Told,
}

impl Stream for Frames<'_> {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        let (none, pid) = (NameId::NONE, Pid::UNKNOWN);
        let present = Present { frame: 0, swap_chain: 0, pid, application: none, mode: none, displayed: None };
        while let Some(line) = self.lines.peek()? {
            if Told::is_full(out) {
                return Ok(Reach::Until(MaybeNs::new(self.told.until())));
            }
            let row = line.bytes.trim_ascii();
            if let Some((at, took)) = self.reader.read(row) {
                let mut parts = Parts::default();
                for of in [FramePart::Whole, FramePart::UntilPresent, FramePart::BetweenPresents] {
                    parts[of as usize] = Some(took);
                }
                self.told.frame(at - took, present, &parts, line.offset, out);
            } else if !row.is_empty() {
                bad.trouble("a row has no elapsed or no frametime that can be read", line.offset, Trouble::Lost);
                self.told.passed();
            }
            self.lines.take();
        }
        self.told.end(out);
        Ok(Reach::End)
    }
}
