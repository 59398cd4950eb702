//! The source lines in the callchains of a recording.

use crate::call_site::CallSite;
use model::{StackFrame, Stacks};
use rustc_hash::FxHashMap;

/// A source file and a line in it. The order is that of the files and lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LineId(u32);

/// The source lines of a recording.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceLines {
    /// Distinct and sorted.
    all: Vec<(Box<str>, u32)>,
}

impl SourceLines {
    pub(crate) fn new(stacks: &Stacks) -> Self {
        let line = |frame: &StackFrame| Some((stacks.name(frame.source).filter(|_| frame.line > 0)?, frame.line));
        let mut all: Vec<(&str, u32)> = stacks.chains.iter().flatten().filter_map(line).collect();
        all.sort_unstable();
        all.dedup();
        Self { all: all.iter().map(|(file, line)| ((*file).into(), *line)).collect() }
    }

    /// Returns the line of a frame.
    pub(crate) fn id(&self, stacks: &Stacks, frame: &StackFrame) -> Option<LineId> {
        let source = stacks.name(frame.source).filter(|_| frame.line > 0)?;
        let at = self.all.binary_search_by(|(file, line)| (&**file, *line).cmp(&(source, frame.line)));
        at.ok().map(|at| LineId(at as u32))
    }

    /// Returns the source file and the line of a call site.
    pub(crate) fn of_site(&self, site: Option<CallSite>) -> (Option<&str>, Option<i64>) {
        self.named(site.and_then(|site| site.line))
    }

    /// Returns the source file and the line.
    pub(crate) fn named(&self, id: Option<LineId>) -> (Option<&str>, Option<i64>) {
        let of = id.and_then(|id| self.all.get(id.0 as usize));
        of.map_or((None, None), |(file, line)| (Some(file), Some(i64::from(*line))))
    }
}

/// How often each line occurred.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineCounts(FxHashMap<LineId, [i64; 2]>);

impl LineCounts {
    pub(crate) fn add(&mut self, line: Option<LineId>, counts: [i64; 2]) {
        if let Some(line) = line {
            self.0.entry(line).or_default().iter_mut().zip(counts).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Returns the line with the most occurrences, by the first count and then by the second one; of equal ones the first.
    pub(crate) fn max_counted(&self) -> Option<LineId> {
        let some = self.0.iter().filter(|(_, counts)| counts.iter().any(|count| *count > 0));
        some.max_by_key(|(line, counts)| (**counts, std::cmp::Reverse(**line))).map(|(line, _)| *line)
    }
}
