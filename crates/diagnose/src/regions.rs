//! Helpers for rules about parallel regions.

use crate::context::RuleContext;
use crate::finding::Claim;
use crate::pools::Processes;
use crate::rule::{Threshold, Unit};
use engine::EngineError;
use model::tables::{marks, parallel_regions, ready_wait, thread_state};
use model::{Ns, Row, Span, ThreadKey, pool_name};
use std::collections::{BTreeMap, BTreeSet};

/// Why such a rule could not be checked.
pub(crate) const NONE_MARKED: &str =
    "no parallel region is marked; mark the pieces of work (trace_marker, `record --mark`, an OpenMP tool)";

/// Smaller losses, summed over all regions of a name, are not reported.
pub(crate) const MIN_OF_REGIONS: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "half of severity.medium_share: losses of less than this share of the analysed time, summed over all regions of a name, are not reported",
};

/// Pieces per thread with which all threads arrive at about the same time: at most an eighth of the slowest one's work is left.
pub(crate) const PIECES: i64 = 8;

/// The process, if recorded, and the name of regions.
pub(crate) type Name = (Option<i64>, String);

/// How regions were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    ByMarks,
    Detected,
}

/// Sums up the regions of each process and name that were found in this way; `None` if there are none.
pub(crate) fn by_name<T: Default>(
    ctx: &RuleContext<'_>,
    source: Source,
    mut add: impl FnMut(&mut T, &Row<'_, parallel_regions::Table>),
) -> Result<Option<BTreeMap<Name, T>>, EngineError> {
    let mut regions = BTreeMap::<_, T>::new();
    ctx.each_row(parallel_regions::Table, |row| {
        if (row.get(parallel_regions::SOURCE) == "detected") != (source == Source::Detected) {
            return;
        }
        add(
            regions.entry((row.get(parallel_regions::PID), row.get(parallel_regions::NAME).to_owned())).or_default(),
            row,
        );
    })?;
    Ok(Some(regions).filter(|regions| !regions.is_empty()))
}

/// The threads that work in the regions of a name, each with the same potential saving.
pub(crate) fn workers(
    ctx: &RuleContext<'_>,
    source: Source,
    (pid, name): (Option<i64>, &str),
    ns: Ns,
) -> Result<Vec<Claim>, EngineError> {
    let mut working = BTreeSet::new();
    match source {
        Source::ByMarks => ctx.each_row(marks::Table, |row| {
            if row.get(marks::PID) == pid && row.get(marks::NAME.or_empty()) == name {
                working.extend(row.get(marks::THREAD));
            }
        })?,
        Source::Detected => {
            let processes = Processes::new(ctx)?;
            ctx.each_row(ready_wait::Table, |row| {
                let thread = row.get(ready_wait::THREAD);
                if processes.process(thread) == pid && pool_name(&ctx.name(thread)) == name {
                    working.insert(thread);
                }
            })?;
        }
    }
    let mut claims = Vec::new();
    ctx.each_row(ready_wait::Table, |row| {
        let (thread, tid) = row.all((ready_wait::THREAD, ready_wait::TID));
        if working.contains(&thread) {
            claims.push(ctx.claim(thread, tid, ns));
        }
    })?;
    Ok(claims)
}

/// For how long a thread was ready outside of regions. The regions are in order of time and do not overlap.
pub(crate) fn ready_outside(ctx: &RuleContext<'_>, thread: ThreadKey, regions: &[Span]) -> Result<Ns, EngineError> {
    let mut outside = Ns::ZERO;
    ctx.each_row(thread_state::Table, |row| {
        if row.get(thread_state::THREAD) != thread || row.get(thread_state::STATE) != "ready" {
            return;
        }
        let ready = Span::new(row.get(thread_state::START_NS), row.get(thread_state::END_NS));
        let first = regions.partition_point(|region| region.end <= ready.start);
        let within = regions[first..].iter().map_while(|region| region.overlap(ready)).map(|both| both.len());
        outside += ready.len() - within.sum::<Ns>();
    })?;
    Ok(outside)
}

/// The number of pieces for a fix: `each` per thread.
pub(crate) fn pieces(threads: i64, each: i64) -> u32 {
    u32::try_from(threads.clamp(1, 1 << 16).saturating_mul(each)).unwrap_or(u32::MAX)
}
