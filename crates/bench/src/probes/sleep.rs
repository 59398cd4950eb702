//! A short sleep: the time that a thread asked for and the time that it got, by timer slack, policy and idle state, and what it costs in energy.
//!
//! `clock_nanosleep(CLOCK_MONOTONIC)` never returns early; how late it returns is the timer slack, the interrupt, the way out of the idle state
//! and the switch. The slack of other threads is 50 µs unless they set it (`PR_SET_TIMERSLACK(2const)`); real-time threads have none.

use crate::clock::{Delay, now_ns};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::probes::wake::median;
use crate::setup::Setup;
use crate::thread::{Evidence, Part, together};
use model::CpuId;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use topology::{Cost, CostUnit};

/// The requested times, µs.
const ASKED_US: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// About how long a repetition sleeps in all, µs.
const SLEEPS_US: u32 = 20_000;
/// The most sleeps of a repetition.
const MOST_SLEEPS: u32 = 50;
/// The most core types: with all times and ways there are at most 104 series, however large the machine is.
const TYPES: usize = 4;
/// How long energy is counted, ns: its counter moves about once a millisecond.
const ENERGY_NS: i64 = 100_000_000;

/// The time from the timer's interrupt until the thread runs, in which it is ready, that is no sign of a disturbance, ns.
pub(crate) const SWITCH_NS: i64 = 5_000;

/// How a thread sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Way {
    /// The timer slack, ns.
    slack_ns: u32,
    /// Whether its policy is `SCHED_FIFO`; otherwise it is `SCHED_OTHER`.
    fifo: bool,
    /// Whether idle states with an exit latency are refused.
    shallow: bool,
}

impl Way {
    const fn new(slack_ns: u32) -> Self {
        Self { slack_ns, fifo: false, shallow: false }
    }
}

/// What this process may do.
#[derive(Clone, Default, PartialEq, Debug)]
struct Rights {
    /// Whether a thread can have the policy `SCHED_FIFO`.
    fifo: bool,
    /// Whether `/dev/cpu_dma_latency` can be written to.
    shallow: bool,
    /// The file that counts energy, µJ.
    energy: Option<PathBuf>,
}

/// See the module.
pub struct Sleep;

impl Probe for Sleep {
    fn name(&self) -> &'static str {
        "sleep"
    }

    fn about(&self) -> &'static str {
        "how late a thread returns from a short sleep, by timer slack, policy and idle state, and the energy"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "late",
                "the time that clock_nanosleep took minus the requested time; idle is shallow where all idle states with an exit latency are refused",
            ),
            (
                "energy",
                "the power of the package while one thread sleeps for asked_us again and again, over that while it sleeps all the time",
            ),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let rights = Rights {
            fifo: std::thread::spawn(|| become_fifo().is_ok()).join().unwrap_or(false),
            shallow: OpenOptions::new().write(true).open(LATENCY).is_ok(),
            energy: energy_counter(Path::new("/sys/class/powercap")),
        };
        planned(setup, &rights)
    }

    fn judge(&self, _setup: &Setup, costs: &[Cost]) -> Vec<String> {
        let early = |cost: &&Cost| cost.figure == "late" && cost.estimate.high < 0.0;
        let said = |cost: &Cost| {
            format!(
                "a sleep of {} µs ended {:.0} ns early, which clock_nanosleep must not: the clock of this machine is not to be trusted",
                cost.parameters.get("asked_us").map_or("", String::as_str),
                -cost.estimate.value
            )
        };
        costs.iter().filter(early).map(said).collect()
    }
}

fn planned(setup: &Setup, rights: &Rights) -> io::Result<Plan> {
    let mut plan = Plan::default();
    let mut classes = setup.by_class();
    classes.drain(..classes.len().saturating_sub(TYPES));
    let cpus: Vec<CpuId> = classes.iter().filter_map(|(_, cpus)| cpus.first().copied()).collect();
    let exact = Way::new(1);
    let mut ways = vec![exact, Way::new(50_000)];
    if rights.fifo {
        ways.push(Way { fifo: true, ..exact });
    } else {
        plan.left_out.push("left out: sleeps of the policy fifo, since this process may not have it (run as root, or with CAP_SYS_NICE)".to_owned());
    }
    if rights.shallow {
        ways.push(Way { shallow: true, ..exact });
    } else {
        plan.left_out.push(format!(
            "left out: sleeps with deep idle states refused, since {LATENCY} cannot be opened (run as root)"
        ));
    }
    if rights.energy.is_none() {
        plan.left_out.push("left out: energy, since no powercap domain can be read (a guest has none, and elsewhere only root may read it)".to_owned());
    }
    for cpu in &cpus {
        for asked_us in asked(setup) {
            for way in &ways {
                let name = format!("sleep of {asked_us} us, {way:?}, on {}", cpu.0);
                let slept =
                    plan.steps(setup, &name, &[*cpu], false, |delay| Ok(sleeps(*cpu, asked_us, *way, delay)))?;
                let of = |formula| Wanted::new("late", &[*cpu], CostUnit::Ns, formula).with("asked_us", asked_us);
                let mut found = of(Formula::of(slept))
                    .with("slack_us", f64::from(way.slack_ns) / 1000.0)
                    .with("policy", if way.fifo { "fifo" } else { "other" })
                    .with("idle", if way.shallow { "shallow" } else { "any" });
                if *way == exact {
                    // The null control: the same sleep once more.
                    let again = plan.series(format!("{name} again"), sleeps(*cpu, asked_us, *way, None));
                    found = found.control(Formula::difference(again, slept));
                }
                plan.figure(found);
            }
        }
    }
    if let (Some(counter), Some(cpu)) = (&rights.energy, cpus.last()) {
        let mut power = |asked_us: u32, what: &str| {
            plan.series(format!("power of {what}"), powers(counter.clone(), *cpu, asked_us))
        };
        // One sleep as long as the whole repetition.
        let whole = (ENERGY_NS / 1000) as u32;
        let (idle, again) = (power(whole, "one long sleep"), power(whole, "one long sleep again"));
        let times = [100, 1_000];
        let series = times.map(|us| power(us, &format!("sleeps of {us} us")));
        for (asked_us, series) in times.iter().zip(series) {
            let found = Wanted::new("energy", &[*cpu], CostUnit::Ratio, Formula::ratio(series, idle));
            plan.figure(found.with("asked_us", asked_us).control(Formula::ratio(again, idle)));
        }
    }
    Ok(plan)
}

/// The requested times, µs.
fn asked(setup: &Setup) -> Vec<u32> {
    ASKED_US.into_iter().filter(|us| !setup.quick || [1, 100, 1_000].contains(us)).collect()
}

/// The kernel's interface for the longest exit latency of an idle state that may be entered (pm_qos_interface.rst).
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Refuses idle states with an exit latency until the file is closed.
fn refuse_deep_states() -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(LATENCY)?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

/// Gives the calling thread the lowest priority of `SCHED_FIFO`.
fn become_fifo() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads the structure; 0 is the calling thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the calling thread's timer slack.
fn set_slack(ns: u32) -> io::Result<()> {
    // SAFETY: numbers only.
    let done = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(ns), 0, 0, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sleeps once and returns how long it took, ns.
pub(crate) fn sleep_once(asked_ns: i64) -> i64 {
    let time = libc::timespec { tv_sec: asked_ns / 1_000_000_000, tv_nsec: asked_ns % 1_000_000_000 };
    let start = now_ns();
    // SAFETY: reads the time, writes nothing. No signal handler of ours ends it early.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, std::ptr::null_mut()) };
    now_ns() - start
}

/// Sleeps again and again. The value is the median of the times, minus the requested one.
fn sleeps(cpu: CpuId, asked_us: u32, way: Way, delay: Option<Delay>) -> Step {
    let count = (SLEEPS_US / asked_us).clamp(3, MOST_SLEEPS);
    Box::new(move || {
        // Closed at the end of the repetition: all states are allowed again.
        let _refused = way.shallow.then(refuse_deep_states).transpose()?;
        let part: Part<'_, io::Result<Vec<i64>>> = (
            vec![cpu],
            Box::new(move || {
                let slept = set_slack(way.slack_ns).and_then(|()| if way.fifo { become_fifo() } else { Ok(()) });
                let asked_ns = i64::from(asked_us) * 1_000;
                let late = |_| {
                    let start = now_ns();
                    let took = sleep_once(asked_ns);
                    match delay {
                        None => took - asked_ns,
                        Some(delay) => {
                            delay.spend();
                            now_ns() - start - asked_ns
                        }
                    }
                };
                (slept.map(|()| (0..count).map(late).collect()), 0)
            }),
        );
        let (late, mut thread) = together(vec![part])?.pop().ok_or_else(|| io::Error::other("no thread measured"))?;
        thread.ready_ns = thread.ready_ns.map(|ready| (ready - SWITCH_NS * i64::from(count)).max(0));
        Ok(Repetition { value: median(late?), threads: vec![thread] })
    })
}

/// The energy counter of the first package: the file, with the range after which it begins again in the same folder.
fn energy_counter(powercap: &Path) -> Option<PathBuf> {
    let mut domains: Vec<PathBuf> = fs::read_dir(powercap).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    domains.sort();
    let is_package =
        |dir: &&PathBuf| fs::read_to_string(dir.join("name")).is_ok_and(|name| name.starts_with("package"));
    let counter = domains.iter().filter(is_package).map(|dir| dir.join("energy_uj"));
    counter.into_iter().find(|file| number(file).is_ok())
}

fn number(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    text.trim().parse().map_err(|_| io::Error::other(format!("{} is no number", file.display())))
}

/// Energy between two readings, µJ; the counter begins again after its range.
fn energy_between(before: u64, after: u64, range: u64) -> u64 {
    if after >= before { after - before } else { range.saturating_sub(before) + after }
}

/// Sleeps for [`ENERGY_NS`] in all. The value is the package's power, W.
fn powers(counter: PathBuf, cpu: CpuId, asked_us: u32) -> Step {
    Box::new(move || {
        let range = number(&counter.with_file_name("max_energy_range_uj")).unwrap_or(0);
        let part: Part<'_, i64> = (
            vec![cpu],
            Box::new(move || {
                let start = now_ns();
                if set_slack(1).is_ok() {
                    while now_ns() - start < ENERGY_NS {
                        sleep_once(i64::from(asked_us) * 1_000);
                    }
                }
                (now_ns() - start, 0)
            }),
        );
        let before = number(&counter)?;
        let start = now_ns();
        let done = together(vec![part])?;
        let energy = energy_between(before, number(&counter)?, range);
        let took = (now_ns() - start).max(1);
        let threads: Vec<Evidence> = done.into_iter().map(|(_, thread)| thread).collect();
        Ok(Repetition { value: energy as f64 * 1000.0 / took as f64, threads })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::drawn::setup;
    use crate::thread::allowed;

    const HYBRID: &str = r#"
        [[cpus]]
        ids = "0-7"
        type = "performance"
        siblings = ["0-1", "2-3", "4-5", "6-7"]

        [[cpus]]
        ids = "8-11"
        type = "efficient"
    "#;

    fn root() -> Rights {
        Rights { fifo: true, shallow: true, energy: Some(PathBuf::from("/none/energy_uj")) }
    }

    #[test]
    fn each_core_type_sleeps_in_all_ways_that_the_rights_allow() {
        let plan = planned(&setup(HYBRID, false), &root()).unwrap();
        assert_eq!((plan.series.len(), plan.left_out.len()), (2 * 5 * (4 + 1) + 4, 0));
        let late: Vec<&Wanted> = plan.figures.iter().filter(|of| of.figure == "late").collect();
        assert_eq!((late.len(), plan.figures.len()), (2 * 5 * 4, 2 * 5 * 4 + 2));
        assert_eq!((late[0].cpus.as_slice(), late[39].cpus.as_slice()), ([CpuId(8)].as_slice(), [CpuId(0)].as_slice()));
        let ways: Vec<[&str; 3]> = late[..4]
            .iter()
            .map(|of| ["slack_us", "policy", "idle"].map(|name| of.parameters[name].as_str()))
            .collect();
        let all = [
            ["0.001", "other", "any"],
            ["50", "other", "any"],
            ["0.001", "fifo", "any"],
            ["0.001", "other", "shallow"],
        ];
        assert_eq!(ways, all);
        let none = planned(&setup(HYBRID, false), &Rights::default()).unwrap();
        assert_eq!((none.series.len(), none.left_out.len()), (2 * 5 * 3, 3));
        assert!(none.left_out[0].contains("CAP_SYS_NICE") && none.left_out[2].contains("powercap"));
    }

    #[test]
    fn a_large_machine_has_a_bounded_plan() {
        let mut text = String::new();
        for (i, kind) in ["performance", "middle", "efficient", "low_power"].iter().enumerate() {
            text += &format!("[[cpus]]\nids = \"{}-{}\"\ntype = \"{kind}\"\n", i * 32, i * 32 + 31);
        }
        assert_eq!(planned(&setup(&text, false), &root()).unwrap().series.len(), 104);
    }

    #[test]
    fn the_figures_have_the_names_that_they_are_described_by() {
        let described: Vec<&str> = Sleep.figures().iter().map(|(name, _)| *name).collect();
        assert_eq!(described, ["late", "energy"]);
        let plan = planned(&setup(HYBRID, true), &root()).unwrap();
        assert!(plan.figures.iter().all(|of| described.contains(&of.figure)));
    }

    /// How late it ends depends on what else the machine does, also within the slack: any interrupt may end it.
    #[test]
    fn no_sleep_ends_early() {
        let cpu = allowed().unwrap()[0];
        for asked_us in [1, 100, 1_000] {
            for way in [Way::new(1), Way::new(500_000)] {
                let done = sleeps(cpu, asked_us, way, None)().unwrap();
                let count = (SLEEPS_US / asked_us).clamp(3, MOST_SLEEPS);
                assert!(done.value >= 0.0, "{asked_us} µs: {}", done.value);
                // All sleeps, of which half are at least as late as the median, are within the thread's time.
                let least = f64::from(asked_us * count) * 1_000.0 + done.value * f64::from(count / 2);
                assert!(done.threads[0].len_ns() as f64 >= least, "{asked_us} µs: {done:?}");
            }
        }
    }

    #[test]
    fn the_slack_of_a_thread_is_what_was_set() {
        for ns in [1, 500_000] {
            let slack = std::thread::spawn(move || {
                set_slack(ns).unwrap();
                // SAFETY: numbers only.
                unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }
            });
            assert_eq!(slack.join().unwrap().unsigned_abs(), ns);
        }
    }

    #[test]
    fn energy_is_read_from_the_package_and_survives_the_end_of_its_range() {
        assert_eq!(energy_between(5, 9, 100), 4);
        assert_eq!(energy_between(90, 3, 100), 13);
        let dir = std::env::temp_dir().join(format!("corewise-powercap-{}", std::process::id()));
        for (name, what) in [("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core")] {
            fs::create_dir_all(dir.join(name)).unwrap();
            fs::write(dir.join(name).join("name"), format!("{what}\n")).unwrap();
            fs::write(dir.join(name).join("energy_uj"), "1234\n").unwrap();
        }
        assert_eq!(energy_counter(&dir), Some(dir.join("intel-rapl:0/energy_uj")));
        fs::remove_file(dir.join("intel-rapl:0/energy_uj")).unwrap();
        assert_eq!(energy_counter(&dir), None, "the core alone is not the package");
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(energy_counter(&dir), None);
    }
}
