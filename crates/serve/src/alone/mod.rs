//! A trace as one page that needs no server: it contains the viewer and its data.
//!
//! ```text
//!  <script type="text/plain" id="NAME">base64 of a gzipped answer</script>, one for each:
//!      about, threads, tables, findings            as answered by the server
//!      part-NAME                                   the first rows of a table for the whole recording
//!      frame-sources, frames-N, causes-0-RANK       the slowest frames of the first sources (`frames`)
//!      slices-KIND-LEVEL                           slices at 2 to LEVEL ns per pixel that the next coarser level lacks (`detail`)
//!      thread_state, cpu_state                     the stretches, if both fit
//!      object_waits, throttled                     what each wait was for, and when threads were throttled, if that fits too
//!      start                                       the view with which the page begins, if one was given
//!      held                                        which of these are present, and the finest level
//! ```
//!
//! The page looks everything up in these blocks. The limit applies to their characters: for each kind of track, levels are added from
//! the coarsest on as long as they fit.

mod blocks;
mod detail;
mod frames;

use crate::answer::{self, Rows};
use crate::findings::diagnosed;
use crate::prepare::Levels;
use crate::server::about;
use crate::{ServeError, Trace, pages, part, tracks};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use blocks::Blocks;
use detail::{Encode, Finer, KindLevels};
use engine::Session;
use levels::{Detail, Reader};
use model::{TableDef, tables};
use serde_json::json;
use std::collections::BTreeMap;

/// The most used tables, which are in the page for the whole recording, and the column by which they are sorted.
const TABLES: [(&TableDef, Option<&str>); 13] = [
    (&tables::THREADS, Some(tables::threads::RUNNING_NS.name())),
    (&tables::CPUS, None),
    (&tables::THREAD_BY_CORE_TYPE, None),
    (&tables::SMT_THREADS, Some(tables::smt_threads::SIBLING_BUSY_NS.name())),
    (&tables::SWITCH_CAUSES, Some(tables::switch_causes::READY_NS.name())),
    (&tables::CONCURRENCY, None),
    (&tables::CRITICAL_BY_THREAD, Some(tables::critical_by_thread::PATH_NS.name())),
    (&tables::CRITICAL_PATH, None),
    (&tables::RAN_INSTEAD, Some(tables::ran_instead::READY_NS.name())),
    (&tables::WAITS, None),
    (&tables::MIGRATIONS, None),
    (&tables::LOSS, None),
    (&tables::FOLDED_STACKS, Some(tables::folded_stacks::SAMPLES.name())),
];
/// The maximum number of rows of a table.
const MAX_ROWS: usize = 10_000;
/// The maximum number of threads, as in the server's answers.
const MAX_THREADS: usize = 100_000;
/// The minimum width of the whole recording in pixels; coarser levels are never needed.
const MIN_PIXELS: i64 = 64;
/// The minimum size of a compressed slice, in bytes; limits how many slices can fit.
const MIN_SLICE_BYTES: usize = 4;

/// A trace as one page.
pub struct Page {
    /// The page.
    pub html: String,
    /// On some tracks, stretches shorter than this are merged, in ns; 0 if every stretch is in the page.
    pub finest_ns: i64,
    /// Whether the page has the rows of all stretches, which contain wakeups and causes of waits.
    pub has_rows: bool,
}

/// Makes the page of a trace, with at most `limit` characters of data. Takes about twenty times as much memory.
///
/// # Errors
/// The trace cannot be read, the pages were not built, or the limit is too small for the coarsest level.
pub fn page(trace: &Trace, limit: usize) -> Result<Page, ServeError> {
    page_at(trace, limit, "")
}

/// Makes the page of a trace like [`page`]. It begins with the view that the fragment of an address describes (its part from `#` on), with
/// its notes; empty for the whole recording.
///
/// # Errors
/// As for [`page`].
pub fn page_at(trace: &Trace, limit: usize, start: &str) -> Result<Page, ServeError> {
    let Trace { session, tracks, levels } = trace;
    let page = pages::alone().ok_or_else(|| ServeError::Start("this build has no viewer: run `make`".into()))?;
    let mut blocks = Blocks::new(limit);
    blocks.must("about", about(session, tracks, levels, false).to_string().as_bytes())?;
    if !start.is_empty() {
        blocks.must("start", start.as_bytes())?;
    }
    let threads = tracks.rows(0, MAX_THREADS - 1);
    blocks.must("threads", &answer::rows(&tracks::COLUMNS, &threads).map_err(unwritten)?)?;
    blocks.must("findings", diagnosed(session).map_err(ServeError::Start)?.as_bytes())?;
    frames::add(session, &mut blocks)?;
    let tables = full_tables(session, &mut blocks)?;
    blocks.must("tables", part::list(&tables).to_string().as_bytes())?;
    let drawn = drawn(trace, &mut blocks)?;
    let has_rows = drawn.all.is_none() && rows(session, &mut blocks)?;
    let finest_ns = drawn.all.map_or(0, |level| 1 << level);
    let held = json!({"coarsest": drawn.coarsest, "finest": drawn.finest, "finest_ns": finest_ns, "rows": has_rows});
    Ok(Page { html: blocks.within(page, &held.to_string())?, finest_ns, has_rows })
}

fn unwritten(why: impl std::fmt::Display) -> ServeError {
    ServeError::Start(format!("the page cannot be made: {why}"))
}

/// Adds tables of the whole recording that have rows and fit into half of the remaining room; returns those added.
fn full_tables(session: &Session, blocks: &mut Blocks) -> Result<Vec<&'static TableDef>, ServeError> {
    let listed = TABLES.iter().filter_map(|(def, by)| Some((session.definition(def.name).ok()?, *by)));
    let listed: Vec<_> = listed.filter(|(def, _)| session.may_have_rows(def)).collect();
    let names: Vec<&str> = listed.iter().map(|(def, _)| def.name).collect();
    session.prepare(&names)?;
    let mut added = Vec::new();
    for (def, by) in listed {
        let rows = part::first(session, def.name, None, MAX_ROWS, (by, by.is_some()), &|| false);
        let rows = rows.map_err(|why| unwritten(why.message()))?;
        if blocks.offer(&format!("part-{}", def.name), &rows, blocks.left() / 2)? {
            added.push(def);
        }
    }
    Ok(added)
}

/// The levels in the page, as the power of two of ns per pixel.
struct Drawn {
    coarsest: u32,
    /// The finest level of each kind.
    finest: BTreeMap<String, u32>,
    /// The finest level that all incomplete kinds have; `None` if every kind has all its stretches.
    all: Option<u32>,
}

/// A kind of track whose levels are being added.
struct PendingKind<'a> {
    kind: &'a str,
    levels: Box<dyn Finer + 'a>,
}

/// Adds levels from the coarsest on. Each kind stops when a level does not fit, or when every stretch has its own slice.
fn drawn(trace: &Trace, blocks: &mut Blocks) -> Result<Drawn, ServeError> {
    let span = trace.session.summary().span_ns;
    let extra = trace.levels.kinds.iter().map(|(shown, levels)| match levels {
        Levels::States(states) => PendingKind::new(&shown.kind, states, answer::slices),
        Levels::Values(values) => PendingKind::new(&shown.kind, values, answer::steps),
    });
    let mut pending = vec![
        PendingKind::new("cpu", &trace.levels.cpus, answer::slices),
        PendingKind::new("thread", &trace.levels.threads, answer::slices),
    ];
    pending.extend(extra);
    let coarsest = (span / MIN_PIXELS).max(1).ilog2();
    let mut drawn = Drawn { coarsest, finest: BTreeMap::new(), all: None };
    for level in (0..=coarsest).rev() {
        let mut next = Vec::new();
        for mut of in pending {
            let next_level = of.levels.finer(0..span, 1 << level, blocks.left() / MIN_SLICE_BYTES)?;
            let name = format!("slices-{}-{level}", of.kind);
            let fits = match &next_level {
                Some(level) if level.slices > 0 => blocks.offer(&name, &level.ipc, blocks.left())?,
                level => level.is_some(),
            };
            if fits {
                drawn.finest.insert(of.kind.to_owned(), level);
                // After a complete level, finer ones would be the same.
                if next_level.is_some_and(|level| !level.complete) {
                    next.push(of);
                }
            } else if level == coarsest {
                return Err(blocks.too_small());
            } else {
                drawn.all = Some(drawn.all.unwrap_or(0).max(level + 1));
            }
        }
        pending = next;
    }
    Ok(drawn)
}

impl<'a> PendingKind<'a> {
    fn new<D: Detail<Drawn: PartialEq>>(kind: &'a str, reader: &'a Reader<D>, encode: Encode<D>) -> Self {
        Self { kind, levels: Box::new(KindLevels::new(reader, encode)) }
    }
}

/// Adds the rows of all stretches, if they fit; and what each wait was for and when threads were throttled, if that fits too.
fn rows(session: &Session, blocks: &mut Blocks) -> Result<bool, ServeError> {
    let Some(threads) = packed(session, &tables::THREAD_STATE, blocks.left())? else { return Ok(false) };
    let Some(cpus) = packed(session, &tables::CPU_STATE, blocks.left() - threads.len())? else { return Ok(false) };
    blocks.add(tables::THREAD_STATE.name, &threads);
    blocks.add(tables::CPU_STATE.name, &cpus);
    for def in [&tables::OBJECT_WAITS, &tables::THROTTLED].into_iter().filter(|def| session.may_have_rows(def)) {
        if let Some(rows) = packed(session, def, blocks.left())? {
            blocks.add(def.name, &rows);
        }
    }
    Ok(true)
}

/// Returns all rows of a table as the characters of a block; `None`: there are more than `left`.
fn packed(session: &Session, def: &TableDef, left: usize) -> Result<Option<String>, ServeError> {
    let def = session.definition(def.name)?;
    let mut out = Rows::new(def, blocks::packer()).map_err(unwritten)?;
    let mut written = Ok(());
    let read = session.rows(def.name, &mut |rows| {
        written = out.push(rows);
        let room = blocks::characters(out.to().get_ref().len()) <= left;
        if written.is_ok() && room { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    });
    written.map_err(unwritten)?;
    let bytes = out.finish().and_then(|packer| Ok(packer.finish()?)).map_err(unwritten)?;
    let characters = BASE64_STANDARD.encode(&bytes);
    if characters.len() > left {
        return Ok(None);
    }
    read?;
    Ok(Some(characters))
}
