//! Reports of a trace: text for a terminal or a file, one page with pictures, and one JSON object.
//!
//! Each report starts with the answer: what was recorded, a verdict of a few lines, the findings and the slow frames. Then come the
//! tables of what threads and CPUs did, and last how complete and consistent the recording is. Each part is described once, as blocks, and
//! the text and the page are written from these. All data comes from an [`engine::Session`].

mod causes;
mod concurrency;
mod context;
mod counted;
mod cpus;
mod flame;
mod frames;
mod gather;
mod head;
mod instance;
mod intervals;
mod json;
mod marked;
mod next;
mod options;
mod places;
mod profile;
mod quality;
mod sampled;
mod sections;
mod select;
mod threads;
mod timeline;
mod verdict;

pub use json::json;
pub use options::{Options, Sort};
pub use profile::Profile;
pub use quality::accounting_line;
pub use sections::{SECTIONS, Section, Sections, has_all_sections};
pub use timeline::cpus as cpu_timeline;
pub use verdict::over_budget;

use engine::{EngineError, Session};
use model::{tables, words};
use page::{Block, Page, Part};
use sections::{ChosenSections, Findings};

/// Returns the report as text, of at most [`Options::max_lines`] lines if that is set and the parts that are always shown are not longer.
///
/// # Errors
/// The trace cannot be read, or it has no thread (in a frame log: no frame) of the requested process.
pub fn text(session: &Session, options: &Options) -> Result<String, EngineError> {
    let (mut parts, mut left_out) = parts(session, options)?;
    let text = |blocks: &[Block]| page::terminal(blocks, options.width, options.color);
    let lines = |page: &Page| text(&page.blocks).lines().count();
    if let Some(max) = options.max_lines {
        // The end names all that may be left out, so that the actual end is not longer.
        let names = parts.iter().filter_map(|part| part.name).collect();
        let end = lines(&next::page(session, options, &LeftOut { parts: names, ..left_out.clone() }));
        let fixed: usize = parts.iter().filter(|part| part.name.is_none()).map(|part| lines(&part.page)).sum();
        let mut room = max.saturating_sub(fixed + end);
        parts.retain(|part| {
            let Some(name) = part.name else { return true };
            let taken = lines(&part.page);
            let fits = taken <= room;
            if fits {
                room -= taken
            } else {
                left_out.parts.push(name)
            }
            fits
        });
    }
    let mut blocks: Vec<Block> = parts.into_iter().flat_map(|part| part.page.blocks).collect();
    blocks.extend(next::page(session, options, &left_out).blocks);
    Ok(text(&blocks))
}

/// Returns the report as one self-contained HTML page with pictures, without network access. Its only script searches and zooms the flame
/// graph of samples; without samples it has none.
///
/// # Errors
/// The trace cannot be read, or it has no thread of the requested process.
pub fn html(session: &Session, options: &Options) -> Result<String, EngineError> {
    let title = session.path().file_name().map_or_else(|| "trace".into(), |name| name.to_string_lossy());
    let (parts, left_out) = parts(session, options)?;
    let mut blocks: Vec<Block> = parts.into_iter().flat_map(|part| part.page.blocks).collect();
    blocks.extend(next::page(session, options, &left_out).blocks);
    Ok(page::web_page(&words::plain(&title), &blocks, options.timeline.as_deref()))
}

/// What the report leaves out.
#[derive(Clone, Default)]
struct LeftOut {
    /// Whether sections are left out because they would take long.
    sections: bool,
    /// Whether concurrency is left out because it would take long.
    concurrency: bool,
    /// The parts for which there was no room.
    parts: Vec<&'static str>,
}

/// Returns a part that a function writes.
fn part_of(write: impl FnOnce(&mut Page) -> Result<(), EngineError>) -> Result<Page, EngineError> {
    let mut page = Page::default();
    write(&mut page)?;
    Ok(page)
}

/// Makes all parts of the report but its end.
fn parts(session: &Session, options: &Options) -> Result<(Vec<Part>, LeftOut), EngineError> {
    let mut head = Page::default();
    let is_of_samples = session.is_of_samples()?;
    head::write(&mut head, session, options, is_of_samples);
    let mut parts = vec![Part::fixed(head)];
    let left_out = if session.full_summary().is_of_frames() {
        parts.push(Part::fixed(part_of(|page| verdict::write_of_frames(page, session, options))?));
        LeftOut::default()
    } else {
        add_scheduling(&mut parts, session, options)?
    };
    parts.push(Part::fixed(part_of(|page| frames::write(page, session, options))?));
    if let Some(name) = &options.frames_of {
        parts.push(Part::optional("marked frames", part_of(|page| marked::write(page, session, name, options.top))?));
    }
    let mut data = Page::default();
    quality::write(&mut data, session, options, is_of_samples)?;
    parts.push(Part::fixed(data));
    Ok((parts, left_out))
}

/// Adds the parts that come from scheduler events.
fn add_scheduling(parts: &mut Vec<Part>, session: &Session, options: &Options) -> Result<LeftOut, EngineError> {
    // First, since a process may be missing; and again if it is known only now how long threads were throttled.
    let mut groups = select::groups(session, options)?;
    let chosen = prepare_sections(session, options)?;
    if !select::throttled(session)?.is_empty() {
        groups = select::groups(session, options)?;
    }
    let diagnosis = chosen.diagnosis(session)?;
    let findings = Findings::select(diagnosis.as_ref(), options, &groups);
    parts.push(Part::fixed(part_of(|page| verdict::write(page, session, options, &groups, &chosen, &findings))?));
    let timeline = match options.pictures && !chosen.is_of_samples {
        true => part_of(|page| timeline::write(page, session, &findings))?,
        false => Page::default(),
    };
    let [first, rest] = sections::write_all(&chosen, session, options, &groups, findings)?;
    parts.extend(first);
    parts.push(Part::fixed(timeline));
    if chosen.is_of_samples {
        parts.extend(rest);
        return Ok(LeftOut { sections: chosen.left_out, ..LeftOut::default() });
    }
    for (at, group) in groups.iter().enumerate() {
        let mut page = Page::default();
        threads::write(&mut page, session, group);
        parts.push(if at == 0 { Part::fixed(page) } else { Part::optional("all other threads", page) });
    }
    parts.push(Part::optional("CPUs of each thread", part_of(|page| places::write(page, session, &groups))?));
    let cpus = session.table(tables::CPUS.name)?;
    parts.push(Part::optional(
        "CPUs",
        part_of(|page| {
            cpus::write(page, session, &cpus);
            Ok(())
        })?,
    ));
    if chosen.concurrency {
        let table = session.table(tables::CONCURRENCY.name)?;
        parts.push(Part::optional(
            "concurrency",
            part_of(|page| {
                concurrency::write(page, session, &table);
                Ok(())
            })?,
        ));
    }
    parts.extend(rest);
    if let Some(diagnosis) = diagnosis.as_ref().filter(|_| options.max_lines.is_none()) {
        let mut page = Page::default();
        sections::write_rules(&mut page, diagnosis, options.pictures);
        parts.push(Part::optional("rules", page));
    }
    Ok(LeftOut { sections: chosen.left_out, concurrency: !chosen.concurrency, parts: Vec::new() })
}

/// Selects the sections of the report and makes all their tables in one pass.
fn prepare_sections(session: &Session, options: &Options) -> Result<ChosenSections, EngineError> {
    let mut chosen = ChosenSections::select(session, &options.sections)?;
    // Sums are there already: a section of them alone does not make the pass that concurrency would share.
    let is_made = |name: &&str| session.definition(name).is_ok_and(|def| !session.is_quick(def));
    let mut needed: Vec<&str> = chosen.tables().into_iter().filter(is_made).collect();
    let shows_concurrency = options.concurrency || !needed.is_empty() || session.is_quick(&tables::CONCURRENCY);
    chosen.concurrency = shows_concurrency && !chosen.is_of_samples;
    if chosen.concurrency {
        needed.push(tables::CONCURRENCY.name);
    }
    if (options.pictures || chosen.is_of_samples) && needed.contains(&tables::SAMPLES.name) {
        needed.push(tables::FOLDED_STACKS.name);
    }
    session.prepare(&needed)?;
    Ok(chosen)
}
