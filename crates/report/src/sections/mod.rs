//! What the analyses say of a trace: a file each, a line in [`SECTIONS`]. A section that has nothing to say is left out.

mod concurrency_bands;
mod findings;
mod idle;
mod marks;
mod migrations;
mod parallel_regions;
mod parking;
mod placement;
mod priorities;
mod slow_frames;
mod smt;
mod switch_causes;
mod waiting;

use crate::Options;
use crate::gather::Group;
use crate::page::{Page, Place};
use crate::seen::Seen;
use diagnose::Diagnosis;
use engine::{EngineError, Session};
pub(crate) use findings::Findings;
use model::TableDef;
use std::collections::BTreeSet;

/// Of more events than this, tables are not made unasked: all is read once more for them, and followed stretch by stretch.
const QUICK: u64 = 500_000;

/// Which sections a report has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sections {
    /// Those whose tables are at hand; of a short recording, all.
    #[default]
    Quick,
    /// All that have something to say.
    All,
    /// These, by name.
    Named(Vec<String>),
}

/// A section.
pub struct Section {
    /// Its name.
    pub id: &'static str,
    /// What it tells, in a line.
    pub about: &'static str,
    /// The tables that it reads.
    tables: &'static [&'static TableDef],
    /// Writes it, if there is anything to say.
    write: fn(&mut Page, &Seen<'_>) -> Result<(), EngineError>,
}

/// Every section.
pub const SECTIONS: &[Section] = &[
    findings::SECTION,
    smt::SECTION,
    placement::SECTION,
    concurrency_bands::SECTION,
    waiting::SECTION,
    switch_causes::SECTION,
    migrations::SECTION,
    idle::SECTION,
    parking::SECTION,
    marks::SECTION,
    parallel_regions::SECTION,
    priorities::SECTION,
    slow_frames::SECTION,
];

/// The sections that a report has.
pub(crate) struct Chosen {
    /// In order of the list.
    pub(crate) sections: Vec<&'static Section>,
    /// Whether some are left out since they would take long.
    pub(crate) left_out: bool,
    /// Whether it shows how many CPUs ran at once.
    pub(crate) concurrency: bool,
}

impl Chosen {
    pub(crate) fn of(session: &Session, wanted: &Sections) -> Self {
        // Not those that happen to be made already: a report says the same however often it is asked for.
        let quick = |section: &&Section| {
            let quick = |def: &TableDef| session.is_quick(def) || !session.may_have_rows(def);
            section.tables.iter().all(|def| quick(def))
        };
        let tells = |section: &&Section| section.tables.iter().any(|def| session.may_have_rows(def));
        let all = SECTIONS.iter().filter(tells);
        let many = all.clone().count();
        let sections: Vec<&Section> = match wanted {
            Sections::All => all.collect(),
            Sections::Named(names) => all.filter(|s| names.iter().any(|n| n == s.id)).collect(),
            Sections::Quick if session.summary().events <= QUICK => all.collect(),
            Sections::Quick => all.filter(quick).collect(),
        };
        Self { left_out: *wanted == Sections::Quick && sections.len() < many, sections, concurrency: false }
    }

    /// The tables that they read.
    pub(crate) fn tables(&self) -> BTreeSet<&'static str> {
        self.sections.iter().flat_map(|s| s.tables).map(|def| def.name).collect()
    }

    /// Those of them that they show.
    pub(crate) fn shown_tables(&self) -> BTreeSet<&'static str> {
        self.sections
            .iter()
            .filter(|s| s.id != findings::SECTION.id)
            .flat_map(|s| s.tables)
            .map(|def| def.name)
            .collect()
    }

    /// What rules say, where that is told; their tables are made.
    pub(crate) fn diagnosis(&self, session: &Session) -> Result<Option<Diagnosis>, EngineError> {
        let told = self.sections.iter().any(|s| s.id == findings::SECTION.id);
        told.then(|| diagnose::diagnose(session, &diagnose::Options::default())).transpose()
    }
}

/// The section that shows rows of a table, by its name.
pub(crate) fn showing(table: &str) -> Option<Place> {
    let shows =
        |section: &&Section| section.id != findings::SECTION.id && section.tables.iter().any(|def| def.name == table);
    SECTIONS.iter().find(shows).map(|section| Place::Section(section.id))
}

/// What the sections say that have something to say, the shortest first; before it what stands first on a page, where each is
/// a look away: what is wrong.
pub(crate) fn written(
    chosen: &Chosen,
    session: &Session,
    options: &Options,
    groups: &[Group],
    findings: Findings<'_>,
) -> Result<[Page; 2], EngineError> {
    let [mut first, mut rest] = [Page::default(), Page::default()];
    if chosen.sections.is_empty() {
        return Ok([first, rest]);
    }
    let seen = Seen::of(session, options, groups, findings)?;
    let mut written = Vec::new();
    for section in &chosen.sections {
        let mut own = Page::default();
        (section.write)(&mut own, &seen)?;
        own.place(Place::Section(section.id));
        if options.pictures && section.id == findings::SECTION.id {
            first = own;
        } else {
            written.push(own);
        }
    }
    written.sort_by_key(Page::lines);
    written.into_iter().for_each(|own| rest.blocks.extend(own.blocks));
    Ok([first, rest])
}
