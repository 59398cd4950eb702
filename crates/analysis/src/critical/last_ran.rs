//! Whose end it is where nobody said.

use model::{CpuId, CpuState, CpuStretch, Ns, Span, ThreadKey};

/// Of the threads that run at the end of a span, the one that came to run last; where none does, the one that ran last.
#[derive(Clone, Copy, Debug)]
pub struct LastRan {
    span: Span,
    /// Until when, since when and where it ran. What is the same in all of these cannot be.
    last: Option<(Ns, Ns, CpuId, ThreadKey)>,
}

impl LastRan {
    /// In this span.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self { span, last: None }
    }

    /// CPUs' stretches, in any order.
    pub fn push(&mut self, stretches: &[CpuStretch]) {
        for s in stretches.iter().filter(|s| s.state == CpuState::Busy && s.span.overlap(self.span).is_some()) {
            let ran = (s.span.end.min(self.span.end), s.span.start, s.cpu, s.thread);
            if self.last.is_none_or(|last| last < ran) {
                self.last = Some(ran);
            }
        }
    }

    /// Who; `None` where nobody ran.
    #[must_use]
    pub fn thread(&self) -> Option<ThreadKey> {
        self.last.map(|(.., thread)| thread)
    }
}
