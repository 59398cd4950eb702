//! What applies a fix: settings of threads, variables and options of the command, files of the kernel. Or why nothing can.

use crate::applier::{AUTOGROUPS, CGROUPS};
use crate::cgroup::{CPU, Hierarchy};
use crate::{Setting, command, files, workers};
use model::{CoreType, CpuId, Fix, Policy, QuotaOf};
use std::path::{Path, PathBuf};

/// One part of what applies a fix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Give the fix's threads this setting.
    Threads(Setting),
    /// Give the cgroup of the fix's threads this CPU weight (of cgroup v2).
    Weight(u32),
    /// Give each of the fix's threads one of these CPUs, in turn.
    Spread(Vec<CpuId>),
    /// Let the cgroup of the fix's threads use these CPUs, if it leaves any of them out.
    Cpuset(Vec<CpuId>),
    /// Start the command with this variable.
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// Start this command instead.
    Command(Vec<String>),
    /// Write a value to a file of the kernel.
    File {
        /// The file.
        path: PathBuf,
        /// The value.
        value: String,
    },
}

impl Step {
    /// Describes it, as an instruction without a full stop.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Self::Threads(setting) => match setting {
                Setting::Nice(nice) => format!("set the nice value of its threads to {nice}"),
                Setting::Policy { policy, level } => {
                    let name = match *policy {
                        libc::SCHED_FIFO => "SCHED_FIFO",
                        libc::SCHED_BATCH => "SCHED_BATCH",
                        libc::SCHED_IDLE => "SCHED_IDLE",
                        _ => "SCHED_OTHER",
                    };
                    let level = if *level > 0 { format!(" with priority {level}") } else { String::new() };
                    format!("set the policy of its threads to {name}{level}")
                }
                Setting::Affinity(cpus) => format!("allow its threads to run on CPUs {}", list(cpus)),
                Setting::Clamp { min, max } => {
                    format!("clamp the utilisation of its threads to {min} to {max} of 1024")
                }
                Setting::TimerSlack(ns) => format!("set the timer slack of its threads to {ns} ns"),
            },
            Self::Weight(weight) => format!("set the CPU weight of its cgroup to {weight}"),
            Self::Spread(cpus) => format!("give its threads one CPU of {} each, in turn", list(cpus)),
            Self::Cpuset(cpus) => format!("allow its cgroup CPUs {}, if it has fewer (cpuset.cpus)", list(cpus)),
            Self::Variable { name, value } => format!("start the command with {name}={value}"),
            Self::Command(words) => format!("start `{}` instead", words.join(" ")),
            Self::File { path, value } => format!("write `{value}` to {}", path.display()),
        }
    }
}

/// What applies a fix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The steps, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// On what it depends that it has an effect, sentences without full stops.
    pub notes: Vec<&'static str>,
    /// The program must load one of these libraries, by the begin of their names, or the fix has no effect; empty: no library is needed.
    pub libraries: &'static [&'static str],
}

/// The run-time libraries of OpenMP: of GCC, of Intel and of LLVM.
const OPENMP: &[&str] = &["libgomp", "libiomp5", "libomp"];

impl Plan {
    fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), notes: Vec::new(), libraries: &[] }
    }

    fn noting(self, note: &'static str) -> Self {
        Self { notes: vec![note], ..self }
    }

    /// Whether it changes the whole machine, not only the program.
    #[must_use]
    pub fn changes_the_machine(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::File { path, .. } if !path.starts_with(CGROUPS)))
    }

    /// The command to start with the fix.
    #[must_use]
    pub fn command<'a>(&'a self, command: &'a [String]) -> &'a [String] {
        let other = self.steps.iter().find_map(|step| match step {
            Step::Command(words) => Some(words.as_slice()),
            _ => None,
        });
        other.unwrap_or(command)
    }

    /// Whether it takes effect only in processes that the command starts.
    #[must_use]
    pub fn is_at_start(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Variable { .. } | Step::Command(_)))
    }

    /// The variables with which it is started.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Variable { name, value } => Some((*name, value.as_str())),
            _ => None,
        })
    }
}

fn variable(name: &'static str, value: impl ToString) -> Step {
    Step::Variable { name, value: value.to_string() }
}

fn file(path: impl Into<PathBuf>, value: impl ToString) -> Step {
    Step::File { path: path.into(), value: value.to_string() }
}

pub(crate) fn list(cpus: &[CpuId]) -> String {
    cpus.iter().map(|cpu| cpu.0.to_string()).collect::<Vec<_>>().join(",")
}

/// The CPUs of a list such as `0-3,8`.
pub(crate) fn parse_list(text: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend((first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?).map(CpuId));
    }
    Some(cpus)
}

/// Plans how to apply a fix. `started`: the command, if it is not a running process.
///
/// # Errors
/// It needs a change of code, of the configuration of a system that is started anew, or of another machine; or it is not safe here: a
/// sentence without a full stop.
pub fn plan(fix: &Fix, started: Option<&[String]>) -> Result<Plan, String> {
    let threads = |setting| Ok(Plan::of([Step::Threads(setting)]));
    let at_start = |mut plan: Plan, workers: Option<u32>| match started {
        Some(words) => {
            let variables: Vec<_> = plan.variables().map(|(name, value)| (name, value.to_owned())).collect();
            plan.steps.extend(command::changed(words, &variables, workers).map(Step::Command));
            Ok(plan)
        }
        None => Err("it takes effect when the program starts: give the command after --".to_owned()),
    };
    match fix {
        Fix::Nice { nice, .. } => threads(Setting::Nice(*nice)),
        Fix::Policy { policy, level, .. } => {
            if *policy == Policy::Fifo {
                may_be_real_time()?;
            }
            threads(Setting::of_policy(*policy, *level))
        }
        Fix::Affinity { cpus, .. } => {
            let cpus = if cpus.is_empty() { online()? } else { cpus.clone() };
            Ok(Plan::of([Step::Cpuset(cpus.clone()), Step::Threads(Setting::Affinity(cpus))]))
        }
        Fix::Spread { .. } => Ok(Plan::of([Step::Spread(online()?)])),
        Fix::CoreType { prefer, .. } => {
            let (min, max) = if *prefer == CoreType::Performance { (1024, 1024) } else { (0, 256) };
            Ok(Plan::of([Step::Threads(Setting::Clamp { min, max })])
                .noting("effective if the kernel places threads by capacity (schedutil, energy-aware scheduling)"))
        }
        Fix::TimerSlack { slack, .. } => threads(Setting::TimerSlack(slack.0.unsigned_abs())),
        Fix::PoolSize { size, .. } => {
            let steps = workers::variables(*size).map(|(name, value)| variable(name, value));
            let plan =
                Plan::of(steps).noting("effective if the number of workers follows one of these variables or options");
            at_start(plan, Some(*size))
        }
        Fix::Block { .. } => {
            let steps =
                [variable("OMP_WAIT_POLICY", "passive"), variable("GOMP_SPINCOUNT", 0), variable("KMP_BLOCKTIME", 0)];
            at_start(Plan { libraries: OPENMP, ..Plan::of(steps) }, None)
        }
        Fix::Chunks { .. } => {
            let steps = [variable("OMP_SCHEDULE", "dynamic")];
            let plan = Plan::of(steps).noting("effective in OpenMP loops with schedule(runtime)");
            at_start(Plan { libraries: OPENMP, ..plan }, None)
        }
        Fix::Heap { .. } => {
            let mb = memory_mb().unwrap_or(2048) / 4;
            let java = format!("-Xmx{mb}m -Xmn{}m", mb / 2);
            let steps =
                [variable("_JAVA_OPTIONS", java), variable("GOGC", 400), variable("DOTNET_GCgen0size", "0x4000000")];
            at_start(Plan::of(steps).noting("effective in the Java, Go and .NET runtimes"), None)
        }
        Fix::Quota { more_percent, cgroup: Some(of), .. } => quota(of, *more_percent),
        Fix::Quota { cgroup: None, .. } => Err("the cgroup with the quota was not recorded".to_owned()),
        Fix::Weight { weight, .. } => Ok(Plan::of([Step::Weight(*weight)])),
        Fix::Autogroup { on } => existing([file(AUTOGROUPS, i32::from(*on))]),
        Fix::Smt { on } => existing([file("/sys/devices/system/cpu/smt/control", if *on { "on" } else { "off" })]),
        Fix::IdleState { state, allowed } => {
            let disable = |cpu: CpuId| {
                file(format!("/sys/devices/system/cpu/cpu{}/cpuidle/state{state}/disable", cpu.0), i32::from(!*allowed))
            };
            existing(online()?.into_iter().map(disable))
        }
        Fix::Unpark { cpus } => {
            existing(cpus.iter().map(|cpu| file(format!("/sys/devices/system/cpu/cpu{}/online", cpu.0), 1)))
        }
        Fix::LeastFrequency { cpus, khz } => existing(
            cpus.iter().map(|cpu| file(format!("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_min_freq", cpu.0), khz)),
        ),
        Fix::Interrupts { irq: Some(irq), cpus } => {
            existing([file(format!("/proc/irq/{irq}/smp_affinity_list"), list(cpus))])
        }
        Fix::Interrupts { irq: None, .. } => Err("the number of the interrupt was not recorded".to_owned()),
        Fix::IdealCpu { .. } => Err("Linux has no ideal CPU".to_owned()),
        Fix::Sleep { .. }
        | Fix::Batch { .. }
        | Fix::PriorityInheritance { .. }
        | Fix::SplitLock { .. }
        | Fix::LockOrder { .. }
        | Fix::InFlight { .. } => Err("it needs a change of the program".to_owned()),
        Fix::StopTick | Fix::NoTick { .. } => Err("it needs other parameters of the kernel, and a restart".to_owned()),
        Fix::HostCpus { .. } => Err("it is a change of the host of this virtual machine".to_owned()),
        Fix::Headroom { .. } => Err("it is about planning, and changes nothing here".to_owned()),
        Fix::RecordingBuffer { .. } | Fix::CompleteCopy { .. } => {
            Err("it is about the recording, not the program".to_owned())
        }
    }
}

/// Steps whose files must exist.
fn existing(steps: impl IntoIterator<Item = Step>) -> Result<Plan, String> {
    let plan = Plan::of(steps);
    for step in &plan.steps {
        if let Step::File { path, .. } = step
            && let Err(why) = files::value(path)
        {
            return Err(format!("{}: {why}", path.display()));
        }
    }
    Ok(plan)
}

/// Real-time threads that never wait must not stop the machine.
fn may_be_real_time() -> Result<(), String> {
    let path = Path::new("/proc/sys/kernel/sched_rt_runtime_us");
    match files::value(path) {
        Ok(runtime) if runtime == "-1" => Err(format!(
            "a real-time policy is not safe here: {} is -1, so that a thread that does not wait would never give its CPU back",
            path.display()
        )),
        _ => Ok(()),
    }
}

/// The CPUs that are online.
fn online() -> Result<Vec<CpuId>, String> {
    let path = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(path).map_err(|why| format!("{path}: {why}"))?;
    parse_list(&text).ok_or_else(|| format!("{path} is not a list of CPUs"))
}

/// The memory of this machine, MB.
fn memory_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// A higher quota of a cgroup. The command itself may make the cgroup, so it need not exist yet.
fn quota(of: &QuotaOf, more_percent: u32) -> Result<Plan, String> {
    let Some(quota) = of.quota else {
        return Err("a cgroup that contains the recorded one has the quota; which one was not recorded".to_owned());
    };
    let hierarchy = Hierarchy::of_this_machine(CPU).ok_or("no cgroup hierarchy has the CPU controller here")?;
    let folder = hierarchy.folder(of.path());
    let us = quota.0 / 1000 * i64::from(100 + more_percent) / 100;
    Ok(Plan::of([if hierarchy.is_v1 {
        file(folder.join("cpu.cfs_quota_us"), us)
    } else {
        file(folder.join("cpu.max"), format!("{us} {}", of.period.0 / 1000))
    }]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Ns, Threads};

    fn threads() -> Threads {
        Threads::default()
    }

    #[test]
    fn a_change_of_the_program_says_so() {
        for fix in
            [Fix::SplitLock { threads: threads() }, Fix::Sleep { threads: threads(), length: Ns(1) }, Fix::StopTick]
        {
            let why = plan(&fix, Some(&[])).unwrap_err();
            assert!(why.starts_with("it needs"), "{why}");
        }
    }

    #[test]
    fn what_is_read_at_the_start_needs_a_command() {
        let fix = Fix::PoolSize { threads: threads(), size: 2 };
        assert!(plan(&fix, None).unwrap_err().contains("after --"));
        let make = ["make".to_owned(), "-j9".to_owned()];
        let with = plan(&fix, Some(&make)).unwrap();
        assert_eq!(with.command(&make), ["make", "-j2"]);
        assert!(with.variables().any(|of| of == ("OMP_NUM_THREADS", "2")));
        assert!(with.steps.iter().all(|step| matches!(step, Step::Variable { .. } | Step::Command(_))));
    }

    #[test]
    fn all_cpus_are_those_that_are_online() {
        let with = plan(&Fix::Affinity { threads: threads(), cpus: Vec::new() }, None).unwrap();
        let [Step::Cpuset(_), Step::Threads(Setting::Affinity(cpus))] = &with.steps[..] else { panic!("{with:?}") };
        assert!(cpus.contains(&CpuId(0)));
        assert_eq!(parse_list("0-2,8\n"), Some(vec![CpuId(0), CpuId(1), CpuId(2), CpuId(8)]));
    }

    #[test]
    fn a_file_that_does_not_exist_is_named() {
        let why = plan(&Fix::Unpark { cpus: vec![CpuId(9999)] }, None).unwrap_err();
        assert!(why.starts_with("/sys/devices/system/cpu/cpu9999/online: "), "{why}");
    }
}
