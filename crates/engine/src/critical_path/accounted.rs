//! The account of an objective's time, and the sums of its critical path by thread.

use super::PathWindow;
use crate::{EngineError, Session};
use analysis::critical::{Account, Foreign, Parts, Sums, Which};
use model::{Ns, Row, Span, Table, ThreadKey, tables};
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

impl Session {
    /// Returns the paths of some windows, or (`None`) the path to the end of a range. `foreign`: the threads that are not of the program.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn account(
        &self,
        windows: Option<&PathWindows>,
        span: Option<Span>,
        foreign: &Foreign,
    ) -> Result<AccountedPaths, EngineError> {
        let span = span.or(self.range());
        let made = match (windows, self.within(span)) {
            (_, None) => None,
            (Some(windows), Some(_)) => Some(self.paths_of_windows(windows, foreign)?),
            (None, Some(within)) => self.path_to_end(within, foreign)?,
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

    /// Sets the windows of the table [`tables::OBJECTIVE_TIME`]; without, it is that of the path to the end of the requested range.
    #[must_use]
    pub fn with_windows(mut self, windows: Option<PathWindows>) -> Self {
        self.windows = windows;
        self
    }

    fn paths_of_windows(&self, windows: &PathWindows, foreign: &Foreign) -> Result<Made, EngineError> {
        let mut made = Made::new(windows.all.iter().map(|(_, which)| *which), windows.own);
        let all: Vec<PathWindow> = windows.all.iter().map(|(window, _)| *window).collect();
        self.pieces_of_windows(&all, foreign, &mut |window, piece| {
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
    fn path_to_end(&self, within: Span, foreign: &Foreign) -> Result<Option<Made>, EngineError> {
        let mut made = Made { length: within.len(), ..Made::new([Some(Which::Slow)], 0) };
        let ran = self.path_to(self.ends, within, foreign, |piece| {
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
