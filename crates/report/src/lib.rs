//! The text that people keep: what a trace says, for a terminal or a file, and the same as one JSON object.
//!
//! [`text`] tells first what was recorded and how much of it is unknown or lost, then what recording cost, whether the
//! accounts close, and only then what the threads and CPUs did, and how
//! long frames took. All of it comes from a [`engine::Session`].

mod concurrency;
mod cpus;
mod frames;
mod gather;
mod grid;
mod head;
mod json;
mod marked;
mod options;
mod places;
mod select;
mod threads;
mod words;

pub use json::json;
pub use options::{Options, Sort};

use engine::{EngineError, Session};
use grid::Page;

/// The report as text.
///
/// # Errors
/// The trace cannot be read, or no thread (of a frame log: no frame) is of the process that was asked for.
pub fn text(session: &Session, options: &Options) -> Result<String, EngineError> {
    let mut page = Page::new(options.width, options.color);
    head::write(&mut page, session);
    if !session.summary().is_of_frames() {
        let groups = select::groups(session, options)?;
        for group in &groups {
            threads::write(&mut page, session, group);
        }
        places::write(&mut page, session, &groups)?;
        cpus::write(&mut page, session, &session.table("cpus")?);
        if options.concurrency {
            concurrency::write(&mut page, session, &session.table("concurrency")?);
        }
    }
    frames::write(&mut page, session, options)?;
    if let Some(name) = &options.frames_of {
        marked::write(&mut page, session, name, options.top)?;
    }
    head::write_limits(&mut page, session);
    head::write_next(&mut page, session, options);
    Ok(page.text)
}
