//! Sums over the frames of each swap chain.

use super::times::Times;
use super::{Bound, Frame, pid, swap_chain};
use model::{FramePart, Ns, Pid, Rows, Value};
use std::collections::BTreeMap;

/// The maximum number of distinct swap chains.
const MAX_CHAINS: usize = 1_000;
/// The maximum number of different frame times over all swap chains.
const MAX_TIMES: usize = 1 << 18;

/// A program's swap chain; `None`: all swap chains over the limit.
type Chain = Option<(Option<Box<str>>, Pid, i64)>;

/// Sums over frames.
#[derive(Default)]
pub struct FrameSums {
    chains: BTreeMap<Chain, Sums>,
    /// The number of different frame times over all swap chains.
    times: usize,
}

#[derive(Default)]
struct Sums {
    frames: i64,
    whole: i64,
    times: Times,
    longest: Option<Ns>,
    gpu_busy: (i64, f64),
    /// `None` as long as no frame says it.
    not_displayed: Option<i64>,
    bound: [i64; 3],
}

impl FrameSums {
    /// Adds the next frame.
    pub fn push(&mut self, frame: &Frame<'_>) {
        let present = frame.present;
        let mut chain: Chain = Some((frame.application.map(Box::from), present.pid, present.swap_chain));
        if self.chains.len() >= MAX_CHAINS && !self.chains.contains_key(&chain) {
            chain = None;
        }
        let sums = self.chains.entry(chain).or_default();
        sums.frames += 1;
        if let Some(whole) = frame.part(FramePart::Whole) {
            // The times of a damaged log may overflow a sum.
            sums.whole = sums.whole.saturating_add(whole.0);
            sums.longest = sums.longest.max(Some(whole));
            let before = sums.times.different();
            sums.times.add(whole);
            self.times += sums.times.different() - before;
        }
        if let Some(busy) = frame.part(FramePart::GpuBusy) {
            sums.gpu_busy = (sums.gpu_busy.0 + 1, sums.gpu_busy.1 + busy.0 as f64);
        }
        if let Some(displayed) = present.displayed {
            *sums.not_displayed.get_or_insert(0) += i64::from(!displayed);
        }
        sums.bound[frame.bound as usize] += 1;
        while self.times > MAX_TIMES {
            self.widen();
        }
    }

    /// Halves the resolution of the swap chain with the most different times.
    fn widen(&mut self) {
        if let Some(sums) = self.chains.values_mut().max_by_key(|s| s.times.different()) {
            let before = sums.times.different();
            sums.times.widen();
            self.times -= before - sums.times.different();
        }
    }

    /// Writes the rows of [`model::tables::FRAME_SUMS`].
    pub fn finish(&self, out: &mut dyn Rows) {
        for (chain, sums) in &self.chains {
            let count = sums.times.count.cast_signed();
            let mean = (count > 0).then(|| sums.whole as f64 / count as f64);
            let bound = |of: Bound| sums.bound[of as usize].into();
            let named = chain.as_ref();
            out.row(&[
                named.and_then(|c| c.0.as_deref()).into(),
                named.map_or(Value::Null, |c| pid(c.1)),
                named.map_or(Value::Null, |c| swap_chain(c.2)),
                sums.frames.into(),
                count.into(),
                sums.whole.into(),
                mean.into(),
                mean.filter(|m| *m > 0.0).map(|m| 1e9 / m).into(),
                sums.times.quantile(500).into(),
                sums.times.quantile(990).into(),
                sums.times.quantile(999).into(),
                sums.times.precision().into(),
                sums.longest.into(),
                (sums.gpu_busy.0 > 0).then(|| sums.gpu_busy.1 / sums.gpu_busy.0 as f64).into(),
                sums.not_displayed.into(),
                bound(Bound::Gpu),
                bound(Bound::Cpu),
                bound(Bound::Unknown),
            ]);
        }
    }
}
