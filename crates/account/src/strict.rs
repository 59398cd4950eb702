//! Lossy time as unknown time, in stretches: each is cut where a loss begins and where it ends. The pieces of a long stretch
//! begin after stretches that began later, so they wait for their turn; those that wait are as many as are open at once.
//!
//! ```text
//!   A  ────────────────xxxxxxxxx────      x: events were lost
//!   B        ─────────────                in order of start: A, B, A's x, A's rest
//! ```

use crate::LossIndex;
use model::{CpuId, CpuState, CpuStretch, Ns, Reason, Span, ThreadKey, ThreadState, ThreadStretch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A stretch that may be cut.
pub(crate) trait Cut: Copy {
    fn span(&self) -> Span;
    /// The same state over a part of its span.
    fn over(self, part: Span) -> Self;
    /// Unknown, for the loss.
    fn doubted(self) -> Self;
    /// Whose losses count: a CPU's (`Some`), or any (`None`); the outer `None`: no loss makes this doubtful.
    fn losses_of(&self) -> Option<Option<CpuId>>;
}

impl Cut for ThreadStretch {
    fn span(&self) -> Span {
        self.span
    }
    fn over(self, part: Span) -> Self {
        // What was charged for the whole is not told of its parts.
        Self { span: part, exec: if part == self.span { self.exec } else { Ns::MIN }, ..self }
    }
    fn doubted(self) -> Self {
        Self { state: ThreadState::Unknown, reason: Reason::Lossy, exec: Ns::MIN, ..self }
    }
    fn losses_of(&self) -> Option<Option<CpuId>> {
        match self.state {
            ThreadState::Exited => None,
            ThreadState::Running => Some(self.cpu),
            _ => Some(None),
        }
    }
}

impl Cut for CpuStretch {
    fn span(&self) -> Span {
        self.span
    }
    fn over(self, part: Span) -> Self {
        Self { span: part, ..self }
    }
    fn doubted(self) -> Self {
        Self { state: CpuState::Unknown, thread: ThreadKey::UNKNOWN, ..self }
    }
    fn losses_of(&self) -> Option<Option<CpuId>> {
        Some(Some(self.cpu))
    }
}

/// Cuts stretches that come in order of start, and hands the pieces on in order of start.
pub(crate) struct Cutter<'l, T> {
    losses: &'l LossIndex,
    /// (begin of the next piece, order of coming, place in `open`).
    waiting: BinaryHeap<Reverse<(Ns, u64, usize)>>,
    open: Vec<T>,
    free: Vec<usize>,
    came: u64,
    out: Vec<T>,
}

impl<'l, T: Cut> Cutter<'l, T> {
    pub(crate) fn new(losses: &'l LossIndex) -> Self {
        Self { losses, waiting: BinaryHeap::new(), open: Vec::new(), free: Vec::new(), came: 0, out: Vec::new() }
    }

    pub(crate) fn push(&mut self, stretches: &[T], mut each: impl FnMut(&[T])) {
        for stretch in stretches {
            let start = stretch.span().start;
            self.hand_out(start);
            let at = match self.free.pop() {
                Some(at) => at,
                None => {
                    self.open.push(*stretch);
                    self.open.len() - 1
                }
            };
            self.open[at] = *stretch;
            self.waiting.push(Reverse((start, self.came, at)));
            self.came += 1;
        }
        each(&self.out);
        self.out.clear();
    }

    pub(crate) fn finish(mut self, mut each: impl FnMut(&[T])) {
        self.hand_out(Ns::MAX);
        each(&self.out);
    }

    /// All pieces that begin by then.
    fn hand_out(&mut self, until: Ns) {
        while let Some(Reverse((from, came, at))) =
            self.waiting.peek().copied().filter(|Reverse((from, ..))| *from <= until)
        {
            self.waiting.pop();
            let stretch = self.open[at];
            let rest = Span::new(from, stretch.span().end);
            let lossy = stretch.losses_of().and_then(|cpu| self.losses.parts(cpu, rest).next());
            let piece = match lossy {
                None => stretch.over(rest),
                Some(part) if part.start > from => stretch.over(Span::new(from, part.start)),
                Some(part) => stretch.doubted().over(part),
            };
            self.out.push(piece);
            if piece.span().end < rest.end {
                self.waiting.push(Reverse((piece.span().end, came, at)));
            } else {
                self.free.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::LossSpan;

    #[test]
    fn pieces_come_in_order_of_start() {
        let loss = LossSpan { from: Ns(15), to: Ns(20), cpu: Some(CpuId(0)), events: 1 };
        let losses = LossIndex::new(&[loss], Ns(40));
        let stretch = |cpu, start, end| CpuStretch {
            span: Span::new(Ns(start), Ns(end)),
            cpu: CpuId(cpu),
            state: CpuState::Busy,
            thread: ThreadKey(1),
        };
        let mut seen = Vec::new();
        let mut cutter = Cutter::new(&losses);
        cutter.push(&[stretch(0, 0, 30), stretch(1, 10, 18)], |s| seen.extend_from_slice(s));
        cutter.push(&[stretch(1, 18, 40), stretch(0, 30, 40)], |s| seen.extend_from_slice(s));
        cutter.finish(|s| seen.extend_from_slice(s));
        let told: Vec<_> = seen.iter().map(|s| (s.cpu.0, s.span.start.0, s.span.end.0, s.state)).collect();
        let (busy, unknown) = (CpuState::Busy, CpuState::Unknown);
        assert_eq!(
            told,
            [
                (0, 0, 15, busy),
                (1, 10, 18, busy),
                (0, 15, 20, unknown),
                (1, 18, 40, busy),
                (0, 20, 30, busy),
                (0, 30, 40, busy)
            ]
        );
    }
}
