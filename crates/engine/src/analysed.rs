//! Tables that analyses make of a trace's stretches, over all of it or a part.

use crate::import::{followed, of_steps, stretches};
use crate::session::Kind;
use crate::steps::{Read, followed_of, of_folder};
use crate::{EngineError, Session, account_with};
use account::Collector;
use model::{Ns, Span, Table, TableDef, tables};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an analysis makes it, so that it can be had of any part of a recording.
pub(crate) fn is_analysis(def: &TableDef) -> bool {
    analysis::ANALYSES.iter().any(|a| a.table.name == def.name)
}

/// Tables that were made of all of a trace. Who asks for a second one will want more: then all are made, in one pass.
#[derive(Default)]
pub(crate) struct Made {
    asked: AtomicBool,
    all: OnceLock<Vec<Table>>,
}

impl Session {
    /// Whether a table's rows can be had at once: it is stored, or follows from the sums. Others need a pass over the trace.
    #[must_use]
    pub fn is_at_hand(&self, def: &TableDef) -> bool {
        let stored = |def: &TableDef| match self.kind() {
            Kind::Folder(folder, _) => folder.has(def),
            Kind::Source(..) => false,
        };
        !Self::is_large(def) && (!is_analysis(def) || stored(def))
    }

    /// One of them.
    pub(crate) fn analysed(&self, def: &TableDef, span: Option<Span>) -> Result<Table, EngineError> {
        let every = || analysis::ANALYSES.iter().map(|a| a.table.name).collect::<Vec<_>>();
        if !is_analysis(def) {
            return Err(EngineError::Other(format!(
                "{} holds sums of the whole recording; of a part there are thread_state, cpu_state, {}",
                def.name,
                every().join(", ")
            )));
        }
        let many = span.is_none() && self.made.asked.swap(true, Ordering::Relaxed);
        if many && self.made.all.get().is_none() {
            let all = self.analyse(&every(), None)?;
            self.made.all.get_or_init(|| all);
        }
        let made = match self.made.all.get().filter(|_| many) {
            Some(all) => all.iter().find(|t| t.def.name == def.name).cloned(),
            None => self.analyse(&[def.name], span)?.into_iter().next(),
        };
        made.ok_or_else(|| EngineError::Other(format!("no analysis makes {}", def.name)))
    }

    /// The tables of some analyses, in one pass, over a part of the recording or all of it. A file is read again for that.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn analyse(&self, names: &[&str], span: Option<Span>) -> Result<Vec<Table>, EngineError> {
        let (read, followed, end, ready_known) = match self.kind() {
            Kind::Folder(folder, filled) => {
                let cpus = self.table(tables::CPUS.name)?;
                let knife = filled.as_ref().map(|f| f.knife.clone()).unwrap_or_default();
                let end = Ns(folder.manifest().end_ns);
                (of_folder(folder, knife)?, followed_of(&cpus), end, self.summary().ready_known)
            }
            Kind::Source(source, _) => {
                let mut names = Vec::new();
                let begin = |_: &_| Collector::default();
                let (accounted, collector) = account_with(source.as_ref(), self.options(), begin, |_, batch| {
                    names.extend(batch.names.iter().cloned());
                })?;
                let totals = &accounted.totals;
                let stretches = stretches(collector, &accounted, self.options());
                (Read { stretches, names }, followed(totals), totals.end, totals.ready_known)
            }
        };
        let whole = Span::new(Ns::ZERO, end);
        let span = span.map_or(whole, |s| Span::new(s.start.max(Ns::ZERO), s.end.min(end)));
        let context = analysis::Context { machine: self.machine(), span, followed: &followed, ready_known };
        let Read { mut stretches, names: told } = read;
        let mut analyses = analysis::Running::start(names, &context, told);
        stretches.steps(|steps| analyses.push(&of_steps(steps))).map_err(EngineError::temporary)?;
        Ok(analyses.finish())
    }
}
