//! What rules about parallel regions share.

use crate::finding::Claim;
use crate::given::Given;
use crate::rule::{Threshold, Unit};
use engine::EngineError;
use model::tables::{marks, parallel_regions, ready_wait, thread_state};
use model::{Ns, Row, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Why such a rule could not look.
pub(crate) const NONE_MARKED: &str =
    "no parallel region is marked: mark the pieces of work (trace_marker, `record --mark`, an OpenMP tool)";

/// What is less in all regions of a name is not told of.
pub(crate) const LEAST_OF_REGIONS: Threshold = Threshold {
    name: "least_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "half of what makes a finding medium: what is less in all regions of a name is not told of",
};

/// Pieces for each thread with which all arrive at about the same time: an eighth of the slowest one's work is left at most.
pub(crate) const PIECES: i64 = 8;

/// A process, where it is told, and what its regions are called.
pub(crate) type Name = (Option<i64>, String);

/// The regions of each process and name, added up; `None` where there are none.
pub(crate) fn by_name<T: Default>(
    given: &Given<'_>,
    mut add: impl FnMut(&mut T, &Row<'_, parallel_regions::Table>),
) -> Result<Option<BTreeMap<Name, T>>, EngineError> {
    let mut regions = BTreeMap::<_, T>::new();
    given.each(parallel_regions::Table, |row| {
        add(
            regions.entry((row.get(parallel_regions::PID), row.get(parallel_regions::NAME).to_owned())).or_default(),
            row,
        );
    })?;
    Ok(Some(regions).filter(|regions| !regions.is_empty()))
}

/// Those who work in the regions of a name, each of which could be done so much sooner.
pub(crate) fn workers(given: &Given<'_>, pid: Option<i64>, name: &str, ns: i64) -> Result<Vec<Claim>, EngineError> {
    let mut working = BTreeSet::new();
    given.each(marks::Table, |row| {
        if row.get(marks::PID) == pid && row.get(marks::NAME.or_empty()) == name {
            working.extend(row.get(marks::THREAD));
        }
    })?;
    let mut claims = Vec::new();
    given.each(ready_wait::Table, |row| {
        let [thread, tid] = row.all([ready_wait::THREAD, ready_wait::TID]);
        if working.contains(&thread) {
            claims.push(given.claim(thread, tid, ns));
        }
    })?;
    Ok(claims)
}

/// For how long a thread was ready outside of regions, which come in order of time and do not overlap: as all of one name.
pub(crate) fn ready_outside(given: &Given<'_>, thread: i64, regions: &[Span]) -> Result<i64, EngineError> {
    let mut outside = 0_i64;
    given.each(thread_state::Table, |row| {
        if row.get(thread_state::THREAD) != thread || row.get(thread_state::STATE) != "ready" {
            return;
        }
        let ready = Span::new(Ns(row.get(thread_state::START_NS)), Ns(row.get(thread_state::END_NS)));
        let first = regions.partition_point(|region| region.end <= ready.start);
        let within = regions[first..].iter().map_while(|region| region.overlap(ready)).map(|both| both.len().0);
        outside = outside.saturating_add(ready.len().0 - within.sum::<i64>());
    })?;
    Ok(outside)
}

/// So many pieces a thread, as a change takes it.
pub(crate) fn pieces(threads: i64, each: i64) -> u32 {
    u32::try_from(threads.clamp(1, 1 << 16).saturating_mul(each)).unwrap_or(u32::MAX)
}
