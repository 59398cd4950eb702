//! The two ways to ask the kernel, behind one face.

use crate::mark_point::Found;
use crate::online::Unrecorded;
use crate::options::{Backend, CaptureError, RecordOptions};
use crate::perf_events::PerfTracer;
use crate::procfs;
use crate::tracer::Tracer;
use std::time::Duration;

/// The kernel's side of a recording.
pub enum Kernel {
    Bpf(Box<Tracer>),
    Perf(PerfTracer),
}

impl Kernel {
    /// Attaches the backend that is asked for; with [`Backend::Auto`] BPF, and perf events where BPF cannot. Says which,
    /// and why.
    ///
    /// # Errors
    /// Where neither can.
    pub fn start(options: &RecordOptions, marks: &[Found]) -> Result<(Self, String), CaptureError> {
        let bpf =
            || Tracer::start(options.ring_bytes, options.irq, options.stacks, marks).map(|t| Self::Bpf(Box::new(t)));
        let perf = || PerfTracer::start(options.irq).map(Self::Perf);
        if let (Backend::Perf, Some(mark)) = (options.backend, marks.first()) {
            let why = "perf events keep no marked calls: leave out --backend perf".to_owned();
            return Err(CaptureError::Mark { name: mark.name.clone(), why });
        }
        if options.backend == Backend::Perf && options.stacks {
            return Err(CaptureError::Perf(
                "perf events keep no callchains: leave out --stacks or --backend perf".into(),
            ));
        }
        match options.backend {
            Backend::Bpf => Ok((bpf()?, "bpf (asked for)".into())),
            Backend::Perf => Ok((perf()?, "perf (asked for)".into())),
            Backend::Auto => match bpf() {
                Ok(kernel) => Ok((kernel, "bpf (chosen: this kernel lets BPF programs be loaded)".into())),
                // Marks and callchains that were asked for are not left out silently.
                Err(why) if !marks.is_empty() || options.stacks => Err(why),
                Err(why) => match perf() {
                    Ok(kernel) => Ok((kernel, format!("perf (chosen: BPF does not work here: {why})"))),
                    Err(_) => Err(why),
                },
            },
        }
    }

    /// The addresses of a callchain by its number ([`Tracer::stack`]).
    pub fn stack(&self, user: bool, number: u32) -> Option<Vec<u64>> {
        match self {
            Self::Bpf(t) => t.stack(user, number),
            Self::Perf(_) => None,
        }
    }

    /// What it cannot tell.
    pub fn lacks(&self) -> &[String] {
        match self {
            Self::Bpf(t) => &t.lacks,
            Self::Perf(p) => &p.lacks,
        }
    }

    /// Whether switches carry what the kernel charged.
    pub fn has_charges(&self) -> bool {
        matches!(self, Self::Bpf(_))
    }

    /// How often its buffers want to be emptied. Perf's are smaller, and its records four times as long.
    pub fn tick(&self) -> Duration {
        match self {
            Self::Bpf(_) => Duration::from_millis(100),
            Self::Perf(_) => Duration::from_millis(25),
        }
    }

    /// Changes of priority and affinity must be looked for.
    pub fn look_for_changes(&self) -> bool {
        match self {
            Self::Bpf(t) => t.look_for_changes,
            Self::Perf(_) => true,
        }
    }

    /// Whether it tells which threads a CPU quota holds.
    pub fn tells_throttles(&self) -> bool {
        match self {
            Self::Bpf(t) => t.tells_throttles(),
            Self::Perf(_) => false,
        }
    }

    /// Whether it tells which CPUs go offline and come online.
    pub fn tells_parking(&self) -> bool {
        match self {
            Self::Bpf(t) => t.tells_parking(),
            Self::Perf(_) => false,
        }
    }

    /// Hands every record that is there to `take`; `true`: nothing that was there is left.
    pub fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        match self {
            Self::Bpf(t) => t.drain(take),
            Self::Perf(p) => p.drain(take),
        }
    }

    /// Follows CPUs that go offline and come online, where that must be asked for; what of them is not recorded.
    pub fn follow_cpus(&mut self, take: &mut dyn FnMut(&[u8])) -> Vec<Unrecorded> {
        match self {
            Self::Bpf(_) => Vec::new(),
            Self::Perf(p) => p.follow_cpus(take),
        }
    }

    /// Whether it opens events while it records: those of CPUs that come online.
    pub fn opens_later(&self) -> bool {
        matches!(self, Self::Perf(_))
    }

    /// Of CPUs that came online: what is not recorded to the end, what that means in sentences, and all that were online.
    pub fn cpus_at_end(&self, now: u64) -> (Vec<Unrecorded>, Vec<String>, Vec<u32>) {
        match self {
            Self::Bpf(_) => Default::default(),
            Self::Perf(p) => p.cpus_at_end(now),
        }
    }

    /// Makes each CPU hand over what it holds back. `false`: one was in the middle of writing.
    pub fn hand_over(&self, all: bool) -> bool {
        match self {
            Self::Bpf(t) => t.hand_over(all),
            Self::Perf(_) => true,
        }
    }

    /// Lets each CPU tell what it runs, where that can be asked.
    pub fn tell_current(&self) {
        if let Self::Bpf(t) = self {
            t.tell_current();
        }
    }

    /// Rows of the threads that `rows` lacks and `/proc` has.
    pub fn unlisted(&self, rows: &[u8]) -> Vec<u8> {
        match self {
            Self::Bpf(_) => procfs::unlisted(rows),
            Self::Perf(_) => Vec::new(),
        }
    }

    /// A row for every thread, in wire form one behind the other.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn threads(&self) -> Result<Vec<u8>, CaptureError> {
        match self {
            Self::Bpf(t) => t.threads(),
            Self::Perf(_) => Ok(procfs::threads()),
        }
    }

    /// Events of each CPU that were lost and not told with a block.
    pub fn untold_losses(&self) -> Vec<(u32, u64)> {
        match self {
            Self::Bpf(t) => t.untold_losses(),
            Self::Perf(p) => p.untold_losses(),
        }
    }

    /// How many switches were told by the one that came in, and how many of these leave open who left.
    pub fn links(&self) -> [u64; 2] {
        match self {
            Self::Bpf(t) => t.links(),
            Self::Perf(_) => [0; 2],
        }
    }

    /// How many events were missed, since the last call, that no block accounts for.
    pub fn newly_missed(&mut self) -> u64 {
        match self {
            Self::Bpf(t) => t.newly_missed(),
            Self::Perf(_) => 0,
        }
    }

    /// What the BPF programs ran, ns, where the kernel counts it.
    pub fn run_time_ns(&self) -> Option<i64> {
        match self {
            Self::Bpf(t) => t.run_time_ns(),
            Self::Perf(_) => None,
        }
    }
}
