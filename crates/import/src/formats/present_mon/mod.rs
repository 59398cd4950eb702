//! Frame logs of PresentMon and of what is built on it: OCAT, CapFrameX.
//!
//! Spec: `README-ConsoleApplication.md` and `PresentMon/CsvOutput.cpp` of github.com/GameTechDev/PresentMon, of versions 1.x and
//! 2.x. A line of names, then a line a frame; which columns there are depends on the version and its options, so they are found
//! by their names. CapFrameX puts lines `//Name=Value` before, OCAT further columns that only the first row fills.
//!
//! Clock: seconds since PresentMon began to record; or, as it was asked for, ticks of QueryPerformanceCounter, whose rate is
//! not in the log (the frames' own times tell it), or the local date and time. Only version 2 says when the CPU began to work on
//! a frame; of others a frame is from one call of Present to the next.
//!
//! What the format cannot tell: threads, CPUs, and anything between two frames.
//!
//! ```text
//!   mod    open: what the head says     rows    a line's cells, as times from the frame's begin
//!   columns  which holds what           checks  what must hold between them, row by row
//!   clock    units of points in time    stream  rows → events
//! ```

mod checks;
mod clock;
mod columns;
mod rows;
mod stream;

use crate::text::csv::{cells, is_empty};
use crate::text::frames::{FRAMES_ALONE, first_rows, lines, skip};
use columns::{Columns, Field, Unit};
use ingest::{Facts, Fatal, Importer, Input, Offer, Opened, Sniff};
use rows::Reader;
use stream::Frames;

/// Descriptions of the machine, and characters of one: a hostile log must not fill the manifest.
const MOST_ABOUT: usize = 64;
const LONGEST_ABOUT: usize = 256;
/// How a log of CapFrameX begins.
const CAPFRAMEX: &[u8] = b"//GameName=";

/// The importer.
pub struct PresentMon;

impl Importer for PresentMon {
    fn id(&self) -> &'static str {
        "PresentMon"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "PresentMon's CSV of all versions, also as CapFrameX and OCAT write it",
            cannot: &[
                "threads and CPUs: it has no scheduler events",
                "what bound a frame, where it has no columns of the GPU (as OCAT's, or with --no_track_gpu)",
                "when the CPU began to work on a frame, before version 2",
            ],
            ..FRAMES_ALONE
        }
    }

    fn sniff(&self, begin: &[u8]) -> Sniff {
        match Head::of(begin) {
            Some(head) if head.columns.are_of_frames() => Sniff::Yes,
            // What it says of the machine may be longer than what is looked at.
            _ if begin.starts_with(CAPFRAMEX) => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = lines(from)?;
        let begin = lines.head()?;
        let head = Head::of(begin).filter(|head| head.columns.are_of_frames()).ok_or_else(|| {
            let what = "no line names the columns Application, ProcessID and MsBetweenPresents (or FrameTime): not a log of \
                        PresentMon, or its head was cut off";
            Fatal::new(what, 0)
        })?;
        if clock::unit(&head.columns).is_none() {
            let what = "the column TimeInSeconds is missing (and TimeInMs, TimeInQPC, CPUStartTime, CPUStartQPC, … are too), so \
                        nothing says when a frame was: log again with all columns of PresentMon";
            return Err(Fatal::new(what, head.offset as u64));
        }
        let behind = &begin[head.end..];
        let first = behind.split(|b| *b == b'\n').next().unwrap_or_default();
        let mut facts = facts(&head, first);
        let head_lines = begin[..head.end].iter().filter(|b| **b == b'\n').count();
        let (reader, told) = Reader::new(head.columns, first_rows(behind));
        facts.lacks.extend(told);
        // Frames of several programs overlap: the first row's is not always the first to begin.
        let begins =
            first_rows(behind).chain([first.trim_ascii()]).filter_map(|line| Some(reader.read(line).ok()?.begin));
        facts.begin = begins.min();
        skip(&mut lines, head_lines)?;
        Ok(Opened { facts, streams: vec![Box::new(Frames::new(lines, reader))] })
    }
}

/// What stands before the rows.
struct Head {
    /// Lines `//Name=Value`.
    about: Vec<(String, String)>,
    columns: Columns,
    /// Where the line of names begins, and where the rows do.
    offset: usize,
    end: usize,
}

impl Head {
    fn of(begin: &[u8]) -> Option<Self> {
        let bare = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
        let (mut about, mut at) = (Vec::new(), begin.len() - bare.len());
        for line in bare.split_inclusive(|b| *b == b'\n') {
            let offset = at;
            at += line.len();
            let line = line.trim_ascii();
            match line.strip_prefix(b"//") {
                Some(said) => {
                    if let Some((name, value)) = String::from_utf8_lossy(said).split_once('=')
                        && !value.trim().is_empty()
                        && about.len() < MOST_ABOUT
                    {
                        about.push((short(name), short(value)));
                    }
                }
                None if line.is_empty() => {}
                None => {
                    let mut names = Vec::new();
                    cells(line, &mut names);
                    return Some(Self { about, columns: Columns::of(&names), offset, end: at });
                }
            }
        }
        None
    }
}

fn short(text: &str) -> String {
    text.trim().chars().take(LONGEST_ABOUT).collect()
}

fn facts(head: &Head, first: &[u8]) -> Facts {
    let columns = &head.columns;
    let mut about = head.about.clone();
    // OCAT describes the machine in columns of the first row.
    let mut row = Vec::new();
    cells(first.trim_ascii(), &mut row);
    let ocat = columns.others.iter().any(|(name, _)| name == "Motherboard");
    let described = columns.others.iter().skip_while(|(name, _)| name != "Motherboard").take(MOST_ABOUT);
    for (name, at) in described {
        if let Some(cell) = row.get(*at).filter(|cell| !is_empty(cell)) {
            about.push((short(name), short(&String::from_utf8_lossy(cell))));
        }
    }
    let program = match (head.about.is_empty(), ocat) {
        (false, _) => "CapFrameX",
        (true, true) => "OCAT",
        (true, false) => "PresentMon",
    };
    let version = match (columns.start_time(), columns.present_time()) {
        (None, _) => "1",
        (Some(_), None) => "2",
        (Some(_), Some(_)) => "2.3 and later",
    };
    about.insert(0, ("written_by".to_owned(), format!("{program}, columns of PresentMon {version}")));
    if !ocat && !columns.others.is_empty() {
        let names: Vec<&str> = columns.others.iter().take(MOST_ABOUT).map(|(name, _)| name.as_str()).collect();
        about.push(("columns_not_read".to_owned(), short(&names.join(", "))));
    }
    let mut lacks = vec![
        "A frame log has no scheduler events: where threads ran, and for what they waited, is not in it.".to_owned(),
    ];
    if !columns.has(Field::GpuActive) && !columns.has(Field::GpuBusy) {
        lacks.push("It has no columns of the GPU's work, so what bound a frame is unknown.".to_owned());
    }
    if !columns.has(Field::UntilDisplayed) && !columns.has(Field::DisplayLatency) {
        lacks.push("It has no columns of the display: when a frame was shown is unknown.".to_owned());
    }
    if columns.start_time().is_none() {
        lacks.push(
            "It does not say when the CPU began a frame: frames are from one call of Present to the next.".to_owned(),
        );
    }
    let clock = match clock::unit(columns) {
        Some((Unit::Ticks, _)) => "QueryPerformanceCounter",
        Some((Unit::Date, _)) => "local date and time",
        _ => "PresentMon (since it began to record)",
    };
    Facts {
        format: PresentMon.id().to_owned(),
        clock: clock.to_owned(),
        has_waking: Some(false),
        has_wakeup: Some(false),
        about,
        lacks,
        ..Facts::default()
    }
}
