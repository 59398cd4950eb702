//! Captures of CapFrameX: runs of frames of one program on Windows.
//!
//! Spec: `source/CapFrameX.Data.Session/Classes` (`SessionInfo.cs`, `SessionRun.cs`, `SessionCaptureData.cs`,
//! `EPresentMode.cs`) and `source/CapFrameX.Data/RecordManager.cs` of github.com/CXWorld/CapFrameX. A JSON object contains
//! facts about the machine, and for each run an array per column that CapFrameX keeps of PresentMon's log. The frames are
//! read as rows of that log.
//!
//! - The file does not say what its columns count from. A row is from one call of Present to the next, or, in some captures
//!   that CapFrameX made with PresentMon 2, from one start of a frame by the CPU to the next (`of_starts`).
//!   `TimeInSeconds` is when Present was called, when the row began or when the CPU started the frame; CapFrameX makes it
//!   anew for captures of several runs and for cut ones (`NormalizeStartTimesOfSessionRuns`). The columns that agree with
//!   each other show which of these it is.
//! - All values of a column that was not measured are zero.
//! - Runs are placed one after another, since the time between them is not in the file.
//!
//! What the format does not contain: threads, CPUs, the process ID, and anything between two frames.

use super::present_mon::{Columns, Reader, RowWriter, lacks};
use crate::text::csv::{decimal, median};
use crate::text::frames::{FRAMES_ALONE, FrameWriter};
use ingest::{Facts, Fatal, Importer, Input, Ledger, Offer, Opened, Reach, Sniff, Stream};
use model::{Batch, FramePart, MaybeNs, Ns};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::Read;

/// The maximum size of a capture. It is read into memory whole, since the values of a frame are far apart in it. An hour
/// at 144 frames a second is about 110 MB.
const MAX_SIZE: u64 = 512 << 20;
/// The maximum length of a fact about the machine, in characters.
const MAX_ABOUT: usize = 256;
/// Times agree if they typically differ by less, in milliseconds.
const AGREES_MS: f64 = 0.05;
/// The present modes by number (`EPresentMode.cs`).
const MODES: [&str; 10] = [
    "Unknown",
    "Hardware: Legacy Flip",
    "Hardware: Legacy Copy to front buffer",
    "Hardware: Independent Flip",
    "Composed: Flip",
    "Composed: Copy with GPU GDI",
    "Composed: Copy with CPU GDI",
    "Composed: Composition Atlas",
    "Hardware Composed: Independent Flip",
    "Other",
];
/// The columns that are unknown if all values are zero: their names in the file, in PresentMon's log, and in the log of
/// PresentMon 2, in which frames start when the CPU starts them.
const MEASURED: [[&str; 3]; 6] = [
    ["MsInPresentAPI", "MsInPresentAPI", "MsInPresentAPI"],
    ["MsBetweenDisplayChange", "MsBetweenDisplayChange", "DisplayedTime"],
    ["MsUntilRenderComplete", "MsUntilRenderComplete", "MsUntilRenderComplete"],
    ["MsUntilDisplayed", "MsUntilDisplayed", "DisplayLatency"],
    ["GpuActive", "MsGPUActive", "MsGPUActive"],
    ["CpuActive", "MsCPUBusy", "MsCPUBusy"],
];

/// The index of the column with the time between presents.
const BETWEEN: usize = 2;

/// The importer.
pub struct CapFrameX;

impl Importer for CapFrameX {
    fn id(&self) -> &'static str {
        "CapFrameX"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "CapFrameX's captures in JSON (the CSV that it exports is a log of PresentMon)",
            cannot: &[
                "threads and CPUs (there are no scheduler events)",
                "what limited a frame, if GPU times were not recorded",
                "the time between two runs",
                "sensors (CapFrameX's are not read)",
            ],
            ..FRAMES_ALONE
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        const KEYS: [&str; 3] = ["\"AppVersion\"", "\"Processor\"", "\"GameName\""];
        let text = String::from_utf8_lossy(start);
        let is_object = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        if is_object && KEYS.iter().all(|key| text.contains(key)) { Sniff::Yes } else { Sniff::No }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let rows = Rows::of(whole(from)?)?;
        let names: Vec<&[u8]> = rows.columns.iter().map(|(name, _)| name.as_bytes()).collect();
        let columns = Columns::of(&names);
        let mut facts = Facts {
            format: self.id().to_owned(),
            clock: "CapFrameX (since the first run started)".to_owned(),
            has_waking: Some(false),
            has_wakeup: Some(false),
            about: rows.about.clone(),
            lacks: lacks(&columns),
            ..Facts::default()
        };
        facts.lacks.extend(rows.warnings.iter().cloned());
        let (reader, _) = Reader::new(columns, std::iter::empty());
        facts.begin = (0..rows.count).find_map(|row| Some(reader.row(rows.cells(row)).ok()?.begin));
        let frames = Frames { rows, reader, next: 0, end: Ns::ZERO, shift: Ns::ZERO, writer: RowWriter::new() };
        Ok(Opened { facts, streams: vec![Box::new(frames)] })
    }
}

/// Reads the file.
fn whole(from: Input<'_>) -> Result<String, Fatal> {
    let from: Box<dyn Read + '_> = match from {
        Input::File(file) => Box::new(file),
        Input::Pipe(pipe) => pipe,
        Input::Folder(_) => return Err(Fatal::new("this is a folder, not a capture: give the capture itself", 0)),
    };
    let mut bytes = Vec::new();
    let read = from.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|why| Fatal::in_reader(format!("cannot read the capture: {why}")))?;
    if bytes.len() as u64 > MAX_SIZE {
        let what = "this capture of CapFrameX is larger than 512 MiB: export it as CSV with CapFrameX, and open that";
        return Err(Fatal::new(what, MAX_SIZE));
    }
    String::from_utf8(bytes).map_err(|why| {
        let at = why.utf8_error().valid_up_to() as u64;
        Fatal::new("this capture of CapFrameX is not UTF-8, so it is damaged: copy it again", at)
    })
}

/// The file.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Capture<'a> {
    info: BTreeMap<String, serde_json::Value>,
    #[serde(borrow)]
    runs: Vec<Run<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Run<'a> {
    #[serde(borrow)]
    capture_data: BTreeMap<String, Option<Vec<&'a RawValue>>>,
}

impl Run<'_> {
    fn array(&self, name: &str) -> &[&RawValue] {
        self.capture_data.get(name).and_then(Option::as_deref).unwrap_or_default()
    }
}

/// What the column `TimeInSeconds` is the time of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Times {
    /// The end of the row, at which Present was called or the next frame was started: it advances by the row's time.
    End,
    /// The begin of the row: it advances by the time of the row before.
    Begin,
    /// The CPU started the frame, and Present was called `CpuActive` later, at the end of the row: their sum advances by
    /// the row's time.
    StartBeforePresent,
    /// Unknown: times are sums of those of the rows, as CapFrameX computes them.
    Unknown,
}

/// Where a value is in the text; empty if there is none.
type Place = (u32, u32);

/// A capture's frames, in columns of PresentMon's log.
struct Rows {
    /// The file, and after it the values that the file spells differently.
    text: String,
    /// Of all runs: the program, the time, [`BETWEEN`], and those that were recorded.
    columns: Vec<(&'static str, Vec<Place>)>,
    count: usize,
    /// The first row of each run.
    starts: Vec<usize>,
    about: Vec<(String, String)>,
    warnings: Vec<String>,
}

impl Rows {
    fn of(text: String) -> Result<Self, Fatal> {
        let start = text.len() - text.trim_start_matches('\u{feff}').len();
        let capture: Capture<'_> = serde_json::from_str(&text[start..]).map_err(|why| {
            let what = format!("this capture of CapFrameX is damaged or cut off ({why}): copy it again");
            Fatal::new(what, start as u64)
        })?;
        let about = about(&capture);
        let program = about.iter().find(|(name, _)| name == "ProcessName").map(|(_, value)| value.clone());
        let mut rows = Self {
            text: String::new(),
            columns: Vec::new(),
            count: 0,
            starts: Vec::new(),
            about,
            warnings: Vec::new(),
        };
        for run in &capture.runs {
            rows.starts.push(rows.count);
            rows.count += run.array("MsBetweenPresents").len();
        }
        if rows.starts.len() > 1 {
            let runs = rows.starts.len();
            rows.warnings
                .push(format!("The {runs} runs are placed one after another: the time between them was not recorded."));
        }
        let mut column = |name: &str| joined(name, &capture.runs, &text, &mut rows.warnings);
        let [time, between, dropped, mode] =
            ["TimeInSeconds", "MsBetweenPresents", "Dropped", "PresentMode"].map(&mut column);
        let measured = MEASURED.map(|[name, ..]| column(name));
        drop(capture);
        rows.text = text;
        rows.arrange([time, between, dropped, mode], measured, program.as_deref());
        Ok(rows)
    }

    /// Names the columns.
    fn arrange(
        &mut self,
        [time, between, dropped, mode]: [Vec<Place>; 4],
        measured: [Vec<Place>; 6],
        program: Option<&str>,
    ) {
        let [_, display_change, _, until_displayed, _, busy] = &measured;
        let of_starts = self.of_starts(&between, [display_change, until_displayed]);
        let times = self.times(of_starts, &time, &between, busy);
        let has_calls = !of_starts || busy.iter().any(|place| self.number(*place).is_some_and(|ms| ms != 0.0));
        if !has_calls {
            let what = "When Present was called is not in the capture, so what limited a frame is unknown.";
            self.warnings.push(what.to_owned());
        }
        let (time_name, between_name) = match (of_starts, times) {
            (true, _) => ("CPUStartTimeInSeconds", "FrameTime"),
            (false, Times::StartBeforePresent) => ("CPUStartTimeInSeconds", "MsBetweenPresents"),
            (false, _) => ("TimeInSeconds", "MsBetweenPresents"),
        };
        let program = self.add(program.unwrap_or_default());
        let [no, yes] = ["0", "1"].map(|word| self.add(word));
        let modes = MODES.map(|name| self.add(name));
        let of_word = |place: &Place| match self.value(*place) {
            b"true" => yes,
            b"false" => no,
            _ => (0, 0),
        };
        let of_number = |place: &Place| {
            let number = std::str::from_utf8(self.value(*place)).ok().and_then(|text| text.parse().ok());
            number.and_then(|at: usize| modes.get(at).copied()).unwrap_or((0, 0))
        };
        let (dropped, mode): (Vec<Place>, Vec<Place>) =
            (dropped.iter().map(of_word).collect(), mode.iter().map(of_number).collect());
        let is_measured = |column: &[Place]| column.iter().any(|place| self.number(*place).is_some_and(|v| v != 0.0));
        let measured = MEASURED.iter().zip(measured).filter(|(_, column)| is_measured(column));
        let measured: Vec<_> =
            measured.map(|([_, name, name_2], column)| (if of_starts { *name_2 } else { *name }, column)).collect();
        // PresentMon's columns have the end of a row of presents, and the begin of a row of starts.
        let time = match (of_starts, times) {
            (false, Times::Begin) => self.moved(&time, &between, 1.0),
            (true, Times::End) => self.moved(&time, &between, -1.0),
            (_, Times::Unknown) => self.sums(&between, of_starts),
            _ => time,
        };
        let recorded = [("Dropped", dropped), ("PresentMode", mode)];
        let recorded = recorded.into_iter().filter(|(_, column)| column.iter().any(|(from, to)| from < to));
        self.columns = vec![("Application", vec![program; self.count]), (time_name, time), (between_name, between)];
        self.columns.extend(recorded.chain(measured));
        if times == Times::StartBeforePresent {
            let lengths = self.lengths();
            self.columns.push(("FrameTime", lengths));
        }
    }

    /// Returns the typical size of a difference that should be 0, over the rows for which all is known.
    fn difference(&self, of: impl Fn(usize) -> Option<f64>) -> f64 {
        let inside = (1..self.count).filter(|row| self.starts.binary_search(row).is_err());
        median(inside.filter_map(of).map(f64::abs).collect()).unwrap_or(f64::INFINITY)
    }

    /// Whether rows are from one start of a frame to the next: then a frame is shown until the next one, instead of since
    /// the one before.
    fn of_starts(&self, between: &[Place], [change, until]: [&Vec<Place>; 2]) -> bool {
        let at = |column: &[Place], row: usize| self.number(*column.get(row)?);
        // The display times of a frame that was not shown are 0.
        let shown = |column: &[Place], row: usize| at(column, row).filter(|ms| *ms != 0.0);
        let is_last = |row: usize| row + 1 == self.count || self.starts.binary_search(&(row + 1)).is_ok();
        let of_presents =
            |row: usize| Some(at(between, row)? + shown(until, row)? - shown(until, row - 1)? - shown(change, row)?);
        let of_starts = |row: usize| {
            let next = Some(row + 1).filter(|_| !is_last(row))?;
            Some(at(between, row)? + shown(until, next)? - shown(until, row)? - shown(change, row)?)
        };
        self.difference(of_starts) < self.difference(of_presents)
    }

    /// Determines what the times are of: that with which the other columns agree best.
    fn times(&mut self, of_starts: bool, time: &[Place], between: &[Place], busy: &[Place]) -> Times {
        let at = |column: &[Place], row: usize| self.number(*column.get(row)?);
        let step = |row: usize| Some((at(time, row)? - at(time, row - 1)?) * 1e3);
        let of_calls = |row: usize| Some(step(row)? + at(busy, row)? - at(busy, row - 1)? - at(between, row)?);
        let end = (Times::End, self.difference(|row| Some(step(row)? - at(between, row)?)));
        let begin = (Times::Begin, self.difference(|row| Some(step(row)? - at(between, row - 1)?)));
        let call = (Times::StartBeforePresent, if of_starts { f64::INFINITY } else { self.difference(of_calls) });
        // Of equal ones the first: without CpuActive, the call is the end.
        let first = if of_starts { [begin, end, call] } else { [end, begin, call] };
        let best = first.into_iter().reduce(|best, next| if next.1 < best.1 { next } else { best });
        match best {
            Some((times, difference)) if difference <= AGREES_MS => times,
            _ if self.count <= self.starts.len() => first[0].0,
            _ => {
                let what =
                    "TimeInSeconds agrees with no other column, so the times of frames are sums of MsBetweenPresents.";
                self.warnings.push(what.to_owned());
                Times::Unknown
            }
        }
    }

    /// Returns the times, each moved by a multiple of the row's own time.
    fn moved(&mut self, time: &[Place], between: &[Place], rows: f64) -> Vec<Place> {
        let moved = |(time, between): (&Place, &Place)| Some(self.number(*time)? + rows * self.number(*between)? / 1e3);
        let moved: Vec<Option<f64>> = time.iter().zip(between).map(moved).collect();
        moved.iter().map(|time| time.map_or((0, 0), |seconds| self.add(&format!("{seconds:.9}")))).collect()
    }

    /// Returns the sums of the rows' times, from the first present or the first start of each run.
    fn sums(&mut self, between: &[Place], of_starts: bool) -> Vec<Place> {
        let (mut sum, mut sums) = (0.0, Vec::with_capacity(self.count));
        for (row, ms) in between.iter().enumerate() {
            let (is_first, ms) = (self.starts.binary_search(&row).is_ok(), self.number(*ms).unwrap_or_default());
            let begin = if is_first { 0.0 } else { sum };
            let end = if is_first && !of_starts { 0.0 } else { begin + ms };
            sums.push(format!("{:.7}", if of_starts { begin } else { end } / 1e3));
            sum = end;
        }
        sums.iter().map(|sum| self.add(sum)).collect()
    }

    /// Returns the times from the start of each frame to that of the next one of its run, in milliseconds.
    fn lengths(&mut self) -> Vec<Place> {
        let (_, time) = &self.columns[BETWEEN - 1];
        let starts: Vec<Option<f64>> = time.iter().map(|place| self.number(*place)).collect();
        let length = |row: usize| {
            let next = Some(row + 1).filter(|next| self.starts.binary_search(next).is_err());
            Some((starts.get(next?).copied()?? - starts[row]?) * 1e3)
        };
        let lengths: Vec<Option<f64>> = (0..self.count).map(length).collect();
        lengths.iter().map(|length| length.map_or((0, 0), |ms| self.add(&format!("{ms:.6}")))).collect()
    }

    /// Adds a value that is not in the file in this form.
    fn add(&mut self, value: &str) -> Place {
        let from = self.text.len() as u32;
        self.text.push_str(value);
        (from, self.text.len() as u32)
    }

    fn value(&self, (from, to): Place) -> &[u8] {
        &self.text.as_bytes()[from as usize..to as usize]
    }

    fn number(&self, place: Place) -> Option<f64> {
        decimal(self.value(place))
    }

    /// Returns the cells of a row.
    fn cells(&self, row: usize) -> Vec<&[u8]> {
        self.columns.iter().map(|(_, column)| self.value(column[row])).collect()
    }
}

/// Returns the places of an array's values in all runs. An array whose length is not that of `MsBetweenPresents` is left
/// out, since which frames its values belong to is unknown.
fn joined(name: &str, runs: &[Run<'_>], text: &str, warnings: &mut Vec<String>) -> Vec<Place> {
    let mut all = Vec::new();
    for run in runs {
        let (values, frames) = (run.array(name), run.array("MsBetweenPresents").len());
        if values.len() == frames {
            all.extend(values.iter().map(|value| place(value.get(), text)));
            continue;
        }
        if !values.is_empty() {
            let count = values.len();
            warnings.push(format!("The array {name} is not used: it has {count} values for {frames} frames."));
        }
        all.resize(all.len() + frames, (0, 0));
    }
    all
}

/// Returns where a value is in the text that it is part of.
fn place(value: &str, text: &str) -> Place {
    if matches!(value, "null" | "\"NaN\"") {
        return (0, 0);
    }
    let from = value.as_ptr() as usize - text.as_ptr() as usize;
    (from as u32, (from + value.len()) as u32)
}

/// Returns what is known of the program and the machine, under the names in CapFrameX's CSV where they differ.
fn about(capture: &Capture<'_>) -> Vec<(String, String)> {
    let mut about = Vec::new();
    for (name, value) in &capture.info {
        let value: String = value.as_str().unwrap_or_default().trim().chars().take(MAX_ABOUT).collect();
        match name.as_str() {
            _ if value.is_empty() => {}
            "AppVersion" => about.insert(0, ("written_by".to_owned(), format!("CapFrameX {value}"))),
            "SystemRam" => about.push(("System RAM".to_owned(), value)),
            "GPUDriverVersion" => about.push(("Base Driver Version".to_owned(), value)),
            "BaseDriverVersion" | "Id" => {}
            _ => about.push((name.chars().take(MAX_ABOUT).collect(), value)),
        }
    }
    about.truncate(super::present_mon::MAX_ABOUT);
    if capture.runs.len() > 1 {
        about.push(("runs".to_owned(), capture.runs.len().to_string()));
    }
    about
}

/// The frames of a capture.
struct Frames {
    rows: Rows,
    reader: Reader,
    next: usize,
    /// The end of the last frame.
    end: Ns,
    /// What is added to the times of this run, so that it begins where the previous one ended.
    shift: Ns,
    writer: RowWriter,
}

impl Stream for Frames {
    fn next(&mut self, out: &mut Batch, bad: &mut dyn Ledger) -> Result<Reach, Fatal> {
        while self.next < self.rows.count {
            if FrameWriter::is_full(out) {
                return Ok(Reach::Until(MaybeNs::new(self.writer.until())));
            }
            let (offset, _) = self.rows.columns[BETWEEN].1[self.next];
            let mut read = self.reader.row(self.rows.cells(self.next));
            if let Ok(row) = &mut read {
                if self.next > 0 && self.rows.starts.binary_search(&self.next).is_ok() {
                    self.shift = self.end - row.begin;
                    self.writer.start_anew();
                }
                row.begin += self.shift;
                row.present = row.present.map(|at| at + self.shift);
                self.end = row.begin + row.part(FramePart::Whole).unwrap_or_default();
            }
            self.writer.row(read, u64::from(offset), out, bad);
            self.next += 1;
        }
        self.writer.end(out);
        Ok(Reach::End)
    }
}
