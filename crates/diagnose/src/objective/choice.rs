//! Which objective a trace shows.

use super::path::ObjectivePath;
use super::periods::PeriodicThreads;
use super::{Compared, Objective, ObjectiveKind, Target, marks, requests};
use crate::context::RuleContext;
use crate::program::Program;
use engine::EngineError;
use model::tables::{self, threads};
use model::{Ns, TableDef, ThreadKey, Tid};

/// The tables that are read to choose an objective, and to tell which processes belong to the recorded program.
pub(crate) const TABLES: [&TableDef; 11] = [
    &tables::CPUS,
    &tables::WAITS,
    &tables::SAMPLES,
    &tables::WAKERS,
    &tables::READY_WAIT,
    &tables::PRIORITY_RESIDENCY,
    &tables::MARKS,
    &tables::MARK_STRETCHES,
    &tables::PERIODS,
    &tables::REQUESTS,
    &tables::THREADS,
];

/// The choice of an objective, before its critical path is followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The end of the recorded command with this name.
    End(String),
    /// The periodic thread with this key.
    Period(ThreadKey),
    /// The requests that the thread of this name or TID answers.
    Requests(String),
    /// The marks with this name.
    Marks(String),
    /// What the thread with this key does.
    Thread(ThreadKey),
    /// None of these: throughput.
    Throughput,
}

impl Choice {
    /// What the user set, or else what the trace shows: marked frames, then a periodic thread of the program that does a part of its work,
    /// then the end of the recorded command, else throughput.
    ///
    /// # Errors
    /// The trace cannot be read, or lacks what the user named.
    pub(crate) fn new(ctx: &RuleContext<'_>, program: &Program, target: Option<&Target>) -> Result<Self, EngineError> {
        Ok(match target {
            Some(Target::End) => {
                let name = command(ctx)?.ok_or_else(|| {
                    EngineError::NotFound("--objective end: the trace was not recorded for a command".to_owned())
                })?;
                Self::End(name.0)
            }
            Some(Target::Throughput) => Self::Throughput,
            Some(Target::Thread(name)) => Self::thread(ctx, name)?,
            Some(Target::Period(name)) => Self::Period(PeriodicThreads::new(ctx)?.named(ctx, name)?),
            Some(Target::Requests(Some(name))) => Self::Requests(name.clone()),
            Some(Target::Requests(None)) => Self::Requests(requests::busiest(ctx)?),
            Some(Target::Frames) => Self::Marks(marks::of_frames(ctx)?.ok_or_else(|| {
                EngineError::NotFound(
                    "--objective frames: no thread completed 20 marks whose name begins with `frame` (`corewise table TRACE marks` lists all \
                     marks; --objective mark:NAME takes others)"
                        .to_owned(),
                )
            })?),
            Some(Target::Marks(name)) => Self::Marks(name.clone()),
            None => Self::shown(ctx, program)?,
        })
    }

    /// The thread of this name or TID: its periods, if it is periodic.
    fn thread(ctx: &RuleContext<'_>, name: &str) -> Result<Self, EngineError> {
        if let Ok(thread) = PeriodicThreads::new(ctx)?.named(ctx, name) {
            return Ok(Self::Period(thread));
        }
        let (tid, mut found) = (name.parse().ok().map(Tid), None);
        ctx.each_row(threads::Table, |row| {
            let (thread, running) = row.all((threads::THREAD, threads::RUNNING_NS));
            if ctx.full_name(thread) == name || tid == Some(row.get(threads::TID)) {
                found = found.max(Some((running, thread)));
            }
        })?;
        found.map(|(_, thread)| Self::Thread(thread)).ok_or_else(|| {
            EngineError::NotFound(format!(
                "--objective thread:{name}: no thread has this name or TID (`corewise table TRACE threads` lists all)"
            ))
        })
    }

    fn shown(ctx: &RuleContext<'_>, program: &Program) -> Result<Self, EngineError> {
        if let Some(name) = marks::of_frames(ctx)? {
            return Ok(Self::Marks(name));
        }
        let is_own = |thread: ThreadKey| program.is_own(thread) && !ctx.is_kernel_thread(thread);
        if let Some(thread) = PeriodicThreads::new(ctx)?.main(ctx, is_own)? {
            return Ok(Self::Period(thread));
        }
        Ok(match command(ctx)? {
            Some((name, true)) => Self::End(name),
            _ => Self::Throughput,
        })
    }
}

impl ObjectivePath {
    /// The objective ([`Choice::new`]) and the critical path to it.
    ///
    /// # Errors
    /// The trace cannot be read, or lacks what the user named.
    pub(crate) fn new(ctx: &RuleContext<'_>, program: &Program, target: Option<&Target>) -> Result<Self, EngineError> {
        let outside = ctx.outside(program)?;
        let mut path = match Choice::new(ctx, program, target)? {
            Choice::End(name) => {
                let objective = Objective { name: Some(name), ..Objective::of(ObjectiveKind::End) };
                Self::to_end(ctx, objective, &outside, true)?
            }
            Choice::Period(thread) => PeriodicThreads::new(ctx)?.objective(ctx, thread, &outside)?,
            Choice::Requests(name) => requests::objective(ctx, &name, &outside)?,
            Choice::Marks(name) => marks::objective(ctx, &name, &outside)?,
            Choice::Thread(thread) => Self::of_thread(ctx, thread, &outside)?,
            Choice::Throughput => Self::to_end(ctx, Objective::of(ObjectiveKind::Throughput), &outside, false)?,
        };
        path.objective.set = target.is_some();
        path.objective.sentence = path.objective.described();
        Ok(path)
    }

    /// The lateness of a thread whose timer sets when the command ends, if it is often late; `None` if it is not, or if the user set the
    /// objective.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn period_too(
        &self,
        ctx: &RuleContext<'_>,
        program: &Program,
        thread: ThreadKey,
    ) -> Result<Option<Self>, EngineError> {
        let periods = PeriodicThreads::new(ctx)?;
        if self.objective.kind != ObjectiveKind::End || self.objective.set || !periods.is_late(thread) {
            return Ok(None);
        }
        periods.objective(ctx, thread, &ctx.outside(program)?).map(Some)
    }

    /// The end of the recorded command, which is as plausible as a periodic thread that is hardly ever late; `None` if it is not, or if the user
    /// set the objective.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn end_too(&self, ctx: &RuleContext<'_>, program: &Program) -> Result<Option<Self>, EngineError> {
        let is_healthy = self.objective.kind == ObjectiveKind::Period && self.compared == Compared::FewLate;
        match command(ctx)? {
            Some((name, true)) if is_healthy && !self.objective.set => {
                let objective = Objective { name: Some(name), ..Objective::of(ObjectiveKind::End) };
                Ok(Some(Self::to_end(ctx, objective, &ctx.outside(program)?, true)?))
            }
            _ => Ok(None),
        }
    }
}

impl ObjectivePath {
    /// The slow requests of the program's thread that answers most, if these are a part of the time that matters; `None` if they are not, or
    /// if the objective is set by the user or is about slow frames or periods already.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub(crate) fn requests_too(&self, ctx: &RuleContext<'_>, program: &Program) -> Result<Option<Self>, EngineError> {
        let is_open = match self.objective.kind {
            ObjectiveKind::End | ObjectiveKind::Throughput => true,
            ObjectiveKind::Period => self.compared == Compared::FewLate,
            ObjectiveKind::Requests | ObjectiveKind::Marks | ObjectiveKind::Thread => false,
        };
        if !is_open || self.objective.set {
            return Ok(None);
        }
        requests::slow(ctx, program)
    }
}

/// The name of the recorded command, and whether all of the recording is analysed and its main thread ended in it.
fn command(ctx: &RuleContext<'_>) -> Result<Option<(String, bool)>, EngineError> {
    let Some(focus) = ctx.facts().focus.map(Tid) else { return Ok(None) };
    let mut found = None;
    ctx.each_row(threads::Table, |row| {
        if row.get(threads::TID) == focus {
            found =
                Some((ctx.name(row.get(threads::THREAD)), row.get(threads::EXITED_NS) > Ns::ZERO && !ctx.is_part()));
        }
    })?;
    Ok(found)
}
