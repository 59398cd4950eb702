//! Whether the energy of RAPL is filtered. With Intel's energy filtering, readings are skewed by up to 50 %, so that they reveal less of what
//! the processor computes (INTEL-SA-00389; green-coding.io, "RAPL, SGX and energy filtering").

use crate::tree::Tree;
use std::os::unix::fs::FileExt;

/// The register that enables it, bit 0 (green-coding.io's check_energy_filtering_rapl.sh).
const REGISTER: u64 = 0xbc;

/// Returns a sentence if the energy is filtered, or may be.
#[must_use]
pub fn note(tree: &Tree) -> Option<String> {
    let skewed = "RAPL's readings may be off by up to 50 %, above all over short times";
    match enabled(tree) {
        Some(true) => return Some(format!("energy filtering is enabled (register 0xbc): {skewed}")),
        Some(false) => return None,
        None => {}
    }
    let cpuinfo = tree.read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    flags.split_whitespace().any(|flag| flag == "sgx").then(|| {
        format!("SGX is enabled in the firmware, which enables energy filtering on processors that have it: {skewed}; disable SGX to measure")
    })
}

fn enabled(tree: &Tree) -> Option<bool> {
    if !tree.is_live() {
        return None;
    }
    let mut bytes = [0; 8];
    // Only root can open it, and only where the module `msr` is loaded.
    std::fs::File::open("/dev/cpu/0/msr").ok()?.read_exact_at(&mut bytes, REGISTER).ok()?;
    Some(u64::from_le_bytes(bytes) & 1 == 1)
}
