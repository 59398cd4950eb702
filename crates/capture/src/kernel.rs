//! The recording backends (BPF and perf events) with a common interface.

use crate::mark_point::Found;
use crate::online::Gap;
use crate::options::{Backend, CaptureError, RecordOptions};
use crate::perf_events::PerfTracer;
use crate::procfs;
use crate::tracer::Tracer;
use crate::unwinding::Maps;
use model::CallchainEnd;
use std::time::Duration;

/// The sentence for a requested perf backend without permissions.
const NO_PERF_RIGHTS: &str = "recording with them needs CAP_PERFMON (or root): run corewise with sudo; without it, corewise only reads \
    recordings, its own and those of other tools";

/// The kernel's side of a recording.
pub enum Kernel {
    Bpf(Box<Tracer>),
    Perf(Box<PerfTracer>),
}

impl Kernel {
    /// Attaches the requested backend. [`Backend::Auto`] tries BPF first, then perf events. Returns the backend, and a text that
    /// names it and the reason for the choice.
    ///
    /// # Errors
    /// If no backend can be attached.
    pub fn start(options: &RecordOptions, marks: &[Found]) -> Result<(Self, String), CaptureError> {
        let bpf = || Tracer::start(options, marks).map(|t| Self::Bpf(Box::new(t)));
        let perf = || PerfTracer::start(options).map(|t| Self::Perf(Box::new(t)));
        if let (Backend::Perf, Some(mark)) = (options.backend, marks.first()) {
            let why = "the perf backend cannot record marked calls: remove --backend perf".to_owned();
            return Err(CaptureError::Mark { name: mark.name.clone(), why });
        }
        if options.backend == Backend::Perf && options.stacks {
            return Err(CaptureError::Perf(
                "the perf backend cannot record callchains: remove --stacks or --backend perf".into(),
            ));
        }
        if options.backend == Backend::Perf && options.sampling.is_required() {
            return Err(CaptureError::Perf(
                "the perf backend cannot record samples: remove --sample or --backend perf".into(),
            ));
        }
        match options.backend {
            Backend::Bpf => Ok((bpf()?, "bpf (requested)".into())),
            Backend::Perf => match perf() {
                Err(CaptureError::Rights) => Err(CaptureError::Perf(NO_PERF_RIGHTS.into())),
                other => Ok((other?, "perf (requested)".into())),
            },
            Backend::Auto => match bpf() {
                Ok(kernel) => Ok((kernel, "bpf (automatic: this kernel supports the BPF programs)".into())),
                // What was requested must not be dropped silently.
                Err(why) if !marks.is_empty() || options.stacks || options.sampling.is_required() => Err(why),
                Err(why) => match perf() {
                    Ok(kernel) => Ok((kernel, format!("perf (automatic: BPF is not available: {why})"))),
                    Err(_) => Err(why),
                },
            },
        }
    }

    /// Returns the addresses of a callchain by its number ([`Tracer::stack`]).
    pub fn stack(&self, user: bool, number: u32) -> Option<(Vec<u64>, CallchainEnd)> {
        match self {
            Self::Bpf(t) => t.stack(user, number),
            Self::Perf(_) => None,
        }
    }

    /// What this backend cannot record, one sentence each.
    pub fn lacks(&self) -> &[String] {
        match self {
            Self::Bpf(t) => &t.lacks,
            Self::Perf(p) => &p.lacks,
        }
    }

    /// Whether a clock samples what the CPUs run.
    pub fn samples(&self) -> bool {
        matches!(self, Self::Bpf(tracer) if tracer.samples)
    }

    /// Whether switches carry the CPU time that the kernel charged.
    pub fn has_charges(&self) -> bool {
        matches!(self, Self::Bpf(_))
    }

    /// The maps that unwinding needs, if callchains are unwound.
    pub fn unwinding(&self) -> Option<Maps> {
        match self {
            Self::Bpf(t) => t.unwinding(),
            Self::Perf(_) => None,
        }
    }

    /// The interval at which the buffers must be drained. Perf's are smaller, and its records four times as long.
    pub fn tick(&self) -> Duration {
        match self {
            Self::Bpf(_) => Duration::from_millis(100),
            Self::Perf(_) => Duration::from_millis(25),
        }
    }

    /// Whether changes of priority and affinity are found only by polling.
    pub fn polls_settings(&self) -> bool {
        match self {
            Self::Bpf(t) => t.polls_settings,
            Self::Perf(_) => true,
        }
    }

    /// Whether it reports which threads are throttled by a CPU quota.
    pub fn reports_throttling(&self) -> bool {
        match self {
            Self::Bpf(t) => t.reports_throttling(),
            Self::Perf(_) => false,
        }
    }

    /// Whether it reports CPUs that go offline and come online.
    pub fn reports_parking(&self) -> bool {
        match self {
            Self::Bpf(t) => t.reports_parking(),
            Self::Perf(_) => false,
        }
    }

    /// Passes every available record to `take`. Returns `true` if all records that were available have been read.
    pub fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        match self {
            Self::Bpf(t) => t.drain(take),
            Self::Perf(p) => p.drain(take),
        }
    }

    /// Follows CPUs that go offline and come online, if the backend must poll for this. Returns the gaps in their recording.
    pub fn follow_cpus(&mut self, take: &mut dyn FnMut(&[u8])) -> Vec<Gap> {
        match self {
            Self::Bpf(t) => {
                t.follow_counters();
                Vec::new()
            }
            Self::Perf(p) => p.follow_cpus(take),
        }
    }

    /// Whether it opens events during the recording (for CPUs that come online).
    pub fn opens_events_later(&self) -> bool {
        match self {
            Self::Bpf(t) => t.counts(),
            Self::Perf(_) => true,
        }
    }

    /// Reads the counters of each CPU that runs a thread (`all`: every CPU). At switches, the BPF programs read them.
    pub fn read_counters(&mut self, all: bool, take: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Bpf(t) => t.read_counters(all),
            Self::Perf(p) => p.read_counters(all, take),
        }
    }

    /// Returns the gaps that last to the end of the recording, one sentence for each CPU that came online, and all CPUs that were
    /// online at any time.
    pub fn cpus_at_end(&self, now: u64) -> (Vec<Gap>, Vec<String>, Vec<u32>) {
        match self {
            Self::Bpf(t) => (Vec::new(), t.counters_lack(), Vec::new()),
            Self::Perf(p) => p.cpus_at_end(now),
        }
    }

    /// Makes each CPU hand over its partly filled blocks. Returns `false` if a CPU was writing to one.
    pub fn hand_over(&self, all: bool) -> bool {
        match self {
            Self::Bpf(t) => t.hand_over(all),
            Self::Perf(_) => true,
        }
    }

    /// Makes each CPU report its current task, if the backend supports it.
    pub fn report_current(&self) {
        if let Self::Bpf(t) = self {
            t.report_current();
        }
    }

    /// Returns rows for the threads that are in `/proc` but not in `rows`.
    pub fn unlisted(&self, rows: &[u8]) -> Vec<u8> {
        match self {
            Self::Bpf(_) => procfs::unlisted(rows),
            Self::Perf(_) => Vec::new(),
        }
    }

    /// Returns a row for every thread, concatenated in wire format.
    ///
    /// # Errors
    /// If the kernel's list of threads cannot be read.
    pub fn threads(&self) -> Result<Vec<u8>, CaptureError> {
        match self {
            Self::Bpf(t) => t.threads(),
            Self::Perf(_) => Ok(procfs::threads()),
        }
    }

    /// Returns, per CPU, how many lost events no block has reported.
    pub fn unreported_losses(&self) -> Vec<(u32, u64)> {
        match self {
            Self::Bpf(t) => t.unreported_losses(),
            Self::Perf(p) => p.unreported_losses(),
        }
    }

    /// Returns how many switches were inferred from the thread that was switched in, and for how many of these the previous thread
    /// is unknown.
    pub fn inferred_switches(&self) -> [u64; 2] {
        match self {
            Self::Bpf(t) => t.inferred_switches(),
            Self::Perf(_) => [0; 2],
        }
    }

    /// The number of switches after which it was noticed that earlier ones were neither delivered nor inferred.
    pub fn missing_switches(&self) -> u64 {
        match self {
            Self::Bpf(t) => t.missing_switches(),
            Self::Perf(_) => 0,
        }
    }

    /// The number of events missed since the last call that no block accounts for.
    pub fn newly_missed(&mut self) -> u64 {
        match self {
            Self::Bpf(t) => t.newly_missed(),
            Self::Perf(_) => 0,
        }
    }

    /// The run time of the BPF programs, ns, if the kernel measures it.
    pub fn run_time_ns(&self) -> Option<i64> {
        match self {
            Self::Bpf(t) => t.run_time_ns(),
            Self::Perf(_) => None,
        }
    }
}
