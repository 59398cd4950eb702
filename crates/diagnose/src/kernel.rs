//! How much of their running time threads spend in the kernel, from samples: what waking, switching and copying between programs costs.

use crate::context::{RuleContext, add};
use engine::EngineError;
use model::ThreadKey;
use model::tables::samples;
use std::collections::BTreeMap;

/// With fewer samples, the share is too uncertain.
const MIN_SAMPLES: i64 = 30;

/// The samples of each thread.
pub(crate) struct KernelTime {
    all: BTreeMap<ThreadKey, i64>,
    kernel: BTreeMap<ThreadKey, i64>,
}

impl KernelTime {
    /// Reads the table `samples`.
    pub(crate) fn new(ctx: &RuleContext<'_>) -> Result<Self, EngineError> {
        let (mut all, mut kernel) = (BTreeMap::new(), BTreeMap::new());
        ctx.each_row(samples::Table, |row| {
            let Some(thread) = row.get(samples::THREAD) else { return };
            let count = row.get(samples::SELF_SAMPLES);
            add(&mut all, thread, count);
            if is_kernel(row.get(samples::FILE.or_empty())) {
                add(&mut kernel, thread, count);
            }
        })?;
        Ok(Self { all, kernel })
    }

    /// The share of the samples of some threads that hit the kernel; `None` if there are too few samples.
    pub(crate) fn share(&self, threads: impl Iterator<Item = ThreadKey>) -> Option<f64> {
        let (mut all, mut kernel) = (0_i64, 0_i64);
        for thread in threads {
            all = all.saturating_add(self.all.get(&thread).copied().unwrap_or(0));
            kernel = kernel.saturating_add(self.kernel.get(&thread).copied().unwrap_or(0));
        }
        (all >= MIN_SAMPLES).then(|| kernel as f64 / all as f64)
    }
}

/// Whether a mapping is the kernel or one of its modules. The vDSO runs in user mode.
fn is_kernel(file: &str) -> bool {
    file.starts_with('[') && !["[vdso]", "[vsyscall]", "[heap]", "[stack]", "[anon]"].contains(&file)
}

#[cfg(test)]
mod tests {
    use super::{KernelTime, is_kernel};
    use model::ThreadKey;

    #[test]
    fn modules_are_kernel_and_the_vdso_is_not() {
        assert!(is_kernel("[kernel]") && is_kernel("[virtio_net]"));
        assert!(!is_kernel("[vdso]") && !is_kernel("/usr/bin/redis-server") && !is_kernel(""));
    }

    #[test]
    fn few_samples_have_no_share() {
        let [a, b] = [ThreadKey(1), ThreadKey(2)];
        let time = KernelTime { all: [(a, 20), (b, 20)].into(), kernel: [(a, 10), (b, 20)].into() };
        assert_eq!(time.share([a, b].into_iter()), Some(0.75));
        assert_eq!(time.share([a].into_iter()), None);
    }
}
