//! The sections of a report: one file and one line in [`SECTIONS`] each. A section without data is left out.

mod concurrency_bands;
mod counters;
mod energy;
mod findings;
mod idle;
mod idle_ends;
mod idle_states;
mod locks;
mod marks;
mod migrations;
mod parallel_regions;
mod parking;
mod periods;
mod placement;
mod priorities;
mod process_time;
mod requests;
mod samples;
mod slow_frames;
mod slow_intervals;
mod smt;
mod switch_causes;
mod task_classes;
mod waiting;
mod waits;

use crate::Options;
use crate::context::SectionContext;
use crate::gather::Group;
use diagnose::Diagnosis;
use engine::{EngineError, Session};
pub(crate) use findings::{Findings, write_rules};
use model::TableDef;
use page::{Anchor, Page, Part};
use std::collections::BTreeSet;

/// The sections that may have data without context switches. The findings say why they have none.
const WITHOUT_SWITCHES: [&str; 8] = [
    findings::SECTION.id,
    slow_frames::SECTION.id,
    counters::SECTION.id,
    samples::SECTION.id,
    marks::SECTION.id,
    energy::SECTION.id,
    parking::SECTION.id,
    idle_states::SECTION.id,
];

/// With more events than this, tables are made only on request, as this requires another read of all stretches.
const MAX_QUICK_EVENTS: u64 = 500_000;

/// Which sections a report has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Sections {
    /// Those whose tables are available quickly; of a short recording, all.
    #[default]
    Quick,
    /// All sections with data.
    All,
    /// The sections with these ids.
    Named(Vec<String>),
}

/// A section.
pub struct Section {
    /// The id.
    pub id: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The tables that it reads.
    tables: &'static [&'static TableDef],
    /// Writes it, if there is data.
    write: fn(&mut Page, &SectionContext<'_>) -> Result<(), EngineError>,
}

/// The sections that answer what is wrong.
const ANSWERS: [&str; 2] = [findings::SECTION.id, slow_frames::SECTION.id];

/// Every section, those that explain most first.
pub const SECTIONS: &[Section] = &[
    findings::SECTION,
    slow_frames::SECTION,
    waiting::SECTION,
    waits::SECTION,
    locks::SECTION,
    placement::SECTION,
    task_classes::SECTION,
    smt::SECTION,
    slow_intervals::SECTION,
    parallel_regions::SECTION,
    concurrency_bands::SECTION,
    switch_causes::SECTION,
    counters::SECTION,
    samples::SECTION,
    periods::SECTION,
    requests::SECTION,
    marks::SECTION,
    migrations::SECTION,
    priorities::SECTION,
    process_time::SECTION,
    energy::SECTION,
    parking::SECTION,
    idle::SECTION,
    idle_states::SECTION,
    idle_ends::SECTION,
];

/// Whether all sections with data are made for a trace: not for a long one by default.
#[must_use]
pub fn has_all_sections(session: &Session, wanted: &Sections) -> bool {
    *wanted == Sections::All || *wanted == Sections::Quick && session.summary().events <= MAX_QUICK_EVENTS
}

/// The selected sections of a report.
pub(crate) struct ChosenSections {
    /// The sections, in the order of [`SECTIONS`].
    pub(crate) sections: Vec<&'static Section>,
    /// Whether sections are left out because they would take long.
    pub(crate) left_out: bool,
    /// Whether samples are all that the trace has of what threads did.
    pub(crate) is_of_samples: bool,
    /// Whether concurrency is shown.
    pub(crate) concurrency: bool,
}

impl ChosenSections {
    pub(crate) fn select(session: &Session, wanted: &Sections) -> Result<Self, EngineError> {
        // Independent of which tables happen to be made already: repeated reports are equal.
        let quick = |section: &&Section| {
            let quick = |def: &TableDef| session.is_quick(def) || !session.may_have_rows(def);
            section.tables.iter().all(|def| quick(def))
        };
        let is_of_samples = session.is_of_samples()?;
        let has_data = |section: &&Section| {
            let may_have_rows = section.tables.iter().any(|def| session.may_have_rows(def));
            may_have_rows && (!is_of_samples || WITHOUT_SWITCHES.contains(&section.id))
        };
        let all = SECTIONS.iter().filter(has_data);
        let count = all.clone().count();
        let sections: Vec<&Section> = match wanted {
            Sections::All => all.collect(),
            Sections::Named(names) => all.filter(|s| names.iter().any(|n| n == s.id)).collect(),
            Sections::Quick if has_all_sections(session, wanted) => all.collect(),
            Sections::Quick => all.filter(quick).collect(),
        };
        let left_out = *wanted == Sections::Quick && sections.len() < count;
        Ok(Self { left_out, sections, is_of_samples, concurrency: false })
    }

    /// The tables that the sections read.
    pub(crate) fn tables(&self) -> BTreeSet<&'static str> {
        self.sections.iter().flat_map(|s| s.tables).map(|def| def.name).collect()
    }

    /// The tables that the sections show.
    pub(crate) fn shown_tables(&self) -> BTreeSet<&'static str> {
        self.sections
            .iter()
            .filter(|s| s.id != findings::SECTION.id)
            .flat_map(|s| s.tables)
            .map(|def| def.name)
            .collect()
    }

    /// Checks the rules if the section is selected; their tables must have been made.
    pub(crate) fn diagnosis(&self, session: &Session) -> Result<Option<Diagnosis>, EngineError> {
        let is_selected = self.sections.iter().any(|s| s.id == findings::SECTION.id);
        is_selected.then(|| diagnose::diagnose(session, &diagnose::Options::default())).transpose()
    }
}

/// The anchor of the section that shows rows of a table.
pub(crate) fn section_anchor(table: &str) -> Option<Anchor> {
    let shows =
        |section: &&Section| section.id != findings::SECTION.id && section.tables.iter().any(|def| def.name == table);
    SECTIONS.iter().find(shows).map(|section| Anchor::Section(section.id))
}

/// Writes the sections, in the order of [`SECTIONS`]. Those that are part of the answer come first; they are always shown.
pub(crate) fn write_all(
    chosen: &ChosenSections,
    session: &Session,
    options: &Options,
    groups: &[Group],
    findings: Findings<'_>,
) -> Result<[Vec<Part>; 2], EngineError> {
    let [mut first, mut rest] = [Vec::new(), Vec::new()];
    if chosen.sections.is_empty() {
        return Ok([first, rest]);
    }
    let ctx = SectionContext::new(session, options, groups, findings)?;
    for section in &chosen.sections {
        let mut page = Page::default();
        (section.write)(&mut page, &ctx)?;
        page.set_anchor(Anchor::Section(section.id));
        match section.id {
            _ if page.blocks.is_empty() => {}
            id if ANSWERS.contains(&id) => first.push(Part::fixed(page)),
            id => rest.push(Part::optional(id, page)),
        }
    }
    Ok([first, rest])
}
