//! Where a thread is allowed at an instant, looked up in all that was told.

use super::Analysed;
use super::instants::cores;
use model::{CpuId, Ns, ThreadKey, ThreadState};
use topology::cpulist;

/// The CPUs; `None`: nobody can say.
pub fn allowed(a: &Analysed, thread: ThreadKey, at: Ns) -> Option<Vec<CpuId>> {
    let tid = a.threads.iter().find(|s| s.thread == thread)?.tid;
    let told = a.allowed.iter().rfind(|t| t.tid == tid && t.at <= at)?;
    // Told of the life that was then; of the next one, where none was.
    let of_number = || a.threads.iter().filter(|s| s.tid == tid);
    let then = of_number().filter(|s| s.span.start <= told.at).max_by_key(|s| s.span.start);
    let lives = then.filter(|s| s.state != ThreadState::Exited);
    let next = || {
        let after = of_number().filter(|s| s.span.start > told.at && s.state != ThreadState::Exited);
        after.min_by_key(|s| s.span.start)
    };
    let of = lives.or_else(next)?;
    let begun = lives.map_or(of.span.start, |_| told.at);
    let exits = |s: &model::ThreadStretch| s.state == ThreadState::Exited && s.span.start > begun && s.span.start <= at;
    if of.thread != thread || begun > at || of_number().any(|s| s.thread == thread && exits(s)) {
        return None;
    }
    let text = a.names.get((told.cpus.0 as usize).checked_sub(1)?)?;
    let mut cpus = cpulist::parse(text).ok()?;
    let known: Vec<CpuId> = cores(a).iter().flat_map(|c| c.cpus.iter().map(|c| c.id)).collect();
    cpus.retain(|cpu| known.contains(cpu));
    Some(cpus).filter(|c| !c.is_empty())
}
