//! The account of an objective's time, and the sums of its critical path by thread.

use super::PathWindow;
use crate::{EngineError, Session};
use analysis::critical::{Account, Outside, Parts, Sums, Which};
use model::{Ns, Row, Rows, Span, Table, ThreadKey, tables};
use std::collections::BTreeMap;

/// Windows whose paths are followed.
#[derive(Clone, Debug, Default)]
pub struct PathWindows {
    /// The windows; those of the objective come first. `None`: not in the account.
    pub all: Vec<(PathWindow, Option<Which>)>,
    /// The number of windows of the objective.
    pub own: usize,
}

/// The critical paths of an objective.
#[derive(Clone, Debug)]
pub struct AccountedPaths {
    /// The account of their time.
    pub account: Account,
    /// The windows of the objective, or the path to the end: rows of [`tables::CRITICAL_BY_THREAD`].
    pub by_thread: Table,
    /// The time of each thread on the path of each window of the objective, by thread key.
    pub windows: Vec<BTreeMap<ThreadKey, Ns>>,
}

/// What the account of a recording is about.
#[derive(Clone, Debug, Default)]
pub struct PathObjective {
    /// The windows; `None`: the path to the end.
    pub windows: Option<PathWindows>,
    /// The threads that are not of the program.
    pub outside: Outside,
}

/// Finds the objective of a recording.
pub type FindObjective = Box<dyn Fn(&Session) -> Result<PathObjective, EngineError> + Send + Sync>;

impl Session {
    /// Returns the paths of some windows, or (`None`) the path to the end of a range. `outside`: the threads that are not of the program.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn account(
        &self,
        windows: Option<&PathWindows>,
        span: Option<Span>,
        outside: &Outside,
    ) -> Result<AccountedPaths, EngineError> {
        let span = span.or(self.range());
        let made = match (windows, self.within(span)) {
            (_, None) => None,
            (Some(windows), Some(_)) => Some(self.paths_of_windows(windows, outside)?),
            (None, Some(within)) => self.path_to_end(within, outside)?,
        };
        let Some(mut made) = made else { return Ok(AccountedPaths::of_nothing()) };
        let with_waits = windows.is_none();
        self.rows_of(tables::OBJECT_WAITS.name, span, &mut |rows| {
            for row in rows.iter().map(|cells| Row::new(cells)) {
                made.parts.wait(&row);
                if with_waits {
                    made.sums.wait(&row);
                }
            }
            Ok(())
        })?;
        if with_waits {
            made.sums.all_waits();
        }
        let mut by_thread = Table::new(&tables::CRITICAL_BY_THREAD);
        made.sums.finish(Span::new(Ns::ZERO, made.length), &mut by_thread);
        let account = Account::new(made.parts.complete(), &self.thread_groups()?);
        Ok(AccountedPaths { account, by_thread, windows: made.windows })
    }

    /// Sets how the objective of the table [`tables::OBJECTIVE_TIME`] is found, when the table of a whole recording is requested. Without, and of
    /// a range, it is the end.
    #[must_use]
    pub fn with_objective(mut self, find: FindObjective) -> Self {
        self.objective = Some(find);
        self
    }

    /// Writes the rows of [`tables::OBJECTIVE_TIME`].
    pub(super) fn objective_time(&self, span: Option<Span>, out: &mut dyn Rows) -> Result<(), EngineError> {
        let is_whole = span.is_none() && self.part.is_none() && self.ends.is_none();
        let found = match self.objective.as_ref().filter(|_| is_whole) {
            Some(find) => find(self)?,
            None => PathObjective::default(),
        };
        self.account(found.windows.as_ref(), span, &found.outside)?.account.rows(out);
        Ok(())
    }

    fn paths_of_windows(&self, windows: &PathWindows, outside: &Outside) -> Result<Made, EngineError> {
        let mut made = Made::new(windows.all.iter().map(|(_, which)| *which), windows.own);
        let all: Vec<PathWindow> = windows.all.iter().map(|(window, _)| *window).collect();
        self.pieces_of_windows(&all, outside, &mut |window, piece| {
            made.parts.push(window, piece);
            if let Some(of_threads) = made.windows.get_mut(window) {
                made.sums.push(piece);
                *of_threads.entry(piece.thread).or_default() += piece.span.len();
            }
            Ok(())
        })?;
        made.length = all.iter().take(windows.own).map(|window| window.span.len()).sum();
        Ok(made)
    }

    /// `None`: no thread ran.
    fn path_to_end(&self, within: Span, outside: &Outside) -> Result<Option<Made>, EngineError> {
        let mut made = Made { length: within.len(), ..Made::new([Some(Which::Slow)], 0) };
        let ran = self.path_to(self.ends, within, outside, |piece| {
            made.sums.push(piece);
            made.parts.push(0, piece);
        })?;
        Ok(ran.then_some(made))
    }
}

/// What is made of the pieces of paths.
struct Made {
    parts: Parts,
    sums: Sums,
    windows: Vec<BTreeMap<ThreadKey, Ns>>,
    length: Ns,
}

impl Made {
    fn new(windows: impl IntoIterator<Item = Option<Which>>, own: usize) -> Self {
        let (parts, sums) = (Parts::new(windows), Sums::default());
        Self { parts, sums, windows: vec![BTreeMap::new(); own], length: Ns::ZERO }
    }
}

impl AccountedPaths {
    /// Those of a range in which no thread ran.
    #[must_use]
    pub fn of_nothing() -> Self {
        let by_thread = Table::new(&tables::CRITICAL_BY_THREAD);
        Self { account: Account::default(), by_thread, windows: Vec::new() }
    }
}
