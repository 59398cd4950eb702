//! The Firefox Profiler's processed profile (profiler.firefox.com), written with samply's crate.
//!
//! ```text
//!   process "CPUs"          one track per CPU ("cpu 3, performance"): a marker for each stretch in which a thread ran
//!   process "game"          one track per thread: a marker for each stretch, named after its state, with CPU, core type,
//!                           reason, waker and priority; a sample at both ends of each running stretch, whose CPU time
//!                           draws the activity graph and whose only frame names the CPU and its type
//! ```
//!
//! Times are in milliseconds from the start of the recording. The profile is built in memory, so memory grows with the number of
//! stretches (about 300 bytes each): more than 4 million are rejected with a hint to use `--range`. If switches were recorded with
//! callchains, the stretch that begins with a switch-out has its callchain: a function if its name is known,
//! otherwise the file and offset, otherwise the address.
//!
//! If a profiler's samples were recorded, they are samples here too, with their callchains and the weight 1; those at the ends of running
//! stretches then have the weight 0, so that they draw the activity graph and do not count in call trees and flame graphs.

use crate::directory::{Directory, Thread};
use crate::stretch::Stretch;
use crate::{ExportError, Exporter, Job, Offer, Outputs, Shape, about, stretch};
use fxprof_processed_profile as fx;
use model::{CoreType, EventKind, Span, StackFrame, StackId, Stacks, ThreadKey, Tid, tables};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// A profile.
pub struct Firefox;

/// The maximum number of thread stretches.
const MAX_STRETCHES: u64 = 4_000_000;

impl Exporter for Firefox {
    fn id(&self) -> &'static str {
        "firefox"
    }

    fn about(&self) -> &'static str {
        "a profile for profiler.firefox.com"
    }

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn suffix(&self) -> &'static str {
        ".json"
    }

    fn offer(&self) -> Offer {
        Offer {
            read_by: "profiler.firefox.com, samply load",
            carries: &[
                "Each thread's states as markers with CPU, core type, reason, waker and priority; its CPU time as a graph.",
                "What each CPU ran, on its own track; the callchain of each switch-out, if recorded.",
                "Samples of the running threads with their callchains, if recorded.",
            ],
            cannot: &[
                "Frequencies, marks, sums and losses.",
                "More than 4 million stretches, as the profile is built in memory: use --range.",
            ],
        }
    }

    fn write(&self, job: &mut Job<'_>, to: &mut dyn Outputs) -> Result<(), ExportError> {
        // Each switch begins at least one stretch, so a trace that is certainly too long is rejected before it is read.
        if job.options.span.is_none() && job.session.summary().switches > MAX_STRETCHES {
            return Err(too_many(""));
        }
        let directory = Directory::of(job.session)?;
        let mut tracks = Tracks::new(job, &directory)?;
        tracks.read_stacks(job)?;
        tracks.end_samples = if tracks.samples.is_empty() { 1 } else { 0 };
        let mut rows = 0;
        stretch::each(job, |s| {
            rows += 1;
            if rows > MAX_STRETCHES {
                return Err(too_many(&format!(" before {:.3} s", s.start_ns as f64 / 1e9)));
            }
            tracks.stretch(s, &directory);
            Ok(())
        })?;
        tracks.rest(&directory);
        let out = to.next("profile.json")?;
        serde_json::to_writer(out, &tracks.profile).map_err(|e| ExportError::Output(e.into()))
    }
}

fn too_many(place: &str) -> ExportError {
    ExportError::Words(format!(
        "this trace has more than {MAX_STRETCHES} stretches{place}, and the Firefox Profiler holds the whole profile in memory: choose \
         a part with --range, or export to perfetto"
    ))
}

/// The profile being built.
struct Tracks {
    profile: fx::Profile,
    threads: FxHashMap<ThreadKey, fx::ThreadHandle>,
    cpus: FxHashMap<i64, fx::ThreadHandle>,
    categories: Categories,
    span: Option<Span>,
    stacks: Arc<Stacks>,
    /// The callchain of each switch-out, by TID and time.
    outs: FxHashMap<(i64, i64), StackId>,
    /// The samples of each TID that are not written yet, in order of time.
    samples: FxHashMap<i64, VecDeque<(i64, StackId)>>,
    /// The weight of the samples at the ends of running stretches.
    end_samples: i32,
}

/// The colour of each state and core type.
struct Categories {
    cores: Vec<(CoreType, fx::CategoryHandle)>,
    ready: fx::CategoryHandle,
    blocked: fx::CategoryHandle,
    unknown: fx::CategoryHandle,
}

impl Categories {
    fn new(profile: &mut fx::Profile) -> Self {
        use fx::CategoryColor as C;
        let cores = [
            (CoreType::Performance, C::Red),
            (CoreType::Middle, C::Orange),
            (CoreType::Efficient, C::Green),
            (CoreType::LowPower, C::LightGreen),
            (CoreType::Uniform, C::Blue),
        ];
        Self {
            cores: cores.into_iter().map(|(t, color)| (t, profile.add_category(t.as_str(), color))).collect(),
            ready: profile.add_category("ready", C::Yellow),
            blocked: profile.add_category("blocked", C::Gray),
            unknown: profile.add_category("unknown", C::Purple),
        }
    }

    fn of(&self, s: &Stretch<'_>) -> fx::CategoryHandle {
        let core = || self.cores.iter().find(|(t, _)| Some(t.as_str()) == s.core_type).map(|c| c.1);
        match s.state {
            "running" => core().unwrap_or(self.unknown),
            "ready" => self.ready,
            "blocked" | "exited" => self.blocked,
            _ => self.unknown,
        }
    }
}

impl Tracks {
    fn new(job: &Job<'_>, directory: &Directory) -> Result<Self, ExportError> {
        let product = format!("corewise: {}", job.session.facts().format);
        let reference = fx::ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
        let mut profile = fx::Profile::new(&product, reference, fx::SamplingInterval::from_millis(1));
        if let Some((_, os)) =
            about::facts(job).iter().find(|(name, _)| name == "kernel_release" || name == "os_release")
        {
            profile.set_os_name(&format!("Linux {os}"));
        }
        let start = at(0);
        let categories = Categories::new(&mut profile);
        let mut processes = FxHashMap::default();
        for (pid, name) in directory.processes() {
            processes.insert(pid, profile.add_process(&name, number(pid), start));
        }
        let mut threads = FxHashMap::default();
        for (key, thread) in &directory.threads {
            let pid = thread.process();
            let Some(process) = processes.get(&pid) else { continue };
            let main = thread.tid == pid && thread.instance == 0;
            let handle = profile.add_thread(*process, number(thread.tid), at(thread.begin_ns), main);
            profile.set_thread_name(handle, &thread.shown());
            threads.insert(*key, handle);
        }
        // After the threads, so that these keep their TIDs: a TID that is used again gets a suffix.
        let machine = profile.add_process("CPUs", 0, start);
        let mut cpus = FxHashMap::default();
        let table = job.session.table(tables::CPUS.name)?;
        for row in table.rows_of(tables::cpus::Table) {
            let (cpu, kind) = (row.get(tables::cpus::CPU), row.get(tables::cpus::CORE_TYPE));
            let thread = profile.add_thread(machine, number(cpu), start, false);
            profile.set_thread_name(thread, &format!("cpu {cpu}, {kind}"));
            cpus.insert(cpu, thread);
        }
        Ok(Self {
            profile,
            threads,
            cpus,
            categories,
            span: job.options.span,
            stacks: Arc::default(),
            outs: FxHashMap::default(),
            samples: FxHashMap::default(),
            end_samples: 1,
        })
    }

    /// Reads the callchains of switch-outs and of samples, if recorded.
    fn read_stacks(&mut self, job: &Job<'_>) -> Result<(), ExportError> {
        self.stacks = job.session.stacks()?;
        if self.stacks.chains.is_empty() {
            return Ok(());
        }
        let mut count = 0;
        let read = job.session.events(&mut |events, _| {
            for event in events.iter().filter(|e| job.has(e.at)) {
                match event.what {
                    EventKind::Switch(s) if s.stack != StackId::NONE => {
                        self.outs.insert((i64::from(s.prev.0), event.at.0), s.stack);
                    }
                    // The idle task has no track.
                    EventKind::CpuSample { tid, stack, .. } if tid != Tid::IDLE => {
                        self.samples.entry(tid.0.into()).or_default().push_back((event.at.0, stack));
                        count += 1;
                    }
                    _ => {}
                }
            }
            if count > MAX_STRETCHES { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        if count > MAX_STRETCHES {
            return Err(too_many(" and samples"));
        }
        Ok(read?)
    }

    /// Writes the samples of a thread until a time; returns the time of the last one, or else `from`. The CPU time before a sample is
    /// known since `from`; without it, it is not.
    fn write_samples(
        &mut self,
        tid: i64,
        (thread, category): (fx::ThreadHandle, fx::CategoryHandle),
        from: Option<i64>,
        until: i64,
    ) -> i64 {
        let mut last = from;
        while let Some((time, stack)) = self.next_sample(tid, until) {
            let stack = self.stack(stack, category, thread);
            let ran = last.and_then(|last| u64::try_from(time - last).ok()).unwrap_or(0);
            self.profile.add_sample(thread, at(time), stack, fx::CpuDelta::from_nanos(ran), 1);
            last = from.map(|_| time);
        }
        last.unwrap_or(until)
    }

    /// Removes the next sample of a thread before a time.
    fn next_sample(&mut self, tid: i64, until: i64) -> Option<(i64, StackId)> {
        let all = self.samples.get_mut(&tid)?;
        if all.front()?.0 < until { all.pop_front() } else { None }
    }

    /// Writes the samples after the last stretch of each thread, or of threads without stretches.
    fn rest(&mut self, directory: &Directory) {
        // The last instance of a TID first.
        for (key, of) in directory.threads.iter().rev() {
            if let Some(thread) = self.threads.get(key).copied() {
                self.write_samples(of.tid, (thread, self.categories.unknown), None, i64::MAX);
            }
        }
    }

    /// The callchain of the switch-out that a stretch begins with.
    fn stack_of(&mut self, s: &Stretch<'_>, thread: fx::ThreadHandle) -> Option<fx::StackHandle> {
        let id = *self.outs.get(&(s.tid, s.start_ns))?;
        self.stack(id, self.categories.of(s), thread)
    }

    /// The callchain with this id.
    fn stack(&mut self, id: StackId, of: fx::CategoryHandle, thread: fx::ThreadHandle) -> Option<fx::StackHandle> {
        let chain = self.stacks.chain(id)?;
        let category_pair = of.into();
        let (stacks, profile) = (&self.stacks, &mut self.profile);
        let frame = |(depth, frame): (usize, &StackFrame)| {
            let frame = match shown(stacks, frame) {
                Some(words) => fx::Frame::Label(profile.intern_string(&words)),
                None if depth == 0 => fx::Frame::InstructionPointer(frame.address),
                None => fx::Frame::ReturnAddress(frame.address),
            };
            fx::FrameInfo { frame, category_pair, flags: fx::FrameFlags::empty() }
        };
        // Perf's context markers between kernel and program addresses are not addresses.
        let addresses = chain.iter().filter(|f| f.address < StackFrame::CONTEXT_MARKERS).enumerate();
        let frames: Vec<fx::FrameInfo> = addresses.map(frame).collect();
        self.profile.intern_stack_frames(thread, frames.into_iter().rev())
    }

    fn stretch(&mut self, s: &Stretch<'_>, directory: &Directory) {
        let Some(thread) = self.threads.get(&s.thread).copied() else { return };
        let profile = &mut self.profile;
        let category = self.categories.of(s);
        let timing = || fx::MarkerTiming::Interval(at(s.start_ns), at(s.end_ns));
        let word = |profile: &mut fx::Profile, word: Option<&str>| profile.intern_string(word.unwrap_or_default());
        let digits = |profile: &mut fx::Profile, n: Option<i64>| {
            let text = n.map(|n| n.to_string()).unwrap_or_default();
            profile.intern_string(&text)
        };
        let waker = s.waker.and_then(|w| directory.get(w)).map(|w| format!("{} ({})", w.shown(), w.tid));
        let marker = State {
            category,
            name: profile.intern_string(s.state),
            cpu: digits(profile, s.cpu),
            core_type: word(profile, s.core_type),
            reason: word(profile, s.reason),
            waker: word(profile, waker.as_deref()),
            prio: digits(profile, s.prio),
            charged: digits(profile, s.exec_ns),
        };
        let marked = profile.add_marker(thread, timing(), marker);
        if s.state != "running" && !self.outs.is_empty() {
            let stack = self.stack_of(s, thread);
            self.profile.set_marker_stack(thread, marked, stack);
        }
        let profile = &mut self.profile;
        let (Some(cpu), "running") = (s.cpu, s.state) else { return };
        let kind = s.core_type.unwrap_or("uniform");
        let frame = fx::FrameInfo {
            frame: fx::Frame::Label(profile.intern_string(&format!("cpu {cpu}, {kind}"))),
            category_pair: category.into(),
            flags: fx::FrameFlags::empty(),
        };
        let stack = profile.intern_stack_frames(thread, std::iter::once(frame));
        // A graph must not begin before the exported part of the stretch.
        let from = self.span.map_or(s.start_ns, |span| s.start_ns.max(span.start.0));
        self.write_samples(s.tid, (thread, self.categories.unknown), None, from);
        self.profile.add_sample(thread, at(from), stack, fx::CpuDelta::ZERO, self.end_samples);
        let last = self.write_samples(s.tid, (thread, category), Some(from), s.end_ns);
        let ran = u64::try_from(s.end_ns - last).unwrap_or(0);
        self.profile.add_sample(thread, at(s.end_ns), stack, fx::CpuDelta::from_nanos(ran), self.end_samples);
        let profile = &mut self.profile;
        if let Some(track) = self.cpus.get(&cpu).copied() {
            let name = directory.get(s.thread).map(Thread::shown).unwrap_or_default();
            let ran = Ran { category, name: profile.intern_string(&name), tid: digits(profile, Some(s.tid)) };
            profile.add_marker(track, timing(), ran);
        }
    }
}

/// Formats a frame; `None` if only its address is known.
fn shown(stacks: &Stacks, frame: &StackFrame) -> Option<String> {
    if let Some(function) = stacks.name(frame.function) {
        return Some(if frame.inlined { format!("{function} (inlined)") } else { function.to_owned() });
    }
    let file = stacks.name(frame.file).filter(|_| frame.offset != u64::MAX)?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{name}+{:#x}", frame.offset & !StackFrame::FROM_BASE))
}

fn at(ns: i64) -> fx::Timestamp {
    fx::Timestamp::from_nanos_since_reference(u64::try_from(ns).unwrap_or(0))
}

/// Converts a TID or PID; these are negative only if unknown.
fn number(id: i64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}

const fn field(key: &'static str, label: &'static str) -> fx::StaticSchemaMarkerField {
    let (format, flags) = (fx::MarkerFieldFormat::String, fx::MarkerFieldFlags::SEARCHABLE);
    fx::StaticSchemaMarkerField { key, label, format, flags }
}

/// A stretch of a thread. All values are texts, as any of them may be unknown.
struct State {
    category: fx::CategoryHandle,
    name: fx::StringHandle,
    cpu: fx::StringHandle,
    core_type: fx::StringHandle,
    reason: fx::StringHandle,
    waker: fx::StringHandle,
    prio: fx::StringHandle,
    charged: fx::StringHandle,
}

impl fx::StaticSchemaMarker for State {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "ThreadState";
    const LOCATIONS: fx::MarkerLocations = fx::MarkerLocations::MARKER_CHART.union(fx::MarkerLocations::MARKER_TABLE);
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.cpu} {marker.data.coreType}");
    const TABLE_LABEL: Option<&'static str> =
        Some("{marker.name} {marker.data.cpu} {marker.data.coreType} {marker.data.reason}");
    const FIELDS: &'static [fx::StaticSchemaMarkerField] = &[
        field("cpu", "CPU"),
        field("coreType", "Core type"),
        field("reason", "Reason"),
        field("waker", "Woken by"),
        field("prio", "Priority"),
        field("charged", "Charged by the kernel [ns]"),
    ];

    fn name(&self, _: &mut fx::Profile) -> fx::StringHandle {
        self.name
    }

    fn category(&self, _: &mut fx::Profile) -> fx::CategoryHandle {
        self.category
    }

    fn string_field_value(&self, field: u32) -> fx::StringHandle {
        match field {
            0 => self.cpu,
            1 => self.core_type,
            2 => self.reason,
            3 => self.waker,
            4 => self.prio,
            _ => self.charged,
        }
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

/// What a CPU ran.
struct Ran {
    category: fx::CategoryHandle,
    name: fx::StringHandle,
    tid: fx::StringHandle,
}

impl fx::StaticSchemaMarker for Ran {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "CpuRan";
    const LOCATIONS: fx::MarkerLocations = fx::MarkerLocations::MARKER_CHART.union(fx::MarkerLocations::MARKER_TABLE);
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name} {marker.data.tid}");
    const FIELDS: &'static [fx::StaticSchemaMarkerField] = &[field("tid", "Thread")];

    fn name(&self, _: &mut fx::Profile) -> fx::StringHandle {
        self.name
    }

    fn category(&self, _: &mut fx::Profile) -> fx::CategoryHandle {
        self.category
    }

    fn string_field_value(&self, _: u32) -> fx::StringHandle {
        self.tid
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}
