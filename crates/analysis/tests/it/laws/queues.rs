//! Ready time, piece by piece. Within a piece nothing changes: no CPU, no run queue or affinity of the thread, no
//! throttling and no parking. Slow, but simple.

use super::support::Analysed;
use model::{CpuId, CpuState, CpuStretch, Ns, Span, ThreadState, ThreadStretch};

/// A piece of a ready stretch.
pub struct Piece<'a> {
    pub of: &'a ThreadStretch,
    pub span: Span,
    /// The CPU of its run queue.
    pub queue: Option<CpuId>,
}

pub fn pieces(a: &Analysed) -> Vec<Piece<'_>> {
    let mut times: Vec<Ns> = a.cpus.iter().map(|s| s.span.start).chain(a.moves.iter().map(|m| m.at)).collect();
    times.extend(a.allowed.iter().map(|t| t.at));
    times.extend(super::support::parked::changes(a));
    times.extend(a.throttles.iter().map(|t| t.at));
    times.sort_unstable();
    times.dedup();
    let mut pieces = Vec::new();
    for of in a.threads.iter().filter(|s| s.state == ThreadState::Ready) {
        let Some(within) = of.span.overlap(a.span) else { continue };
        let inside = times.iter().copied().filter(|t| *t > within.start && *t < within.end);
        let mut start = within.start;
        for end in inside.chain([within.end]) {
            let mut moves = a.moves.iter().filter(|m| m.tid == of.tid && m.at >= of.span.start && m.at <= start);
            let queue = moves.next_back().map(|m| m.to).or(of.cpu);
            pieces.push(Piece { of, span: Span::new(start, end), queue });
            start = end;
        }
    }
    pieces
}

/// The CPUs in the tables.
pub fn cpus(a: &Analysed) -> Vec<CpuId> {
    let listed = a.machine.cpus.iter().filter(|c| c.online).map(|c| c.id);
    let followed = a.totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu);
    let mut all: Vec<CpuId> = listed.chain(followed).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The state of a CPU at an instant, if it is known.
pub fn at(a: &Analysed, cpu: CpuId, time: Ns) -> Option<&CpuStretch> {
    let here = |s: &&CpuStretch| s.cpu == cpu && s.span.start <= time && time < s.span.end;
    a.cpus.iter().find(here).filter(|s| s.state != CpuState::Unknown)
}
