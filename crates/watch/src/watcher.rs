//! Reads the sums, names the groups, and checks the identities.

use crate::cgroups::Cgroups;
use crate::counting::Counting;
use crate::energy::Energy;
use crate::interrupts::{self, Interrupts};
use crate::memory::{
    Array, IDLE_STATES, RUNS_THREAD, RawCpu, RawGroup, SEVERAL_SIBLINGS, UNKNOWN_SIBLINGS, several_busy,
};
use crate::options::{GroupBy, WatchError, WatchOptions};
use crate::places::{self, Places};
use crate::programs::{Key, Programs, cgroup_key};
use crate::slots::Slots;
use crate::snapshot::{CpuSums, CurrentThread, GroupSums, Health, Identity, IdleSums, SiblingSums, Snapshot};
use model::CpuId;
use std::sync::Arc;
use topology::Machine;

/// The most bytes of a process's name that the kernel keeps.
const NAME_BYTES: usize = 15;

/// Watches the machine until it is dropped.
pub struct Watcher {
    programs: Programs,
    machine: Arc<Machine>,
    by: GroupBy,
    started_ns: u64,
    slots: Slots,
    cgroups: Option<Cgroups>,
    interrupts: Interrupts,
    energy: Energy,
    counting: Counting,
    places: Places,
    /// How the machine is described while CPUs come online.
    describe: Box<dyn Fn() -> Machine + Send>,
    /// CPUs that were online at any time.
    seen: Vec<bool>,
    /// CPUs that were online when they were settled last.
    online: Vec<bool>,
    detached: bool,
}

/// Returns the time on CLOCK_MONOTONIC, ns, as the programs read it.
#[must_use]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The values of the CPUs at one reading.
struct CpuReading {
    cpu: usize,
    raw: RawCpu,
    online: bool,
}

impl Watcher {
    /// Loads the programs and begins to watch.
    ///
    /// # Errors
    /// If permissions are missing, the kernel refuses, or a chosen group does not exist.
    pub fn start(options: &WatchOptions, machine: Arc<Machine>) -> Result<Self, WatchError> {
        let cgroups = match options.by {
            GroupBy::Cgroup => {
                let hierarchy = capture::cpu_hierarchy().or_else(capture::unified_hierarchy);
                Some(Cgroups::read(hierarchy.ok_or(WatchError::NoHierarchy)?))
            }
            _ => None,
        };
        let chosen = chosen(options, cgroups.as_ref())?;
        let unified = cgroups.as_ref().is_none_or(|c| c.hierarchy.unified);
        let mut programs = Programs::start(options, &machine, unified)?;
        let (slots, possible) = (programs.slots, programs.possible);
        if chosen.len() >= slots {
            return Err(WatchError::TooMany { chosen: chosen.len(), max: slots - 1 });
        }
        let classes = machine.class_names.len().max(1);
        let slots = Slots::new(&programs, chosen, classes, options.top);
        let mut energy = options.energy_root.as_deref().map(Energy::find).unwrap_or_default();
        let mut counting = Counting::new(options.counters.clone());
        programs.attach()?;
        let started_ns = now_ns();
        let online: Vec<bool> = (0..possible).map(|cpu| programs.settle(cpu)).collect();
        energy.read();
        counting.read(&machine, &online, true);
        let by = options.by;
        Ok(Self {
            programs,
            machine,
            by,
            started_ns,
            slots,
            cgroups,
            interrupts: Interrupts::new(interrupts::read()),
            energy,
            counting,
            places: Places::new(&online),
            describe: Box::new(topology::live),
            seen: online.clone(),
            online,
            detached: false,
        })
    }

    /// Sets how the machine is described when a CPU has come online that was not online before; [`topology::live`] if not set.
    #[must_use]
    pub fn described_by(self, describe: impl Fn() -> Machine + Send + 'static) -> Self {
        Self { describe: Box::new(describe), ..self }
    }

    /// Reads all sums. To be called at least once an hour (the kernel's counts have 32 bits), and each few seconds where many groups come and
    /// go: at each reading, groups that are no longer active make room for others.
    pub fn read(&mut self) -> Snapshot {
        self.read_since(now_ns())
    }

    /// Reads the sums; the reading began at `before_ns`.
    fn read_since(&mut self, before_ns: u64) -> Snapshot {
        // Up to now; where a place is about to change, it is not known.
        let siblings: Vec<(i32, i32)> = (0..self.programs.possible).map(|cpu| self.programs.siblings(cpu)).collect();
        let cpus = self.read_cpus();
        if let Some(cgroups) = &mut self.cgroups
            && self.slots.needs_names(&self.programs)
        {
            cgroups.update();
        }
        let current: Vec<u32> = cpus.iter().filter(|c| c.raw.runs >= RUNS_THREAD).map(|c| c.raw.slot).collect();
        let in_place = |cpu: usize, (sibling, next): (i32, i32)| {
            let raw = self.programs.cpus.read(cpu);
            let stays = sibling == next && raw.next_sibling == next;
            (if stays { sibling } else { UNKNOWN_SIBLINGS }, raw.class as usize)
        };
        let sibling: Vec<(i32, usize)> = siblings.into_iter().enumerate().map(|(cpu, of)| in_place(cpu, of)).collect();
        self.slots.read(&self.programs, &sibling, self.cgroups.as_ref());
        let busy_after = self.busy_now();
        self.energy.read();
        self.counting.read(&self.machine, &self.online, !self.detached);
        self.interrupts.update(interrupts::read());
        let mut listed = Vec::new();
        for c in &cpus {
            let by_sibling = self.places.by_sibling(c.cpu, &c.raw, sibling[c.cpu].0);
            listed.push(self.cpu_sums(c, before_ns, by_sibling));
        }
        self.places.note_offline(&mut listed, &self.machine);
        let (total, groups) = self.slots.publish(self.by, before_ns, self.cgroups.as_ref());
        if !self.detached {
            self.slots.make_room(&self.programs, &current);
        }
        if let Some(cgroups) = &mut self.cgroups {
            cgroups.forget(&self.slots.cgroup_ids());
        }
        let reading_ns = now_ns().saturating_sub(before_ns);
        let sum = |of: fn(&RawCpu) -> u64| cpus.iter().map(|c| of(&c.raw)).sum::<u64>();
        let health = Health {
            groups_seen: self.slots.seen,
            groups_kept: self.slots.kept() as u64,
            groups_max: self.programs.slots as u64 - 1,
            overflows: sum(|c| c.overflows),
            missed_events: self.programs.missed(),
            inferred_switches: sum(|c| c.inferred),
            inconsistent_switches: sum(|c| c.inconsistent),
            forgotten_waits: sum(|c| c.forgotten),
            kernel_bytes: self.programs.kernel_bytes,
            bpf_ns: self.programs.run_time_ns(),
            reading_ns,
        };
        let identities = self.identities(&cpus, &listed, &total, &groups, busy_after, before_ns, reading_ns);
        Snapshot {
            at_ns: before_ns,
            started_ns: self.started_ns,
            machine: self.machine.clone(),
            cpus: listed,
            total,
            groups,
            health,
            identities,
            energy: self.energy.sums(),
            counters: self.counting.sums(),
            lacks: self.energy.lacks.iter().chain(&self.counting.lacks).cloned().collect(),
        }
    }

    /// Ends watching and reads the sums, which no longer change.
    pub fn finish(mut self) -> Snapshot {
        let before_ns = now_ns();
        self.settle();
        self.programs.detach();
        self.detached = true;
        self.read_since(before_ns)
    }

    /// Settles and reads the CPUs that were online at any time.
    fn read_cpus(&mut self) -> Vec<CpuReading> {
        if !self.detached {
            self.settle();
        }
        let read = |cpu| {
            let raw = self.programs.cpus.consistent(cpu).unwrap_or_else(|| self.programs.cpus.read(cpu));
            CpuReading { cpu, raw, online: self.online[cpu] }
        };
        (0..self.programs.possible).filter(|cpu| self.seen[*cpu]).map(read).collect()
    }

    /// Settles all CPUs, and learns the places of those that have come online for the first time.
    fn settle(&mut self) {
        let mut came = Vec::new();
        for cpu in 0..self.programs.possible {
            self.online[cpu] = self.programs.settle(cpu);
            if self.online[cpu] && !self.seen[cpu] {
                self.seen[cpu] = true;
                came.push(CpuId(cpu as u32));
            }
        }
        if !came.is_empty() {
            places::complete(Arc::make_mut(&mut self.machine), &(self.describe)(), &came);
            self.programs.describe(&self.machine);
        }
    }

    fn busy_now(&self) -> u64 {
        let busy = |cpu| self.programs.cpus.consistent(cpu).map_or(0, |raw: RawCpu| raw.busy);
        (0..self.programs.possible).filter(|cpu| self.seen[*cpu]).map(busy).sum()
    }

    fn cpu_sums(&self, c: &CpuReading, at: u64, sibling: SiblingSums) -> CpuSums {
        let CpuReading { cpu, raw, online } = c;
        // Before its first reading it was not watched, and since it went offline its state is not known.
        let before = raw.started.saturating_sub(self.started_ns);
        let after = if *online { 0 } else { at.saturating_sub(raw.since.max(self.started_ns)) };
        let (before, after) = if raw.started == 0 { (0, at.saturating_sub(self.started_ns)) } else { (before, after) };
        let classes = self.machine.class_names.len().max(1);
        CpuSums {
            cpu: *cpu as u32,
            class: raw.class as usize,
            online: *online,
            busy_ns: raw.busy,
            idle_ns: raw.idle,
            unknown_ns: raw.unknown + before + after,
            offline_ns: 0,
            core_offline_ns: 0,
            sibling,
            core_several_ns: (raw.sibling == SEVERAL_SIBLINGS)
                .then(|| several_busy(self.programs.cpus.read(raw.core as usize).core_word, at)),
            switches: raw.switches,
            wakeups: raw.wakeups,
            migrations_from: raw.migrations_from.iter().take(classes).copied().collect(),
            interrupts: self.interrupts.of(*cpu as u32),
            idle_states: self.idle_sums(*cpu),
            current: (*online && !self.detached && raw.runs >= RUNS_THREAD).then(|| CurrentThread {
                tid: raw.tid,
                name: thread_name(raw.tid),
                since_ns: raw.began,
            }),
        }
    }

    fn idle_sums(&self, cpu: usize) -> Vec<IdleSums> {
        let states = self.machine.cpu(CpuId(cpu as u32)).map_or(&[][..], |known| &known.idle_states);
        let states = states.iter().take(if self.programs.counts_idle { IDLE_STATES } else { 0 });
        let sums = states.enumerate().map(|(at, state)| {
            let raw = self.programs.idle.read(cpu * IDLE_STATES + at);
            IdleSums {
                state: state.name.clone(),
                break_even_ns: state.target_residency_us.map(|us| u64::from(us) * 1000),
                periods: raw.periods,
                ns: raw.ns,
                short_periods: raw.short_periods,
            }
        });
        sums.collect()
    }

    /// Checks what must hold of a reading.
    #[allow(clippy::too_many_arguments)]
    fn identities(
        &self,
        cpus: &[CpuReading],
        listed: &[CpuSums],
        total: &GroupSums,
        groups: &[GroupSums],
        busy_after: u64,
        at: u64,
        reading_ns: u64,
    ) -> Vec<Identity> {
        let tiled = |c: &&CpuReading| c.raw.started > 0;
        let cpu_time = cpus.iter().filter(tiled).map(|c| {
            let raw = &c.raw;
            (raw.busy + raw.idle + raw.unknown).abs_diff(raw.since - raw.started)
        });
        let elapsed = at.saturating_sub(self.started_ns);
        let sum: u64 = listed.iter().map(|c| c.busy_ns + c.idle_ns + c.unknown_ns).sum();
        let count = listed.len() as u64;
        let busy: u64 = cpus.iter().map(|c| c.raw.busy).sum();
        let ran = total.running_ns();
        let named: u64 = groups.iter().map(GroupSums::running_ns).sum();
        let sibling: u64 = listed.iter().map(|c| c.sibling.all_ns().abs_diff(c.busy_ns)).sum();
        let with_sibling = total.all_classes().sibling.all_ns();
        let identity = |name, meaning, residual_ns, slack_ns| Identity {
            name,
            meaning,
            holds: residual_ns <= slack_ns,
            residual_ns,
            slack_ns,
        };
        let mut all = vec![
            identity(
                "cpu_time",
                "busy, idle and unknown time of each CPU are the time since it is watched",
                cpu_time.max().unwrap_or(0),
                0,
            ),
            identity(
                "wall_time",
                "busy, idle and unknown time of all CPUs are the time since the start, times CPUs",
                sum.abs_diff(elapsed * count),
                reading_ns * count,
            ),
            identity(
                "group_time",
                "the running time of all groups is the busy time of all CPUs",
                ran.saturating_sub(busy_after).max(busy.saturating_sub(ran)),
                // What happened while the groups were read, is in some of them.
                busy_after.saturating_sub(busy),
            ),
            identity(
                "sibling_time",
                "running time with siblings busy, idle, absent and unknown is the running time",
                sibling + with_sibling.abs_diff(ran),
                0,
            ),
        ];
        if self.by != GroupBy::None {
            let meaning = "the running time of the listed groups and the others is that of the machine";
            all.push(identity("listed_time", meaning, named.abs_diff(ran), 0));
        }
        all
    }
}

/// Returns a thread's name; empty if it has ended.
fn thread_name(tid: u32) -> String {
    let text = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
    text.trim_end().to_owned()
}

/// A group that the user chose: its name and its keys.
pub struct Chosen {
    pub name: String,
    pub keys: Vec<Key>,
}

/// Finds the chosen groups.
fn chosen(options: &WatchOptions, cgroups: Option<&Cgroups>) -> Result<Vec<Chosen>, WatchError> {
    let find = |name: &String| match (options.by, cgroups) {
        (GroupBy::Cgroup, Some(all)) => {
            let path = all.named(name).ok_or_else(|| WatchError::NoCgroup {
                name: name.clone(),
                root: all.hierarchy.root.display().to_string(),
                meant: model::did_you_mean(name, all.paths()),
            })?;
            let keys = all.within(&path).into_iter().map(cgroup_key).collect();
            Ok(Chosen { name: path, keys })
        }
        _ => {
            let bytes = name.as_bytes();
            if bytes.is_empty() || bytes.len() > NAME_BYTES || bytes.contains(&0) {
                return Err(WatchError::BadName(name.clone()));
            }
            let mut key = Key::default();
            key[..bytes.len()].copy_from_slice(bytes);
            Ok(Chosen { name: name.clone(), keys: vec![key] })
        }
    };
    options.chosen.iter().map(find).collect()
}

/// Reads a group's sums on a CPU, those of running time at one moment.
pub fn read_group(groups: &Array<RawGroup>, cpus: &Array<RawCpu>, cpu: usize, entry: usize) -> RawGroup {
    for _ in 0..100 {
        let before = cpus.word(cpu, 0) as u32;
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        let raw = groups.read(entry);
        std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        if before & 1 == 0 && before == cpus.word(cpu, 0) as u32 {
            return raw;
        }
    }
    // It switches faster than a group is read. What its words lack is in the next reading.
    let mut raw = groups.read(entry);
    raw.with_sibling = raw.with_sibling.min(raw.running);
    raw
}
