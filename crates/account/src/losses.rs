//! An index of the reported losses, to look up how much of a stretch they cover.

use model::{CpuId, LossSpan, Ns, Span};
use std::collections::BTreeMap;

/// The reported losses of a recording. Time of a CPU and running time on it is lossy while that CPU's buffer lost events. All
/// other time of threads is lossy while the buffer of any CPU lost events, because a wakeup may be lost.
#[derive(Clone, Debug, Default)]
pub struct LossIndex {
    any: Vec<Span>,
    /// Losses of each CPU, merged with those without a CPU.
    of_cpu: BTreeMap<CpuId, Vec<Span>>,
    /// Losses without a CPU, for the CPUs that have no losses of their own.
    of_none: Vec<Span>,
}

impl LossIndex {
    /// Returns the index of these losses; `end` is the end of the recording.
    #[must_use]
    pub fn new(losses: &[LossSpan], end: Ns) -> Self {
        let span = |loss: &LossSpan| {
            let (from, to) = loss.within(Ns::ZERO, end);
            Span::new(from, to)
        };
        let of_none: Vec<Span> = losses.iter().filter(|l| l.cpu.is_none()).map(span).collect();
        let mut of_cpu: BTreeMap<CpuId, Vec<Span>> = BTreeMap::new();
        for loss in losses {
            if let Some(cpu) = loss.cpu {
                of_cpu.entry(cpu).or_insert_with(|| of_none.clone()).push(span(loss));
            }
        }
        Self {
            any: Span::merged(losses.iter().map(span).collect()),
            of_cpu: of_cpu.into_iter().map(|(cpu, spans)| (cpu, Span::merged(spans))).collect(),
            of_none: Span::merged(of_none),
        }
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Returns the lossy parts of a span, in order: for time on a CPU, or (`None`) for time off any CPU.
    pub fn parts(&self, cpu: Option<CpuId>, of: Span) -> impl Iterator<Item = Span> + '_ {
        let spans = match cpu {
            None => &self.any,
            Some(cpu) => self.of_cpu.get(&cpu).unwrap_or(&self.of_none),
        };
        let first = spans.partition_point(|s| s.end <= of.start);
        spans.iter().skip(first).take_while(move |s| s.start < of.end).filter_map(move |s| s.overlap(of))
    }

    /// Returns the length of the longest part of a span without losses.
    #[must_use]
    pub fn longest_without(&self, cpu: Option<CpuId>, of: Span) -> Ns {
        let (mut at, mut longest) = (of.start, Ns::ZERO);
        for part in self.parts(cpu, of) {
            longest = longest.max(part.start - at);
            at = part.end;
        }
        longest.max(of.end - at)
    }

    /// Returns how much of a span is lossy.
    #[must_use]
    pub fn overlap(&self, cpu: Option<CpuId>, of: Span) -> Ns {
        self.parts(cpu, of).map(Span::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{MaybeCount, MaybeNs};

    fn loss(from: i64, to: i64, cpu: Option<u32>) -> LossSpan {
        let [from, to] = [from, to].map(|time| MaybeNs::new(Ns(time)));
        LossSpan { from, to, cpu: cpu.map(CpuId), events: MaybeCount::UNKNOWN }
    }

    #[test]
    fn overlaps_count_once() {
        let losses = [loss(10, 20, Some(0)), loss(15, 30, Some(1)), loss(50, 60, None), loss(i64::MIN, 2, Some(1))];
        let index = LossIndex::new(&losses, Ns(100));
        let whole = Span::new(Ns(0), Ns(100));
        assert_eq!(index.overlap(None, whole), Ns(2 + 20 + 10));
        assert_eq!(index.overlap(Some(CpuId(0)), whole), Ns(10 + 10));
        assert_eq!(index.overlap(Some(CpuId(1)), whole), Ns(2 + 15 + 10));
        assert_eq!(index.overlap(Some(CpuId(7)), whole), Ns(10));
        assert_eq!(index.overlap(None, Span::new(Ns(12), Ns(13))), Ns(1));
        assert_eq!(index.overlap(None, Span::new(Ns(30), Ns(50))), Ns(0));
    }
}
