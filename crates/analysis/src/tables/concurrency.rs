//! How many CPUs ran a thread at once, exactly: a sweep over the CPUs' stretches.

use crate::{Analysis, Batch, Context};
use model::{CpuId, CpuState, Ns, Rows};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

pub(crate) struct Concurrency {
    followed: Vec<CpuId>,
    /// Ends of the stretches that are open at `at`: one a CPU at most.
    open: BinaryHeap<Reverse<(Ns, bool)>>,
    at: Ns,
    end: Ns,
    running: i64,
    unknown: i64,
    durations: BTreeMap<(i64, i64), i64>,
}

impl Concurrency {
    pub(crate) fn new(context: &Context<'_>) -> Self {
        let mut followed = context.followed.to_vec();
        followed.sort_unstable();
        Self {
            followed,
            open: BinaryHeap::new(),
            at: context.span.start,
            end: context.span.end,
            running: 0,
            unknown: 0,
            durations: BTreeMap::new(),
        }
    }

    fn advance(&mut self, to: Ns) {
        if to > self.at {
            *self.durations.entry((self.running, self.unknown)).or_default() += (to - self.at).0;
            self.at = to;
        }
    }

    /// Ends what has ended by then.
    fn close_until(&mut self, now: Ns) {
        while let Some(&Reverse((end, runs))) = self.open.peek().filter(|Reverse((end, _))| *end <= now) {
            self.open.pop();
            self.advance(end);
            *(if runs { &mut self.running } else { &mut self.unknown }) -= 1;
        }
    }
}

impl Analysis for Concurrency {
    fn push(&mut self, batch: &Batch<'_>) {
        for stretch in batch.cpus {
            if stretch.state == CpuState::Idle || self.followed.binary_search(&stretch.cpu).is_err() {
                continue;
            }
            self.close_until(stretch.span.start);
            self.advance(stretch.span.start);
            let runs = stretch.state == CpuState::Busy;
            *(if runs { &mut self.running } else { &mut self.unknown }) += 1;
            self.open.push(Reverse((stretch.span.end, runs)));
        }
    }

    fn finish(&mut self, out: &mut dyn Rows) {
        self.close_until(self.end);
        self.advance(self.end);
        for ((running, unknown), duration) in &self.durations {
            out.row(&[(*running).into(), (*unknown).into(), (*duration).into()]);
        }
    }
}
