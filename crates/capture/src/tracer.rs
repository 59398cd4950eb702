//! The BPF backend: loads and attaches the BPF programs, drains their buffers, and takes snapshots.

use crate::cgroups::cpu_hierarchy;
use crate::counting::{Counters, MAX_COUNTERS};
use crate::hidden::{self, Switches};
use crate::libbpf::{self, has_field, info, possible_cpus, run_on, switch_has_state, why};
use crate::mark_point::Found;
use crate::objects;
use crate::options::{CaptureError, RecordOptions, Sampling};
use crate::procfs;
use crate::profile;
use crate::ring::{Blocks, Ring};
use crate::unwinding::Maps;
use crate::wire;
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::libbpf_sys;
use libbpf_rs::{Iter, Link, MapCore, Object, ObjectBuilder, OpenObject, UprobeOpts};
use model::CallchainEnd;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

/// The BPF programs, compiled by `build.rs`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"));

/// Tracepoints without which recording is impossible.
const NEEDED: [&str; 4] = ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"];

/// Programs at optional tracepoints: program (named like its tracepoint), and what is not recorded without it.
const TRACEPOINTS: [(&str, &str); 12] = [
    ("sched_migrate_task", "migrations of waiting threads"),
    ("sched_process_fork", "forks"),
    ("sched_process_exec", "execs"),
    ("sched_process_exit", "exits"),
    ("task_rename", "changes of a thread's name"),
    ("sched_pi_setprio", "inherited priorities"),
    ("cgroup_attach_task", "moves between cgroups"),
    ("cpu_idle", "idle states"),
    ("cpu_frequency", "frequency changes"),
    ("cpuhp_enter", "which CPUs go offline"),
    ("cpuhp_exit", "which CPUs fail to go offline"),
    ("sched_wakeup_new", "new threads"),
];

/// Programs that follow interrupts and timers. Without one, the interrupted thread is recorded as the waker.
const INTERRUPTED: [&str; 8] = [
    "irq_handler_entry",
    "irq_handler_exit",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
    "timer_expire_entry",
    "timer_expire_exit",
    "softirq_entry",
    "softirq_exit",
];

/// Programs that only record interrupts. Some of their tracepoints exist on x86 only, `ipi_entry` on other architectures.
const INTERRUPTS: [&str; 4] = ["reschedule_entry", "call_function_entry", "call_function_single_entry", "ipi_entry"];

/// Which interrupts the programs in [`INTERRUPTED`] record (bpf/interrupts.h).
const RECORD_INTERRUPTS: u32 = 1;
const RECORD_TIMERS: u32 = 2;

/// Programs attached to functions: program, function.
const FUNCTIONS: [(&str, &str); 3] = [
    ("set_user_nice", "set_user_nice"),
    ("sched_setscheduler", "__sched_setscheduler"),
    ("set_cpus_allowed", "__set_cpus_allowed_ptr"),
];

/// The program that infers switches hidden by the kernel, for the current task of a CPU; run by the recorder.
const INFER_CURRENT: &str = "infer_current";

/// The program that reads the counters of a CPU while its current task goes on; run by the recorder.
const COUNT_CURRENT: &str = "count_current";

/// Programs at marked functions and probes: on entry, on return.
const MARKS: [&str; 2] = ["mark_entered", "mark_returned"];

/// What is missing if changes of priority and affinity are polled.
pub const POLLED_SETTINGS: &str = "This kernel does not let programs attach to functions. A change of a thread's affinity is recorded \
    when the thread next switches, is woken or has run for a second; the affinity is unknown between the last time the old mask was \
    seen and this time. Changes of priority are recorded once a second.";

/// The sentence for a recording without throttled threads.
pub const NO_THROTTLES: &str = "Threads throttled by their cgroup's CPU quota are recorded as ready: distinguishing them needs \
    Linux 6.18 or later, which throttles single threads.";

/// The sentence for a recording without yields.
pub const NO_YIELDS: &str = "Threads that called sched_yield are not distinguished from threads preempted on their way back to \
    user mode: this needs the registers of x86-64 and Linux 5.15 or later.";

/// The sentence for a recording without system calls.
pub const NO_CALLS: &str = "The system calls in which threads wait, and what for, are not recorded: this needs Linux 5.15 or later \
    on x86-64 or arm64.";

/// The sentence for a recording without locks of the kernel.
pub const NO_KERNEL_LOCKS: &str = "Locks of the kernel for which threads wait are not recorded: this needs Linux 6.16 or later, \
    built with CONFIG_DETECT_HUNG_TASK_BLOCKER.";

/// The sentence for a recording whose callchains are not unwound.
pub const NO_UNWINDING: &str = "Callchains of programs follow frame pointers: in code without them, callers are missing or wrong. \
    Unwinding by tables needs Linux 5.17 or later on x86-64.";

/// Programs that are not attached to tracepoints or functions: the recorder runs them.
const OWN: [&str; 3] = ["hand_over_rest", "report_current_task", "all_threads"];

/// The loaded and attached BPF programs.
pub struct Tracer {
    ring: Ring,
    blocks: Blocks,
    /// CPUs that may come online.
    cpus: u32,
    hand_over: RawFd,
    report_current: RawFd,
    /// If switches are inferred: the program that does it for the current task.
    infer: Option<RawFd>,
    /// The events that are counted, and the program that reads them while a thread goes on; `None`: none.
    counters: Option<(Counters, RawFd)>,
    /// File descriptor of every attached program.
    programs: Vec<RawFd>,
    missed: u64,
    /// What cannot be recorded on this kernel, one sentence each.
    pub lacks: Vec<String>,
    /// Whether a clock samples what the CPUs run.
    pub samples: bool,
    /// Whether the kernel delivers every switch.
    pub switches: Switches,
    /// Whether threads' settings must be polled because no program reports each change.
    pub polls_settings: bool,
    reports_throttling: bool,
    reports_yields: bool,
    reports_calls: bool,
    reports_kernel_locks: bool,
    reports_parking: bool,
    threads: Link,
    /// The maps of callchains (kernel, user) and the size of a value, bytes; `None`: callchains are not recorded.
    stacks: Option<[(RawFd, u32); 2]>,
    /// The map of the callchains that were unwound, and those that the unwinding needs; `None`: callchains follow frame pointers.
    unwinding: Option<(Option<RawFd>, Maps)>,
    _links: Vec<Link>,
    _object: Object,
}

impl Tracer {
    /// Loads and attaches every program that this kernel supports.
    ///
    /// # Errors
    /// If permissions are missing, or if libbpf or the kernel's verifier reports an error.
    pub fn start(options: &RecordOptions, marks: &[Found]) -> Result<Self, CaptureError> {
        let &RecordOptions { ring_bytes, irq, stacks, sampling, infer_switches: infer, .. } = options;
        let counters = options.counters.events.len() as u32;
        libbpf::keep_warnings();
        let btf = Btf::from_vmlinux()
            .map_err(|e| CaptureError::Bpf(format!("cannot read the kernel's BTF (/sys/kernel/btf/vmlinux): {e}")))?;
        let cpus = possible_cpus();
        let switches = hidden::test(&procfs::online())?;
        let infer = infer.unwrap_or_else(|| switches.may_be_hidden());
        let attempt = |has: Wanted| {
            let mut lacks = Vec::new();
            let object = open(&btf, cpus, ring_bytes, has, &mut lacks)?
                .load()
                .map_err(|e| why("the kernel rejected the BPF programs", &e))?;
            Self::attach(object, cpus, options, has, marks, lacks)
        };
        let wants_unwinding = options.unwind && (stacks || sampling.hz().is_some());
        // Some kernels do not let programs attach to functions. Nothing else depends on it.
        let has = Wanted {
            irq,
            wait_objects: options.wait_objects,
            functions: may_watch_functions(&btf),
            marks: !marks.is_empty(),
            stacks,
            wants_unwinding,
            unwinds: wants_unwinding && may_unwind(&btf),
            sampling,
            counters,
            infer,
        };
        let mut tracer = match attempt(has) {
            Err(_) if has.functions => attempt(Wanted { functions: false, ..has }),
            done => done,
        }?;
        tracer.reports_throttling = holds_threads(&btf);
        tracer.reports_yields = reads_registers(&btf);
        tracer.reports_calls = reads_calls(&btf);
        tracer.reports_kernel_locks = options.wait_objects && keeps_blockers(&btf);
        tracer.switches = switches;
        Ok(tracer)
    }

    fn attach(
        object: Object,
        cpus: u32,
        options: &RecordOptions,
        has: Wanted,
        marks: &[Found],
        mut lacks: Vec<String>,
    ) -> Result<Self, CaptureError> {
        let (mut links, mut programs, mut threads) = (Vec::new(), Vec::new(), None);
        let (mut hand_over, mut report_current, mut infer, mut count) = (-1, -1, None, None);
        let ring_bytes = options.ring_bytes;
        let polls_settings = !has.functions;
        let (mut reports_parking, mut samples) = (false, false);
        for program in object.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            let fd = program.as_fd().as_raw_fd();
            if !program.autoload() || MARKS.contains(&name.as_str()) {
                continue;
            }
            if let (profile::PROGRAM, Some(hz)) = (name.as_str(), has.sampling.hz()) {
                let events = match profile::open(hz) {
                    Err(why) if !has.sampling.is_required() => {
                        lacks.push(format!("No samples of what the CPUs run: {why}."));
                        continue;
                    }
                    events => events?,
                };
                samples = true;
                for event in events {
                    let link = program.attach_perf_event(event.as_raw_fd());
                    links.push(link.map_err(|e| why("cannot attach the program that samples", &e))?);
                    // The link owns the event.
                    let _ = event.into_raw_fd();
                }
                programs.push(fd);
                continue;
            }
            match name.as_str() {
                "hand_over_rest" => hand_over = fd,
                "report_current_task" => report_current = fd,
                INFER_CURRENT => infer = Some(fd),
                COUNT_CURRENT => count = Some(fd),
                _ => match program.attach() {
                    Ok(link) if name == "all_threads" => threads = Some(link),
                    Ok(link) => {
                        reports_parking |= name == "cpuhp_enter";
                        links.push(link);
                        programs.push(fd);
                    }
                    Err(e)
                        if NEEDED.contains(&name.trim_end_matches("_old"))
                            || OWN.contains(&name.as_str())
                            || FUNCTIONS.iter().any(|(p, _)| *p == name) =>
                    {
                        return Err(why(&format!("cannot attach {name}"), &e));
                    }
                    Err(e) => lacks.push(format!("The BPF program {name} could not be attached ({e}).")),
                },
            }
        }
        attach_marks(&object, marks, &mut links, &mut programs)?;
        let fd_of = |name: &str| {
            let map = object.maps().find(|m| m.name() == name);
            map.map(|m| (m.as_fd().as_raw_fd(), m.value_size(), m.max_entries()))
        };
        let (Some(ring), Some(blocks), Some(threads)) = (fd_of("ring"), fd_of("blocks"), threads) else {
            return Err(CaptureError::Bpf("a map or the thread iterator is missing in the BPF object".into()));
        };
        let counters = match (count, fd_of("counter_events")) {
            (Some(count), Some((map, ..))) => Some((Counters::start(&options.counters, map)?, count)),
            _ => None,
        };
        let map = |name: &str| fd_of(name).map(|(fd, ..)| fd);
        let unwinding = (map("spaces").zip(map("missing")).zip(map("mappings")).zip(map("banks")))
            .filter(|_| has.unwinds)
            .map(|(((spaces, missing), mappings), banks)| Maps { spaces, missing, mappings, banks })
            .map(|maps| (map("walked").filter(|_| has.stacks), maps));
        let stacks = fd_of("kernel_stacks").zip(fd_of("user_stacks")).filter(|_| has.stacks);
        let mapped = |e| CaptureError::Bpf(format!("cannot map the ring buffer: {e}"));
        if polls_settings {
            lacks.push(POLLED_SETTINGS.into());
        }
        let mut tracer = Self {
            ring: Ring::new(ring.0, ring_bytes as usize).map_err(mapped)?,
            blocks: Blocks::new(blocks.0, blocks.1 as usize, blocks.2 as usize, wire::LEVELS).map_err(mapped)?,
            cpus,
            hand_over,
            report_current,
            infer,
            counters,
            programs,
            missed: 0,
            lacks,
            samples,
            switches: Switches::NotSeen,
            polls_settings,
            reports_throttling: false,
            reports_yields: false,
            reports_calls: false,
            reports_kernel_locks: false,
            reports_parking,
            threads,
            unwinding,
            stacks: stacks.map(|(kernel, user)| [kernel, user].map(|(fd, bytes, _)| (fd, bytes))),
            _links: links,
            _object: object,
        };
        tracer.missed = tracer.recursion_misses();
        // From here on: what was counted before the first reading belongs to no thread.
        tracer.read_counters(true);
        Ok(tracer)
    }

    /// Whether events are counted.
    pub fn counts(&self) -> bool {
        self.counters.is_some()
    }

    /// Opens the counted events of CPUs that have come online.
    pub fn follow_counters(&mut self) {
        if let Some((counters, _)) = &mut self.counters {
            counters.follow_cpus();
        }
    }

    /// Reads the counters of each CPU that runs a thread (`all`: every CPU) while its current task goes on.
    pub fn read_counters(&self, all: bool) {
        if let Some((_, program)) = &self.counters {
            for cpu in (0..self.cpus).filter(|cpu| all || self.blocks.runs_thread(*cpu)) {
                let _ = run_on(*program, cpu);
            }
        }
    }

    /// Returns what of the counters could not be recorded, one sentence each.
    pub fn counters_lack(&self) -> Vec<String> {
        self.counters.as_ref().map_or_else(Vec::new, |(counters, _)| counters.lacks())
    }

    /// Whether it reports which threads are throttled by a CPU quota.
    pub fn reports_throttling(&self) -> bool {
        self.reports_throttling
    }

    /// Whether switches distinguish calls of `sched_yield` from preemptions on the way back to user mode.
    pub fn reports_yields(&self) -> bool {
        self.reports_yields
    }

    /// Whether switches have the system call in which a thread waits.
    pub fn reports_calls(&self) -> bool {
        self.reports_calls
    }

    /// Whether it reports for which locks of the kernel threads wait.
    pub fn reports_kernel_locks(&self) -> bool {
        self.reports_kernel_locks
    }

    /// Whether it reports CPUs that go offline and come online.
    pub fn reports_parking(&self) -> bool {
        self.reports_parking
    }

    /// Passes every available record to `take`. Returns `true` if all records that were available have been read.
    pub fn drain(&self, take: &mut dyn FnMut(&[u8])) -> bool {
        self.ring.drain(take)
    }

    /// Makes each CPU with pending events (`all`: every CPU) hand over its blocks. Returns `false` if a CPU was writing to one.
    pub fn hand_over(&self, all: bool) -> bool {
        let mut done = true;
        // If switches are hidden, check the current task of each CPU. A thread that runs long would be noticed too late.
        let infer = self.infer.filter(|_| all || self.inferred_switches()[0] > 0);
        let all = all || infer.is_some();
        for cpu in 0..self.cpus {
            if let Some(infer) = infer {
                let _ = run_on(infer, cpu);
            }
            if all || self.blocks.waits(cpu) {
                // An offline CPU cannot hand over its events. They are lost only if it never comes back, and are then counted as
                // lost.
                done &= run_on(self.hand_over, cpu).unwrap_or(0) == 0;
            }
        }
        done
    }

    /// Makes each CPU report its current task.
    pub fn report_current(&self) {
        for cpu in 0..self.cpus {
            let _ = run_on(self.report_current, cpu);
        }
    }

    /// Returns, per CPU, how many lost events no block has reported.
    pub fn unreported_losses(&self) -> Vec<(u32, u64)> {
        (0..self.cpus).map(|cpu| (cpu, self.blocks.lost(cpu))).filter(|(_, n)| *n > 0).collect()
    }

    /// Returns how many switches were inferred from the thread that was switched in, because the kernel did not deliver them, and
    /// for how many of these the previous thread is unknown.
    pub fn inferred_switches(&self) -> [u64; 2] {
        (0..self.cpus).map(|cpu| self.blocks.inferred_switches(cpu)).fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    /// The number of switches after which it was noticed that earlier ones were neither delivered nor inferred.
    pub fn missing_switches(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.blocks.missing_switches(cpu)).sum()
    }

    /// Returns a row for every thread, concatenated in wire format.
    ///
    /// # Errors
    /// If the kernel's list of threads cannot be read.
    pub fn threads(&self) -> Result<Vec<u8>, CaptureError> {
        let failed = |e: String| CaptureError::Bpf(format!("cannot read the list of threads: {e}"));
        let mut rows = Vec::with_capacity(1 << 16);
        let mut iter = Iter::new(&self.threads).map_err(|e| failed(e.to_string()))?;
        let mut chunk = vec![0; 1 << 16];
        loop {
            match iter.read(&mut chunk) {
                Ok(0) => return Ok(rows),
                Ok(n) => rows.extend_from_slice(&chunk[..n]),
                Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) => {}
                Err(e) => return Err(failed(e.to_string())),
            }
        }
    }

    /// The maps that unwinding needs, if it is possible here.
    pub fn unwinding(&self) -> Option<Maps> {
        self.unwinding.map(|(_, maps)| maps)
    }

    /// Returns the addresses of a callchain by its number, innermost first, in user space (`user`) or in the kernel; and how it ended.
    pub fn stack(&self, user: bool, number: u32) -> Option<(Vec<u64>, CallchainEnd)> {
        match number.checked_sub(wire::FIRST_WALKED.cast_unsigned()) {
            Some(slot) if user => self.walked(slot),
            _ => Some((self.kernels_stack(user, number)?, CallchainEnd::Unknown)),
        }
    }

    /// Returns the callchain of a slot of the map `walked` (bpf/unwind.h).
    fn walked(&self, slot: u32) -> Option<(Vec<u64>, CallchainEnd)> {
        let map = self.unwinding?.0?;
        // A hash; depth and end, four bytes each; the addresses.
        let mut words = [0u64; 2 + wire::USER_DEPTH];
        // SAFETY: the kernel reads a key of four bytes, and writes one value of the map, for which there is room.
        let failed =
            unsafe { libbpf_sys::bpf_map_lookup_elem(map, (&raw const slot).cast(), words.as_mut_ptr().cast()) };
        let [depth, ended] =
            [0, 4].map(|at| u32::from_ne_bytes(std::array::from_fn(|n| words[1].to_ne_bytes()[at + n])));
        let addresses = words.get(2..2 + depth as usize)?.to_vec();
        (failed == 0 && depth > 0).then(|| (addresses, wire::ended(ended)))
    }

    fn kernels_stack(&self, user: bool, number: u32) -> Option<Vec<u64>> {
        let (map, bytes) = self.stacks?[usize::from(user)];
        let mut addresses = vec![0u64; bytes as usize / size_of::<u64>()];
        // SAFETY: the kernel reads a key of four bytes, and writes one value of the map, for which there is room.
        let failed =
            unsafe { libbpf_sys::bpf_map_lookup_elem(map, (&raw const number).cast(), addresses.as_mut_ptr().cast()) };
        let used = addresses.iter().position(|address| *address == 0).unwrap_or(addresses.len());
        addresses.truncate(used);
        (failed == 0).then_some(addresses)
    }

    /// The number of times since the last call that a program was not run because it was already running on that CPU.
    pub fn newly_missed(&mut self) -> u64 {
        let now = self.recursion_misses();
        now.saturating_sub(std::mem::replace(&mut self.missed, now))
    }

    fn recursion_misses(&self) -> u64 {
        self.programs.iter().filter_map(|fd| info(*fd)).map(|i| i.recursion_misses).sum()
    }

    /// The run time of the programs, ns, if the kernel measures it (`kernel.bpf_stats_enabled`).
    pub fn run_time_ns(&self) -> Option<i64> {
        let sum: u64 = self.programs.iter().filter_map(|fd| info(*fd)).map(|i| i.run_time_ns).sum();
        i64::try_from(sum).ok().filter(|n| *n > 0)
    }
}

/// Attaches the programs of the marks. Return probes are attached first, so that every recorded entry has a recorded return.
fn attach_marks(
    object: &Object,
    marks: &[Found],
    links: &mut Vec<Link>,
    programs: &mut Vec<RawFd>,
) -> Result<(), CaptureError> {
    for (name, retprobe) in [(MARKS[1], true), (MARKS[0], false)] {
        let Some(program) = object.progs_mut().find(|p| p.name() == name && p.autoload()) else { continue };
        programs.push(program.as_fd().as_raw_fd());
        for (number, mark) in marks.iter().enumerate().filter(|(_, mark)| mark.stretch || !retprobe) {
            for site in &mark.sites {
                let options = || UprobeOpts {
                    cookie: number as u64,
                    retprobe,
                    ref_ctr_offset: site.semaphore as usize,
                    ..UprobeOpts::default()
                };
                let attach = || program.attach_uprobe_with_opts(-1, &mark.file, site.offset as usize, options());
                let mut link = attach();
                // A signal can interrupt this call if both ftrace and perf use uprobes.
                while matches!(&link, Err(e) if e.kind() == libbpf_rs::ErrorKind::Interrupted) {
                    link = attach();
                }
                links.push(link.map_err(|e| CaptureError::Mark {
                    name: mark.name.clone(),
                    why: why(&format!("the kernel rejected a probe in {}", mark.file.display()), &e).to_string(),
                })?);
            }
        }
    }
    Ok(())
}

/// Which optional programs to load.
#[derive(Clone, Copy)]
struct Wanted {
    irq: bool,
    wait_objects: bool,
    functions: bool,
    marks: bool,
    stacks: bool,
    /// Whether user callchains are to be unwound by tables, and whether the kernel can.
    wants_unwinding: bool,
    unwinds: bool,
    sampling: Sampling,
    /// How many events each CPU counts.
    counters: u32,
    infer: bool,
}

/// Opens the BPF object without the programs that this kernel does not support.
fn open(
    btf: &Btf<'_>,
    cpus: u32,
    ring_bytes: u32,
    wanted: Wanted,
    lacks: &mut Vec<String>,
) -> Result<OpenObject, CaptureError> {
    let mut object = ObjectBuilder::default().open_memory(OBJECT).map_err(|e| why("cannot open the BPF object", &e))?;
    let has_point = |name: &str| btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    let switch_has_state = switch_has_state(btf);
    let has_queue_time = has_field(btf, "sched_info", "last_queued") && has_field(btf, "cfs_rq", "rq");
    if !holds_threads(btf) {
        lacks.push(NO_THROTTLES.into());
    }
    if !reads_registers(btf) {
        lacks.push(NO_YIELDS.into());
    }
    if !reads_calls(btf) {
        lacks.push(NO_CALLS.into());
    }
    if wanted.wait_objects && !keeps_blockers(btf) {
        lacks.push(NO_KERNEL_LOCKS.into());
    }
    if wanted.wants_unwinding && !wanted.unwinds {
        lacks.push(NO_UNWINDING.into());
    }
    let has_request_disk = has_point("block_rq_issue") && has_field(btf, "request_queue", "disk");
    if !has_request_disk {
        lacks.push("Requests to block devices are not recorded: this needs Linux 5.15 or later.".into());
    }
    for mut program in object.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let name = name.as_str();
        let load = if let Some((_, function)) = FUNCTIONS.iter().find(|(p, _)| *p == name) {
            wanted.functions && btf.type_by_name::<types::Func<'_>>(function).is_some()
        } else if INTERRUPTED.contains(&name) {
            has_point(name)
        } else if INTERRUPTS.contains(&name) {
            wanted.irq && has_point(name)
        } else if let Some((_, what)) = TRACEPOINTS.iter().find(|(p, _)| *p == name) {
            let there = has_point(name);
            if !there {
                lacks.push(format!("Not recorded: {what} (this kernel has no tracepoint {name})."));
            }
            there
        } else {
            match name {
                name if MARKS.contains(&name) => wanted.marks,
                profile::PROGRAM => wanted.sampling.hz().is_some(),
                INFER_CURRENT => wanted.infer,
                COUNT_CURRENT => wanted.counters > 0,
                "sched_switch" => switch_has_state,
                "sched_switch_old" => !switch_has_state,
                "sched_wakeup" => !has_queue_time,
                // Older kernels have the device elsewhere in the request, and other arguments in the tracepoint.
                "block_rq_issue" | "block_rq_complete" if !has_request_disk => false,
                // Other tracepoint programs are loaded if this kernel has their tracepoint.
                name if program.section() == format!("tp_btf/{name}").as_str() => has_point(name),
                _ => true,
            }
        };
        program.set_autoload(load);
    }
    // The kernel provides the names of timers' functions since 5.13.
    let names_functions = btf.type_by_name::<types::Func<'_>>("bpf_snprintf").is_some();
    let kinds = [(wanted.irq, RECORD_INTERRUPTS), (wanted.irq && names_functions, RECORD_TIMERS)];
    // Values set before loading: the last part of the section's name, value.
    let set = [
        (".rodata", cpus.div_ceil(64).min(16)),
        (".stacks", u32::from(wanted.stacks)),
        (".masks", u32::from(!wanted.functions)),
        (".infer", u32::from(wanted.infer)),
        (".counters", wanted.counters),
        (".registers", u32::from(reads_registers(btf))),
        (".reads_calls", u32::from(reads_calls(btf))),
        (".unwinds", u32::from(wanted.unwinds)),
        (".objects", u32::from(wanted.wait_objects)),
        (".futex", futex_call(btf, wanted.wait_objects)),
        (".groups", u32::from(cpu_hierarchy().is_some_and(|hierarchy| !hierarchy.unified))),
        (".interrupts", kinds.iter().filter(|(wanted, _)| *wanted).map(|(_, bit)| bit).sum()),
    ];
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let done = match name.as_str() {
            "ring" => map.set_max_entries(ring_bytes),
            "blocks" => map.set_max_entries(cpus * wire::LEVELS as u32),
            "pending" => map.set_max_entries(cpus * wire::PENDING),
            "chains" | "readings_taken" => map.set_max_entries(cpus),
            "counter_events" => map.set_max_entries(cpus * MAX_COUNTERS as u32),
            "functions" => map.set_autocreate(wanted.irq),
            "kernel_stacks" | "user_stacks" => map.set_autocreate(wanted.stacks),
            "spaces" | "missing" | "mappings" | "banks" | "walks" | "recent" => map.set_autocreate(wanted.unwinds),
            "walked" => map.set_autocreate(wanted.unwinds && wanted.stacks),
            "sample_record" => map.set_autocreate(wanted.sampling.hz().is_some()),
            "objects" | "object_record" => map.set_autocreate(wanted.wait_objects),
            name if name.ends_with(".calls") => {
                if let Some(value) = map.initial_value_mut().filter(|_| wanted.wait_objects) {
                    objects::set_calls(value);
                }
                Ok(())
            }
            name if name.ends_with(".call_numbers") => {
                if let Some(value) = map.initial_value_mut() {
                    objects::set_numbers(value);
                }
                Ok(())
            }
            name => {
                if let Some((_, set)) = set.iter().find(|(section, _)| name.ends_with(section))
                    && let Some(value) = map.initial_value_mut().and_then(|v| v.get_mut(..4))
                {
                    value.copy_from_slice(&set.to_ne_bytes());
                }
                Ok(())
            }
        };
        done.map_err(|e| why("cannot set the size of the BPF maps", &e))?;
    }
    Ok(object)
}

/// Whether the kernel accepts an empty program at a function. Tested separately because the kernel would reject the whole object late,
/// after most of it has been verified.
fn may_watch_functions(btf: &Btf<'_>) -> bool {
    let Some(function) = btf.type_by_name::<types::Func<'_>>(FUNCTIONS[0].1) else { return false };
    let mut options = libbpf_sys::bpf_prog_load_opts {
        sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as _,
        expected_attach_type: libbpf_sys::BPF_TRACE_FEXIT,
        attach_btf_id: function.type_id().into(),
        ..Default::default()
    };
    // r0 = 0; exit (opcodes of the UAPI: BPF_ALU64 | BPF_MOV | BPF_K, BPF_JMP | BPF_EXIT).
    let nothing = [0xb7, 0x95].map(|code| libbpf_sys::bpf_insn { code, ..Default::default() });
    // SAFETY: name and licence end with 0, and the number of instructions is that of the array.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_TRACING,
            c"may_watch".as_ptr(),
            c"GPL".as_ptr(),
            nothing.as_ptr(),
            nothing.len() as _,
            &raw mut options,
        )
    };
    if fd >= 0 {
        // SAFETY: it was opened above and is not used elsewhere.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    fd >= 0
}

/// Whether the kernel has the fields that show which threads are throttled by a quota, and for how long (`quota.h`).
fn holds_threads(btf: &Btf<'_>) -> bool {
    has_field(btf, "task_struct", "throttled")
        && has_field(btf, "cfs_rq", "throttled_clock_self_time")
        && has_field(btf, "sched_info", "last_queued")
}

/// Whether programs can read the registers with which a thread entered the kernel, and these show in which system call it is
/// (`calls.h`).
fn reads_calls(btf: &Btf<'_>) -> bool {
    let shows = match std::env::consts::ARCH {
        "x86_64" => has_field(btf, "pt_regs", "orig_ax"),
        "aarch64" => has_field(btf, "pt_regs", "syscallno"),
        _ => false,
    };
    shows && btf.type_by_name::<types::Func<'_>>("bpf_task_pt_regs").is_some()
}

/// Whether programs can unwind user stacks (`unwind.h`). On arm64, the verifier of Linux 6.1 refuses the programs with it.
fn may_unwind(btf: &Btf<'_>) -> bool {
    cfg!(target_arch = "x86_64") && reads_calls(btf) && btf.type_by_name::<types::Func<'_>>("bpf_loop").is_some()
}

/// Whether these registers also show if a thread is on its way back from a system call (`yields.h`).
fn reads_registers(btf: &Btf<'_>) -> bool {
    cfg!(target_arch = "x86_64") && reads_calls(btf)
}

/// Whether the kernel keeps for which of its locks a thread waits (`objects.h`).
fn keeps_blockers(btf: &Btf<'_>) -> bool {
    has_field(btf, "task_struct", "blocker")
}

/// The number of the futex call, if programs read what it waits for (`futexes.h`); else 0.
fn futex_call(btf: &Btf<'_>, wanted: bool) -> u32 {
    if wanted && reads_calls(btf) { libc::SYS_futex as u32 } else { 0 }
}
