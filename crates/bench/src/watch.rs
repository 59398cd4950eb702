//! What else happened on the machine while it was measured: other load, steal, interrupts, frequency.

use crate::clock::{clock_ns, now_ns};
use crate::setup::Ticks;
use model::CpuId;
use std::fs;

/// What else happened while a plan was measured. What cannot be read is `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Watched {
    /// The share of the time of the measured CPUs that others used, 0 to 1.
    pub other_share: Option<f64>,
    /// The share of that time that the hypervisor took, 0 to 1.
    pub steal_share: Option<f64>,
    /// Interrupts a second, of the whole machine.
    pub interrupts_per_second: Option<f64>,
    /// The lowest and highest frequency of the measured CPUs as the kernel states it (`scaling_cur_freq`), kHz.
    pub khz: Option<[u64; 2]>,
}

impl Watched {
    /// Returns what is known as one sentence; `None` if nothing is.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let mut parts = Vec::new();
        parts.extend(
            self.other_share
                .map(|share| format!("other programs and the recorder used {} of the measured CPUs", percent(share))),
        );
        parts.extend(self.steal_share.map(|share| format!("the hypervisor took {}", percent(share))));
        parts.extend(self.interrupts_per_second.map(|rate| format!("{rate:.0} interrupts a second")));
        parts.push(match self.khz {
            Some([low, high]) => format!("frequency {:.2} to {:.2} GHz", low as f64 / 1e6, high as f64 / 1e6),
            None => "frequency unknown".to_owned(),
        });
        (parts.len() > 1).then(|| format!("meanwhile: {}", parts.join(", ")))
    }
}

/// Readings at the begin.
pub(crate) struct Watch {
    cpus: Vec<CpuId>,
    start_ns: i64,
    own_ns: i64,
    ticks: Option<Ticks>,
    interrupts: Option<u64>,
    khz: Option<[u64; 2]>,
}

impl Watch {
    pub(crate) fn start(cpus: &[CpuId]) -> Self {
        let mut watch = Self {
            cpus: cpus.to_vec(),
            start_ns: now_ns(),
            own_ns: clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID),
            ticks: Ticks::read().ok(),
            interrupts: interrupts(),
            khz: None,
        };
        watch.look();
        watch
    }

    /// Reads the frequencies. Called once a round.
    pub(crate) fn look(&mut self) {
        for cpu in &self.cpus {
            let path = format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu.0);
            let khz = fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok());
            if let Some(khz) = khz {
                let [low, high] = self.khz.unwrap_or([khz; 2]);
                self.khz = Some([low.min(khz), high.max(khz)]);
            }
        }
    }

    pub(crate) fn end(self) -> Watched {
        let elapsed_ns = (now_ns() - self.start_ns).max(1) as f64;
        let own_share = (clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - self.own_ns) as f64
            / (elapsed_ns * self.cpus.len().max(1) as f64);
        let now = Ticks::read().ok();
        let both = self.ticks.as_ref().zip(now.as_ref());
        let shares = both.and_then(|(before, now)| now.shares_since(before, &self.cpus));
        Watched {
            // Ticks are coarse, so own time can seem to be more than all that was not idle.
            other_share: shares.map(|[busy, steal]| (busy - steal - own_share).max(0.0)),
            steal_share: shares.map(|[_, steal]| steal),
            interrupts_per_second: interrupts()
                .zip(self.interrupts)
                .map(|(now, before)| now.saturating_sub(before) as f64 / (elapsed_ns / 1e9)),
            khz: self.khz,
        }
    }
}

/// The number of interrupts since the machine started.
fn interrupts() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("intr ")?.split(' ').next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_load_is_what_is_not_idle_and_not_ours() {
        let watch = Watch::start(&[CpuId(0)]);
        let until = now_ns() + 300_000_000;
        while now_ns() < until {}
        let found = watch.end();
        let share = found.other_share.unwrap();
        assert!((0.0..=1.0).contains(&share), "{found:?}");
        assert!(found.interrupts_per_second.unwrap() > 0.0);
        let watched = Watched {
            other_share: Some(0.123),
            steal_share: Some(0.0),
            interrupts_per_second: Some(250.4),
            khz: Some([800_000, 4_100_000]),
        };
        assert_eq!(
            watched.sentence().unwrap(),
            "meanwhile: other programs and the recorder used 12.3 % of the measured CPUs, the hypervisor took 0.0 %, 250 interrupts a second, frequency 0.80 to 4.10 GHz"
        );
        assert_eq!(Watched::default().sentence(), None);
    }
}
