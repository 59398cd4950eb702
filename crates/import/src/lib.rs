//! Importers: read foreign files as streams of events. Each format is one file (or folder), detected by its content and
//! never by its extension.

pub(crate) mod callchains;
pub mod formats;
pub(crate) mod sampled;
pub(crate) mod text;
pub(crate) mod tracepoint;

use ingest::{Importer, Sniff};

/// Every format, in the order in which detection tries them: those with a magic number first.
pub const FORMATS: &[&dyn Importer] = &[
    &formats::perf_data::PerfData,
    &formats::trace_dat::TraceDat,
    &formats::ctf::Ctf,
    &formats::perfetto::Perfetto,
    &formats::schedviz::SchedViz,
    &formats::present_mon::PresentMon,
    &formats::cap_frame_x::CapFrameX,
    &formats::firefox::Firefox,
    &formats::mango_hud::MangoHud,
    &formats::ftrace_text::FtraceText,
    &formats::perf_script::PerfScript,
];

/// Returns the format of a folder that contains files with these names.
#[must_use]
pub fn detect_folder(names: &[String]) -> Option<&'static dyn Importer> {
    let best = |wanted| FORMATS.iter().copied().find(|f| f.sniff_folder(names) == wanted);
    best(Sniff::Yes).or_else(|| best(Sniff::Maybe))
}

/// Returns the format of a file that begins with `head` (its first 4 KiB, or all of a shorter one).
#[must_use]
pub fn detect(head: &[u8]) -> Option<&'static dyn Importer> {
    let best = |wanted| FORMATS.iter().copied().find(|f| f.sniff(head) == wanted);
    best(Sniff::Yes).or_else(|| best(Sniff::Maybe))
}
