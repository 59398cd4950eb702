//! The search for stretches.

use crate::answer;
use crate::queries::QueryError;
use crate::query::Hits;
use crate::tracks::Tracks;
use engine::Session;
use model::tables::thread_state::{CPU, END_NS, START_NS, STATE, THREAD};
use model::{CpuId, Row, tables};
use std::time::{Duration, Instant};

/// The time limit of an answer; the client continues where it ended.
const BUDGET: Duration = Duration::from_secs(2);

/// Finds rows of `thread_state` that match the query, in order of their start. All that begin before `until_ns` in the metadata were
/// examined; later ones may match too.
pub(crate) fn hits(
    session: &Session,
    tracks: &Tracks,
    query: &Hits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<u8>, QueryError> {
    let (span, most) = query.validated().map_err(QueryError::Invalid)?;
    let by_thread = query.name.is_some() || query.tid.is_some() || query.pid.is_some();
    let threads = by_thread.then(|| tracks.keys(query.name.as_deref(), query.tid, query.pid));
    let kind = query.kind.as_deref().map(str::to_lowercase);
    let place = |cpu: Option<i64>| {
        let machine = session.machine();
        let id = cpu.and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId);
        let described = id.and_then(|id| machine.cpus.iter().find(|c| c.id == id));
        let vendor = described.and_then(|c| c.vendor_type.as_deref()).unwrap_or("").to_lowercase();
        let is_kind = |kind: &String| {
            id.is_some_and(|id| machine.core_type(id).as_str().contains(kind.as_str())) || vendor.contains(kind)
        };
        query.cpu.is_none_or(|wanted| cpu == Some(wanted))
            && query.core.is_none_or(|core| described.and_then(|c| c.core).map(i64::from) == Some(core))
            && kind.as_ref().is_none_or(is_kind)
    };
    let ends = Instant::now() + BUDGET;
    let (mut found, mut until, mut stopped) = (Vec::new(), span.start, false);
    let read = session.rows_within(tables::THREAD_STATE.name, Some(span), &mut |rows| {
        let late = Instant::now() > ends;
        for cells in rows {
            let row = Row::new(cells);
            let [start, end] = row.all([START_NS, END_NS]);
            // Stretches with the same start are in the same answer, so that the next one misses none.
            if start > until {
                until = start;
                stopped = late || found.len() >= most;
            }
            if stopped {
                break;
            }
            // A stretch that began before the range belongs to an earlier answer.
            let hit = start >= span.start
                && query.state.as_deref().is_none_or(|state| row.get(STATE) == state)
                && query.longer.is_none_or(|longer| (end - start).0 > longer)
                && threads.as_ref().is_none_or(|of| of.contains(&row.get(THREAD)))
                && place(row.get(CPU));
            if hit {
                found.push(cells.clone());
            }
        }
        stopped |= cancelled();
        if stopped { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    if !stopped {
        read.map_err(|e| QueryError::Failed(e.to_string()))?;
        until = span.end;
    }
    answer::rows_with_metadata(&tables::THREAD_STATE, &found, &[("until_ns", until.0.to_string())])
        .map_err(|e| QueryError::Failed(e.to_string()))
}
