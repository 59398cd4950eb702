//! Foreign files as streams of events: one file (or folder) a format, found by content and never by extension.

pub(crate) mod callchains;
pub mod formats;
pub(crate) mod text;
pub(crate) mod tracepoint;

use ingest::{Importer, Sniff};

/// Every format, in the order in which they are asked whether a file is theirs: those with a magic number first.
pub const FORMATS: &[&dyn Importer] = &[
    &formats::perf_data::PerfData,
    &formats::trace_dat::TraceDat,
    &formats::ctf::Ctf,
    &formats::perfetto::Perfetto,
    &formats::schedviz::SchedViz,
    &formats::present_mon::PresentMon,
    &formats::mango_hud::MangoHud,
    &formats::ftrace_text::FtraceText,
    &formats::perf_script::PerfScript,
];

/// The format of a folder that holds files of these names.
#[must_use]
pub fn detect_folder(names: &[String]) -> Option<&'static dyn Importer> {
    let best = |wanted| FORMATS.iter().copied().find(|f| f.sniff_folder(names) == wanted);
    best(Sniff::Yes).or_else(|| best(Sniff::Maybe))
}

/// The format of a file that begins with `head` (its first 4 KiB, or all of a shorter one).
#[must_use]
pub fn detect(head: &[u8]) -> Option<&'static dyn Importer> {
    let best = |wanted| FORMATS.iter().copied().find(|f| f.sniff(head) == wanted);
    best(Sniff::Yes).or_else(|| best(Sniff::Maybe))
}
