//! The slowest periods, requests and parallel regions of one thread or name, compared with typical ones.

use crate::critical::{Causes, ThreadCause};
use crate::frames::TimedFrame;
use model::{CoreType, Ns, Rows, ThreadKey, Tid};

/// The slowest intervals of one thread or name.
#[derive(Debug)]
pub struct SlowSeries {
    kind: &'static str,
    number: i64,
    /// The TID; `None` for regions.
    tid: Option<Tid>,
    median: Ns,
    /// The number of slower ones that are not among these.
    slower: i64,
    slow: Vec<(TimedFrame, Causes<ThreadCause>)>,
    /// The sums of the typical intervals, and their number.
    typical: (Causes<ThreadCause>, i64),
}

impl SlowSeries {
    /// The intervals of this kind with this number of their thread or name, and the TID of the thread.
    #[must_use]
    pub fn new(kind: &'static str, number: i64, tid: Option<Tid>, median: Ns) -> Self {
        Self { kind, number, tid, median, slower: 0, slow: Vec::new(), typical: (Causes::default(), 0) }
    }

    /// The same for intervals of which as many slower ones are not among these.
    #[must_use]
    pub fn after(self, slower: i64) -> Self {
        Self { slower, ..self }
    }

    /// Adds the next slow interval.
    pub fn slow(&mut self, interval: TimedFrame, causes: Causes<ThreadCause>) {
        self.slow.push((interval, causes));
    }

    /// Adds a typical interval.
    pub fn typical(&mut self, causes: &Causes<ThreadCause>) {
        let (sums, count) = &mut self.typical;
        causes.iter().for_each(|(cause, time)| sums.add(cause, time));
        *count += 1;
    }

    /// Writes the rows of [`model::tables::SLOW_INTERVALS`].
    pub fn finish(self, out: &mut dyn Rows) {
        let typical = self.typical.0.mean(self.typical.1);
        let typical_time = typical.sum();
        let known = |thread: ThreadKey| (thread != ThreadKey::UNKNOWN).then_some(thread);
        for (rank, (interval, causes)) in (self.slower + 1..).zip(&self.slow) {
            let took = interval.span.len();
            let longer = took - typical_time;
            for (more, ThreadCause { cause, thread }) in causes.longer_than(&typical) {
                out.row(&[
                    self.kind.into(),
                    self.number.into(),
                    rank.into(),
                    known(interval.thread).into(),
                    self.tid.into(),
                    interval.name.as_deref().into(),
                    (interval.number as i64).into(),
                    interval.span.start.into(),
                    interval.span.end.into(),
                    took.into(),
                    (interval.begun - interval.span.start).into(),
                    self.median.into(),
                    (took - self.median).into(),
                    cause.word().into(),
                    cause.core_type().map(CoreType::as_str).into(),
                    known(thread).into(),
                    cause.ran_instead().into(),
                    causes.time(ThreadCause { cause, thread }).into(),
                    typical.time(ThreadCause { cause, thread }).into(),
                    more.into(),
                    (longer > Ns::ZERO).then(|| more.0 as f64 / longer.0 as f64).into(),
                ]);
            }
        }
    }
}
