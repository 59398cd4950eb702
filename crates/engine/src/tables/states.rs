//! The tables of stretches, which are as long as the recording.

use crate::read::foreign::Foreign;
use crate::session::Kind;
use crate::tables::overlaps;
use crate::tables::rows::Batches;
use crate::{EngineError, Session};
use model::{CpuStretch, Rows as _, Span, TableDef, ThreadKey, ThreadState, ThreadStretch, Value, tables};
use std::path::PathBuf;
use topology::Machine;

impl Session {
    /// Writes the rows of a table of stretches; for a part, those that overlap it.
    pub(crate) fn state_rows(
        &self,
        def: &'static TableDef,
        span: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        let of_threads = def.name == tables::THREAD_STATE.name;
        match self.kind() {
            Kind::Folder(folder, Some(inferred)) if of_threads => {
                inferred.threads(folder, span, |threads| self.thread_rows(threads, span, out))
            }
            Kind::Folder(folder, Some(inferred)) => inferred.cpus(folder, span, |cpus| cpu_rows(cpus, span, out)),
            Kind::Folder(folder, None) => Ok(folder.state_rows(def, span, |rows| {
                self.retyped(def, rows, out);
                Ok(())
            })?),
            Kind::Source(of) if of_threads => self.thread_rows_of(of, span, out),
            Kind::Source(of) => of.stretches(self.options(), |all| all.cpus(|cpus| cpu_rows(cpus, span, out))),
        }
    }

    /// Returns the Parquet file that has exactly the rows of a table of stretches, without the names of threads, for other readers of
    /// Parquet. `None` if there is none: the rows depend on the options, or the source is no current trace folder.
    #[must_use]
    pub fn states_file(&self, def: &TableDef) -> Option<PathBuf> {
        match self.kind() {
            Kind::Folder(folder, None) if self.options().machine.is_none() && self.range().is_none() => {
                folder.states_file(def)
            }
            _ => None,
        }
    }

    fn thread_rows_of(&self, of: &Foreign, span: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
        of.stretches(self.options(), |all| all.threads(|threads| self.thread_rows(threads, span, out)))
    }

    fn thread_rows(
        &self,
        threads: &[ThreadStretch],
        within: Option<Span>,
        out: &mut Batches<'_>,
    ) -> Result<(), EngineError> {
        let wanted = threads.iter().filter(|s| overlaps(s.span, within));
        wanted.for_each(|s| out.row(&thread_row(s, self.machine())));
        out.check()
    }
}

fn cpu_rows(cpus: &[CpuStretch], within: Option<Span>, out: &mut Batches<'_>) -> Result<(), EngineError> {
    cpus.iter().filter(|s| overlaps(s.span, within)).for_each(|s| out.row(&cpu_row(s)));
    out.check()
}

/// Returns a row of [`tables::THREAD_STATE`].
fn thread_row(s: &ThreadStretch, machine: &Machine) -> [Value; 11] {
    let running_on = s.cpu.filter(|_| s.state == ThreadState::Running);
    [
        s.thread.into(),
        i64::from(s.tid.0).into(),
        s.span.start.into(),
        s.span.end.into(),
        s.state.as_str().into(),
        s.cpu.map(|c| i64::from(c.0)).into(),
        running_on.map(|c| machine.core_type(c).as_str()).into(),
        s.reason.word().into(),
        (s.waker_thread != ThreadKey::UNKNOWN).then_some(s.waker_thread).into(),
        s.exec.get().into(),
        s.prio.get().map(i64::from).into(),
    ]
}

/// Returns a row of [`tables::CPU_STATE`].
fn cpu_row(s: &CpuStretch) -> [Value; 5] {
    [
        i64::from(s.cpu.0).into(),
        s.span.start.into(),
        s.span.end.into(),
        s.state.as_str().into(),
        (s.thread != ThreadKey::UNKNOWN).then_some(s.thread).into(),
    ]
}
