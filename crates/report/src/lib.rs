//! What people keep of a trace: text for a terminal or a file, one page with pictures, and the same as one JSON object.
//!
//! All tell first what was recorded and how much of it is unknown or lost, then what recording cost, whether the accounts
//! close, and only then what the threads and CPUs did, and how long frames took. Each part says it once, and the two writers
//! write that. All of it comes from a [`engine::Session`].

mod concurrency;
mod cpus;
mod frames;
mod gather;
mod grid;
mod head;
mod html;
mod json;
mod marked;
mod options;
mod page;
mod picture;
mod places;
mod sections;
mod seen;
mod select;
mod text;
mod threads;
mod timeline;

pub use json::json;
pub use options::{Options, Sort};
pub use sections::{SECTIONS, Section, Sections};

use engine::{EngineError, Session};
use model::{tables, words};
use page::Page;
use sections::{Chosen, Findings};

/// The report as text.
///
/// # Errors
/// The trace cannot be read, or no thread (of a frame log: no frame) is of the process that was asked for.
pub fn text(session: &Session, options: &Options) -> Result<String, EngineError> {
    Ok(text::text(&told(session, options)?.blocks, options.width, options.color))
}

/// The report as one HTML page with pictures that needs nothing else: no network, no script.
///
/// # Errors
/// The trace cannot be read, or no thread is of the process that was asked for.
pub fn html(session: &Session, options: &Options) -> Result<String, EngineError> {
    let title = session.path().file_name().map_or_else(|| "trace".into(), |name| name.to_string_lossy());
    Ok(html::page(&words::plain(&title), &told(session, options)?.blocks))
}

/// All that it says.
fn told(session: &Session, options: &Options) -> Result<Page, EngineError> {
    let mut page = Page::default();
    head::write(&mut page, session, options);
    let left_out =
        if session.whole().is_of_frames() { LeftOut::default() } else { scheduled(&mut page, session, options)? };
    frames::write(&mut page, session, options)?;
    if let Some(name) = &options.frames_of {
        marked::write(&mut page, session, name, options.top)?;
    }
    head::write_limits(&mut page, session);
    head::write_next(&mut page, session, options, left_out);
    Ok(page)
}

/// What the report does not show because it would have taken long.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    sections: bool,
    concurrency: bool,
}

/// What the scheduler's events tell.
fn scheduled(page: &mut Page, session: &Session, options: &Options) -> Result<LeftOut, EngineError> {
    let groups = select::groups(session, options)?;
    let chosen = prepared(session, options)?;
    let said = chosen.diagnosis(session)?;
    let findings = Findings::of(said.as_ref(), options, &groups);
    if options.pictures {
        timeline::write(page, session, &findings)?;
    }
    let [first, rest] = sections::written(&chosen, session, options, &groups, findings)?;
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

/// The sections that the report has, all tables for them made in one pass.
fn prepared(session: &Session, options: &Options) -> Result<Chosen, EngineError> {
    let mut chosen = Chosen::of(session, &options.sections);
    let mut needed: Vec<&str> = chosen.tables().into_iter().collect();
    chosen.concurrency = options.concurrency || !needed.is_empty() || session.is_quick(&tables::CONCURRENCY);
    if chosen.concurrency {
        needed.push(tables::CONCURRENCY.name);
    }
    session.prepare(&needed)?;
    Ok(chosen)
}
