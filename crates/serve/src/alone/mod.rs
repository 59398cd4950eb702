//! A trace as one page that needs no server: the viewer, and what it asks, within it.
//!
//! ```text
//!  <script type="text/plain" id="NAME">base64 of gzip of an answer</script>, one for each:
//!      about, threads, tables, findings            as the server answers them
//!      part-NAME                                   a table of all of the recording, its first rows
//!      slices-KIND-LEVEL                           what a width of 2 to LEVEL ns has that twice that width has not (`detail`)
//!      thread_state, cpu_state                     the stretches themselves, where there is room for both
//!      held                                        which of these there are, and the finest level
//! ```
//!
//! What is told of a moment is found in these by the page. The limit counts their characters: of each kind of track, levels are put in
//! from the coarsest on as far as they fit.

mod blocks;
mod detail;

use crate::answer::{self, Rows};
use crate::findings::diagnosed;
use crate::prepare::Levels;
use crate::server::about;
use crate::{ServeError, Trace, pages, part, tracks};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use blocks::Blocks;
use detail::{Finer, Of, Written};
use engine::Session;
use levels::{Detail, Reader};
use model::{TableDef, tables};
use serde_json::json;
use std::collections::BTreeMap;

/// The tables of all of the recording that stand in the page, and the column that orders them: those that people look at first.
const TABLES: [(&TableDef, Option<&str>); 9] = [
    (&tables::THREADS, Some(tables::threads::RUNNING_NS.name())),
    (&tables::CPUS, None),
    (&tables::THREAD_BY_CORE_TYPE, None),
    (&tables::CONCURRENCY, None),
    (&tables::CRITICAL_BY_THREAD, Some(tables::critical_by_thread::PATH_NS.name())),
    (&tables::CRITICAL_PATH, None),
    (&tables::READY_BY_THIEF, Some(tables::ready_by_thief::READY_NS.name())),
    (&tables::WAITS, None),
    (&tables::MIGRATIONS, None),
];
/// Rows of each.
const MOST_ROWS: usize = 10_000;
/// Threads, as in an answer of the server.
const MOST_THREADS: usize = 100_000;
/// Pixels across which all of the recording is seen at least: coarser levels nobody asks for.
const LEAST_PIXELS: i64 = 64;
/// Bytes that a slice takes at least, once packed: more of them than this cannot fit.
const LEAST_SLICE: usize = 4;

/// A trace as one page.
pub struct Page {
    /// The page.
    pub html: String,
    /// On some tracks stretches shorter than this are drawn together, ns; 0: on none, every stretch is in the page.
    pub finest_ns: i64,
    /// Whether the rows of every stretch are in it: who woke whom, and why a thread waited.
    pub has_rows: bool,
}

/// Makes the page of a trace, with at most `limit` characters of data. Memory: some twenty times the limit.
///
/// # Errors
/// The trace cannot be read, the pages were not built, or not even the coarsest picture fits.
pub fn page(trace: &Trace, limit: usize) -> Result<Page, ServeError> {
    let Trace { session, tracks, levels } = trace;
    let page =
        pages::alone().ok_or_else(|| ServeError::Start("the viewer's pages were not built: run `make`".into()))?;
    let mut blocks = Blocks::new(limit);
    blocks.must("about", about(session, tracks, levels, false).to_string().as_bytes())?;
    let threads = tracks.rows(0, MOST_THREADS - 1);
    blocks.must("threads", &answer::rows(&tracks::COLUMNS, &threads).map_err(unwritten)?)?;
    blocks.must("findings", diagnosed(session).map_err(ServeError::Start)?.as_bytes())?;
    let told = whole_tables(session, &mut blocks)?;
    blocks.must("tables", part::list(&told).to_string().as_bytes())?;
    let drawn = drawn(trace, &mut blocks)?;
    let has_rows = drawn.all.is_none() && rows(session, &mut blocks)?;
    let finest_ns = drawn.all.map_or(0, |level| 1 << level);
    let held = json!({"coarsest": drawn.coarsest, "finest": drawn.finest, "finest_ns": finest_ns, "rows": has_rows});
    Ok(Page { html: blocks.within(page, &held.to_string())?, finest_ns, has_rows })
}

fn unwritten(why: impl std::fmt::Display) -> ServeError {
    ServeError::Start(format!("the page cannot be made: {why}"))
}

/// The tables of all of the recording, as far as they have rows and fit into half of what is left; hands out which.
fn whole_tables(session: &Session, blocks: &mut Blocks) -> Result<Vec<&'static TableDef>, ServeError> {
    let listed = TABLES.iter().filter_map(|(def, by)| Some((session.definition(def.name).ok()?, *by)));
    let listed: Vec<_> = listed.filter(|(def, _)| session.may_have_rows(def)).collect();
    let names: Vec<&str> = listed.iter().map(|(def, _)| def.name).collect();
    session.prepare(&names)?;
    let mut there = Vec::new();
    for (def, by) in listed {
        let told = part::first(session, def.name, None, MOST_ROWS, (by, by.is_some()), &|| false);
        let told = told.map_err(|why| unwritten(why.words()))?;
        if blocks.offer(&format!("part-{}", def.name), &told, blocks.left() / 2)? {
            there.push(def);
        }
    }
    Ok(there)
}

/// Which levels are in the page: a pixel is 2 to these ns.
struct Drawn {
    coarsest: u32,
    /// Of each kind.
    finest: BTreeMap<String, u32>,
    /// The finest that all kinds have that have not every stretch for itself; nothing: all have.
    all: Option<u32>,
}

/// A kind of track whose levels are put in.
struct Going<'a> {
    kind: &'a str,
    levels: Box<dyn Finer + 'a>,
}

/// Puts levels in, from the coarsest on: of each kind as far as they fit, and no further than to one that has every stretch for itself.
fn drawn(trace: &Trace, blocks: &mut Blocks) -> Result<Drawn, ServeError> {
    let span = trace.session.summary().span_ns;
    let beside = trace.levels.kinds.iter().map(|(shown, levels)| match levels {
        Levels::States(states) => Going::new(&shown.kind, states, answer::slices),
        Levels::Values(values) => Going::new(&shown.kind, values, answer::steps),
    });
    let mut going = vec![
        Going::new("cpu", &trace.levels.cpus, answer::slices),
        Going::new("thread", &trace.levels.threads, answer::slices),
    ];
    going.extend(beside);
    let coarsest = (span / LEAST_PIXELS).max(1).ilog2();
    let mut drawn = Drawn { coarsest, finest: BTreeMap::new(), all: None };
    for level in (0..=coarsest).rev() {
        let mut next = Vec::new();
        for mut of in going {
            let told = of.levels.finer(0..span, 1 << level, blocks.left() / LEAST_SLICE)?;
            let name = format!("slices-{}-{level}", of.kind);
            let fits = match &told {
                Some(told) if told.slices > 0 => blocks.offer(&name, &told.ipc, blocks.left())?,
                told => told.is_some(),
            };
            if fits {
                drawn.finest.insert(of.kind.to_owned(), level);
                // All finer ones of it are the same.
                if told.is_some_and(|told| !told.whole) {
                    next.push(of);
                }
            } else if level == coarsest {
                return Err(blocks.too_small());
            } else {
                drawn.all = Some(drawn.all.unwrap_or(0).max(level + 1));
            }
        }
        going = next;
    }
    Ok(drawn)
}

impl<'a> Going<'a> {
    fn new<D: Detail<Drawn: PartialEq>>(kind: &'a str, reader: &'a Reader<D>, written: Written<D>) -> Self {
        Self { kind, levels: Box::new(Of::new(reader, written)) }
    }
}

/// Puts in the rows of all stretches, if they fit.
fn rows(session: &Session, blocks: &mut Blocks) -> Result<bool, ServeError> {
    let mut left = blocks.left();
    let mut packed = Vec::new();
    for def in [&tables::THREAD_STATE, &tables::CPU_STATE] {
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
            return Ok(false);
        }
        read?;
        left -= characters.len();
        packed.push((def.name, characters));
    }
    packed.into_iter().for_each(|(name, characters)| blocks.add(name, &characters));
    Ok(true)
}
