//! The BPF backend: loads and attaches the kernel side, drains it, and takes snapshots.

use crate::conditions;
use crate::hidden::{self, Switches};
use crate::mark_point::Found;
use crate::options::CaptureError;
use crate::procfs;
use crate::ring::{Blocks, Ring};
use crate::wire;
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::libbpf_sys;
use libbpf_rs::{Iter, Link, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramMut, UprobeOpts};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;

/// The kernel side, compiled by `build.rs`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"));

/// Without these there is no recording.
const NEEDED: [&str; 4] = ["sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"];

/// Programs at tracepoints that a kernel may lack: program (named as its tracepoint), what is then not recorded.
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

/// Programs that follow interrupts and timers: a kernel without one names whom it came upon as the waker.
const INTERRUPTED: [&str; 6] = [
    "irq_handler_entry",
    "irq_handler_exit",
    "hrtimer_expire_entry",
    "hrtimer_expire_exit",
    "timer_expire_entry",
    "timer_expire_exit",
];

/// Programs that only tell of interrupts, at tracepoints some of which only x86 has.
const INTERRUPTS: [&str; 5] =
    ["softirq_entry", "softirq_exit", "reschedule_entry", "call_function_entry", "call_function_single_entry"];

/// What those that follow interrupts tell of them (bpf/interrupts.h).
const TELL_INTERRUPTS: u32 = 1;
const TELL_TIMERS: u32 = 2;

/// Programs at functions: program, function.
const FUNCTIONS: [(&str, &str); 3] = [
    ("set_user_nice", "set_user_nice"),
    ("sched_setscheduler", "__sched_setscheduler"),
    ("set_cpus_allowed", "__set_cpus_allowed_ptr"),
];

/// Programs that infer switches which the kernel hides, at tracepoints; before all others there. And the one that the recorder runs.
const INFERRING: [&str; 2] = ["infer_at_switch", "infer_at_idle"];
const INFER_CURRENT: &str = "infer_current";

/// Programs at functions and probes of programs: on entry, on return.
const MARKS: [&str; 2] = ["mark_entered", "mark_returned"];

/// What a recording lacks where nothing tells of throttled threads.
pub const NO_THROTTLES: &str = "Threads that their cgroup's CPU quota holds are not told from others that are ready: the kernel \
    holds single threads since Linux 6.18.";

/// What a recording lacks where the registers with which a thread entered the kernel cannot be read.
pub const NO_YIELDS: &str = "Threads that called sched_yield are not told from those that were preempted on their way back to user \
    mode: that is read from the registers of x86-64, since Linux 5.15.";

/// Not attached: run by the recorder.
const OWN: [&str; 3] = ["hand_over_rest", "who_runs", "all_threads"];

/// What libbpf said last.
static SAID: Mutex<String> = Mutex::new(String::new());

fn listen(level: PrintLevel, text: String) {
    if level == PrintLevel::Warn
        && let Ok(mut said) = SAID.lock()
        && said.len() < 4096
    {
        said.push_str(text.trim_end());
        said.push_str("; ");
    }
}

/// The kernel side at work.
pub struct Tracer {
    ring: Ring,
    blocks: Blocks,
    /// CPUs that may come online.
    cpus: u32,
    hand_over: RawFd,
    who: RawFd,
    /// Where switches are inferred: the program that does it for who runs now.
    infer: Option<RawFd>,
    /// Name and file descriptor of every attached program.
    programs: Vec<RawFd>,
    missed: u64,
    /// What this kernel cannot tell.
    pub lacks: Vec<String>,
    /// Whether the kernel delivers every switch.
    pub switches: Switches,
    /// Settings of threads must be looked at: no program tells each change.
    pub look_for_changes: bool,
    tells_throttles: bool,
    tells_yields: bool,
    tells_parking: bool,
    threads: Link,
    /// The maps of callchains, the kernel's and the programs', and how many bytes one has there; `None`: none are kept.
    stacks: Option<[(RawFd, u32); 2]>,
    _links: Vec<Link>,
    _object: Object,
}

/// The highest CPU number of this machine, plus one.
pub fn possible_cpus() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = list.trim().rsplit([',', '-']).next().and_then(|n| n.parse::<u32>().ok());
    last.map_or(1, |n| n + 1)
}

pub fn why(doing: &str, error: &libbpf_rs::Error) -> CaptureError {
    let said = SAID.lock().map(|mut s| std::mem::take(&mut *s)).unwrap_or_default();
    if error.kind() == libbpf_rs::ErrorKind::PermissionDenied && !crate::rights::may_load() {
        return CaptureError::Rights;
    }
    CaptureError::Bpf(format!("{doing}: {error:#}; {}", said.trim_end_matches("; ")))
}

impl Tracer {
    /// Loads and attaches everything that this kernel has. `infer`: whether switches are inferred that the kernel hides; `None`: where
    /// it hides some, and where CPUs are too busy to see whether.
    ///
    /// # Errors
    /// Without the rights; or what libbpf or the kernel's verifier say.
    pub fn start(
        ring_bytes: u32,
        irq: bool,
        stacks: bool,
        marks: &[Found],
        infer: Option<bool>,
    ) -> Result<Self, CaptureError> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, listen)));
        if let Ok(mut said) = SAID.lock() {
            said.clear();
        }
        let btf = Btf::from_vmlinux()
            .map_err(|e| CaptureError::Bpf(format!("this kernel has no BTF (/sys/kernel/btf/vmlinux): {e}")))?;
        let cpus = possible_cpus();
        let switches = hidden::look(&procfs::online())?;
        // A virtual machine may hide only what a few threads do that sleep during the look: there, that nothing was seen to be
        // hidden proves nothing.
        let infer = infer.unwrap_or(switches != Switches::Delivered || !conditions::is_bare());
        let attempt = |has: Wanted| {
            let mut lacks = Vec::new();
            let object = open(&btf, cpus, ring_bytes, has, &mut lacks)?
                .load()
                .map_err(|e| why("the kernel refused the BPF programs", &e))?;
            Self::attach(object, cpus, ring_bytes, has, marks, lacks)
        };
        // Some kernels do not let programs attach to functions; everything else does not need it.
        let has = Wanted { irq, functions: may_watch_functions(&btf), marks: !marks.is_empty(), stacks, infer };
        let mut tracer = match attempt(has) {
            Err(_) if has.functions => attempt(Wanted { functions: false, ..has }),
            done => done,
        }?;
        tracer.tells_throttles = holds_threads(&btf);
        tracer.tells_yields = reads_registers(&btf);
        tracer.switches = switches;
        Ok(tracer)
    }

    fn attach(
        object: Object,
        cpus: u32,
        ring_bytes: u32,
        has: Wanted,
        marks: &[Found],
        mut lacks: Vec<String>,
    ) -> Result<Self, CaptureError> {
        let (mut links, mut programs, mut threads) = (Vec::new(), Vec::new(), None);
        let (mut hand_over, mut who, mut infer) = (-1, -1, None);
        let look_for_changes = !has.functions;
        let mut tells_parking = false;
        // At a tracepoint programs run in the order in which they were attached.
        let is_first = |p: &ProgramMut<'_>| INFERRING.iter().any(|first| p.name() == *first);
        let (first, others): (Vec<_>, Vec<_>) = object.progs_mut().partition(is_first);
        for program in first.into_iter().chain(others) {
            let name = program.name().to_string_lossy().into_owned();
            let fd = program.as_fd().as_raw_fd();
            if !program.autoload() || MARKS.contains(&name.as_str()) {
                continue;
            }
            match name.as_str() {
                "hand_over_rest" => hand_over = fd,
                "who_runs" => who = fd,
                INFER_CURRENT => infer = Some(fd),
                _ => match program.attach() {
                    Ok(link) if name == "all_threads" => threads = Some(link),
                    Ok(link) => {
                        tells_parking |= name == "cpuhp_enter";
                        links.push(link);
                        programs.push(fd);
                    }
                    Err(e)
                        if NEEDED.contains(&name.trim_end_matches("_old"))
                            || OWN.contains(&name.as_str())
                            || name == INFERRING[0]
                            || FUNCTIONS.iter().any(|(p, _)| *p == name) =>
                    {
                        return Err(why(&format!("attaching {name}"), &e));
                    }
                    Err(e) => lacks.push(format!("{name} could not be attached ({e}).")),
                },
            }
        }
        attach_marks(&object, marks, &mut links, &mut programs)?;
        let fd_of = |name: &str| {
            let map = object.maps().find(|m| m.name() == name);
            map.map(|m| (m.as_fd().as_raw_fd(), m.value_size(), m.max_entries()))
        };
        let (Some(ring), Some(blocks), Some(threads)) = (fd_of("ring"), fd_of("blocks"), threads) else {
            return Err(CaptureError::Bpf("the BPF object lacks a map".into()));
        };
        let stacks = fd_of("kernel_stacks").zip(fd_of("user_stacks")).filter(|_| has.stacks);
        let mapped = |e| CaptureError::Bpf(format!("mapping the ring buffer: {e}"));
        if look_for_changes {
            lacks.push(
                "This kernel lets no program attach to functions. A change of a thread's affinity is told when the \
                 thread next switches, is woken or has run for a second, and where it was allowed is unknown between \
                 this and when the mask before it was seen last; changes of priority are seen once a second."
                    .into(),
            );
        }
        let mut tracer = Self {
            ring: Ring::new(ring.0, ring_bytes as usize).map_err(mapped)?,
            blocks: Blocks::new(blocks.0, blocks.1 as usize, blocks.2 as usize, wire::LEVELS).map_err(mapped)?,
            cpus,
            hand_over,
            who,
            infer,
            programs,
            missed: 0,
            lacks,
            switches: Switches::NotSeen,
            look_for_changes,
            tells_throttles: false,
            tells_yields: false,
            tells_parking,
            threads,
            stacks: stacks.map(|(kernel, user)| [kernel, user].map(|(fd, bytes, _)| (fd, bytes))),
            _links: links,
            _object: object,
        };
        tracer.missed = tracer.recursion_misses();
        Ok(tracer)
    }

    /// Whether switches tell which threads a CPU quota holds.
    pub fn tells_throttles(&self) -> bool {
        self.tells_throttles
    }

    /// Whether switches tell who called `sched_yield` from who was preempted on the way back to user mode.
    pub fn tells_yields(&self) -> bool {
        self.tells_yields
    }

    /// Whether CPUs that go offline and come online are told.
    pub fn tells_parking(&self) -> bool {
        self.tells_parking
    }

    /// Hands every record that is there to `take`; `true`: nothing that was there is left.
    pub fn drain(&self, take: &mut dyn FnMut(&[u8])) -> bool {
        self.ring.drain(take)
    }

    /// Makes each CPU that has something hand it over (`all`: every CPU). `false`: one was in the middle of writing.
    pub fn hand_over(&self, all: bool) -> bool {
        let mut done = true;
        // Where switches go untold, each CPU is asked whom it runs, or one that runs long would tell of it too late.
        let infer = self.infer.filter(|_| all || self.links()[0] > 0);
        let all = all || infer.is_some();
        for cpu in 0..self.cpus {
            if let Some(infer) = infer {
                let _ = run_on(infer, cpu);
            }
            if all || self.blocks.waits(cpu) {
                // An offline CPU handed over nothing since; what it left is lost with the kernel's buffers only if it
                // never comes back, and then it is counted as lost.
                done &= run_on(self.hand_over, cpu).unwrap_or(0) == 0;
            }
        }
        done
    }

    /// Lets each CPU tell what it runs.
    pub fn tell_current(&self) {
        for cpu in 0..self.cpus {
            let _ = run_on(self.who, cpu);
        }
    }

    /// Events of each CPU that were lost and not told with a block.
    pub fn untold_losses(&self) -> Vec<(u32, u64)> {
        (0..self.cpus).map(|cpu| (cpu, self.blocks.lost(cpu))).filter(|(_, n)| *n > 0).collect()
    }

    /// How many switches were told by the one that came in, because that of the one that left was not delivered; and how
    /// many of these leave open who left.
    pub fn links(&self) -> [u64; 2] {
        (0..self.cpus).map(|cpu| self.blocks.links(cpu)).fold([0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    /// How many switches show that others before them were neither delivered nor inferred.
    pub fn unlinked(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.blocks.unlinked(cpu)).sum()
    }

    /// A row for every thread, in wire form one behind the other.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn threads(&self) -> Result<Vec<u8>, CaptureError> {
        let failed = |e: String| CaptureError::Bpf(format!("reading the list of threads: {e}"));
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

    /// The addresses of a callchain by its number, innermost first: of a program (`user`) or of the kernel.
    pub fn stack(&self, user: bool, number: u32) -> Option<Vec<u64>> {
        let (map, bytes) = self.stacks?[usize::from(user)];
        let mut addresses = vec![0u64; bytes as usize / size_of::<u64>()];
        // SAFETY: the kernel reads a key of four bytes, and writes as many as the map's values have.
        let failed =
            unsafe { libbpf_sys::bpf_map_lookup_elem(map, (&raw const number).cast(), addresses.as_mut_ptr().cast()) };
        let used = addresses.iter().position(|address| *address == 0).unwrap_or(addresses.len());
        addresses.truncate(used);
        (failed == 0).then_some(addresses)
    }

    /// How often a program was not run since the last call, because it was running on that CPU already.
    pub fn newly_missed(&mut self) -> u64 {
        let now = self.recursion_misses();
        now.saturating_sub(std::mem::replace(&mut self.missed, now))
    }

    fn recursion_misses(&self) -> u64 {
        self.programs.iter().filter_map(|fd| info(*fd)).map(|i| i.recursion_misses).sum()
    }

    /// What the programs ran, ns, where the kernel counts it (`kernel.bpf_stats_enabled`).
    pub fn run_time_ns(&self) -> Option<i64> {
        let sum: u64 = self.programs.iter().filter_map(|fd| info(*fd)).map(|i| i.run_time_ns).sum();
        i64::try_from(sum).ok().filter(|n| *n > 0)
    }
}

fn info(fd: RawFd) -> Option<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut len = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the kernel writes at most `len` bytes.
    let failed = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd, &raw mut info, &raw mut len) };
    (failed == 0).then_some(info)
}

/// Runs a program on a CPU; what it returned.
fn run_on(program: RawFd, cpu: u32) -> std::io::Result<u32> {
    let mut how = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        cpu,
        flags: libbpf_sys::BPF_F_TEST_RUN_ON_CPU,
        ..Default::default()
    };
    loop {
        // SAFETY: no buffers are passed.
        let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program, &raw mut how) };
        let why = std::io::Error::last_os_error();
        match failed {
            0 => return Ok(how.retval),
            _ if why.kind() == std::io::ErrorKind::Interrupted => {}
            _ => return Err(why),
        }
    }
}

/// Attaches the programs of the marks. Returns first: then no entry is told whose return cannot be.
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
                // The kernel lets a signal end this where ftrace and perf both watch uprobes.
                while matches!(&link, Err(e) if e.kind() == libbpf_rs::ErrorKind::Interrupted) {
                    link = attach();
                }
                links.push(link.map_err(|e| CaptureError::Mark {
                    name: mark.name.clone(),
                    why: why(&format!("the kernel lets nobody watch {}", mark.file.display()), &e).to_string(),
                })?);
            }
        }
    }
    Ok(())
}

/// What of the kernel side is loaded.
#[derive(Clone, Copy)]
struct Wanted {
    irq: bool,
    functions: bool,
    marks: bool,
    stacks: bool,
    infer: bool,
}

/// Opens the object and leaves out what this kernel does not have.
fn open(
    btf: &Btf<'_>,
    cpus: u32,
    ring_bytes: u32,
    wanted: Wanted,
    lacks: &mut Vec<String>,
) -> Result<OpenObject, CaptureError> {
    let mut object = ObjectBuilder::default().open_memory(OBJECT).map_err(|e| why("opening the BPF object", &e))?;
    let has_point = |name: &str| btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    let state_is_told = switch_tells_state(btf);
    let queueing_is_told = has_field(btf, "sched_info", "last_queued") && has_field(btf, "cfs_rq", "rq");
    if !holds_threads(btf) {
        lacks.push(NO_THROTTLES.into());
    }
    if !reads_registers(btf) {
        lacks.push(NO_YIELDS.into());
    }
    let tells_requests = has_point("block_rq_issue") && has_field(btf, "request_queue", "disk");
    if !tells_requests {
        lacks.push("Requests to block devices are not told: they are since Linux 5.15.".into());
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
                lacks.push(format!("This kernel does not tell {what} ({name})."));
            }
            there
        } else {
            match name {
                name if MARKS.contains(&name) => wanted.marks,
                INFER_CURRENT => wanted.infer,
                "infer_at_switch" => wanted.infer,
                "infer_at_idle" => wanted.infer && has_point("cpu_idle"),
                "sched_switch" => state_is_told,
                "sched_switch_old" => !state_is_told,
                "sched_wakeup" => !queueing_is_told,
                // Before, requests have their device elsewhere, and the tracepoint has them in another place.
                "block_rq_issue" | "block_rq_complete" if !tells_requests => false,
                // What needs no words of its own here is loaded where this kernel has it.
                name if program.section() == format!("tp_btf/{name}").as_str() => has_point(name),
                _ => true,
            }
        };
        program.set_autoload(load);
    }
    // The kernel names timers' functions since 5.13.
    let names_functions = btf.type_by_name::<types::Func<'_>>("bpf_snprintf").is_some();
    let tell = [(wanted.irq, TELL_INTERRUPTS), (wanted.irq && names_functions, TELL_TIMERS)];
    // What is set before loading: the last part of its section's name, value.
    let set = [
        (".rodata", cpus.div_ceil(64).min(16)),
        (".stacks", u32::from(wanted.stacks)),
        (".masks", u32::from(!wanted.functions)),
        (".registers", u32::from(reads_registers(btf))),
        (".interrupts", tell.iter().filter(|(wanted, _)| *wanted).map(|(_, bit)| bit).sum()),
    ];
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let done = match name.as_str() {
            "ring" => map.set_max_entries(ring_bytes),
            "blocks" => map.set_max_entries(cpus * wire::LEVELS as u32),
            "pending" => map.set_max_entries(cpus * wire::PENDING),
            "chains" => map.set_max_entries(cpus).and_then(|()| map.set_autocreate(wanted.infer)),
            "functions" => map.set_autocreate(wanted.irq),
            "kernel_stacks" | "user_stacks" => map.set_autocreate(wanted.stacks),
            name => {
                if let Some((_, set)) = set.iter().find(|(section, _)| name.ends_with(section))
                    && let Some(value) = map.initial_value_mut().and_then(|v| v.get_mut(..4))
                {
                    value.copy_from_slice(&set.to_ne_bytes());
                }
                Ok(())
            }
        };
        done.map_err(|e| why("sizing the BPF maps", &e))?;
    }
    Ok(object)
}

/// Whether the kernel takes a program at a function, one that does nothing: the refusal of a whole object comes late, after most
/// of it has been verified.
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
    // SAFETY: name and licence end with 0, and there are as many instructions as is said.
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
        // SAFETY: it was opened above, and nobody else knows it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    fd >= 0
}

fn has_field(btf: &Btf<'_>, of: &str, field: &str) -> bool {
    let found = btf.type_by_name::<types::Struct<'_>>(of);
    found.is_some_and(|s| s.iter().any(|m| m.name.is_some_and(|name| name == field)))
}

/// Whether the kernel tells which threads a quota holds, and for how long their group's queue did: see `quota.h`.
fn holds_threads(btf: &Btf<'_>) -> bool {
    has_field(btf, "task_struct", "throttled")
        && has_field(btf, "cfs_rq", "throttled_clock_self_time")
        && has_field(btf, "sched_info", "last_queued")
}

/// Whether programs may read the registers with which a thread entered the kernel, and these tell of system calls what `yields.h`
/// wants to know.
fn reads_registers(btf: &Btf<'_>) -> bool {
    cfg!(target_arch = "x86_64")
        && has_field(btf, "pt_regs", "orig_ax")
        && btf.type_by_name::<types::Func<'_>>("bpf_task_pt_regs").is_some()
}

/// Whether `sched_switch` has the state as its fourth argument (Linux 5.18 and later).
fn switch_tells_state(btf: &Btf<'_>) -> bool {
    use libbpf_rs::btf::ReferencesType;
    let arguments = btf
        .type_by_name::<types::Typedef<'_>>("btf_trace_sched_switch")
        .and_then(|t| types::Ptr::try_from(t.referenced_type()).ok())
        .and_then(|p| types::FuncProto::try_from(p.referenced_type()).ok())
        .map(|f| f.iter().count());
    // The first one is the tracepoint's own data.
    arguments.is_none_or(|n| n >= 5)
}
