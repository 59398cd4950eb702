//! Reports of a trace: text for a terminal or a file, one page with pictures, and one JSON object.
//!
//! Each report starts with what was recorded, how much of it is unknown or lost, the recording overhead and whether the time accounting
//! is consistent. Then it shows what the threads and CPUs did and how long frames took. Each part is described once, as blocks, and
//! the text and the page are written from these. All data comes from an [`engine::Session`].

pub mod blocks;
mod causes;
mod concurrency;
mod context;
mod cpus;
mod flame;
mod frames;
mod gather;
mod grid;
mod head;
mod html;
mod intervals;
mod json;
mod marked;
mod options;
mod page;
mod picture;
mod places;
mod profile;
mod sections;
mod select;
mod text;
mod threads;
mod timeline;
pub mod web;

pub use head::accounting_line;
pub use json::json;
pub use options::{Options, Sort};
pub use profile::Profile;
pub use sections::{SECTIONS, Section, Sections};

use engine::{EngineError, Session};
use model::{tables, words};
use page::Page;
use sections::{ChosenSections, Findings};

/// Returns the report as text.
///
/// # Errors
/// The trace cannot be read, or it has no thread (in a frame log: no frame) of the requested process.
pub fn text(session: &Session, options: &Options) -> Result<String, EngineError> {
    Ok(text::text(&page(session, options)?.blocks, options.width, options.color))
}

/// Returns the report as one self-contained HTML page with pictures, without network access. Its only script searches and zooms the flame
/// graph of samples; without samples it has none.
///
/// # Errors
/// The trace cannot be read, or it has no thread of the requested process.
pub fn html(session: &Session, options: &Options) -> Result<String, EngineError> {
    let title = session.path().file_name().map_or_else(|| "trace".into(), |name| name.to_string_lossy());
    Ok(html::page(&words::plain(&title), &page(session, options)?.blocks))
}

/// Builds the whole report.
fn page(session: &Session, options: &Options) -> Result<Page, EngineError> {
    let mut page = Page::default();
    head::write(&mut page, session, options);
    let left_out = if session.full_summary().is_of_frames() {
        LeftOut::default()
    } else {
        write_scheduling(&mut page, session, options)?
    };
    frames::write(&mut page, session, options)?;
    if let Some(name) = &options.frames_of {
        marked::write(&mut page, session, name, options.top)?;
    }
    head::write_limits(&mut page, session);
    head::write_next(&mut page, session, options, left_out);
    Ok(page)
}

/// What the report leaves out because it would take long.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    sections: bool,
    concurrency: bool,
}

/// Writes the parts that come from scheduler events.
fn write_scheduling(page: &mut Page, session: &Session, options: &Options) -> Result<LeftOut, EngineError> {
    let groups = select::groups(session, options)?;
    let chosen = prepare_sections(session, options)?;
    let diagnosis = chosen.diagnosis(session)?;
    let findings = Findings::select(diagnosis.as_ref(), options, &groups);
    if options.pictures {
        timeline::write(page, session, &findings)?;
    }
    let [first, rest] = sections::write_all(&chosen, session, options, &groups, findings)?;
    page.blocks.extend(first.blocks);
    for group in &groups {
        threads::write(page, session, group);
    }
    places::write(page, session, &groups)?;
    cpus::write(page, session, &session.table(tables::CPUS.name)?);
    if chosen.concurrency {
        concurrency::write(page, session, &session.table(tables::CONCURRENCY.name)?);
    }
    page.blocks.extend(rest.blocks);
    Ok(LeftOut { sections: chosen.left_out, concurrency: !chosen.concurrency })
}

/// Selects the sections of the report and makes all their tables in one pass.
fn prepare_sections(session: &Session, options: &Options) -> Result<ChosenSections, EngineError> {
    let mut chosen = ChosenSections::select(session, &options.sections);
    let mut needed: Vec<&str> = chosen.tables().into_iter().collect();
    chosen.concurrency = options.concurrency || !needed.is_empty() || session.is_quick(&tables::CONCURRENCY);
    if chosen.concurrency {
        needed.push(tables::CONCURRENCY.name);
    }
    if options.pictures && needed.contains(&tables::SAMPLES.name) {
        needed.push(tables::FOLDED_STACKS.name);
    }
    session.prepare(&needed)?;
    Ok(chosen)
}
