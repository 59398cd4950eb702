//! Reads energy and temperature during a recording, in a thread of its own.
//!
//! ```text
//!   find, watch ──▶ first reading ──▶ capabilities are dropped ──▶ thread: a reading each interval ──▶ last reading
//!   files are opened                  the recording begins                       │
//!                                                                                ▼ frames, which the recorder writes at its next tick
//! ```
//!
//! Only opening a file needs rights, so the thread keeps none for it. Reading costs CPU time and wakes an idle CPU, which needs energy itself: both are
//! measured, at the start to decide whether to read at all, and at the end for the recording's overhead.

use crate::options::Energy;
use crate::spool::energy as wire;
use ingest::ReadingCost;
use power::{Found, Interface, Lack, Metered, Meters, Reading, Tree, ValueFile};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// By default, energy is recorded if reading it takes less than this share of a CPU.
const MAX_COST: f64 = 0.001;
/// The time between two readings if the requested one costs too much.
const SELDOM: Duration = Duration::from_secs(1);
/// How many readings the cost is measured over.
const MEASURED: u32 = 8;
const MEASURED_PAUSE: Duration = Duration::from_millis(10);
/// The maximum number of frames that wait for the recorder; later readings are lost.
const MAX_WAITING: usize = 1 << 16;

/// What is read, and what was found out about it before the recording.
pub struct Readers {
    meters: Meters,
    /// Sensors of temperature.
    zones: Vec<(String, ValueFile)>,
    interval: Duration,
    shared: Arc<Shared>,
    start_cpu_ns: u64,
}

/// What was decided.
#[derive(Default)]
pub struct Plan {
    /// What is read; `None`: nothing.
    pub readers: Option<Readers>,
    /// The decision, one sentence for the manifest.
    pub decision: String,
    /// What the user asked for and does not get, a sentence each.
    pub lacks: Vec<String>,
}

/// What the thread and the recorder share.
#[derive(Default)]
struct Shared {
    frames: Mutex<Vec<Vec<u8>>>,
    /// Since when the time of a value has been taken without its frame being in `frames`; 0: no such value.
    stamped: AtomicU64,
}

/// Finds what this machine, or the tree at `root`, shows, and decides whether to read it. Takes up to 0.4 s if there is a
/// source, to learn the time between updates and the cost.
pub fn plan(wanted: Energy, root: &Path) -> Plan {
    let (interval, is_required) = match wanted {
        Energy::Off => return Plan { decision: "not recorded: --no-power".to_owned(), ..Plan::default() },
        Energy::IfCheap(interval) => (interval, false),
        Energy::Required(interval) => (interval, true),
    };
    let begin = thread_cpu_ns();
    let tree = match Tree::open(root) {
        Ok(tree) => tree,
        Err(why) => {
            let why = format!("energy is not recorded: {}: {why}", root.display());
            let lacks = if is_required { vec![sentence(&why)] } else { Vec::new() };
            return Plan { readers: None, decision: why, lacks };
        }
    };
    let mut found = power::find(&tree);
    let lacks = if is_required { missing(&tree, &found) } else { Vec::new() };
    let zones = named_apart(power::sensors(&tree));
    if found.domains.is_empty() && zones.is_empty() {
        return Plan { readers: None, decision: "not recorded: this machine shows no source".to_owned(), lacks };
    }
    let shared = Arc::default();
    let meters = Meters::new(std::mem::take(&mut found.domains));
    let mut readers = Readers { meters, zones, interval, shared, start_cpu_ns: 0 };
    if let Some(longest) = readers.meters.longest() {
        readers.interval = readers.interval.min(longest);
    }
    let (decision, is_worth_it) = readers.decide(is_required);
    readers.start_cpu_ns = thread_cpu_ns().saturating_sub(begin);
    Plan { readers: is_worth_it.then_some(readers), decision, lacks }
}

/// What is missing, if the user asked for energy: one sentence about all sources if there is none, and one for each that exists, but may not
/// be read or shows no energy.
fn missing(tree: &Tree, found: &Found) -> Vec<String> {
    let why = |lack: &Lack| format!("{}: {}", lack.source, lack.why);
    if found.domains.is_empty() {
        let all: Vec<String> = found.lacks.iter().map(why).collect();
        let all = all.join("; ");
        return vec![sentence(&format!("energy is not recorded, because this machine shows no source ({all})"))];
    }
    let has_battery = power::battery::names(tree).is_ok_and(|names| !names.is_empty());
    let exists = |lack: &&Lack| lack.rights || has_battery && lack.source == Interface::PowerSupply.as_str();
    found
        .lacks
        .iter()
        .filter(exists)
        .map(|lack| sentence(&format!("energy is not recorded by {}", why(lack))))
        .collect()
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// Sensors with a name of their own: two thermal zones may have the same type.
fn named_apart(sensors: Vec<(String, ValueFile)>) -> Vec<(String, ValueFile)> {
    let mut apart: Vec<(String, ValueFile)> = Vec::new();
    for (name, file) in sensors {
        let same = apart.iter().filter(|(known, _)| *known == name || known.starts_with(&format!("{name} #"))).count();
        apart.push((if same > 0 { format!("{name} #{}", same + 1) } else { name }, file));
    }
    apart
}

impl Readers {
    /// Measures what a reading costs. Returns the decision for the manifest, and whether to read.
    fn decide(&mut self, is_required: bool) -> (String, bool) {
        let read = |readers: &Self| {
            readers.meters.domains.iter().for_each(|metered| drop(metered.domain.gauge.read()));
            readers.zones.iter().for_each(|(_, file)| drop(file.read()));
        };
        read(self);
        let before = thread_cpu_ns();
        for _ in 0..MEASURED {
            // A reading after a pause costs several times as much as one directly after another.
            std::thread::sleep(MEASURED_PAUSE);
            read(self);
        }
        let ns = thread_cpu_ns().saturating_sub(before) / u64::from(MEASURED);
        let share = |interval: Duration| ns as f64 * 1e-9 / interval.as_secs_f64();
        if !is_required && share(self.interval) >= MAX_COST && self.interval < SELDOM {
            self.interval = self.meters.longest().map_or(SELDOM, |longest| longest.min(SELDOM));
        }
        let (cost, hz) = (share(self.interval) * 100.0, 1.0 / self.interval.as_secs_f64());
        let (domains, zones) = (self.meters.domains.len(), self.zones.len());
        let measured = format!(
            "a reading of {domains} domains and {zones} sensors of temperature takes {:.1} us of CPU time",
            ns as f64 * 1e-3
        );
        let limit = MAX_COST * 100.0;
        match (is_required, cost < limit) {
            (true, _) => (format!("{hz:.1} times a second, as --power asked: {measured}, {cost:.3} % of a CPU"), true),
            (false, true) => {
                (format!("{hz:.1} times a second: {measured}, {cost:.3} % of a CPU, less than {limit} %"), true)
            }
            (false, false) => (
                format!(
                    "not recorded: {measured}, {cost:.3} % of a CPU at {hz:.1} times a second, not less than {limit} %"
                ),
                false,
            ),
        }
    }

    /// Reads all for the first time, before the recording begins. Returns the frames that each segment repeats.
    pub fn begin(&mut self) -> Vec<Vec<u8>> {
        self.read();
        self.facts()
    }

    /// What is known of the domains and sensors.
    fn facts(&self) -> Vec<Vec<u8>> {
        let at = crate::samples::now();
        let domains =
            self.meters.domains.iter().zip(0_u32..).map(|(metered, number)| wire::domain_frame(at, number, metered));
        let zones = self.zones.iter().zip(0_u32..).map(|((name, _), number)| wire::zone_frame(number, name));
        domains.chain(zones).collect()
    }

    fn read(&mut self) {
        let shared = &*self.shared;
        for (metered, number) in self.meters.domains.iter_mut().zip(0_u32..) {
            let value = metered.domain.gauge.read().map_err(|why| why.to_string());
            shared.push(|at| {
                let interval = metered.meter.push(Reading { at: model::Ns(at.cast_signed()), value });
                interval.map(|interval| wire::energy_frame(number, &interval))
            });
        }
        for ((_, file), number) in self.zones.iter().zip(0_u32..) {
            // A sensor without a value is not there at this time.
            let Ok(value) = file.read() else { continue };
            shared.push(|at| Some(wire::temperature_frame(at, number, value)));
        }
    }

    /// Starts the thread. The recorder takes the frames from the result.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(mut self) -> std::io::Result<Thread> {
        let (stop, stopped) = channel::<()>();
        let shared = Arc::clone(&self.shared);
        let run = move || {
            // The kernel may wake this thread together with others.
            let slack = (self.interval.as_nanos() / 20) as libc::c_ulong;
            // SAFETY: no memory is involved.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
            let mut next = Instant::now() + self.interval;
            let mut readings = 0;
            loop {
                let ended = stopped.recv_timeout(next.saturating_duration_since(Instant::now()))
                    != Err(RecvTimeoutError::Timeout);
                self.read();
                readings += 1;
                if ended {
                    return self.finish(readings);
                }
                // Readings that could not be made in time are left out.
                next = (next + self.interval).max(Instant::now());
            }
        };
        let thread = std::thread::Builder::new().name("corewise-energy".to_owned()).spawn(run)?;
        Ok(Thread { shared, stop, thread })
    }

    /// Reports the domains that could not be read at the end. Returns the cost of this thread.
    fn finish(mut self, readings: i64) -> ReadingCost {
        for (Metered { meter, .. }, number) in self.meters.domains.iter_mut().zip(0_u32..) {
            if let Some(interval) = meter.close() {
                self.shared.push(|_| Some(wire::energy_frame(number, &interval)));
            }
        }
        // SAFETY: all-zero is a valid rusage, and it is written to.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        ReadingCost {
            interval_ns: i64::try_from(self.interval.as_nanos()).unwrap_or(i64::MAX),
            readings,
            wakeups: usage.ru_nvcsw,
            cpu_ns: thread_cpu_ns().cast_signed(),
            start_cpu_ns: self.start_cpu_ns.cast_signed(),
        }
    }
}

impl Shared {
    /// Takes the time and adds the frame of a value that was just read.
    fn push(&self, frame: impl FnOnce(u64) -> Option<Vec<u8>>) {
        let at = crate::samples::now();
        self.stamped.store(at, Ordering::SeqCst);
        if let Some(frame) = frame(crate::samples::now()) {
            let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
            if frames.len() < MAX_WAITING {
                frames.push(frame);
            }
        }
        self.stamped.store(0, Ordering::SeqCst);
    }
}

/// The running thread.
pub struct Thread {
    shared: Arc<Shared>,
    stop: Sender<()>,
    thread: JoinHandle<ReadingCost>,
}

impl Thread {
    /// Returns the time before which no value comes any more, not later than `until`. Take the frames afterwards.
    pub fn until(&self, until: u64) -> u64 {
        match self.shared.stamped.load(Ordering::SeqCst) {
            0 => until,
            stamped => until.min(stamped.saturating_sub(1)),
        }
    }

    /// Takes the frames so far.
    pub fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.shared.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads all for the last time and ends the thread. Returns the last frames and the cost, `None` if the thread had failed.
    pub fn stop(self) -> (Vec<Vec<u8>>, Option<ReadingCost>) {
        let Self { shared, stop, thread } = self;
        drop(stop);
        let cost = thread.join().ok();
        let frames = std::mem::take(&mut *shared.frames.lock().unwrap_or_else(PoisonError::into_inner));
        (frames, cost)
    }
}

/// Returns the CPU time of this thread, ns.
fn thread_cpu_ns() -> u64 {
    crate::samples::thread_cpu()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spool::{self, Meta, SPOOL, Writer, frame, open_spool};
    use ingest::{Anomalies, Reach};
    use model::{Batch, CpuId, EventKind};

    const ENERGY_UJ: &str = "sys/class/powercap/intel-rapl:0/energy_uj";

    /// A machine with a package and a sensor of temperature.
    fn machine(dir: &Path) {
        let files = [
            ("sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
            (ENERGY_UJ, "1000000"),
            ("sys/class/thermal/thermal_zone0/type", "cpu"),
            ("sys/class/thermal/thermal_zone0/temp", "45500"),
        ];
        for (path, text) in files {
            std::fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            std::fs::write(dir.join(path), text).unwrap();
        }
    }

    /// Reads a machine while `changes` happen, writes a spool and returns its events and texts.
    fn recorded(dir: &Path, changes: impl FnOnce()) -> (Vec<EventKind>, Vec<Box<str>>) {
        let plan = plan(Energy::Required(Duration::from_millis(2)), dir);
        assert!(plan.lacks.is_empty(), "{:?}", plan.lacks);
        let mut readers = plan.readers.unwrap();
        let facts = readers.begin();
        let thread = readers.start().unwrap();
        changes();
        let (frames, cost) = thread.stop();
        assert!(cost.unwrap().readings > 0);
        let spool = safefs::Dir::open(dir).unwrap().make(SPOOL).unwrap();
        Meta { version: spool::META_VERSION, finished: true, ..Meta::default() }.store(&spool).unwrap();
        let mut writer = Writer::new(&spool).unwrap();
        writer.begin_segment(0).unwrap();
        let at = |kind: u8, at: u64| [&[kind][..], &at.to_ne_bytes()].concat();
        // Each segment repeats what is known of the domains; it is reported once.
        for frame in facts.iter().chain(&facts).chain(&frames).chain([&at(frame::END, crate::samples::now())]) {
            writer.frame(&[frame]).unwrap();
        }
        writer.flush().unwrap();
        let (mut batch, mut bad) = (Batch::default(), Anomalies::default());
        let mut opened = open_spool(dir).unwrap();
        while opened.streams[0].next(&mut batch, &mut bad).unwrap() != Reach::End {}
        assert!(bad.0.is_empty(), "{bad:?}");
        assert!(batch.events.iter().all(|event| event.cpu == CpuId::UNKNOWN));
        (batch.events.iter().map(|event| event.what).collect(), batch.names)
    }

    #[test]
    fn what_a_domain_used_is_in_the_spool() {
        let dir = tempfile::tempdir().unwrap();
        machine(dir.path());
        let set = |uj: i64| {
            std::fs::write(dir.path().join("new"), uj.to_string()).unwrap();
            std::fs::rename(dir.path().join("new"), dir.path().join(ENERGY_UJ)).unwrap();
        };
        let (events, names) = recorded(dir.path(), || {
            for n in 1..=5 {
                set(1_000_000 + n * 700);
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let name = |id: model::NameId| names.get((id.0 as usize).wrapping_sub(1)).map(|name| &**name);
        let domain =
            events.iter().find_map(|what| if let EventKind::EnergyDomain(of) = what { Some(*of) } else { None });
        let domain = domain.unwrap();
        assert_eq!((name(domain.domain), name(domain.part)), (Some("package-0"), Some("package")));
        assert_eq!(events.iter().filter(|what| matches!(what, EventKind::EnergyDomain(_))).count(), 1);
        let nj = events.iter().filter_map(|what| if let EventKind::Energy(used) = what { used.nj.get() } else { None });
        assert_eq!(nj.sum::<i64>(), 5 * 700 * 1000);
        let zone =
            events.iter().find_map(|what| if let EventKind::Temperature(read) = what { Some(*read) } else { None });
        let zone = zone.unwrap();
        assert_eq!((name(zone.zone), zone.millicelsius), (Some("cpu"), 45_500));
    }

    #[test]
    fn a_domain_that_vanishes_is_unknown_from_its_last_reading_on() {
        let dir = tempfile::tempdir().unwrap();
        machine(dir.path());
        let (events, names) = recorded(dir.path(), || std::fs::remove_file(dir.path().join(ENERGY_UJ)).unwrap());
        let used = |what: &EventKind| if let EventKind::Energy(used) = what { Some(*used) } else { None };
        let last = events.iter().rev().find_map(used).unwrap();
        assert_eq!(last.nj.get(), None);
        assert!(names[last.unknown.0 as usize - 1].contains("could not be read"), "{names:?}");
    }

    #[test]
    fn sensors_of_the_same_name_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("temp"), "1").unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        let file = || tree.value("/temp").unwrap();
        let sensors = ["acpitz", "acpitz", "cpu", "acpitz"].map(|name| (name.to_owned(), file()));
        let names: Vec<String> = named_apart(sensors.into()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["acpitz", "acpitz #2", "cpu", "acpitz #3"]);
    }

    #[test]
    fn a_machine_without_a_source_is_one_sentence_if_energy_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let interval = Duration::from_millis(100);
        let asked = plan(Energy::Required(interval), dir.path());
        assert!(asked.readers.is_none());
        assert_eq!(asked.lacks.len(), 1, "{:?}", asked.lacks);
        assert!(asked.lacks[0].starts_with("Energy is not recorded, because this machine shows no source (RAPL"));
        let by_default = plan(Energy::IfCheap(interval), dir.path());
        assert!(by_default.readers.is_none() && by_default.lacks.is_empty());
        assert_eq!(by_default.decision, "not recorded: this machine shows no source");
    }
}
