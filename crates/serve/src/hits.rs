//! Stretches that are searched for.

use crate::answer;
use crate::asked::Hits;
use crate::questions::Unanswered;
use crate::tracks::Tracks;
use engine::Session;
use model::tables::thread_state::{CPU, END_NS, START_NS, STATE, THREAD};
use model::{CpuId, Row, tables};
use std::time::{Duration, Instant};

/// So long is looked; who wants more goes on behind what was looked at.
const BUDGET: Duration = Duration::from_secs(2);

/// Those of `thread_state` that hold all that is asked for, in order of their start. All that begin before the
/// metadata's `until_ns` were looked at; from there on there may be more.
pub(crate) fn hits(
    session: &Session,
    tracks: &Tracks,
    asked: &Hits,
    left: &dyn Fn() -> bool,
) -> Result<Vec<u8>, Unanswered> {
    let (span, most) = asked.wanted().map_err(Unanswered::Asked)?;
    let by_thread = asked.name.is_some() || asked.tid.is_some() || asked.pid.is_some();
    let threads = by_thread.then(|| tracks.keys(asked.name.as_deref(), asked.tid, asked.pid));
    let kind = asked.kind.as_deref().map(str::to_lowercase);
    let place = |cpu: Option<i64>| {
        let machine = session.machine();
        let id = cpu.and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId);
        let here = id.and_then(|id| machine.cpus.iter().find(|c| c.id == id));
        let vendor = here.and_then(|c| c.vendor_type.as_deref()).unwrap_or("").to_lowercase();
        let is_kind = |kind: &String| {
            id.is_some_and(|id| machine.core_type(id).as_str().contains(kind.as_str())) || vendor.contains(kind)
        };
        asked.cpu.is_none_or(|wanted| cpu == Some(wanted))
            && asked.core.is_none_or(|core| here.and_then(|c| c.core).map(i64::from) == Some(core))
            && kind.as_ref().is_none_or(is_kind)
    };
    let ends = Instant::now() + BUDGET;
    let (mut found, mut until, mut stopped) = (Vec::new(), span.start.0, false);
    let read = session.rows_within(tables::THREAD_STATE.name, Some(span), &mut |rows| {
        let late = Instant::now() > ends;
        for cells in rows {
            let row = Row::new(cells);
            let [start, end] = row.all([START_NS, END_NS]);
            // Those that begin together are told together, so that going on behind them misses none.
            if start > until {
                until = start;
                stopped = late || found.len() >= most;
            }
            if stopped {
                break;
            }
            // One that began before was found by who looked there.
            let hit = start >= span.start.0
                && asked.state.as_deref().is_none_or(|state| row.get(STATE) == state)
                && asked.longer.is_none_or(|longer| end - start > longer)
                && threads.as_ref().is_none_or(|of| of.contains(&row.get(THREAD)))
                && place(row.get(CPU));
            if hit {
                found.push(cells.clone());
            }
        }
        stopped |= left();
        if stopped { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    });
    if !stopped {
        read.map_err(|e| Unanswered::Failed(e.to_string()))?;
        until = span.end.0;
    }
    answer::told(&tables::THREAD_STATE, &found, &[("until_ns", until.to_string())])
        .map_err(|e| Unanswered::Failed(e.to_string()))
}
