//! Profiles of samply and the Firefox Profiler: its processed format, in JSON.
//!
//! Spec: `src/types/profile.ts` and `docs-developer/CHANGELOG-formats.md` of github.com/firefox-devtools/profiler. samply writes version 49 or 55 with
//! tables for each thread; since version 60 all threads share them.
//!
//! ```text
//!   threads[0].samples      stack  5   9   12      time (ms)  1.0  2.0  4.1      threadCPUDelta (µs)  119  731  40
//!              stackTable   frame, prefix          a tree: each node has its caller
//!              frameTable   func, address, inlineDepth, line
//!              funcTable    name, resource ──▶ resourceTable: lib ──▶ libs[]: path, codeId
//! ```
//!
//! - Profilers of this format sample a thread also while it waits: the CPU time since its sample before says for how long it ran. So a sample counts
//!   where this time reaches the sampling interval, and the CPU times are counts of `task-clock`. Without them, samples are of elapsed time.
//! - Addresses are relative to the lowest one at which a file is loaded ([`model::StackFrame::FROM_BASE`]). Those of callers are within the call,
//!   one byte before the return address.
//! - Time 0 of the profile is when the profiler started, or the boot of the machine.
//!
//! The values of a sample are far apart in the file, so the columns that are needed are kept in memory: some 24 bytes a sample.
//!
//! What the format does not contain: CPUs, switches and wakeups, and addresses in memory. Markers and counters are not read.

mod chains;
mod stream;
mod tables;

use crate::text::json::{JsonLimits, Limited};
use ingest::{Availability, Capability, Facts, Fatal, Importer, Input, Offer, Opened, Sampled, Sniff};
use std::io::{ErrorKind, Read};
use stream::Samples;
use tables::{Meta, Profile};

/// An index that a cell does not have.
const NONE: u32 = u32::MAX;
/// The maximum size of a profile, and the number of elements of all its arrays and objects: of a column, one takes up to 8 bytes in memory.
const LIMITS: JsonLimits = JsonLimits { bytes: 1 << 30, elements: 64 << 20 };
/// The maximum size of the texts of a table.
const MAX_TEXT: usize = 256 << 20;
/// The versions that are read: before, each thread had files of its own; later ones may mean something else.
const VERSIONS: std::ops::RangeInclusive<u32> = 41..=70;
/// The maximum length of a fact, in characters.
const MAX_ABOUT: usize = 256;

/// The importer.
pub struct Firefox;

impl Importer for Firefox {
    fn id(&self) -> &'static str {
        "Firefox profile"
    }

    fn offer(&self) -> Offer {
        Offer {
            made_by: "samply, and the Firefox Profiler's own files (profiler.firefox.com, \"Save\"); in JSON, versions 41 to 70",
            provides: &[
                (Capability::Processes, Availability::Yes),
                (Capability::Stacks, Availability::If("of samples")),
            ],
            cannot: &[
                "context switches, wakeups and CPUs: when a thread ran is not known, only for how long between two samples",
                "markers and counters (not read)",
                "running time, if the profile does not have the threads' CPU time (threadCPUDelta): its samples are of elapsed time then. Of a \
                 perf.data that `samply import` converted, it may be the period of the samples, cycles too",
            ],
        }
    }

    fn sniff(&self, start: &[u8]) -> Sniff {
        let text = String::from_utf8_lossy(start);
        let is_object = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
        let has = |key: &str| text.contains(key);
        match () {
            () if !is_object => Sniff::No,
            () if has("\"preprocessedProfileVersion\"") => Sniff::Yes,
            // Of the key that begins the file, what it contains may be longer than what is given here.
            () if has("\"meta\"") && (has("\"categories\"") || has("\"interval\"") || has("\"processType\"")) => {
                Sniff::Yes
            }
            () if has("\"debugName\"") && has("\"breakpadId\"") => Sniff::Yes,
            () => Sniff::No,
        }
    }

    fn open<'a>(&self, from: Input<'a>) -> Result<Opened<'a>, Fatal> {
        let from: Box<dyn Read + '_> = match from {
            Input::File(file) => Box::new(file),
            Input::Pipe(pipe) => pipe,
            Input::Folder(_) => return Err(Fatal::new("this is a folder, not a profile: give the profile itself", 0)),
        };
        let profile = read(from)?;
        check(&profile.meta)?;
        let samples = Samples::new(profile);
        Ok(Opened { facts: facts(&samples), streams: vec![Box::new(samples)] })
    }
}

fn read(from: Box<dyn Read + '_>) -> Result<Profile, Fatal> {
    let (limited, passed) = Limited::new(from, LIMITS);
    serde_json::from_reader(limited).map_err(|why| {
        let kind = why.io_error_kind();
        let what = match kind {
            Some(ErrorKind::FileTooLarge) => format!(
                "this profile is too large to be read ({why}): record for a shorter time or fewer threads, or save a part of it at profiler.firefox.com"
            ),
            Some(_) => return Fatal::in_reader(format!("cannot read the profile: {why}")),
            None if why.is_eof() => "this profile is cut off: copy it again".to_owned(),
            None => format!("this is not a profile of the Firefox Profiler's format, or it is damaged ({why})"),
        };
        Fatal::new(what, passed.get())
    })
}

/// Checks that the format is known.
fn check(meta: &Meta) -> Result<(), Fatal> {
    let of_bytes = meta.sample_units.as_ref().and_then(|units| units.time.as_deref()) == Some("bytes");
    match meta.preprocessed_profile_version {
        None => Err(Fatal::new(
            "this is a profile as Firefox itself writes it: open it at profiler.firefox.com, and save it there",
            0,
        )),
        Some(version) if version > *VERSIONS.end() => Err(Fatal::new(
            format!(
                "this profile has version {version} of the Firefox Profiler's format, of which corewise reads {} to {}: a newer corewise may read it",
                VERSIONS.start(),
                VERSIONS.end()
            ),
            0,
        )),
        Some(version) if version < *VERSIONS.start() => Err(Fatal::new(
            format!(
                "this profile has version {version} of the Firefox Profiler's format, which corewise does not read: open it at profiler.firefox.com, \
                 which converts it, and save it there"
            ),
            0,
        )),
        Some(_) if of_bytes => Err(Fatal::new("this profile is of the sizes of a file's parts: it has no times", 0)),
        Some(_) => Ok(()),
    }
}

fn facts(samples: &Samples) -> Facts {
    let mut lacks =
        vec!["No context switches were recorded: when and on which CPU a thread ran is unknown.".to_owned()];
    if !samples.has_cpu_time() {
        lacks.push(
            "The profile does not have the CPU time of threads: its samples are of elapsed time, also of threads that waited.".to_owned(),
        );
    }
    let meta = &samples.meta;
    let facts = [
        ("product", meta.product.clone()),
        ("os", meta.oscpu.clone()),
        ("profile_version", meta.preprocessed_profile_version.map(|version| version.to_string())),
        ("sampling_interval_ms", meta.interval.map(|ms| ms.to_string())),
    ];
    let short = |text: String| text.chars().take(MAX_ABOUT).collect::<String>();
    Facts {
        format: Firefox.id().to_owned(),
        clock: "the profiler's (from its start, or the machine's)".to_owned(),
        has_waking: Some(false),
        has_wakeup: Some(false),
        about: facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), short(value?)))).collect(),
        sampled: Some(match samples.has_cpu_time() {
            true => Sampled { event: stream::CPU_TIME.to_owned(), of_time: true, ..Sampled::default() },
            false => Sampled { event: "elapsed time".to_owned(), ..Sampled::default() },
        }),
        lacks,
        ..Facts::default()
    }
}
