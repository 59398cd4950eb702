//! Frame logs of PresentMon and of programs built on it: OCAT, CapFrameX.
//!
//! Spec: `README-ConsoleApplication.md` and `PresentMon/CsvOutput.cpp` of github.com/GameTechDev/PresentMon, versions
//! 1.x and 2.x. A line of column names is followed by one line per frame. The columns depend on the version and its
//! options, so they are found by name. CapFrameX puts lines `//Name=Value` before, OCAT adds columns that only the
//! first row fills.
//!
//! Clock: seconds since PresentMon started to record; or, by option, ticks of QueryPerformanceCounter, whose rate is
//! not in the log (it is derived from the frame times), or the local date and time. Only version 2 contains when the
//! CPU started a frame; in other versions a frame is from one call of Present to the next.
//!
//! What the format does not contain: threads, CPUs, and anything between two frames.
//!
//! ```text
//!   mod    open: facts of the header     rows    a line's cells, as times from the frame's start
//!   columns  their meanings             checks  consistency of columns, row by row
//!   clock    units of points in time    stream  rows → events
//! ```

mod checks;
mod clock;
mod columns;
mod rows;
mod stream;

use crate::text::csv::{cells, is_empty};
use crate::text::frames::{FRAMES_ALONE, first_rows, lines, not_read, skip};
pub(super) use columns::Columns;
use columns::{Field, Unit};
use ingest::{Facts, Fatal, Importer, Input, Offer, Opened, Sniff};
pub(super) use rows::Reader;
use stream::Frames;
pub(super) use stream::RowWriter;

/// The maximum number of facts about the machine, and their maximum length in characters, so that a hostile log cannot
/// fill the manifest.
pub(super) const MAX_ABOUT: usize = 64;
const MAX_ABOUT_LENGTH: usize = 256;
/// The start of a CapFrameX log.
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
                "threads and CPUs (there are no scheduler events)",
                "what limited a frame, if there are no GPU columns (OCAT, or --no_track_gpu)",
                "when the CPU started a frame, before version 2",
            ],
            ..FRAMES_ALONE
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        match Head::of(start) {
            Some(head) if head.columns.are_of_frames() => Sniff::Yes,
            // The facts about the machine may be longer than the part examined here.
            _ if start.starts_with(CAPFRAMEX) => Sniff::Maybe,
            _ => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let mut lines = lines(from)?;
        let start = lines.head()?;
        let head = Head::of(start).filter(|head| head.columns.are_of_frames()).ok_or_else(|| {
            let what = "no line contains the column names Application, ProcessID and MsBetweenPresents (or FrameTime): \
                        this is not a PresentMon log, or its header is missing";
            Fatal::new(what, 0)
        })?;
        if clock::unit(&head.columns).is_none() {
            let what = "the column TimeInSeconds is missing (and TimeInMs, TimeInQPC, CPUStartTime, CPUStartQPC, … are too), \
                        so frames have no times: record the log again with all columns of PresentMon";
            return Err(Fatal::new(what, head.offset as u64));
        }
        let rows = &start[head.end..];
        let first = rows.split(|b| *b == b'\n').next().unwrap_or_default();
        let mut facts = facts(&head, first);
        let header_lines = start[..head.end].iter().filter(|b| **b == b'\n').count();
        let (reader, warning) = Reader::new(head.columns, first_rows(rows));
        facts.lacks.extend(warning);
        // Frames of several programs overlap, so the first row's frame is not always the first to start.
        let begins =
            first_rows(rows).chain([first.trim_ascii()]).filter_map(|line| Some(reader.read(line).ok()?.begin));
        facts.begin = begins.min();
        skip(&mut lines, header_lines)?;
        Ok(Opened { facts, streams: vec![Box::new(Frames::new(lines, reader))] })
    }
}

/// The lines before the rows.
struct Head {
    /// Lines `//Name=Value`.
    about: Vec<(String, String)>,
    columns: Columns,
    /// The offset of the line of column names, and the offset of the rows.
    offset: usize,
    end: usize,
}

impl Head {
    fn of(start: &[u8]) -> Option<Self> {
        let bare = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let (mut about, mut at) = (Vec::new(), start.len() - bare.len());
        for line in bare.split_inclusive(|b| *b == b'\n') {
            let offset = at;
            at += line.len();
            let line = line.trim_ascii();
            match line.strip_prefix(b"//") {
                Some(text) => {
                    if let Some((name, value)) = String::from_utf8_lossy(text).split_once('=')
                        && !value.trim().is_empty()
                        && about.len() < MAX_ABOUT
                    {
                        about.push((shortened(name), shortened(value)));
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

fn shortened(text: &str) -> String {
    text.trim().chars().take(MAX_ABOUT_LENGTH).collect()
}

fn facts(head: &Head, first: &[u8]) -> Facts {
    let columns = &head.columns;
    let mut about = head.about.clone();
    // OCAT describes the machine in columns of the first row.
    let mut row = Vec::new();
    cells(first.trim_ascii(), &mut row);
    let frame_view = columns.others.iter().any(|(name, _)| name == "Render Queue Depth");
    let ocat = columns.others.iter().any(|(name, _)| name == "Motherboard");
    let described = columns.others.iter().skip_while(|(name, _)| name != "Motherboard").take(MAX_ABOUT);
    for (name, at) in described {
        if let Some(cell) = row.get(*at).filter(|cell| !is_empty(cell)) {
            about.push((shortened(name), shortened(&String::from_utf8_lossy(cell))));
        }
    }
    let program = match () {
        () if !head.about.is_empty() => "CapFrameX",
        () if ocat => "OCAT",
        () if frame_view => "FrameView",
        () => "PresentMon",
    };
    let version = match (columns.start_time(), columns.present_time()) {
        (None, _) => "1",
        (Some(_), None) => "2",
        (Some(_), Some(_)) => "2.3 and later",
    };
    about.insert(0, ("written_by".to_owned(), format!("{program}, columns of PresentMon {version}")));
    let mut lacks = lacks(columns);
    if !ocat && !columns.others.is_empty() {
        let names: Vec<&str> = columns.others.iter().take(MAX_ABOUT).map(|(name, _)| name.as_str()).collect();
        lacks.push(not_read(&names));
    }
    let clock = match clock::unit(columns) {
        Some((Unit::Ticks, _)) => "QueryPerformanceCounter",
        Some((Unit::Date, _)) => "local date and time",
        _ => "PresentMon (since recording started)",
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

/// Returns what a log with these columns does not contain.
pub(super) fn lacks(columns: &Columns) -> Vec<String> {
    let mut lacks =
        vec!["A frame log has no scheduler events: where threads ran and what they waited for is unknown.".to_owned()];
    if !columns.has(Field::GpuActive) && !columns.has(Field::GpuBusy) {
        lacks.push("No column has the GPU time of a frame, so what limited it is unknown.".to_owned());
    }
    if !columns.has(Field::UntilDisplayed) && !columns.has(Field::DisplayLatency) {
        lacks.push("There are no display columns, so when a frame was displayed is unknown.".to_owned());
    }
    if columns.start_time().is_none() {
        lacks.push(
            "The CPU start of frames was not recorded: a frame is from one call of Present to the next.".to_owned(),
        );
    }
    lacks
}
