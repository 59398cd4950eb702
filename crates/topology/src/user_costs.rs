//! Reads `[measured]` and `[[costs]]` of a machine file.

use crate::costs::{Cost, Costs, MAX_FIGURES, Measured};
use crate::machine::Cpu;
use crate::user::{BadMachine, Lines};
use toml::Spanned;

/// Refuses a file with too many figures before it is parsed, which takes many times the memory of the text.
pub(crate) fn limit(text: &str) -> Result<(), BadMachine> {
    let figures = text.lines().filter(|line| line.trim_start().starts_with("[[costs]]")).count();
    if figures <= MAX_FIGURES {
        return Ok(());
    }
    Err(BadMachine { line: None, what: format!("{figures} figures of costs: the maximum is {MAX_FIGURES}") })
}

/// Returns the costs; `None` if the file has none.
pub(crate) fn read(
    lines: &Lines<'_>,
    measured: Option<Spanned<Measured>>,
    figures: Vec<Spanned<Cost>>,
    cpus: &[Cpu],
) -> Result<Option<Costs>, BadMachine> {
    let Some(measured) = measured else {
        return match figures.first() {
            Some(first) => {
                let what =
                    "costs without [measured]: add it, with `at`, the time when they were measured, and `corewise`";
                Err(lines.bad(first.span().start, what))
            }
            None => Ok(None),
        };
    };
    measured.get_ref().check().map_err(|why| lines.bad(measured.span().start, why))?;
    for figure in &figures {
        let bad = |why: String| lines.bad(figure.span().start, why);
        figure.get_ref().check().map_err(bad)?;
        let is_known = |id: &&model::CpuId| cpus.binary_search_by_key(*id, |cpu| cpu.id).is_ok();
        if let Some(cpu) = figure.get_ref().cpus.iter().find(|id| !is_known(id)) {
            return Err(bad(format!("CPU {} is in no `ids`: add it to a [[cpus]]", cpu.0)));
        }
    }
    let costs =
        Costs { measured: measured.into_inner(), figures: figures.into_iter().map(Spanned::into_inner).collect() };
    // The number of figures, which may also stand in one array.
    costs.check().map_err(|what| BadMachine { line: None, what })?;
    Ok(Some(costs))
}
