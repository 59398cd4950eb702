//! Loads and attaches the BPF programs, and maps their memory.

use crate::memory::{Array, GROUP_BYTES, IDLE_STATES, RawCpu, RawGroup, RawIdle};
use crate::options::{GroupBy, MAX_BYTES, WatchError, WatchOptions};
use crate::places::sibling_of;
use capture::CaptureError;
use capture::libbpf::{info, keep_warnings, possible_cpus, run_on, switch_has_state, why};
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, libbpf_sys};
use model::CpuId;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use topology::Machine;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.bpf.o"));

/// Programs without which watching is impossible.
const NEEDED: [&str; 5] =
    ["sched_switch", "sched_switch_old", "sched_waking", "sched_wakeup_new", "sched_migrate_task"];

/// Waits for an RCU grace period (UAPI). A kernel that refuses it does not wait.
const MEMBARRIER_CMD_GLOBAL: i32 = 1;

/// The most threads whose waits can be followed at the same time.
const MAX_THREADS: u32 = 1 << 16;
/// The bytes of a thread in the kernel (`struct thread`).
const THREAD_BYTES: u64 = 104;
/// The kernel's own bytes for an entry of the table of groups, about.
const KEY_BYTES: u64 = 96;
/// The bytes of a slot's name (`struct cgroup_name`).
const NAME_BYTES: u64 = 80;

/// What the user's choice is for the programs (`NOT_GROUPED`, …).
fn group_by(by: GroupBy, unified: bool) -> u32 {
    match by {
        GroupBy::None => 0,
        GroupBy::Cgroup if unified => 1,
        GroupBy::Cgroup => 2,
        GroupBy::Process => 3,
    }
}

/// The key of a group (`struct group_key`).
pub type Key = [u8; 16];

/// Returns the key of a cgroup.
pub fn cgroup_key(id: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&id.to_ne_bytes());
    key
}

/// The programs, which add up as long as this exists.
pub struct Programs {
    /// The sums by CPU.
    pub cpus: Array<RawCpu>,
    /// The sums by CPU and slot.
    pub groups: Array<RawGroup>,
    /// The periods by CPU and idle state.
    pub idle: Array<RawIdle>,
    /// Slots, with slot 0.
    pub slots: usize,
    /// CPUs that may come online.
    pub possible: usize,
    /// Whether periods in idle states are counted.
    pub counts_idle: bool,
    /// For each CPU, the one that has the word of its core; it stays so.
    cores: Vec<Option<u32>>,
    /// The kernel's memory, bytes.
    pub kernel_bytes: u64,
    settle: RawFd,
    free: RawFd,
    attached: Vec<RawFd>,
    missed_before: u64,
    links: Vec<Link>,
    object: Object,
}

impl Programs {
    /// Loads the programs and begins to watch every online CPU.
    ///
    /// # Errors
    /// If permissions are missing, or libbpf or the kernel's verifier reports an error.
    pub fn start(options: &WatchOptions, machine: &Machine, unified: bool) -> Result<Self, WatchError> {
        keep_warnings();
        let btf = Btf::from_vmlinux().map_err(|e| match capture::may_load() {
            true => CaptureError::Bpf(format!("cannot read the kernel's BTF (/sys/kernel/btf/vmlinux): {e}")),
            false => CaptureError::Rights,
        })?;
        let possible = possible_cpus() as usize;
        let slots = match options.by {
            GroupBy::None => 1,
            _ => options.max_groups.min(MAX_BYTES / (GROUP_BYTES * possible)).max(64) + 1,
        };
        let counts_idle = machine.cpus.iter().any(|cpu| !cpu.idle_states.is_empty());
        let threads = threads();
        let mut object =
            ObjectBuilder::default().open_memory(OBJECT).map_err(|e| why("cannot open the BPF object of watch", &e))?;
        let has_point = |name: &str| btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
        for mut program in object.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            let load = match name.as_str() {
                "sched_switch" => switch_has_state(&btf),
                "sched_switch_old" => !switch_has_state(&btf),
                "cpu_idle" => counts_idle && has_point("cpu_idle"),
                "cpuhp_exit" => has_point("cpuhp_exit"),
                _ => true,
            };
            program.set_autoload(load);
        }
        let chosen_only = u32::from(!options.chosen.is_empty());
        let weak_order = u32::from(!cfg!(any(target_arch = "x86_64", target_arch = "s390x")));
        // A virtual machine may hide the switches of a few threads only, which a test may not see.
        let hides = capture::hides_switches()?;
        let infers = u32::from(hides);
        let set = [slots as u32, group_by(options.by, unified), chosen_only, weak_order, threads - 1, infers];
        for mut map in object.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let done = match name.as_str() {
                "cpus" => map.set_max_entries(possible as u32),
                "groups" => map.set_max_entries((possible * slots) as u32),
                "idle" => map.set_max_entries((possible * IDLE_STATES) as u32),
                // A chosen cgroup has a key for each cgroup below it.
                "slot_of_key" if chosen_only == 1 => map.set_max_entries(1 << 14),
                "slot_of_key" | "free_slots" | "names" => map.set_max_entries(slots as u32),
                "threads" => map.set_max_entries(threads),
                name if name.ends_with(".rodata") => {
                    if let Some(values) = map.initial_value_mut().and_then(|v| v.get_mut(..size_of_val(&set))) {
                        values.copy_from_slice(&set.map(u32::to_ne_bytes).concat());
                    }
                    Ok(())
                }
                _ => Ok(()),
            };
            done.map_err(|e| why("cannot set the size of the BPF maps of watch", &e))?;
        }
        let object = object.load().map_err(|e| why("the kernel rejected the BPF programs of watch", &e))?;
        let fd_of = |name: &str| {
            let map = object.maps().find(|m| m.name() == name);
            map.map(|m| m.as_fd().as_raw_fd())
                .ok_or_else(|| CaptureError::Bpf(format!("the BPF object has no map {name}")))
        };
        let mapped = |e| CaptureError::Bpf(format!("cannot map the sums: {e}"));
        let cpus = Array::new(fd_of("cpus")?, possible).map_err(mapped)?;
        let groups = Array::new(fd_of("groups")?, possible * slots).map_err(mapped)?;
        let idle = Array::new(fd_of("idle")?, possible * IDLE_STATES).map_err(mapped)?;
        let kernel_bytes = cpus.bytes()
            + groups.bytes()
            + idle.bytes()
            + u64::from(threads) * THREAD_BYTES
            + slots as u64 * (KEY_BYTES + NAME_BYTES);
        let settle = object.progs_mut().find(|p| p.name() == "settle").map(|p| p.as_fd().as_raw_fd());
        let settle = settle.ok_or_else(|| CaptureError::Bpf("the BPF object has no program settle".into()))?;
        let free = fd_of("free_slots")?;
        let (links, attached, missed_before) = (Vec::new(), Vec::new(), 0);
        let mut programs = Self {
            cpus,
            groups,
            idle,
            slots,
            possible,
            counts_idle,
            cores: vec![None; possible],
            kernel_bytes,
            settle,
            free,
            attached,
            missed_before,
            links,
            object,
        };
        programs.describe(machine);
        Ok(programs)
    }

    /// Writes what the programs must know of the machine; also while they run.
    pub fn describe(&mut self, machine: &Machine) {
        for cpu in 0..self.possible {
            let id = CpuId(cpu as u32);
            let core = self.core_of(machine, id);
            self.cpus.set_place(cpu, sibling_of(machine, id), core, machine.core_class(id));
            let states = machine.cpu(id).map_or(&[][..], |known| &known.idle_states);
            for (state, facts) in states.iter().take(IDLE_STATES).enumerate() {
                let break_even = u64::from(facts.target_residency_us.unwrap_or(0)) * 1000;
                self.idle.set_break_even(cpu * IDLE_STATES + state, break_even);
            }
        }
    }

    /// Returns the CPU that has the word of a CPU's core.
    fn core_of(&mut self, machine: &Machine, cpu: CpuId) -> u32 {
        let siblings = machine.cpu(cpu).map_or(&[][..], |known| &known.siblings);
        let own = self.cores.get(cpu.0 as usize).copied().flatten();
        let of_others = || siblings.iter().find_map(|sibling| self.cores.get(sibling.0 as usize).copied().flatten());
        let core = own.or_else(of_others).unwrap_or(cpu.0);
        if let (Some(place), false) = (self.cores.get_mut(cpu.0 as usize), siblings.is_empty()) {
            *place = Some(core);
        }
        core
    }

    /// Attaches the programs. From now on everything is added up.
    ///
    /// # Errors
    /// If one that is needed cannot be attached.
    pub fn attach(&mut self) -> Result<(), WatchError> {
        for program in self.object.progs_mut() {
            let name = program.name().to_string_lossy().into_owned();
            if !program.autoload() || name == "settle" {
                continue;
            }
            match program.attach() {
                Ok(link) => {
                    self.links.push(link);
                    self.attached.push(program.as_fd().as_raw_fd());
                }
                Err(e) if NEEDED.contains(&name.as_str()) => {
                    return Err(why(&format!("cannot attach {name}"), &e).into());
                }
                Err(_) => self.counts_idle &= name != "cpu_idle",
            }
        }
        self.missed_before = self.all_missed();
        Ok(())
    }

    /// Detaches the programs. The sums stay as they are.
    pub fn detach(&mut self) {
        self.links.clear();
        // On another CPU, one may have begun before; it has ended when the kernel's readers have (RCU).
        // SAFETY: no memory is involved.
        unsafe { libc::syscall(libc::SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) };
    }

    /// Accounts for a CPU's time up to now. Returns whether it is online.
    pub fn settle(&self, cpu: usize) -> bool {
        run_on(self.settle, cpu as u32).is_ok()
    }

    /// Returns a CPU's sibling now, and from its next settling on, as in `struct cpu_sums`.
    pub fn siblings(&self, cpu: usize) -> (i32, i32) {
        let raw = self.cpus.read(cpu);
        (raw.sibling, raw.next_sibling)
    }

    /// Makes a slot available for a new group.
    pub fn free_slot(&self, slot: u32) {
        // SAFETY: a queue has no key, and the kernel reads a value of four bytes.
        unsafe { libbpf_sys::bpf_map_update_elem(self.free, std::ptr::null(), (&raw const slot).cast(), 0) };
    }

    /// Gives a group a slot.
    pub fn add_key(&self, key: &Key, slot: u32) -> bool {
        self.keys_map().is_some_and(|map| map.update(key, &slot.to_ne_bytes(), MapFlags::ANY).is_ok())
    }

    /// Takes a group's slot away.
    pub fn remove_key(&self, key: &Key) {
        if let Some(map) = self.keys_map() {
            let _ = map.delete(key);
        }
    }

    /// Returns the parent's number and the last component of the path of the cgroup with a slot, as they were when it got the slot.
    pub fn cgroup_name(&self, slot: u32, id: u64) -> Option<(u64, String)> {
        let map = self.object.maps().find(|map| map.name() == "names")?;
        let value = map.lookup(&slot.to_ne_bytes(), MapFlags::ANY).ok()??;
        let number = |at: usize| Some(u64::from_ne_bytes(value.get(at..at + 8)?.try_into().ok()?));
        let text = value.get(16..)?.split(|byte| *byte == 0).next()?;
        (number(0)? == id && !text.is_empty()).then_some(())?;
        Some((number(8)?, String::from_utf8_lossy(text).into_owned()))
    }

    fn keys_map(&self) -> Option<impl MapCore> {
        self.object.maps().find(|map| map.name() == "slot_of_key")
    }

    /// Returns the key of each slot that has one. (Several keys may have one slot.)
    pub fn keys(&self) -> HashMap<u32, Key> {
        let Some(map) = self.keys_map() else { return HashMap::new() };
        let slot = |key: &Vec<u8>| {
            let value = map.lookup(key, MapFlags::ANY).ok()??;
            Some(u32::from_ne_bytes(value.get(..4)?.try_into().ok()?))
        };
        map.keys().filter_map(|key| Some((slot(&key)?, key.try_into().ok()?))).collect()
    }

    /// Returns all keys.
    pub fn keys_of_all(&self) -> HashSet<Key> {
        let Some(map) = self.keys_map() else { return HashSet::new() };
        map.keys().filter_map(|key| key.try_into().ok()).collect()
    }

    /// Returns how often a program was not run since they were attached, because it was running already on that CPU.
    pub fn missed(&self) -> u64 {
        self.all_missed().saturating_sub(self.missed_before)
    }

    fn all_missed(&self) -> u64 {
        self.attached.iter().filter_map(|fd| info(*fd)).map(|i| i.recursion_misses).sum()
    }

    /// Returns the run time of the programs, ns, if the kernel measures it.
    pub fn run_time_ns(&self) -> Option<u64> {
        let sum: u64 = self.attached.iter().filter_map(|fd| info(*fd)).map(|i| i.run_time_ns).sum();
        (sum > 0).then_some(sum)
    }
}

/// Returns how many threads' waits are followed: a power of two.
fn threads() -> u32 {
    let max = std::fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|n| n.trim().parse::<u32>().ok());
    max.unwrap_or(MAX_THREADS).clamp(1024, MAX_THREADS).next_power_of_two()
}
