//! The perf backend: tracepoints through `perf_event_open`, for machines without BPF. Its records are translated to those that the
//! BPF programs write, so that all later code is the same.

use crate::counting::CounterPlan;
use crate::mapped::page;
use crate::online::{EnabledTime, Events, Gap, Online, TIME_ENABLED};
use crate::options::{CaptureError, RecordOptions};
use crate::perf_counting::{CpuCounting, Out, READ_GROUP, SwitchSample};
use crate::procfs;
use crate::{rights, samples, wire};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of each CPU's buffer, without its control page. Halved until the kernel allows it.
const BUFFER: usize = 32 << 20;
/// Minimum size of a buffer, bytes.
const MIN_BUFFER: usize = 64 << 10;
/// A block is closed at about this many bytes.
const BLOCK: usize = 4000;
/// Offsets of the kernel's and our position in the control page (`perf_event_mmap_page`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;

pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_RAW: u64 = 1 << 10;
/// Samples begin with the id of their event, and other records end with it.
const SAMPLE_IDENTIFIER: u64 = 1 << 16;

pub const RECORD_LOST: u32 = 2;
pub const RECORD_COMM: u32 = 3;
pub const RECORD_EXIT: u32 = 4;
pub const RECORD_FORK: u32 = 7;
const RECORD_SAMPLE: u32 = 9;

/// Tracepoints: system, name, whether recording is impossible without it, whether it is used only with `--irq`.
const POINTS: [(&str, &str, bool, bool); 12] = [
    ("sched", "sched_switch", true, false),
    ("sched", "sched_waking", true, false),
    ("sched", "sched_wakeup", true, false),
    ("sched", "sched_wakeup_new", true, false),
    ("sched", "sched_migrate_task", false, false),
    ("sched", "sched_process_exec", false, false),
    ("power", "cpu_idle", false, false),
    ("power", "cpu_frequency", false, false),
    ("irq", "irq_handler_entry", false, true),
    ("irq", "irq_handler_exit", false, true),
    ("irq", "softirq_entry", false, true),
    ("irq", "softirq_exit", false, true),
];

/// `struct perf_event_attr`, version 3 of its size and later (96 bytes).
#[derive(Default)]
#[repr(C)]
pub struct Attr {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup: u32,
    pub bp_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch: u64,
    pub user_regs: u64,
    pub user_stack: u32,
    pub clock: i32,
}

const FLAG_DISABLED: u64 = 1;
pub const FLAG_COMM: u64 = 1 << 9;
pub const FLAG_TASK: u64 = 1 << 13;
pub const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
/// Events of a group must have the same clock.
pub const FLAG_CLOCK: u64 = 1 << 25;

/// A tracepoint: its index in [`POINTS`], and the offset and size of its fields.
struct Point {
    of: usize,
    fields: HashMap<String, (usize, usize)>,
}

struct Buffer {
    cpu: u32,
    at: *mut u8,
    size: usize,
    lost: u64,
}

/// A CPU's events and their common buffer.
struct OnCpu {
    buffer: Buffer,
    /// An event that shows whether the kernel has removed all.
    first: File,
    _others: Vec<OwnedFd>,
    enabled: EnabledTime,
    counting: Option<CpuCounting>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: our own mapping.
        unsafe { libc::munmap(self.at.cast(), page() + self.size) };
    }
}

/// The open perf events.
pub struct PerfTracer {
    cpus: Vec<OnCpu>,
    online: Online,
    /// The tracepoints' ids.
    ids: Vec<u16>,
    points: HashMap<u16, Point>,
    /// What each CPU counts, if anything.
    plan: Option<CounterPlan>,
    /// What this backend cannot record, one sentence each.
    pub lacks: Vec<String>,
}

/// Returns the folder of the tracepoints.
fn tracefs() -> Result<&'static str, CaptureError> {
    let mut missing = "tracefs is not mounted: sudo mount -t tracefs nodev /sys/kernel/tracing";
    for dir in ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"] {
        match std::fs::metadata(std::path::Path::new(dir).join("sched")) {
            Ok(_) => return Ok(dir),
            Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
                missing = "this user may not read tracefs (/sys/kernel/tracing): run corewise with sudo, or with CAP_DAC_READ_SEARCH";
            }
            Err(_) => {}
        }
    }
    Err(CaptureError::Perf(missing.into()))
}

/// Parses a tracepoint's `format` file: the offset and size of each field.
pub fn fields(text: &str) -> HashMap<String, (usize, usize)> {
    let number = |line: &str, key: &str| {
        let (_, rest) = line.split_once(key)?;
        rest.split(';').next()?.trim().parse::<usize>().ok()
    };
    text.lines()
        .filter_map(|line| {
            let declared = line.trim().strip_prefix("field:")?.split(';').next()?;
            let name = declared.rsplit([' ', '\t']).next()?.split('[').next()?;
            Some((name.to_owned(), (number(line, "offset:")?, number(line, "size:")?)))
        })
        .collect()
}

impl PerfTracer {
    /// Opens the tracepoints on every CPU.
    ///
    /// # Errors
    /// If permissions or tracefs are missing, or the kernel refuses to open the events.
    pub fn start(options: &RecordOptions) -> Result<Self, CaptureError> {
        let irq = options.irq;
        let plan = Some(options.counters.clone()).filter(|plan| !plan.events.is_empty());
        if !rights::may_perf() {
            return Err(CaptureError::Rights);
        }
        let dir = tracefs()?;
        let mut lacks = vec![
            "Recorded with perf events: the CPU time that the kernel charged (exec_ns) is known from snapshots only.".to_owned(),
            "Changes of priority, affinity and cgroup are recorded once a second; a thread's affinity is unknown between the last \
             check that saw the old mask and the first that saw the new one."
                .to_owned(),
            "Threads throttled by their cgroup's CPU quota are recorded as ready.".to_owned(),
            "CPUs that go offline and come online are not recorded.".to_owned(),
            // The tracepoint of that call would make every system call of the machine take the slow path.
            "Threads that called sched_yield are not distinguished from threads preempted on their way back to user mode."
                .to_owned(),
        ];
        if options.wait_objects {
            lacks.push("What threads wait for is not recorded: neither system calls nor their objects, nor locks and the threads that hold them.".to_owned());
        }
        if irq {
            lacks.push("Timers and interrupts sent by other CPUs are not recorded.".to_owned());
        }
        let (mut points, mut ids) = (HashMap::new(), Vec::new());
        for (of, (system, name, needed, only_irq)) in POINTS.into_iter().enumerate() {
            if only_irq && !irq {
                continue;
            }
            let read = |file: &str| std::fs::read_to_string(format!("{dir}/{system}/{name}/{file}"));
            match (read("id").ok().and_then(|t| t.trim().parse::<u16>().ok()), read("format")) {
                (Some(id), Ok(format)) => {
                    points.insert(id, Point { of, fields: fields(&format) });
                    ids.push(id);
                }
                _ if needed => {
                    return Err(CaptureError::Perf(format!("cannot read the tracepoint {dir}/{system}/{name}")));
                }
                _ => lacks
                    .push(format!("Not recorded: {name} (this kernel has no such tracepoint, or it is not readable).")),
            }
        }
        let mut cpus: Vec<OnCpu> =
            procfs::online().into_iter().map(|cpu| OnCpu::open(cpu, &ids, plan.as_ref())).collect::<Result<_, _>>()?;
        let online = Online::new(cpus.iter().map(|on| on.buffer.cpu), samples::now());
        // Enabled last, so that all begin at about the same time.
        cpus.iter_mut().try_for_each(OnCpu::enable)?;
        lacks.extend(options.counters.lacks.iter().cloned());
        Ok(Self { cpus, online, ids, points, plan, lacks })
    }

    /// Opens the events of CPUs that have come online, and drains those of CPUs that have gone offline. Returns the gaps.
    pub fn follow_cpus(&mut self, take: &mut dyn FnMut(&[u8])) -> Vec<Gap> {
        let (ids, plan) = (&self.ids[..], self.plan.as_ref());
        let mut opened = Opened { cpus: &mut self.cpus, ids, plan, points: &self.points, take };
        self.online.update(&procfs::online(), &mut opened)
    }

    /// Returns [`Online::end`], [`Online::lacks`] and [`Online::all`].
    pub fn cpus_at_end(&self, now: u64) -> (Vec<Gap>, Vec<String>, Vec<u32>) {
        (self.online.end(now), self.online.lacks(), self.online.all().collect())
    }

    /// Passes all available events to `take`, as blocks and rare records.
    pub fn drain(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        for on in &mut self.cpus {
            on.drain(&self.points, take);
        }
        true
    }

    /// Reads the counters of each CPU whose thread has run for long, or (`all`) of every CPU.
    pub fn read_counters(&mut self, all: bool, take: &mut dyn FnMut(&[u8])) {
        for on in &mut self.cpus {
            on.read_counters(&self.points, all, take);
        }
    }

    /// Returns, per CPU, how many lost events no block has reported.
    pub fn unreported_losses(&self) -> Vec<(u32, u64)> {
        let lost = |on: &OnCpu| (on.buffer.lost > 0).then_some((on.buffer.cpu, on.buffer.lost));
        self.cpus.iter().filter_map(lost).collect()
    }
}

impl Buffer {
    fn drain(
        &mut self,
        points: &HashMap<u16, Point>,
        mut counting: Option<&mut CpuCounting>,
        take: &mut dyn FnMut(&[u8]),
    ) {
        let mut record = Vec::new();
        let mut block = Block::new(self.cpu, self.lost);
        let now = samples::now();
        let size = self.size;
        let (control, data) = (self.at, self.at.wrapping_add(page()));
        // SAFETY: both counters lie aligned in the control page, which is mapped until the buffer is dropped.
        let (head, tail) =
            unsafe { (&*control.add(HEAD).cast::<AtomicU64>(), &*control.add(TAIL).cast::<AtomicU64>()) };
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        while at < end {
            let bytes = |from: u64, n: usize, into: &mut Vec<u8>| {
                into.clear();
                let from = from as usize & (size - 1);
                let first = n.min(size - from);
                // SAFETY: both pieces lie inside the mapped data, which the kernel does not overwrite before the tail moves.
                unsafe {
                    into.extend_from_slice(std::slice::from_raw_parts(data.add(from), first));
                    into.extend_from_slice(std::slice::from_raw_parts(data, n - first));
                }
            };
            bytes(at, 8, &mut record);
            let size = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if size < 8 {
                break;
            }
            bytes(at, size, &mut record);
            at += size as u64;
            translate(points, counting.as_deref_mut(), &record, &mut Out { block: &mut block, take });
        }
        tail.store(at, Ordering::Release);
        if let Some(counting) = counting {
            counting.finish_old(now, &mut Out { block: &mut block, take });
        }
        block.close(take);
        self.lost = block.lost;
    }
}

impl OnCpu {
    fn open(cpu: u32, ids: &[u16], plan: Option<&CounterPlan>) -> Result<Self, CaptureError> {
        let mut ids = ids.iter().map(|id| u64::from(*id));
        let none = || CaptureError::Perf("no tracepoint is available".into());
        let switches = ids.next().ok_or_else(none)?;
        let (counting, owner) = match plan {
            Some(plan) => CpuCounting::open(plan, cpu, switches).map(|(counting, owner)| (Some(counting), owner))?,
            None => (None, open(switches, cpu, true, false)?),
        };
        let buffer = map(&owner, cpu)?;
        counting.as_ref().map_or(Ok(()), |counting| counting.output_to(&owner))?;
        let mut others = Vec::new();
        for id in ids {
            let fd = open(id, cpu, false, counting.is_some())?;
            ioctl(&fd, 0x2405, owner.as_raw_fd())?; // PERF_EVENT_IOC_SET_OUTPUT
            others.push(fd);
        }
        // Reading the event of switches returns all that it counts together with.
        let first =
            if counting.is_some() { std::mem::replace(others.first_mut().ok_or_else(none)?, owner) } else { owner };
        Ok(Self { buffer, first: first.into(), _others: others, enabled: EnabledTime::default(), counting })
    }

    fn enable(&mut self) -> Result<(), CaptureError> {
        for fd in std::iter::once(self.first.as_raw_fd()).chain(self._others.iter().map(AsRawFd::as_raw_fd)) {
            ioctl(&fd, 0x2400, 0)?; // PERF_EVENT_IOC_ENABLE
        }
        self.counting.as_mut().map_or(Ok(()), CpuCounting::enable)
    }

    fn drain(&mut self, points: &HashMap<u16, Point>, take: &mut dyn FnMut(&[u8])) {
        self.buffer.drain(points, self.counting.as_mut(), take);
    }

    fn read_counters(&mut self, points: &HashMap<u16, Point>, all: bool, take: &mut dyn FnMut(&[u8])) {
        for _ in 0..CpuCounting::attempts(all) {
            let Some(now) = self.counting.as_mut().and_then(|counting| counting.read_now(all)) else { continue };
            // What was recorded until then.
            self.drain(points, take);
            let Some(counting) = self.counting.as_mut().filter(|counting| !counting.switched_since(&now)) else {
                continue;
            };
            let mut block = Block::new(self.buffer.cpu, self.buffer.lost);
            counting.book(&now, all, &mut Out { block: &mut block, take });
            block.close(take);
            self.buffer.lost = block.lost;
            return;
        }
    }
}

/// The open events, as [`Online`] opens and closes them.
struct Opened<'a> {
    cpus: &'a mut Vec<OnCpu>,
    ids: &'a [u16],
    plan: Option<&'a CounterPlan>,
    points: &'a HashMap<u16, Point>,
    take: &'a mut dyn FnMut(&[u8]),
}

impl Events for Opened<'_> {
    fn count(&mut self, cpu: u32, now: u64) -> Option<bool> {
        self.cpus
            .iter_mut()
            .find(|on| on.buffer.cpu == cpu)
            .map_or(Some(false), |on| on.enabled.check(&mut on.first, now))
    }

    fn open(&mut self, cpu: u32) -> Result<(), String> {
        let on = OnCpu::open(cpu, self.ids, self.plan).and_then(|mut on| on.enable().map(|()| on));
        self.cpus.push(on.map_err(|why| {
            match why {
                CaptureError::Rights => {
                    "the recorder dropped the capabilities that this kernel needs for it (to allow it, set sysctl \
                     kernel.perf_event_paranoid=2)"
                        .to_owned()
                }
                why => why.to_string(),
            }
        })?);
        Ok(())
    }

    fn close(&mut self, cpu: u32) -> u64 {
        let mut lost = 0;
        for mut on in self.cpus.extract_if(.., |on| on.buffer.cpu == cpu) {
            on.drain(self.points, self.take);
            lost += on.buffer.lost;
        }
        lost
    }

    fn now(&self) -> u64 {
        samples::now()
    }
}

/// Opens a tracepoint. `first`: with forks, exits and new names. `identified`: its samples have its id.
fn open(id: u64, cpu: u32, first: bool, identified: bool) -> Result<OwnedFd, CaptureError> {
    let sample_type = SAMPLE_TID | SAMPLE_TIME | SAMPLE_RAW | if identified { SAMPLE_IDENTIFIER } else { 0 };
    let attr = tracepoint(id, sample_type, TIME_ENABLED, FLAG_DISABLED | if first { FLAG_COMM | FLAG_TASK } else { 0 });
    open_on_cpu(&attr, cpu)
}

/// Opens a tracepoint of switches in a group, whose values each sample has. `main`: it records the switches themselves too.
///
/// # Errors
/// Permissions are missing, or the kernel does not support the event.
pub fn open_switches(id: u64, cpu: u32, leader: Option<BorrowedFd<'_>>, main: bool) -> Result<OwnedFd, CaptureError> {
    let sample_type = SAMPLE_IDENTIFIER | SAMPLE_TID | SAMPLE_TIME | SAMPLE_READ;
    let (raw, side) = if main { (SAMPLE_RAW, FLAG_COMM | FLAG_TASK) } else { (0, 0) };
    let attr = tracepoint(id, sample_type | raw, READ_GROUP, side);
    open_in_group(&attr, cpu, leader).map_err(|error| not_opened(cpu, &error))
}

fn tracepoint(id: u64, sample_type: u64, read_format: u64, flags: u64) -> Attr {
    Attr {
        kind: 2, // PERF_TYPE_TRACEPOINT
        size: size_of::<Attr>() as u32,
        config: id,
        period: 1,
        sample_type,
        read_format,
        flags: FLAG_SAMPLE_ID_ALL | FLAG_CLOCK | flags,
        clock: libc::CLOCK_MONOTONIC,
        ..Attr::default()
    }
}

/// Opens an event of everything that runs on a CPU.
///
/// # Errors
/// Permissions are missing, or the kernel does not support the event.
pub fn open_on_cpu(attr: &Attr, cpu: u32) -> Result<OwnedFd, CaptureError> {
    open_in_group(attr, cpu, None).map_err(|error| not_opened(cpu, &error))
}

fn not_opened(cpu: u32, error: &std::io::Error) -> CaptureError {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => CaptureError::Rights,
        _ => CaptureError::Perf(format!("perf_event_open on CPU {cpu}: {error}")),
    }
}

/// Like [`open_on_cpu`], in the group of another event of that CPU.
///
/// # Errors
/// That of the system call.
pub fn open_in_group(attr: &Attr, cpu: u32, leader: Option<BorrowedFd<'_>>) -> std::io::Result<OwnedFd> {
    let (cloexec, leader) = (8u64, leader.map_or(-1, |fd| fd.as_raw_fd()));
    loop {
        // SAFETY: the attributes are as long as they say.
        let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const *attr, -1, cpu, leader, cloexec) };
        let error = std::io::Error::last_os_error();
        match i32::try_from(fd) {
            // SAFETY: fresh and ours.
            Ok(fd) if fd >= 0 => return Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

fn map(fd: &OwnedFd, cpu: u32) -> Result<Buffer, CaptureError> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let mut size = BUFFER;
    loop {
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), page() + size, rights, libc::MAP_SHARED, fd.as_raw_fd(), 0) };
        if at != libc::MAP_FAILED {
            return Ok(Buffer { cpu, at: at.cast(), size, lost: 0 });
        }
        let why = std::io::Error::last_os_error();
        size /= 2;
        if size < MIN_BUFFER {
            return Err(CaptureError::Perf(format!(
                "cannot map the buffer of CPU {cpu}: {why}; raise sysctl kernel.perf_event_mlock_kb"
            )));
        }
    }
}

/// Calls an ioctl of a perf event that takes a number.
///
/// # Errors
/// That of the system call.
pub fn ioctl(fd: &impl AsRawFd, request: u64, value: i32) -> Result<(), CaptureError> {
    // SAFETY: the requests used take a number.
    if unsafe { libc::ioctl(fd.as_raw_fd(), request as _, value) } != 0 {
        return Err(CaptureError::Perf(std::io::Error::last_os_error().to_string()));
    }
    Ok(())
}

/// Collects frequent events into a block.
pub struct Block {
    cpu: u32,
    bytes: Vec<u8>,
    events: u32,
    base: u64,
    last: u64,
    lost: u64,
}

impl Block {
    /// Begins a block. `lost`: the events lost that no block has reported.
    pub fn new(cpu: u32, lost: u64) -> Self {
        Self { cpu, bytes: Vec::new(), events: 0, base: 0, last: 0, lost }
    }

    /// Adds an event: its time, its type, the next bytes `a` and `b`, and what follows, as in bpf/wire.h.
    pub fn push(&mut self, at: u64, kind: u8, a: u8, b: u16, words: &[u32], take: &mut dyn FnMut(&[u8])) {
        if self.bytes.len() > BLOCK || (self.events > 0 && (at < self.last || (at - self.base) >> 32 != 0)) {
            self.close(take);
        }
        if self.events == 0 {
            self.base = at;
        }
        self.last = at;
        self.events += 1;
        self.bytes.extend_from_slice(&((at - self.base) as u32).to_ne_bytes());
        self.bytes.extend_from_slice(&[kind, a]);
        self.bytes.extend_from_slice(&b.to_ne_bytes());
        words.iter().for_each(|w| self.bytes.extend_from_slice(&w.to_ne_bytes()));
    }

    /// Passes the block on, if it has events.
    pub fn close(&mut self, take: &mut dyn FnMut(&[u8])) {
        if self.events == 0 {
            return;
        }
        let mut out = vec![wire::KIND_BLOCK, 0];
        out.extend_from_slice(&(self.cpu as u16).to_ne_bytes());
        out.extend_from_slice(&self.events.to_ne_bytes());
        for word in [self.base, self.last, std::mem::take(&mut self.lost)] {
            out.extend_from_slice(&word.to_ne_bytes());
        }
        out.append(&mut self.bytes);
        self.events = 0;
        take(&out);
    }
}

/// Returns the head of a rare record.
fn rare(of: u8, cpu: u32, tid: u32, at: u64) -> Vec<u8> {
    let mut out = vec![wire::KIND_RARE, of];
    out.extend_from_slice(&(cpu as u16).to_ne_bytes());
    out.extend_from_slice(&tid.to_ne_bytes());
    out.extend_from_slice(&at.to_ne_bytes());
    out
}

/// Appends a text as a field of `size` bytes.
fn put(out: &mut Vec<u8>, text: &[u8], size: usize) {
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len()).min(size - 1);
    let full = out.len() + size;
    out.extend_from_slice(&text[..end]);
    out.resize(full, 0);
}

/// Translates one perf record to wire format. If events are counted, records have the id of their event.
fn translate(points: &HashMap<u16, Point>, counting: Option<&mut CpuCounting>, record: &[u8], out: &mut Out<'_>) {
    let mut b = wire::Bytes::new(record);
    let (kind, misc, _size) = (b.u32(), b.u16(), b.u16());
    // Records other than samples end with the sample's identity: tid, time, id.
    let identity = if counting.is_some() { 16 } else { 8 };
    let time = record.len().checked_sub(identity).map_or(0, |at| wire::Bytes::new(&record[at..]).u64());
    if let Some(counting) = counting {
        if kind == RECORD_SAMPLE && counted(points, counting, &mut b, out) {
            return;
        }
        // Another record: all samples of the last switch were before it.
        counting.begin(None, out);
    }
    let Out { block, take } = out;
    match kind {
        RECORD_LOST => {
            let (_, n) = (b.u64(), b.u64());
            block.close(take);
            block.lost += n;
        }
        RECORD_COMM => {
            let (pid, tid) = (b.u32(), b.u32());
            let _ = misc;
            let mut out = rare(wire::RENAME, block.cpu, tid, time);
            out.extend_from_slice(&pid.to_ne_bytes());
            out.extend_from_slice(&[0; 4]);
            put(&mut out, b.rest(), 16);
            take(&out);
        }
        RECORD_FORK | RECORD_EXIT => {
            let (pid, _ppid, tid, parent) = (b.u32(), b.u32(), b.u32(), b.u32());
            if kind == RECORD_EXIT {
                let mut out = rare(wire::EXIT, block.cpu, tid, time);
                out.extend_from_slice(&pid.to_ne_bytes());
                out.extend_from_slice(&[0; 4]);
                take(&out);
            } else {
                take(&procfs::fork(rare(wire::FORK, block.cpu, tid, time), parent, pid, tid));
            }
        }
        RECORD_SAMPLE => {
            let (_pid, tid, at) = (b.u32(), b.u32(), b.u64());
            let size = b.u32() as usize;
            let raw = b.take(size.min(b.rest().len()));
            sample(points, raw, tid, at, block, take);
        }
        _ => {}
    }
}

/// Takes a sample of a tracepoint while events are counted. Returns `false`, with its id read, if it has no counts.
fn counted(
    points: &HashMap<u16, Point>,
    counting: &mut CpuCounting,
    b: &mut wire::Bytes<'_>,
    out: &mut Out<'_>,
) -> bool {
    let Some(group) = counting.group_of(b.u64()) else { return false };
    let (_pid, current, at) = (b.u32(), b.u32(), b.u64());
    let Some(reading) = counting.decode(group, b) else { return true };
    let size = b.u32() as usize;
    let raw = b.take(size.min(b.rest().len()));
    // The group that always counts records the switches.
    let threads = points.get(&wire::Bytes::new(raw).u16()).filter(|_| group == 0);
    let threads = threads.map(|point| ["prev_pid", "next_pid"].map(|name| field(point, raw, name) as u32));
    let switch = SwitchSample { current, at, threads };
    counting.begin(Some((group, &switch)), out);
    if threads.is_some() {
        sample(points, raw, current, at, out.block, out.take);
    }
    counting.sampled(group, &switch, reading);
    true
}

/// Returns a field of a tracepoint's record as a number.
fn field(point: &Point, raw: &[u8], name: &str) -> u64 {
    let Some((offset, size)) = point.fields.get(name) else { return 0 };
    let mut bytes = wire::Bytes::new(raw.get(*offset..).unwrap_or_default());
    match size {
        1 => u64::from(bytes.u8()),
        2 => u64::from(bytes.u16()),
        4 => u64::from(bytes.u32()),
        _ => bytes.u64(),
    }
}

fn sample(points: &HashMap<u16, Point>, raw: &[u8], tid: u32, at: u64, block: &mut Block, take: &mut dyn FnMut(&[u8])) {
    let Some(point) = points.get(&wire::Bytes::new(raw).u16()) else { return };
    let field = |name: &str| field(point, raw, name);
    let word = |name: &str| field(name) as u32;
    let cpu_of_event = (field("target_cpu") & 0xffff) as u16;
    match POINTS[point.of].1 {
        "sched_switch" => {
            let state = field("prev_state");
            let code = if state & 0x100 != 0 { 9 } else { (u64::BITS - (state & 0xff).leading_zeros()) as u8 };
            let prios = (field("prev_prio") & 255 | (field("next_prio") & 255) << 8) as u16;
            let words = [word("prev_pid"), word("next_pid"), u32::MAX, u32::MAX];
            block.push(at, 1, code, prios, &words, take);
        }
        name @ ("sched_waking" | "sched_wakeup" | "sched_wakeup_new") => {
            let kind = if name == "sched_waking" {
                3
            } else if name == "sched_wakeup" {
                4
            } else {
                5
            };
            // A thread that was interrupted is not the waker.
            let by = if ftrace::in_interrupt(field("common_flags")) { 0 } else { tid };
            block.push(at, kind, word("prio") as u8, cpu_of_event, &[word("pid"), by], take);
        }
        "sched_migrate_task" => {
            let from = (field("orig_cpu") & 0xffff) as u16;
            block.push(at, 6, 0, from, &[word("pid"), word("dest_cpu")], take);
        }
        "sched_process_exec" => {
            let mut out = rare(wire::EXEC, block.cpu, word("pid"), at);
            out.extend_from_slice(&word("pid").to_ne_bytes());
            out.extend_from_slice(&word("old_pid").to_ne_bytes());
            // A `__data_loc`: the text's offset in the low half.
            let text = raw.get((word("filename") & 0xffff) as usize..).unwrap_or_default();
            put(&mut out, text, 256);
            take(&out);
        }
        "cpu_idle" => block.push(at, 7, word("state") as u8, 0, &[], take),
        "cpu_frequency" => block.push(at, 8, 0, 0, &[word("cpu_id"), word("state")], take),
        "irq_handler_entry" => block.push(at, 9, 0, 0, &[word("irq")], take),
        "irq_handler_exit" => block.push(at, 10, 0, 0, &[word("irq")], take),
        "softirq_entry" => block.push(at, 11, word("vec") as u8, 0, &[], take),
        "softirq_exit" => block.push(at, 12, word("vec") as u8, 0, &[], take),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_format_files() {
        let text = "name: x\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
                    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t pid;\toffset:24;\tsize:4;";
        let all = fields(text);
        assert_eq!((all["common_type"], all["prev_comm"], all["pid"]), ((0, 2), (8, 16), (24, 4)));
    }
}
