//! Runs a recording from start to end.

use crate::callchains::Callchains;
use crate::cgroups::Cgroups;
use crate::conditions;
use crate::energy::{self, Readers};
use crate::focus::Focus;
use crate::kernel::Kernel;
use crate::mark_point::Found;
use crate::online::Gap;
use crate::options::{CaptureError, Ended, Progress, RecordOptions, Recorded};
use crate::record_writer::RecordWriter;
use crate::rights;
use crate::samples;
use crate::spool::{self, Meta, SPOOL, Writer, frame};
use crate::target::{Running, Signals};
use crate::trace_marker::TraceMarker;
use crate::unwinding;
use ingest::{CallchainEnds, Facts, LABEL, ReadingCost, RecordingOverhead, Sampled, StateSource};
use model::CpuId;
use safefs::{Dir, Place};
use std::time::{Duration, Instant};

/// How long before the check of the blocks a mark lies: by then a store by another CPU is visible.
const MARGIN_NS: u64 = 1_000_000;
/// Approximate maximum size of a segment.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Records until the target ends, the duration is reached or the user stops the recording. Blocks, and handles SIGINT and SIGTERM
/// meanwhile. Drops this thread's capabilities once everything is attached: threads that it starts later have none, and the recording
/// notes how many of the threads that already run keep theirs. When it returns, the spool is synced to disk.
///
/// # Errors
/// If permissions are missing, the folder is not empty, the command cannot be run, or the spool cannot be written
/// ([`CaptureError::DiskFull`]: everything spooled until then is intact).
pub fn record(options: &RecordOptions, progress: &mut dyn FnMut(Progress)) -> Result<Recorded, CaptureError> {
    let dir = &options.dir;
    let made = Place::take(dir, options.access).and_then(|(folder, place)| Ok((folder.make(SPOOL)?, folder, place)));
    let (spool, folder, place) = made.map_err(|why| match why.kind() {
        std::io::ErrorKind::AlreadyExists => CaptureError::Exists(dir.clone()),
        _ => CaptureError::Io { what: format!("cannot create {}", dir.display()), why },
    })?;
    let done = run(options, &folder, &spool, progress);
    // The recording of a command that could not be run is of no use.
    let unwanted = matches!(done, Err(CaptureError::Command { .. }));
    if unwanted || done.is_err() && spool::segments(&spool).is_ok_and(|s| s.is_empty()) {
        // Nothing was recorded: remove the new files.
        let _ = spool.clear().and_then(|()| folder.remove_dir(SPOOL));
        if let Some(place) = place {
            place.remove_if_empty();
        }
        return done;
    }
    if done.is_ok() {
        let around = place.as_ref().map_or(Ok(()), |place| place.parent().sync());
        let synced = spool.sync_all().and_then(|()| folder.sync()).and(around);
        synced.map_err(|why| CaptureError::spool(dir, why))?;
    }
    done
}

/// Returns the CPU time of this process, ns, and its maximum resident memory, bytes.
fn used() -> (i64, i64) {
    // SAFETY: all-zero is a valid rusage, and it is written to.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |t: libc::timeval| t.tv_sec * 1_000_000_000 + t.tv_usec * 1000;
    (ns(usage.ru_utime) + ns(usage.ru_stime), usage.ru_maxrss * 1024)
}

/// Parses a CPU list ("0-3,8").
pub fn cpu_numbers(list: &str) -> Vec<CpuId> {
    let mut all = Vec::new();
    for part in list.trim().split(',').filter(|p| !p.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            all.extend((first..=last.min(first.saturating_add(1 << 16))).map(CpuId));
        }
    }
    all
}

fn first_facts(options: &RecordOptions, backend: &str, kernel: &Kernel, focus: Option<i32>) -> Facts {
    let text = |path: &str| std::fs::read_to_string(path).map(|t| t.trim().to_owned()).unwrap_or_default();
    let about = [
        ("backend", backend.to_owned()),
        ("hostname", text("/proc/sys/kernel/hostname")),
        ("kernel_release", text("/proc/sys/kernel/osrelease")),
        ("arguments", options.arguments.join(" ")),
        ("numbers", "thread and process numbers are those of the machine's first pid namespace".to_owned()),
    ];
    let about = about.into_iter().map(|(name, value)| (name.to_owned(), value));
    let labels = options.labels.iter().map(|(name, value)| (format!("{LABEL}{name}"), value.clone()));
    Facts {
        format: "corewise".into(),
        clock: "CLOCK_MONOTONIC".into(),
        has_waking: Some(true),
        has_wakeup: Some(true),
        // The switches themselves record yields, so there are no separate yield events.
        has_yields: false,
        has_charges: kernel.has_charges(),
        whole_machine: true,
        sampled_frames: false,
        states: StateSource::Certain,
        begin: None,
        recorded: cpu_numbers(&text("/sys/devices/system/cpu/online")),
        cpu_count: None,
        online: cpu_numbers(&text("/sys/devices/system/cpu/online")),
        machine: options.machine.clone(),
        conditions: Vec::new(),
        about: about.chain(labels).collect(),
        cost: None,
        focus,
        recorder: Some(std::process::id().cast_signed()),
        callchain_ends: None,
        sampled: kernel.samples().then(|| Sampled { event: "cpu-clock".into(), of_time: true, ..Sampled::default() }),
        lacks: kernel.lacks().to_vec(),
        tried: Vec::new(),
        nameless: Vec::new(),
    }
}

/// A running recorder.
struct Recorder {
    tracer: Kernel,
    /// `None`: not readable on this machine.
    trace_marker: Option<TraceMarker>,
    records: RecordWriter,
    cgroups: Cgroups,
    /// The time up to which losses that no block reports have been counted.
    losses_checked_until: u64,
    clocks: samples::Clocks,
    /// The thread that reads energy, while it runs.
    energy: Option<energy::Thread>,
    /// What each segment repeats of it.
    energy_facts: Vec<Vec<u8>>,
    energy_cost: Option<ReadingCost>,
    /// The thread that prepares tables for unwinding, while it runs.
    unwinding: Option<unwinding::Thread>,
}

impl Recorder {
    fn drain(&mut self) -> bool {
        let records = &mut self.records;
        self.tracer.drain(&mut |record| records.take(record))
    }

    fn read_counters(&mut self, all: bool) {
        let records = &mut self.records;
        self.tracer.read_counters(all, &mut |record| records.take(record));
    }

    fn drain_trace_marker(&mut self) {
        let records = &mut self.records;
        if let Some(trace_marker) = &mut self.trace_marker {
            trace_marker.drain(&mut |record| records.take(record));
        }
    }

    fn write_callchains(&mut self) {
        let tracer = &self.tracer;
        self.records.write_callchains(&|user, number| tracer.stack(user, number));
    }

    /// Handles CPUs that have gone offline or come online.
    fn follow_cpus(&mut self) {
        let records = &mut self.records;
        let unrecorded = self.tracer.follow_cpus(&mut |record| records.take(record));
        unrecorded.into_iter().for_each(|span| self.write_gap(span));
    }

    fn write_frames(&mut self, frames: Vec<Vec<u8>>) {
        frames.iter().for_each(|frame| self.records.write(&[frame]));
    }

    /// Reads energy for the last time, as late as possible: what is used after the last reading is not known.
    fn end_energy(&mut self) {
        let Some(energy) = self.energy.take() else { return };
        let (frames, cost) = energy.stop();
        self.write_frames(frames);
        self.energy_cost = cost;
    }

    fn write_gap(&mut self, span: Gap) {
        self.records.lost += span.events.unwrap_or(0);
        let words = [span.from, span.to, span.events.unwrap_or(u64::MAX)].map(u64::to_ne_bytes);
        self.records.write(&[&[frame::LOSS], words.as_flattened(), &span.cpu.to_ne_bytes()]);
    }

    /// Writes everything up to a moment ago to disk, followed by a mark.
    fn tick(&mut self) {
        self.drain();
        self.follow_cpus();
        self.read_counters(false);
        let until = samples::now().saturating_sub(MARGIN_NS);
        let until = self.energy.as_ref().map_or(until, |energy| energy.until(until));
        let energy = self.energy.as_ref().map(energy::Thread::take);
        self.write_frames(energy.unwrap_or_default());
        let handed = self.tracer.hand_over(false);
        let drained = self.drain();
        // After the others, so that it is known which threads belong to the target.
        self.drain_trace_marker();
        self.write_callchains();
        self.records.look_up_programs();
        if drained && handed {
            self.records.write(&[&[frame::MARK], &until.to_ne_bytes()]);
        }
        self.records.flush();
    }

    /// Writes rows of all threads and the current task of each CPU. `purpose` is [`frame::OPENING`] or [`frame::CLOSING`].
    fn snapshot(&mut self, purpose: u8) -> Result<u64, CaptureError> {
        self.records.write(&[&[frame::SNAP_BEGIN, purpose]]);
        let rows = self.tracer.threads()?;
        if self.tracer.polls_settings() {
            self.records.changes(&rows);
        }
        self.records.rows(&rows);
        self.records.rows(&self.tracer.unlisted(&rows));
        self.tracer.report_current();
        self.drain();
        let at = samples::now();
        self.records.write(&[&[frame::SNAP_DONE], &at.to_ne_bytes()]);
        Ok(at)
    }

    fn begin_segment(&mut self) -> Result<(), CaptureError> {
        self.records.begin_segment();
        if self.tracer.reports_throttling() {
            self.records.write(&[&[frame::THROTTLES], &samples::now().to_ne_bytes()]);
        }
        if self.tracer.reports_parking() {
            self.records.write(&[&samples::parking_frame()]);
        }
        self.snapshot(frame::OPENING)?;
        for frame in self.cgroups.all(samples::now()) {
            self.records.write(&[&frame]);
        }
        self.energy_facts.iter().for_each(|frame| self.records.write(&[frame]));
        self.sample();
        Ok(())
    }

    /// Begins the recording now. What the recorder did until then to prepare itself, also for longer than the command runs, is not part of it.
    fn begin_again(&mut self) -> Result<(), CaptureError> {
        self.tick();
        self.begin_segment()?;
        self.records.writer.drop_before(samples::now());
        self.tick();
        Ok(())
    }

    /// Writes the data that is read once a second.
    fn sample(&mut self) {
        self.records.write(&[&samples::steal_frame()]);
        self.records.write(&[&self.clocks.frame()]);
        let now = samples::now();
        let missed = self.tracer.newly_missed();
        if missed > 0 {
            self.records.lost += missed;
            self.records.write(&[
                &[frame::LOSS],
                &self.losses_checked_until.to_ne_bytes(),
                &now.to_ne_bytes(),
                &missed.to_ne_bytes(),
            ]);
        }
        self.losses_checked_until = now;
        for frame in self.cgroups.each_second(now) {
            self.records.write(&[&frame]);
        }
        self.records.look_up_cgroups();
    }

    fn each_second(&mut self) -> Result<(), CaptureError> {
        self.sample();
        if self.tracer.polls_settings() {
            let rows = self.tracer.threads()?;
            self.records.changes(&rows);
        }
        Ok(())
    }

    /// Writes the closing snapshot, the last samples, and everything that is still in the kernel's buffers.
    fn close(&mut self) -> Result<(), CaptureError> {
        self.tick();
        self.snapshot(frame::CLOSING)?;
        self.sample();
        self.read_counters(true);
        self.end_energy();
        let end = samples::now();
        // BPF programs that started before the end have finished writing by then.
        std::thread::sleep(Duration::from_millis(2));
        for _ in 0..50 {
            let handed = self.tracer.hand_over(true);
            if self.drain() && handed {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.drain_trace_marker();
        self.write_callchains();
        let (unrecorded, _, _) = self.tracer.cpus_at_end(end);
        unrecorded.into_iter().for_each(|span| self.write_gap(span));
        let mut payload = vec![frame::END];
        payload.extend_from_slice(&end.to_ne_bytes());
        for (cpu, lost) in self.tracer.unreported_losses() {
            self.records.lost += lost;
            payload.extend_from_slice(&cpu.to_ne_bytes());
            payload.extend_from_slice(&lost.to_ne_bytes());
        }
        self.records.write(&[&payload]);
        self.records.flush();
        Ok(())
    }
}

fn run(
    options: &RecordOptions,
    folder: &Dir,
    spool: &Dir,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recorded, CaptureError> {
    let started = (samples::now(), samples::realtime());
    let cpu_before = used().0;
    let conditions = conditions::read(&options.arguments, &options.build);
    let failed = |e| CaptureError::spool(&options.dir, e);
    let writer = Writer::new(spool).map_err(failed)?;
    let (marks, mut unmarked) = find_marks(options)?;
    let signals = Signals::take();
    let mut target = Running::prepare(&options.target)?;
    target.bind(&options.cpus)?;
    let focus = target.focus();
    // Meanwhile, since watching sources for their updates takes a third of a second.
    let (wanted, root) = (options.energy, options.energy_root.clone());
    let planning = std::thread::spawn(move || energy::plan(wanted, &root));
    let needs_tables = options.unwind && (options.stacks || options.sampling.hz().is_some());
    let to_record = options.target.clone();
    let listing = needs_tables.then(|| std::thread::spawn(move || to_record.files()));
    let started_tracer = Kernel::start(options, &marks);
    let mut energy = planning.join().unwrap_or_default();
    let files = listing.map(|listing| listing.join().unwrap_or_default()).unwrap_or_default();
    let (tracer, backend) = started_tracer?;
    let trace_marker = TraceMarker::start()
        .map_err(|why| unmarked.push(format!("Texts that programs write to trace_marker are not recorded: {why}.")))
        .ok();
    let mut meta = Meta {
        version: spool::META_VERSION,
        facts: first_facts(options, &backend, &tracer, focus),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned(),
        started_ns: started.0.cast_signed(),
        started_realtime_ns: started.1.cast_signed(),
        keep_s: options.keep.map(|k| k.as_secs_f64()),
        only_focus: options.only_focus && focus.is_some(),
        preparing: true,
        ..Meta::default()
    };
    meta.facts.conditions = conditions::join(conditions.clone(), None);
    meta.facts.lacks.append(&mut unmarked);
    meta.facts.lacks.append(&mut energy.lacks);
    meta.facts.about.push(("energy".into(), energy.decision));
    meta.store(spool).map_err(failed)?;
    let only = focus.filter(|_| options.only_focus).map(Focus::new);
    let mut records = RecordWriter::new(writer, only, &marks, options.counters.events.clone());
    records.callchains = (options.stacks || options.sampling.hz().is_some())
        .then(|| Callchains::start(options.stacks, tracer.unwinding().is_some()));
    let clocks = samples::Clocks::default();
    let mut readers = energy.readers;
    let energy_facts = readers.as_mut().map(Readers::begin).unwrap_or_default();
    let mut recorder = Recorder {
        tracer,
        trace_marker,
        records,
        cgroups: Cgroups::find(),
        losses_checked_until: samples::now(),
        clocks,
        energy: None,
        energy_facts,
        energy_cost: None,
        unwinding: None,
    };
    recorder.begin_segment()?;
    recorder.tick();
    match rights::drop_capabilities(folder, recorder.tracer.opens_events_later(), recorder.tracer.unwinding().is_some())
    {
        Ok(0) => {}
        Ok(n) => meta.facts.lacks.push(format!("{n} other threads of the recording process kept their capabilities.")),
        Err(why) => {
            meta.facts.lacks.push(format!("The recorder kept its capabilities: they could not be dropped ({why})."));
        }
    }
    if let (Some(maps), Some(callchains)) = (recorder.tracer.unwinding(), &recorder.records.callchains) {
        let first = unwinding::First { process: focus, files };
        recorder.unwinding = Some(unwinding::Thread::start(maps, callchains.mmap_events(), first)?);
        // Only that thread creates maps.
        let _ = rights::drop_capabilities(folder, recorder.tracer.opens_events_later(), false);
    }
    match readers.map(Readers::start).transpose() {
        Ok(thread) => recorder.energy = thread,
        Err(why) => meta.facts.lacks.push(format!("Energy is not recorded: its thread could not be started ({why}).")),
    }
    if let Some(unwinding) = &recorder.unwinding {
        unwinding.wait_until_prepared();
        recorder.begin_again()?;
    }
    meta.preparing = false;
    meta.store(spool).map_err(failed)?;
    let (begin, cpu_at_begin) = (Instant::now(), used().0);
    if let Some(pid) = target.go()? {
        recorder.records.processes.see(pid, samples::now(), true);
    }
    let ended = watch(options, &mut recorder, &mut target, &signals, begin, spool, progress)?;
    if recorder.records.error.is_none() {
        recorder.close()?;
    }
    recorder.end_energy();
    let unwound = recorder.unwinding.take().map(unwinding::Thread::stop);
    let elapsed = begin.elapsed();
    recorder.records.writer.free_reserve();
    meta.exit_code = target.exit_code;
    meta.finished = true;
    meta.error = recorder.records.error.as_ref().map(|e| format!("cannot write the spool: {e}"));
    meta.facts.conditions = conditions::join(conditions, Some(conditions::read(&options.arguments, &options.build)));
    let (cpu_after, max_rss) = used();
    let cost = RecordingOverhead {
        recorder_cpu_ns: cpu_after - cpu_at_begin,
        preparing_cpu_ns: cpu_at_begin - cpu_before,
        bpf_ns: recorder.tracer.run_time_ns(),
        max_rss_bytes: max_rss,
        spool_bytes: recorder.records.writer.bytes.cast_signed(),
        events: recorder.records.events.cast_signed(),
        lost: recorder.records.lost.cast_signed(),
        energy: recorder.energy_cost,
    };
    meta.facts.cost = Some(cost);
    let (_, mut of_cpus, online) = recorder.tracer.cpus_at_end(samples::now());
    meta.facts.lacks.append(&mut of_cpus);
    meta.facts.online.extend(online.into_iter().map(CpuId));
    meta.facts.online.sort_unstable();
    meta.facts.online.dedup();
    meta.facts.recorded.clone_from(&meta.facts.online);
    let [inferred, prev_unknown] = recorder.tracer.inferred_switches();
    if inferred > 0 {
        let counts = format!("{inferred}, of which {prev_unknown} have an unknown previous thread");
        meta.facts.about.push(("switches_inferred_from_next".into(), counts));
    }
    let missing_switches = recorder.tracer.missing_switches();
    if missing_switches > 0 {
        meta.facts.lacks.push(format!(
            "Before {missing_switches} switches other switches are missing: this kernel hides the events of some tasks, and their \
             switches were not inferred."
        ));
    }
    if let Some(lost @ 1..) = recorder.trace_marker.as_ref().map(|t| t.lost) {
        meta.facts.lacks.push(format!(
            "Programs wrote to trace_marker faster than the recorder could read: at least {lost} texts are lost."
        ));
    }
    if let Some(done) = &unwound {
        let counts = format!("{} files, {} bytes", done.tables, done.bytes);
        meta.facts.about.push(("unwind_tables".into(), counts));
    }
    if let Some(n @ 1..) = unwound.map(|done| done.without_room) {
        meta.facts.lacks.push(format!(
            "The tables for unwinding were full: callchains of {n} files or processes follow frame pointers only."
        ));
    }
    meta.facts.lacks.extend(recorder.records.lacks());
    meta.facts.lacks.extend(recorder.cgroups.lacks());
    let mut stored = recorder.records.processes.store(spool);
    if let Some(callchains) = &mut recorder.records.callchains {
        meta.facts.callchain_ends = Some(CallchainEnds::of(&callchains.ends));
        stored = stored.and_then(|()| callchains.store(spool, true));
        meta.facts.lacks.append(&mut callchains.lacks());
    }
    let stored = stored.and_then(|()| meta.store(spool));
    if let Some(why) = recorder.records.error.take() {
        return Err(failed(why));
    }
    stored.map_err(failed)?;
    let lacks = meta.facts.lacks;
    Ok(Recorded { folder: folder.clone(), backend, ended, exit_code: target.exit_code, elapsed, cost, lacks })
}

/// Looks up the marks in their files. Returns them, and one sentence for each restriction.
fn find_marks(options: &RecordOptions) -> Result<(Vec<Found>, Vec<String>), CaptureError> {
    let (mut marks, mut lacks) = (Vec::new(), Vec::new());
    for point in &options.marks {
        let found = point.find().map_err(|why| CaptureError::Mark { name: point.name.clone(), why })?;
        if found.lacks_returns(point) {
            lacks.push(format!(
                "Marks of {} have no end: {} is a Go program, in which function returns cannot be recorded.",
                found.name,
                found.file.display()
            ));
        }
        marks.push(found);
    }
    Ok((marks, lacks))
}

/// Calls [`Recorder::tick`] until the recording ends. Returns the reason.
fn watch(
    options: &RecordOptions,
    recorder: &mut Recorder,
    target: &mut Running,
    signals: &Signals,
    begin: Instant,
    spool: &Dir,
    progress: &mut dyn FnMut(Progress),
) -> Result<Ended, CaptureError> {
    let keep_ns = options.keep.map(|k| u64::try_from(k.as_nanos()).unwrap_or(u64::MAX));
    let segment_ns = keep_ns.map_or(u64::MAX, |k| (k / 4).clamp(500_000_000, 15_000_000_000));
    let tick = recorder.tracer.tick();
    let mut second = begin + Duration::from_secs(1);
    progress(Progress::default());
    loop {
        let left = options.duration.map(|d| d.saturating_sub(begin.elapsed()));
        target.wait(left.map_or(tick, |l| l.min(tick)));
        recorder.tick();
        let now = Instant::now();
        if now >= second {
            second = (second + Duration::from_secs(1)).max(now);
            recorder.each_second()?;
            if recorder.records.processes.changed && recorder.records.error.is_none() {
                let _ = recorder.records.processes.store(spool);
            }
            if let Some(callchains) = recorder.records.callchains.as_mut().filter(|c| c.changed) {
                let _ = callchains.store(spool, false);
            }
            let (events, lost) = (recorder.records.events, recorder.records.lost);
            progress(Progress { elapsed: begin.elapsed(), events, bytes: recorder.records.writer.bytes, lost });
        }
        if recorder.records.error.is_some() {
            return Ok(Ended::Stopped);
        }
        if signals.stop() {
            return Ok(Ended::Stopped);
        }
        if target.ended() {
            return Ok(Ended::Target);
        }
        if options.duration.is_some_and(|d| begin.elapsed() >= d) {
            return Ok(Ended::Duration);
        }
        let clock = samples::now();
        let old = clock.saturating_sub(recorder.records.writer.segment_began()) >= segment_ns;
        if old || recorder.records.writer.segment_bytes() >= SEGMENT_BYTES {
            recorder.begin_segment()?;
            recorder.tick();
        }
        if let Some(keep) = keep_ns {
            recorder.records.writer.drop_before(clock.saturating_sub(keep));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_cpu_lists() {
        assert_eq!(cpu_numbers("0-2,5\n"), [0, 1, 2, 5].map(CpuId));
        assert_eq!(cpu_numbers(""), []);
    }
}
