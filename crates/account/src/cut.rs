//! Stretches in pieces: an unknown one is cut where what was inferred begins and ends, any where lost events make it unknown.
//! The pieces of a long stretch begin after stretches that began later, so they wait for their turn; those that wait are as
//! many as are open at once.
//!
//! ```text
//!   A  ────────────────xxxxxxxxx────      x: events were lost
//!   B        ─────────────                in order of start: A, B, A's x, A's rest
//! ```

use crate::LossIndex;
use model::{
    CpuId, CpuState, CpuStretch, InferredStretch, MaybeNs, Ns, Reason, Span, ThreadKey, ThreadState, ThreadStretch,
};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What was inferred, ready to be put in place of unknown time.
#[derive(Clone, Debug, Default)]
pub struct InferredIndex {
    all: Vec<InferredStretch>,
    /// Places in `all`, in order of start.
    of_cpu: FxHashMap<CpuId, Vec<usize>>,
    of_thread: FxHashMap<ThreadKey, Vec<usize>>,
}

impl InferredIndex {
    /// From what is in order of start.
    #[must_use]
    pub fn new(all: &[InferredStretch]) -> Self {
        let mut index = Self { all: all.to_vec(), ..Self::default() };
        for (at, stretch) in all.iter().enumerate() {
            index.of_cpu.entry(stretch.cpu).or_default().push(at);
            if stretch.thread != ThreadKey::IDLE {
                index.of_thread.entry(stretch.thread).or_default().push(at);
            }
        }
        index
    }

    /// The first that overlaps a span; those of one CPU, and of one thread, do not overlap each other.
    fn first(&self, among: Option<&Vec<usize>>, within: Span) -> Option<InferredStretch> {
        let among = among?;
        let next = among.partition_point(|at| self.all[*at].span.end <= within.start);
        let stretch = self.all[*among.get(next)?];
        Some(InferredStretch { span: stretch.span.overlap(within)?, ..stretch })
    }
}

/// What cuts: both at once where both were asked for.
#[derive(Clone, Debug, Default)]
pub struct Knife {
    /// Losses that make time unknown.
    pub losses: Option<LossIndex>,
    /// What stands in place of unknown time.
    pub inferred: Option<InferredIndex>,
}

impl Knife {
    pub(crate) fn cuts(&self) -> bool {
        self.losses.is_some() || self.inferred.is_some()
    }

    /// All pieces of a stretch, in order.
    pub fn pieces<T: Cut>(&self, whole: T) -> Vec<T> {
        if !self.cuts() {
            return vec![whole];
        }
        let (mut pieces, mut from) = (Vec::new(), whole.span().start);
        while from < whole.span().end {
            let piece = self.piece(whole.over(Span::new(from, whole.span().end)));
            from = piece.span().end;
            pieces.push(piece);
        }
        pieces
    }

    /// The first piece of the rest of a stretch. What was inferred lies across no loss.
    fn piece<T: Cut>(&self, rest: T) -> T {
        let span = rest.span();
        let known = match self.inferred.as_ref().and_then(|i| rest.inferred(i)) {
            None => rest,
            Some((part, _)) if part.start > span.start => rest.over(Span::new(span.start, part.start)),
            Some((_, known)) => known,
        };
        let lossy = |l: &LossIndex| known.losses_of().and_then(|cpu| l.parts(cpu, known.span()).next());
        match self.losses.as_ref().and_then(lossy) {
            None => known,
            Some(part) if part.start > span.start => known.over(Span::new(span.start, part.start)),
            Some(part) => known.doubted().over(part),
        }
    }
}

/// A stretch that may be cut.
pub trait Cut: Copy {
    /// When it was.
    fn span(&self) -> Span;
    /// Of an unknown one the first part that is not, by what was inferred, and the stretch that stands there.
    fn inferred(&self, index: &InferredIndex) -> Option<(Span, Self)>;
    /// The same state over a part of its span.
    #[must_use]
    fn over(self, part: Span) -> Self;
    /// Unknown, for the loss.
    #[must_use]
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
        Self { span: part, exec: if part == self.span { self.exec } else { MaybeNs::NONE }, ..self }
    }
    fn inferred(&self, index: &InferredIndex) -> Option<(Span, Self)> {
        let unknown = self.state == ThreadState::Unknown;
        let found = index.first(index.of_thread.get(&self.thread).filter(|_| unknown), self.span)?;
        let ran = Self {
            span: found.span,
            state: ThreadState::Running,
            reason: Reason::Inferred,
            cpu: Some(found.cpu),
            waker_thread: ThreadKey::UNKNOWN,
            exec: MaybeNs::NONE,
            ..*self
        };
        Some((found.span, ran))
    }
    fn doubted(self) -> Self {
        Self { state: ThreadState::Unknown, reason: Reason::Lossy, exec: MaybeNs::NONE, ..self }
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
    fn inferred(&self, index: &InferredIndex) -> Option<(Span, Self)> {
        let unknown = self.state == CpuState::Unknown;
        let found = index.first(index.of_cpu.get(&self.cpu).filter(|_| unknown), self.span)?;
        let state = if found.thread == ThreadKey::IDLE { CpuState::Idle } else { CpuState::Busy };
        Some((found.span, Self { span: found.span, cpu: self.cpu, state, thread: found.thread }))
    }
    fn doubted(self) -> Self {
        Self { state: CpuState::Unknown, thread: ThreadKey::UNKNOWN, ..self }
    }
    fn losses_of(&self) -> Option<Option<CpuId>> {
        Some(Some(self.cpu))
    }
}

/// Cuts stretches that come in order of start, and hands the pieces on in order of start.
pub struct Cutter<'k, T> {
    knife: &'k Knife,
    /// (begin of the next piece, order of coming, place in `open`).
    waiting: BinaryHeap<Reverse<(Ns, u64, usize)>>,
    open: Vec<T>,
    free: Vec<usize>,
    came: u64,
    out: Vec<T>,
}

impl<'k, T: Cut> Cutter<'k, T> {
    /// With nothing to hand on yet.
    #[must_use]
    pub fn new(knife: &'k Knife) -> Self {
        Self { knife, waiting: BinaryHeap::new(), open: Vec::new(), free: Vec::new(), came: 0, out: Vec::new() }
    }

    /// Takes the next stretches, and hands on all pieces that nothing can come before any more.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn push<E>(&mut self, stretches: &[T], mut each: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
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
        each(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Hands on what is left.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn finish<E>(mut self, mut each: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        self.hand_out(Ns::MAX);
        each(&self.out)
    }

    /// All pieces that begin by then.
    fn hand_out(&mut self, until: Ns) {
        while let Some(Reverse((from, came, at))) =
            self.waiting.peek().copied().filter(|Reverse((from, ..))| *from <= until)
        {
            self.waiting.pop();
            let stretch = self.open[at];
            let rest = Span::new(from, stretch.span().end);
            let piece = self.knife.piece(stretch.over(rest));
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use model::{LossSpan, MaybeCount};

    #[test]
    fn pieces_come_in_order_of_start() {
        let loss = LossSpan {
            from: MaybeNs::new(Ns(15)),
            to: MaybeNs::new(Ns(20)),
            cpu: Some(CpuId(0)),
            events: MaybeCount::new(1),
        };
        let knife = Knife { losses: Some(LossIndex::new(&[loss], Ns(40))), inferred: None };
        let stretch = |cpu, start, end| CpuStretch {
            span: Span::new(Ns(start), Ns(end)),
            cpu: CpuId(cpu),
            state: CpuState::Busy,
            thread: ThreadKey(1),
        };
        let pieces: Vec<_> = knife.pieces(stretch(0, 0, 30)).iter().map(|s| (s.span.start.0, s.state)).collect();
        assert_eq!(pieces, [(0, CpuState::Busy), (15, CpuState::Unknown), (20, CpuState::Busy)]);
        let mut seen = Vec::new();
        let mut keep = |pieces: &[CpuStretch]| {
            seen.extend_from_slice(pieces);
            Ok::<_, ()>(())
        };
        let mut cutter = Cutter::new(&knife);
        cutter.push(&[stretch(0, 0, 30), stretch(1, 10, 18)], &mut keep).unwrap();
        cutter.push(&[stretch(1, 18, 40), stretch(0, 30, 40)], &mut keep).unwrap();
        cutter.finish(keep).unwrap();
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
