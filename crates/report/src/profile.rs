//! The samples of a recording or a part of it, by function and by callchain.

use crate::words::{grouped, plain};
use engine::{EngineError, Sampled, Session, TableRequest};
use model::tables::{self, folded_stacks, samples};
use model::{CoreType, Row, Span, ThreadKey, Tid};
use std::collections::BTreeMap;

/// The samples that a report shows, or with which it compares them. The idle task is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// Which recording or part they are of.
    pub(crate) about: String,
    /// The number of samples.
    pub(crate) samples: i64,
    /// By function and file; unknown names are empty.
    pub(crate) functions: BTreeMap<(String, String), FunctionSamples>,
    /// The number of samples of each callchain.
    pub(crate) stacks: BTreeMap<Stack, i64>,
}

/// The samples of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FunctionSamples {
    /// In this function.
    pub(crate) own: i64,
    /// In this function or in functions that it called.
    pub(crate) total: i64,
    /// Those in this function, by core type.
    pub(crate) by_type: BTreeMap<String, i64>,
}

/// A callchain and where it ran.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Stack {
    /// `None` if all cores are of one type.
    pub(crate) core_type: Option<String>,
    /// The name of the thread when it was sampled.
    pub(crate) thread: String,
    pub(crate) tid: Tid,
    /// The functions, outermost first, as in the table `folded_stacks`.
    pub(crate) chain: String,
}

impl Profile {
    /// Reads the samples of a recording, or of a part of it, of one process or of all.
    ///
    /// # Errors
    /// The trace cannot be read, or there is no such process.
    pub fn read(
        session: &Session,
        span: Option<Span>,
        process: Option<&str>,
        about: String,
    ) -> Result<Self, EngineError> {
        let mut profile = Self::functions(session, span, process, about)?;
        profile.read_stacks(session, span, process)?;
        Ok(profile)
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Reads the samples by function only.
    pub(crate) fn functions(
        session: &Session,
        span: Option<Span>,
        process: Option<&str>,
        about: String,
    ) -> Result<Self, EngineError> {
        let mut profile = Self { about, ..Self::default() };
        let request = TableRequest { table: tables::SAMPLES.name, span, process, names: false };
        request.rows(session, &mut |rows| {
            let rows = rows.iter().map(|row| Row::<samples::Table>::new(row));
            for row in rows.filter(|row| row.get(samples::THREAD) != Some(ThreadKey::IDLE)) {
                let of = (row.get(samples::FUNCTION.or_empty()), row.get(samples::FILE.or_empty()));
                let [own, total] = row.all([samples::SELF_SAMPLES, samples::TOTAL_SAMPLES]);
                let sum = profile.functions.entry((plain(of.0), plain(of.1))).or_default();
                (sum.own, sum.total) = (sum.own.saturating_add(own), sum.total.saturating_add(total));
                *sum.by_type.entry(row.get(samples::CORE_TYPE).to_owned()).or_default() += own;
                profile.samples = profile.samples.saturating_add(own);
            }
            Ok(())
        })?;
        Ok(profile)
    }

    /// The number of samples of each event that counts on one type of core only; `None` if there is no such event.
    pub(crate) fn by_core(&self, of: &Sampled) -> Option<String> {
        let count = |core: CoreType| {
            let samples = self.functions.values().filter_map(|function| function.by_type.get(core.as_str()));
            samples.fold(0, |sum, more| i64::saturating_add(sum, *more))
        };
        let words = of.by_core.iter().map(|(core, event)| {
            let core_type = core.as_str().replace('_', " ");
            format!("{} {} ({core_type})", plain(event), grouped(count(*core)))
        });
        (!of.by_core.is_empty()).then(|| words.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn read_stacks(
        &mut self,
        session: &Session,
        span: Option<Span>,
        process: Option<&str>,
    ) -> Result<(), EngineError> {
        let names = session.names()?;
        let request = TableRequest { table: tables::FOLDED_STACKS.name, span, process, names: false };
        request.rows(session, &mut |rows| {
            for row in rows.iter().map(|row| Row::<folded_stacks::Table>::new(row)) {
                let thread = row.get(folded_stacks::THREAD);
                if thread == Some(ThreadKey::IDLE) {
                    continue;
                }
                let name = row.get(folded_stacks::COMM).or_else(|| thread.and_then(|thread| names.get(thread)));
                let core_type = row.get(folded_stacks::CORE_TYPE);
                let stack = Stack {
                    core_type: (core_type != CoreType::Uniform.as_str()).then(|| core_type.to_owned()),
                    thread: name.map_or_else(|| format!("thread {}", row.get(folded_stacks::TID)), plain),
                    tid: row.get(folded_stacks::TID),
                    chain: row.get(folded_stacks::CALLCHAIN).unwrap_or("[unknown]").to_owned(),
                };
                *self.stacks.entry(stack).or_default() += row.get(folded_stacks::SAMPLES);
            }
            Ok(())
        })
    }
}
