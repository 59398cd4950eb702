//! Folded stacks, as perf's `stackcollapse-perf.pl` prints them: one line for each callchain, with its functions from the outermost to the
//! innermost and its number of samples.
//!
//! ```text
//!   game;main;frame;draw 12
//!   performance;game;main;frame;draw 12      of a machine with several types of cores
//! ```
//!
//! The first frame is the thread's name. Two such files are what `difffolded.pl` compares.

use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape};
use model::tables::{self, folded_stacks};
use model::{CoreType, Row, words};
use std::collections::BTreeMap;

/// A file of folded stacks.
pub struct Folded;

/// A function without a name, in an unknown file.
const UNKNOWN: &str = "[unknown]";

impl Exporter for Folded {
    fn id(&self) -> &'static str {
        "folded"
    }

    fn about(&self) -> &'static str {
        "folded stacks of samples, for flame graphs"
    }

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn suffix(&self) -> &'static str {
        ".folded"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "flamegraph.pl, difffolded.pl, inferno, speedscope.app",
            carries: &[
                "How often each thread was sampled in each callchain; on machines with several types of cores, by type.",
            ],
            cannot: &["Everything but samples (record --sample); their times, and what the SMT siblings did."],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        let names = job.session.names()?;
        let uniform = CoreType::Uniform.as_str();
        // Threads with the same name are one.
        let mut lines = BTreeMap::<String, i64>::new();
        let request = engine::TableRequest { names: false, ..job.options.request(tables::FOLDED_STACKS.name) };
        request.rows(job.session, &mut |rows| {
            for row in rows.iter().map(|row| Row::<folded_stacks::Table>::new(row)) {
                let thread = row.get(folded_stacks::THREAD);
                let name = row.get(folded_stacks::COMM).or_else(|| thread.and_then(|thread| names.get(thread)));
                let name = name.map_or_else(|| format!("thread {}", row.get(folded_stacks::TID)), words::plain);
                let core_type = row.get(folded_stacks::CORE_TYPE);
                let on = if core_type == uniform { String::new() } else { format!("{core_type};") };
                let chain = row.get(folded_stacks::CALLCHAIN).unwrap_or(UNKNOWN);
                let line = lines.entry(format!("{on}{};{chain}", name.replace(';', ":"))).or_default();
                *line += row.get(folded_stacks::SAMPLES);
            }
            Ok(())
        })?;
        if lines.is_empty() {
            let no_samples = "there are no samples here: record with `corewise record --sample 997` or `perf record -g`, long enough for some";
            return Err(ExportError::Words(no_samples.to_owned()));
        }
        let out = to.next("stacks.folded")?;
        for (line, samples) in lines {
            writeln!(out, "{line} {samples}")?;
        }
        Ok(())
    }
}
