//! The affinity of a thread at an instant, looked up in all records.

use super::Analysed;
use super::instants::cores;
use model::{CpuId, Ns, ThreadKey, ThreadState};
use topology::cpulist;

/// Returns the CPUs; `None`: unknown.
pub fn allowed(a: &Analysed, thread: ThreadKey, at: Ns) -> Option<Vec<CpuId>> {
    let tid = a.threads.iter().find(|s| s.thread == thread)?.tid;
    let record = a.allowed.iter().rfind(|t| t.tid == tid && t.at <= at)?;
    // A record applies to the instance at that time; to the next one if there was none.
    let of_number = || a.threads.iter().filter(|s| s.tid == tid);
    let then = of_number().filter(|s| s.span.start <= record.at).max_by_key(|s| s.span.start);
    let living = then.filter(|s| s.state != ThreadState::Exited);
    let next = || {
        let after = of_number().filter(|s| s.span.start > record.at && s.state != ThreadState::Exited);
        after.min_by_key(|s| s.span.start)
    };
    let of = living.or_else(next)?;
    let begun = living.map_or(of.span.start, |_| record.at);
    let exits = |s: &model::ThreadStretch| s.state == ThreadState::Exited && s.span.start > begun && s.span.start <= at;
    if of.thread != thread || begun > at || of_number().any(|s| s.thread == thread && exits(s)) {
        return None;
    }
    let text = a.names.get((record.cpus.0 as usize).checked_sub(1)?)?;
    let mut cpus = cpulist::parse(text).ok()?;
    let known: Vec<CpuId> = cores(a).iter().flat_map(|c| c.cpus.iter().map(|c| c.id)).collect();
    cpus.retain(|cpu| known.contains(cpu));
    Some(cpus).filter(|c| !c.is_empty())
}
