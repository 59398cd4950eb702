//! Cuts stretches into pieces: unknown ones at the begin and end of inferred stretches, all of them where lost events make them
//! unknown. The pieces of a long stretch may begin after stretches that began later, so they are queued; at most as many are
//! queued as are open at the same time.
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

/// An index of the inferred stretches, which replace unknown time.
#[derive(Clone, Debug, Default)]
pub struct InferredIndex {
    all: Vec<InferredStretch>,
    /// Indices in `all`, in order of start.
    of_cpu: FxHashMap<CpuId, Vec<usize>>,
    of_thread: FxHashMap<ThreadKey, Vec<usize>>,
}

impl InferredIndex {
    /// Returns an index of stretches that are in order of start.
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

    /// Returns the first inferred stretch that overlaps a span; those of one CPU or one thread do not overlap each other.
    fn first(&self, among: Option<&Vec<usize>>, within: Span) -> Option<InferredStretch> {
        let among = among?;
        let next = among.partition_point(|at| self.all[*at].span.end <= within.start);
        let stretch = self.all[*among.get(next)?];
        Some(InferredStretch { span: stretch.span.overlap(within)?, ..stretch })
    }
}

/// What stretches are cut by.
#[derive(Clone, Debug, Default)]
pub struct Clipper {
    /// Losses that make time unknown.
    pub losses: Option<LossIndex>,
    /// Inferred stretches that replace unknown time.
    pub inferred: Option<InferredIndex>,
}

impl Clipper {
    pub(crate) fn is_active(&self) -> bool {
        self.losses.is_some() || self.inferred.is_some()
    }

    /// Returns all pieces of a stretch, in order.
    pub fn pieces<T: Cut>(&self, whole: T) -> Vec<T> {
        if !self.is_active() {
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

    /// Returns the first piece of the rest of a stretch. Inferred stretches do not overlap losses.
    fn piece<T: Cut>(&self, rest: T) -> T {
        let span = rest.span();
        let known = match self.inferred.as_ref().and_then(|i| rest.inferred(i)) {
            None => rest,
            Some((part, _)) if part.start > span.start => rest.over(Span::new(span.start, part.start)),
            Some((_, known)) => known,
        };
        let lossy = |l: &LossIndex| known.relevant_losses().and_then(|cpu| l.parts(cpu, known.span()).next());
        match self.losses.as_ref().and_then(lossy) {
            None => known,
            Some(part) if part.start > span.start => known.over(Span::new(span.start, part.start)),
            Some(part) => known.as_unknown().over(part),
        }
    }
}

/// A stretch that can be cut.
pub trait Cut: Copy {
    /// Returns the time of the stretch.
    fn span(&self) -> Span;
    /// Returns the first part of an unknown stretch that is inferred, and the stretch that replaces it.
    fn inferred(&self, index: &InferredIndex) -> Option<(Span, Self)>;
    /// Returns the same stretch limited to a part of its span.
    #[must_use]
    fn over(self, part: Span) -> Self;
    /// Returns the same stretch as unknown because of a loss.
    #[must_use]
    fn as_unknown(self) -> Self;
    /// Returns which losses make it unknown: those of a CPU (`Some`), or all (`None`); outer `None`: no losses.
    fn relevant_losses(&self) -> Option<Option<CpuId>>;
}

impl Cut for ThreadStretch {
    fn span(&self) -> Span {
        self.span
    }
    fn over(self, part: Span) -> Self {
        // The charge of the whole stretch is not known for its parts.
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
    fn as_unknown(self) -> Self {
        Self { state: ThreadState::Unknown, reason: Reason::Lossy, exec: MaybeNs::NONE, ..self }
    }
    fn relevant_losses(&self) -> Option<Option<CpuId>> {
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
    fn as_unknown(self) -> Self {
        Self { state: CpuState::Unknown, thread: ThreadKey::UNKNOWN, ..self }
    }
    fn relevant_losses(&self) -> Option<Option<CpuId>> {
        Some(Some(self.cpu))
    }
}

/// Cuts stretches in order of start, and passes on the pieces in order of start.
pub struct Cutter<'k, T> {
    clipper: &'k Clipper,
    /// (Begin of the next piece, input order, index in `open`).
    waiting: BinaryHeap<Reverse<(Ns, u64, usize)>>,
    open: Vec<T>,
    free: Vec<usize>,
    input_count: u64,
    out: Vec<T>,
}

impl<'k, T: Cut> Cutter<'k, T> {
    /// Returns a cutter without stretches.
    #[must_use]
    pub fn new(clipper: &'k Clipper) -> Self {
        Self {
            clipper,
            waiting: BinaryHeap::new(),
            open: Vec::new(),
            free: Vec::new(),
            input_count: 0,
            out: Vec::new(),
        }
    }

    /// Takes the next stretches, and passes on all pieces that no later piece can precede.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn push<E>(&mut self, stretches: &[T], mut each: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        for stretch in stretches {
            let start = stretch.span().start;
            self.emit_until(start);
            let at = match self.free.pop() {
                Some(at) => at,
                None => {
                    self.open.push(*stretch);
                    self.open.len() - 1
                }
            };
            self.open[at] = *stretch;
            self.waiting.push(Reverse((start, self.input_count, at)));
            self.input_count += 1;
        }
        each(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Passes on the remaining pieces.
    ///
    /// # Errors
    /// What `each` returns.
    pub fn finish<E>(mut self, mut each: impl FnMut(&[T]) -> Result<(), E>) -> Result<(), E> {
        self.emit_until(Ns::MAX);
        each(&self.out)
    }

    /// Emits all pieces that begin up to a time.
    fn emit_until(&mut self, until: Ns) {
        while let Some(Reverse((from, came, at))) =
            self.waiting.peek().copied().filter(|Reverse((from, ..))| *from <= until)
        {
            self.waiting.pop();
            let stretch = self.open[at];
            let rest = Span::new(from, stretch.span().end);
            let piece = self.clipper.piece(stretch.over(rest));
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
    fn pieces_are_in_order_of_start() {
        let loss = LossSpan {
            from: MaybeNs::new(Ns(15)),
            to: MaybeNs::new(Ns(20)),
            cpu: Some(CpuId(0)),
            events: MaybeCount::new(1),
        };
        let clipper = Clipper { losses: Some(LossIndex::new(&[loss], Ns(40))), inferred: None };
        let stretch = |cpu, start, end| CpuStretch {
            span: Span::new(Ns(start), Ns(end)),
            cpu: CpuId(cpu),
            state: CpuState::Busy,
            thread: ThreadKey(1),
        };
        let pieces: Vec<_> = clipper.pieces(stretch(0, 0, 30)).iter().map(|s| (s.span.start.0, s.state)).collect();
        assert_eq!(pieces, [(0, CpuState::Busy), (15, CpuState::Unknown), (20, CpuState::Busy)]);
        let mut seen = Vec::new();
        let mut keep = |pieces: &[CpuStretch]| {
            seen.extend_from_slice(pieces);
            Ok::<_, ()>(())
        };
        let mut cutter = Cutter::new(&clipper);
        cutter.push(&[stretch(0, 0, 30), stretch(1, 10, 18)], &mut keep).unwrap();
        cutter.push(&[stretch(1, 18, 40), stretch(0, 30, 40)], &mut keep).unwrap();
        cutter.finish(keep).unwrap();
        let result: Vec<_> = seen.iter().map(|s| (s.cpu.0, s.span.start.0, s.span.end.0, s.state)).collect();
        let (busy, unknown) = (CpuState::Busy, CpuState::Unknown);
        assert_eq!(
            result,
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
