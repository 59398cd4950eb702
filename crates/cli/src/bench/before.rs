//! What is checked before the first round: a quota, other programs, the kind of machine.

use bench::{Setup, Ticks, Unmeasurable};
use model::CpuId;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How long other programs are watched.
const WATCHED: Duration = Duration::from_millis(500);

/// Refuses to measure under a CPU quota, whose waits would be in the times.
///
/// # Errors
/// The quota is less than the CPUs; a sentence with what would help.
pub fn quota(found: Option<(f64, PathBuf)>, cpus: usize) -> Result<(), Unmeasurable> {
    match found {
        Some((quota, cgroup)) if quota < cpus as f64 => Err(Unmeasurable(format!(
            "this process may use {quota:.2} CPUs only ({}: cpu.max), and measured times would contain the waits for the quota: run bench \
             outside of this cgroup, or add --ignore-quota",
            cgroup.display()
        ))),
        _ => Ok(()),
    }
}

/// CPU time by process, in ticks.
type Processes = HashMap<i32, (u64, String)>;

/// Refuses to measure if other programs use more than `most` of the CPUs' time.
///
/// # Errors
/// They do; a sentence that names the busiest process.
pub fn load(cpus: &[CpuId], most: f64) -> Result<(), Unmeasurable> {
    let (before, processes) = (Ticks::read().unwrap_or_default(), processes());
    std::thread::sleep(WATCHED);
    let Some(busy) = Ticks::read().unwrap_or_default().busy_since(&before, cpus) else { return Ok(()) };
    if busy <= most {
        return Ok(());
    }
    Err(Unmeasurable(too_busy(busy, busiest(&processes, &self::processes()))))
}

/// The sentence about a machine that is too busy.
fn too_busy(busy: f64, busiest: Option<(i32, String)>) -> String {
    let name = busiest
        .map_or_else(String::new, |(pid, name)| format!(", most of it by {} (PID {pid})", model::words::plain(&name)));
    // The share that would be allowed, rounded up.
    let allowed = ((busy * 10.0).ceil() * 10.0).clamp(10.0, 100.0);
    format!(
        "other programs use {:.0} % of the time of the CPUs to be measured{name}: end them, choose other CPUs with --cpus, or accept \
         disturbed rounds with --max-load {allowed:.0}%",
        busy * 100.0
    )
}

fn busiest(before: &Processes, after: &Processes) -> Option<(i32, String)> {
    let used = |pid: &i32, now: u64| now.saturating_sub(before.get(pid).map_or(0, |(then, _)| *then));
    let own = std::process::id().cast_signed();
    let others = after.iter().filter(|(pid, _)| **pid != own);
    let (pid, (now, name)) = others.max_by_key(|(pid, (now, _))| used(pid, *now))?;
    (used(pid, *now) > 0).then(|| (*pid, name.clone()))
}

fn processes() -> Processes {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let (ticks, name) = stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
            Some((pid, (ticks, name)))
        })
        .collect()
}

/// The CPU time in ticks (utime and stime, fields 14 and 15) and the name of `/proc/PID/stat` (proc_pid_stat(5)).
fn stat(text: &str) -> Option<(u64, String)> {
    // The name is in parentheses and may contain any character.
    let (name, rest) = (text.split_once('(')?.1.rsplit_once(')')?.0, text.rsplit_once(')')?.1);
    let mut fields = rest.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?, name.to_owned()))
}

/// What kind of machine this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineKind {
    /// A physical machine, or an unknown one.
    Physical,
    /// A virtual machine that runs on the processor.
    Virtual,
    /// A virtual machine whose instructions a program interprets or translates.
    Emulated,
}

impl MachineKind {
    /// Determines the kind of this machine.
    pub fn live() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let vendor = fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
        let board = fs::read_to_string("/proc/device-tree/compatible").unwrap_or_default();
        Self::of(&cpuinfo, vendor.trim(), board.trim_end_matches('\0'), signature())
    }

    /// QEMU without hardware virtualisation signs CPUID's leaf 0x40000000 with "TCGTCGTCGTCG" (target/i386/cpu.c of QEMU; systemd's
    /// src/basic/virt.c detects it so). Where there is no CPUID: its Arm processor `max` has the implementer 0, reserved for software use
    /// (aarch64_max_tcg_initfn, target/arm/tcg/cpu64.c of QEMU); with another model, a QEMU machine may be either. The device tree of QEMU's
    /// Arm machine `virt` calls the board "linux,dummy-virt" (hw/arm/virt.c).
    fn of(cpuinfo: &str, vendor: &str, board: &str, signature: Option<[u8; 12]>) -> Self {
        let implementers =
            || cpuinfo.lines().filter_map(|line| line.strip_prefix("CPU implementer")?.split_once(':').map(|of| of.1));
        if implementers().any(|of| of.trim() == "0x00") {
            return Self::Emulated;
        }
        let flagged =
            cpuinfo.lines().any(|line| line.starts_with("flags") && line.split(' ').any(|f| f == "hypervisor"));
        match signature.filter(|_| flagged) {
            Some(of) if &of == b"TCGTCGTCGTCG" => Self::Emulated,
            Some(_) => Self::Virtual,
            None if flagged || vendor == "QEMU" || board == "linux,dummy-virt" => Self::Virtual,
            None => Self::Physical,
        }
    }

    /// What it means for the times, one sentence.
    pub fn warning(self) -> Option<&'static str> {
        match self {
            Self::Physical => None,
            Self::Virtual => {
                Some("this is a virtual machine: times include its exits to the host, and the host may move its CPUs")
            }
            Self::Emulated => Some(
                "this machine is emulated without hardware virtualisation: times of an emulator mean nothing, only the placement is real",
            ),
        }
    }
}

/// The hypervisor's signature: EBX, ECX and EDX of CPUID's leaf 0x40000000.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<[u8; 12]> {
    // Every x86-64 processor has CPUID.
    let leaf = std::arch::x86_64::__cpuid(0x4000_0000);
    let mut bytes = [0; 12];
    for (at, register) in [leaf.ebx, leaf.ecx, leaf.edx].into_iter().enumerate() {
        bytes[at * 4..at * 4 + 4].copy_from_slice(&register.to_le_bytes());
    }
    Some(bytes)
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Option<[u8; 12]> {
    None
}

/// What one CPU alone can and cannot show; `None` if there are more.
pub fn one_cpu(setup: &Setup) -> Option<String> {
    let [cpu] = setup.cpus.as_slice() else { return None };
    Some(format!(
        "only CPU {} can be used: hand-overs on one CPU, system calls, sleeps and the speed are measured; moves, siblings and other cores are \
         not (allow more CPUs with taskset or the cpuset, or bring them online)",
        cpu.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_below_the_cpus_is_refused_with_what_would_help() {
        let found = |quota| Some((quota, PathBuf::from("/sys/fs/cgroup/box")));
        let why = super::quota(found(0.42), 2).unwrap_err().0;
        assert!(why.contains("0.42 CPUs") && why.contains("/box") && why.contains("--ignore-quota"), "{why}");
        assert_eq!((super::quota(found(2.0), 2), super::quota(None, 2)), (Ok(()), Ok(())));
    }

    #[test]
    fn the_busiest_process_is_named() {
        let of = |list: &[(i32, u64)]| list.iter().map(|(pid, ticks)| (*pid, (*ticks, format!("p{pid}")))).collect();
        let found = busiest(&of(&[(1, 900), (2, 10), (3, 5)]), &of(&[(1, 901), (2, 40), (4, 7)]));
        assert_eq!(found, Some((2, "p2".to_owned())));
        assert_eq!(busiest(&of(&[(1, 5)]), &of(&[(1, 5)])), None);
        assert_eq!(stat("12 (a) b) S 1 1 1 0 -1 4 9 0 0 0 30 12 0 0"), Some((42, "a) b".to_owned())));
        let words = too_busy(0.634, Some((2, "cargo".to_owned())));
        assert!(
            words.contains("63 %") && words.contains("cargo (PID 2)") && words.contains("--max-load 70%"),
            "{words}"
        );
    }

    #[test]
    fn emulators_differ_from_virtual_machines() {
        let guest = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n";
        let kind =
            |cpuinfo, vendor, signature: Option<&[u8; 12]>| MachineKind::of(cpuinfo, vendor, "", signature.copied());
        assert_eq!(kind(guest, "QEMU", Some(b"TCGTCGTCGTCG")), MachineKind::Emulated);
        assert_eq!(kind(guest, "QEMU", Some(b"KVMKVMKVM\0\0\0")), MachineKind::Virtual);
        // A processor without a hypervisor may answer that leaf with anything.
        assert_eq!(kind("flags\t\t: fpu vme\n", "LENOVO", Some(b"TCGTCGTCGTCG")), MachineKind::Physical);
        assert_eq!(kind("Features\t: fp asimd\n", "QEMU", None), MachineKind::Virtual);
        // As an aarch64 guest of QEMU 7.2 prints it without DMI, with the processor `max` and with cortex-a72.
        let arm = |implementer, board| {
            let text =
                format!("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: {implementer}\nCPU part\t: 0x051\n");
            MachineKind::of(&text, "", board, None)
        };
        assert_eq!(arm("0x00", "linux,dummy-virt"), MachineKind::Emulated);
        assert_eq!(arm("0x41", "linux,dummy-virt"), MachineKind::Virtual);
        assert_eq!(arm("0x41", "raspberrypi,4-model-b"), MachineKind::Physical);
    }
}
