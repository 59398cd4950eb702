//! A recording from its first to its last moment.

use crate::book::Book;
use crate::callchains::Callchains;
use crate::cgroups::Cgroups;
use crate::conditions;
use crate::focus::Focus;
use crate::kernel::Kernel;
use crate::mark_point::Found;
use crate::online::Unrecorded;
use crate::options::{CaptureError, Ended, Progress, RecordOptions, Recorded};
use crate::rights;
use crate::samples;
use crate::spool::{self, Meta, Writer, frame};
use crate::target::{Running, Signals};
use crate::trace_marker::TraceMarker;
use ingest::{Facts, OwnCost};
use model::CpuId;
use std::path::Path;
use std::time::{Duration, Instant};

/// A mark lies this much before the moment at which the blocks were looked at: a store of another CPU is visible by then.
const MARGIN_NS: u64 = 1_000_000;
/// A segment is closed at about this size.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Records until the target has ended, the duration is over or the user stops it. Blocks; takes SIGINT and SIGTERM
/// meanwhile, and gives up this thread's capabilities once everything is attached.
///
/// # Errors
/// Without rights, where the folder is not empty, where the command cannot be run, or where the spool cannot be written
/// ([`CaptureError::DiskFull`]: what was spooled until then is whole).
pub fn record(options: &RecordOptions, progress: &mut dyn FnMut(Progress)) -> Result<Recorded, CaptureError> {
    let spool = make_folder(&options.dir)?;
    let done = run(options, &spool, progress);
    if done.is_err() && spool::segments(&spool).is_ok_and(|s| s.is_empty()) {
        // Nothing was recorded: leave nothing behind.
        let _ = std::fs::remove_dir_all(&spool);
        let _ = std::fs::remove_dir(&options.dir);
    }
    done
}

fn make_folder(dir: &Path) -> Result<std::path::PathBuf, CaptureError> {
    let io = |why| CaptureError::Io { what: format!("making {}", dir.display()), why };
    match std::fs::read_dir(dir) {
        Ok(mut inside) => {
            if inside.next().is_some() {
                return Err(CaptureError::Exists(dir.to_owned()));
            }
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => std::fs::create_dir_all(dir).map_err(io)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => return Err(CaptureError::Exists(dir.to_owned())),
        Err(e) => return Err(io(e)),
    }
    let spool = spool::folder(dir);
    std::fs::create_dir(&spool).map_err(io)?;
    Ok(spool)
}

/// CPU time of this process, ns, and its largest resident memory, bytes.
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

/// A CPU list ("0-3,8") as numbers.
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
    Facts {
        format: "corewise".into(),
        clock: "CLOCK_MONOTONIC".into(),
        has_waking: Some(true),
        has_wakeup: Some(true),
        has_charges: kernel.has_charges(),
        whole_machine: true,
        begin: None,
        online: cpu_numbers(&text("/sys/devices/system/cpu/online")),
        machine: options.machine.clone(),
        conditions: Vec::new(),
        about: about.map(|(k, v)| (k.to_owned(), v)).into(),
        cost: None,
        focus,
        lacks: kernel.lacks().to_vec(),
    }
}

/// The recorder at work.
struct Recorder {
    tracer: Kernel,
    /// `None`: this machine does not let it be read.
    trace_marker: Option<TraceMarker>,
    book: Book,
    cgroups: Cgroups,
    /// Up to here losses were looked for that no block tells of.
    looked: u64,
    clocks: samples::Clocks,
}

impl Recorder {
    fn drain(&mut self) -> bool {
        let book = &mut self.book;
        self.tracer.drain(&mut |record| book.take(record))
    }

    fn drain_trace_marker(&mut self) {
        let book = &mut self.book;
        if let Some(trace_marker) = &mut self.trace_marker {
            trace_marker.drain(&mut |record| book.take(record));
        }
    }

    fn tell_callchains(&mut self) {
        let tracer = &self.tracer;
        self.book.tell_callchains(&|user, number| tracer.stack(user, number));
    }

    /// CPUs may have gone offline, or come online.
    fn follow_cpus(&mut self) {
        let book = &mut self.book;
        let unrecorded = self.tracer.follow_cpus(&mut |record| book.take(record));
        unrecorded.into_iter().for_each(|span| self.tell_unrecorded(span));
    }

    fn tell_unrecorded(&mut self, span: Unrecorded) {
        self.book.lost += span.events.unwrap_or(0);
        let words = [span.from, span.to, span.events.unwrap_or(u64::MAX)].map(u64::to_ne_bytes);
        self.book.write(&[&[frame::LOSS], words.as_flattened(), &span.cpu.to_ne_bytes()]);
    }

    /// Everything up to a moment ago goes to disk, and a mark behind it.
    fn tick(&mut self) {
        self.drain();
        self.follow_cpus();
        let until = samples::now().saturating_sub(MARGIN_NS);
        let handed = self.tracer.hand_over(false);
        let drained = self.drain();
        // Behind the others: whether a thread is the target's is known by then.
        self.drain_trace_marker();
        self.tell_callchains();
        if drained && handed {
            self.book.write(&[&[frame::MARK], &until.to_ne_bytes()]);
        }
        self.book.flush();
    }

    /// Rows of all threads and the current task of each CPU. `purpose` is that of the frame.
    fn snapshot(&mut self, purpose: u8) -> Result<u64, CaptureError> {
        self.book.write(&[&[frame::SNAP_BEGIN, purpose]]);
        let rows = self.tracer.threads()?;
        if self.tracer.look_for_changes() {
            self.book.changes(&rows);
        }
        self.book.rows(&rows);
        self.book.rows(&self.tracer.unlisted(&rows));
        self.tracer.tell_current();
        self.drain();
        let at = samples::now();
        self.book.write(&[&[frame::SNAP_DONE], &at.to_ne_bytes()]);
        Ok(at)
    }

    fn begin_segment(&mut self) -> Result<(), CaptureError> {
        self.book.begin_segment();
        if self.tracer.tells_throttles() {
            self.book.write(&[&[frame::THROTTLES], &samples::now().to_ne_bytes()]);
        }
        if self.tracer.tells_parking() {
            self.book.write(&[&samples::parking_frame()]);
        }
        self.snapshot(frame::OPENING)?;
        for frame in self.cgroups.all(samples::now()) {
            self.book.write(&[&frame]);
        }
        self.sample();
        Ok(())
    }

    /// What is read once a second.
    fn sample(&mut self) {
        self.book.write(&[&samples::steal_frame()]);
        self.book.write(&[&self.clocks.frame()]);
        let now = samples::now();
        let missed = self.tracer.newly_missed();
        if missed > 0 {
            self.book.lost += missed;
            self.book.write(&[&[frame::LOSS], &self.looked.to_ne_bytes(), &now.to_ne_bytes(), &missed.to_ne_bytes()]);
        }
        self.looked = now;
        for frame in self.cgroups.each_second(now) {
            self.book.write(&[&frame]);
        }
        self.book.look_up();
    }

    fn each_second(&mut self) -> Result<(), CaptureError> {
        self.sample();
        if self.tracer.look_for_changes() {
            let rows = self.tracer.threads()?;
            self.book.changes(&rows);
        }
        Ok(())
    }

    /// The closing snapshot, the last samples, and everything that the kernel still holds.
    fn close(&mut self) -> Result<(), CaptureError> {
        self.tick();
        self.snapshot(frame::CLOSING)?;
        self.sample();
        let end = samples::now();
        // Programs that had begun before the end have written by then.
        std::thread::sleep(Duration::from_millis(2));
        for _ in 0..50 {
            let handed = self.tracer.hand_over(true);
            if self.drain() && handed {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.drain_trace_marker();
        self.tell_callchains();
        let (unrecorded, _, _) = self.tracer.cpus_at_end(end);
        unrecorded.into_iter().for_each(|span| self.tell_unrecorded(span));
        let mut payload = vec![frame::END];
        payload.extend_from_slice(&end.to_ne_bytes());
        for (cpu, lost) in self.tracer.untold_losses() {
            self.book.lost += lost;
            payload.extend_from_slice(&cpu.to_ne_bytes());
            payload.extend_from_slice(&lost.to_ne_bytes());
        }
        self.book.write(&[&payload]);
        self.book.flush();
        Ok(())
    }
}

fn run(options: &RecordOptions, spool: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Recorded, CaptureError> {
    let started = (samples::now(), samples::realtime());
    let cpu_before = used().0;
    let conditions = conditions::read(&options.arguments);
    let failed = |e| CaptureError::spool(&options.dir, e);
    let writer = Writer::new(spool).map_err(failed)?;
    let (marks, mut unmarked) = find_marks(options)?;
    let signals = Signals::take();
    let mut target = Running::prepare(&options.target)?;
    let focus = target.focus();
    let (tracer, backend) = Kernel::start(options, &marks)?;
    let trace_marker = TraceMarker::start()
        .map_err(|why| unmarked.push(format!("What programs write to trace_marker is not kept: {why}.")))
        .ok();
    let mut meta = Meta {
        version: spool::META_VERSION,
        facts: first_facts(options, &backend, &tracer, focus),
        boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned(),
        started_ns: started.0.cast_signed(),
        started_realtime_ns: started.1.cast_signed(),
        keep_s: options.keep.map(|k| k.as_secs_f64()),
        ..Meta::default()
    };
    meta.facts.conditions = conditions::join(conditions.clone(), None);
    meta.facts.lacks.append(&mut unmarked);
    meta.store(spool).map_err(failed)?;
    let only = focus.filter(|_| options.only_focus).map(Focus::new);
    let mut book = Book::new(writer, only, &marks);
    book.callchains = options.stacks.then(Callchains::start);
    let clocks = samples::Clocks::default();
    let mut recorder =
        Recorder { tracer, trace_marker, book, cgroups: Cgroups::find(), looked: samples::now(), clocks };
    recorder.begin_segment()?;
    recorder.tick();
    if let Err(why) = rights::drop_all_but_reading(&options.dir, recorder.tracer.opens_later()) {
        meta.facts.lacks.push(format!("The recorder kept its rights: giving them up failed ({why})."));
    }
    let begin = Instant::now();
    target.go()?;
    let ended = watch(options, &mut recorder, &mut target, &signals, begin, spool, progress)?;
    if recorder.book.error.is_none() {
        recorder.close()?;
    }
    let elapsed = begin.elapsed();
    recorder.book.writer.free_reserve();
    meta.exit_code = target.exit_code;
    meta.finished = true;
    meta.error = recorder.book.error.as_ref().map(|e| format!("writing the spool failed: {e}"));
    meta.facts.conditions = conditions::join(conditions, Some(conditions::read(&options.arguments)));
    let (cpu_after, max_rss) = used();
    let cost = OwnCost {
        recorder_cpu_ns: cpu_after - cpu_before,
        bpf_ns: recorder.tracer.run_time_ns(),
        max_rss_bytes: max_rss,
        spool_bytes: recorder.book.writer.bytes.cast_signed(),
        events: recorder.book.events.cast_signed(),
        lost: recorder.book.lost.cast_signed(),
    };
    meta.facts.cost = Some(cost);
    let (_, mut of_cpus, online) = recorder.tracer.cpus_at_end(samples::now());
    meta.facts.lacks.append(&mut of_cpus);
    meta.facts.online.extend(online.into_iter().map(CpuId));
    meta.facts.online.sort_unstable();
    meta.facts.online.dedup();
    let [told, open] = recorder.tracer.links();
    if told > 0 {
        let told = format!("{told}, of which {open} leave open who left");
        meta.facts.about.push(("switches_told_by_next".into(), told));
    }
    if let Some(lost @ 1..) = recorder.trace_marker.as_ref().map(|t| t.lost) {
        let told =
            format!("Programs wrote to trace_marker faster than it could be read: at least {lost} texts are lost.");
        meta.facts.lacks.push(told);
    }
    meta.facts.lacks.extend(recorder.book.lacks());
    meta.facts.lacks.extend(recorder.cgroups.lacks());
    let mut stored = recorder.book.processes.store(spool);
    if let Some(callchains) = &mut recorder.book.callchains {
        stored = stored.and_then(|()| callchains.store(spool, true));
        meta.facts.lacks.append(&mut callchains.lacks());
    }
    let stored = stored.and_then(|()| meta.store(spool));
    if let Some(why) = recorder.book.error.take() {
        return Err(failed(why));
    }
    stored.map_err(failed)?;
    let lacks = meta.facts.lacks;
    Ok(Recorded { dir: options.dir.clone(), backend, ended, exit_code: target.exit_code, elapsed, cost, lacks })
}

/// Looks the marks up in their files; and what of them cannot be told.
fn find_marks(options: &RecordOptions) -> Result<(Vec<Found>, Vec<String>), CaptureError> {
    let (mut marks, mut lacks) = (Vec::new(), Vec::new());
    for point in &options.marks {
        let found = point.find().map_err(|why| CaptureError::Mark { name: point.name.clone(), why })?;
        if found.lacks_returns(point) {
            lacks.push(format!(
                "Marks of {} are moments without an end: {} is a Go program, whose returns cannot be watched.",
                found.name,
                found.file.display()
            ));
        }
        marks.push(found);
    }
    Ok((marks, lacks))
}

/// Ticks until something ends the recording.
fn watch(
    options: &RecordOptions,
    recorder: &mut Recorder,
    target: &mut Running,
    signals: &Signals,
    begin: Instant,
    spool: &Path,
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
            if recorder.book.processes.changed && recorder.book.error.is_none() {
                let _ = recorder.book.processes.store(spool);
            }
            if let Some(callchains) = recorder.book.callchains.as_mut().filter(|c| c.changed) {
                let _ = callchains.store(spool, false);
            }
            let (events, lost) = (recorder.book.events, recorder.book.lost);
            progress(Progress { elapsed: begin.elapsed(), events, bytes: recorder.book.writer.bytes, lost });
        }
        if recorder.book.error.is_some() {
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
        let old = clock.saturating_sub(recorder.book.writer.segment_began()) >= segment_ns;
        if old || recorder.book.writer.segment_bytes() >= SEGMENT_BYTES {
            recorder.begin_segment()?;
            recorder.tick();
        }
        if let Some(keep) = keep_ns {
            recorder.book.writer.drop_before(clock.saturating_sub(keep));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(cpu_numbers("0-2,5\n"), [0, 1, 2, 5].map(CpuId));
        assert_eq!(cpu_numbers(""), []);
    }
}
