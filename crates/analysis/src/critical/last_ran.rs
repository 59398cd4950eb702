//! The default end of the critical path, if the user names no thread.

use model::{CpuId, CpuState, CpuStretch, Ns, Span, ThreadKey};

/// Finds the thread that runs at the end of a span and began last. If none runs, the thread that ran last.
#[derive(Clone, Copy, Debug)]
pub struct LastRan {
    span: Span,
    /// Until when, since when and on which CPU it ran, which makes the order unique.
    last: Option<(Ns, Ns, CpuId, ThreadKey)>,
}

impl LastRan {
    /// Starts for this span.
    #[must_use]
    pub fn new(span: Span) -> Self {
        Self { span, last: None }
    }

    /// Adds stretches of CPUs, in any order.
    pub fn push(&mut self, stretches: &[CpuStretch]) {
        for s in stretches.iter().filter(|s| s.state == CpuState::Busy && s.span.overlap(self.span).is_some()) {
            let ran = (s.span.end.min(self.span.end), s.span.start, s.cpu, s.thread);
            if self.last.is_none_or(|last| last < ran) {
                self.last = Some(ran);
            }
        }
    }

    /// Returns the thread; `None` if no thread ran.
    #[must_use]
    pub fn thread(&self) -> Option<ThreadKey> {
        self.last.map(|(.., thread)| thread)
    }
}
