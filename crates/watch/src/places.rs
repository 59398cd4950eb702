//! Where CPUs belong, when they go offline and come online: their siblings and classes, and the sums that depend on these.

use crate::memory::{MAX_IN_CORE, NO_SIBLING, RawCpu, SEVERAL_SIBLINGS, UNKNOWN_SIBLINGS};
use crate::snapshot::{CpuSums, SiblingSums};
use model::CpuId;
use topology::Machine;

/// Returns what the programs must know of a CPU: its only sibling, or `NO_SIBLING`, `SEVERAL_SIBLINGS` or `UNKNOWN_SIBLINGS`.
pub fn sibling_of(machine: &Machine, cpu: CpuId) -> i32 {
    // A CPU is among its own siblings if they are known.
    let siblings = machine.cpu(cpu).map_or(&[][..], |known| &known.siblings);
    let mut others = siblings.iter().filter(|sibling| **sibling != cpu);
    match (others.next(), others.next()) {
        (None, _) if siblings.is_empty() => UNKNOWN_SIBLINGS,
        (None, _) => NO_SIBLING,
        (Some(one), None) => i32::try_from(one.0).unwrap_or(UNKNOWN_SIBLINGS),
        _ if siblings.len() <= MAX_IN_CORE => SEVERAL_SIBLINGS,
        _ => UNKNOWN_SIBLINGS,
    }
}

/// Completes a machine that was described while these CPUs were offline: a kernel says then neither their place nor that they are
/// siblings of others. CPUs of a type that the machine did not have count as its slowest one, since a type's number must not change.
pub fn complete(machine: &mut Machine, described: &Machine, came: &[CpuId]) {
    for id in came {
        let Some(new) = described.cpu(*id) else { continue };
        let class = machine.class_names.iter().position(|name| *name == described.core_type(*id)).unwrap_or(0);
        let mut judged =
            described.cpus.iter().zip(&described.class).find(|(cpu, _)| cpu.id == *id).map(|(_, j)| j.clone());
        if let Some(judged) = &mut judged {
            judged.best.value = class as u32;
        }
        match machine.cpus.binary_search_by_key(id, |cpu| cpu.id) {
            Ok(at) => {
                machine.cpus[at] = new.clone();
                if let (Some(of), Some(judged)) = (machine.class.get_mut(at), judged) {
                    *of = judged;
                }
            }
            Err(at) => {
                if let (true, Some(judged)) = (at <= machine.class.len(), judged) {
                    machine.cpus.insert(at, new.clone());
                    machine.class.insert(at, judged);
                }
            }
        }
        for sibling in new.siblings.iter().filter(|sibling| *sibling != id) {
            if let Ok(at) = machine.cpus.binary_search_by_key(sibling, |cpu| cpu.id) {
                let of = &mut machine.cpus[at].siblings;
                // Others of that core may be offline now; what was known of them stays.
                of.extend(&new.siblings);
                of.sort_unstable();
                of.dedup();
            }
        }
    }
}

/// The sums of each CPU that depend on its place, added up from reading to reading: a place may change.
pub struct Places(Vec<Place>);

#[derive(Clone, Copy, Default)]
struct Place {
    sibling: SiblingSums,
    offline_ns: u64,
    core_offline_ns: u64,
    /// At the last reading:
    busy: u64,
    with_sibling: u64,
    unknown_ns: u64,
    online: bool,
}

impl Places {
    /// Begins with the CPUs that are online.
    pub fn new(online: &[bool]) -> Self {
        Self(online.iter().map(|online| Place { online: *online, ..Place::default() }).collect())
    }

    /// Returns the running time of a CPU by what its siblings did. `sibling`: as in `struct cpu_sums`, since the last reading.
    pub fn by_sibling(&mut self, cpu: usize, raw: &RawCpu, sibling: i32) -> SiblingSums {
        let place = self.at(cpu);
        let busy = raw.busy.wrapping_sub(place.busy);
        let with_sibling = raw.with_sibling.wrapping_sub(place.with_sibling).min(busy);
        (place.busy, place.with_sibling) = (raw.busy, raw.with_sibling);
        let sums = &mut place.sibling;
        match sibling {
            NO_SIBLING => sums.none_ns += busy,
            UNKNOWN_SIBLINGS => sums.unknown_ns += busy,
            _ => {
                sums.busy_ns += with_sibling;
                sums.idle_ns += busy - with_sibling;
            }
        }
        *sums
    }

    /// Writes into the sums of all CPUs for how long they, and all CPUs of their cores, were offline. Of the time that is not known, it is
    /// what lies between two readings of which one found the CPU offline.
    pub fn note_offline(&mut self, cpus: &mut [CpuSums], machine: &Machine) {
        let mut offline = Vec::new();
        for cpu in &mut *cpus {
            let place = self.at(cpu.cpu as usize);
            let unknown = cpu.unknown_ns.saturating_sub(place.unknown_ns);
            let part = if cpu.online && place.online { 0 } else { unknown };
            (place.unknown_ns, place.online) = (cpu.unknown_ns, cpu.online);
            place.offline_ns += part;
            offline.push((CpuId(cpu.cpu), part));
        }
        let of = |id: CpuId| offline.iter().find(|(cpu, _)| *cpu == id).map(|(_, part)| *part);
        for cpu in cpus {
            let id = CpuId(cpu.cpu);
            let siblings = machine.cpu(id).map_or(&[][..], |known| &known.siblings);
            // A sibling that has no sums has never been online.
            let whole = siblings.iter().filter_map(|sibling| of(*sibling)).chain(of(id)).min().unwrap_or(0);
            let place = self.at(cpu.cpu as usize);
            place.core_offline_ns += whole;
            (cpu.offline_ns, cpu.core_offline_ns) = (place.offline_ns, place.core_offline_ns);
        }
    }

    fn at(&mut self, cpu: usize) -> &mut Place {
        if cpu >= self.0.len() {
            self.0.resize(cpu + 1, Place::default());
        }
        &mut self.0[cpu]
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    /// A machine of cores of two CPUs, as it describes itself while only these are online.
    fn machine(online: &[u32]) -> Machine {
        let mut machine = Machine::of_cpus(online.iter().copied().map(CpuId));
        for cpu in &mut machine.cpus {
            let both = [cpu.id.0 & !1, cpu.id.0 | 1];
            cpu.siblings = both.into_iter().filter(|sibling| online.contains(sibling)).map(CpuId).collect();
        }
        machine
    }

    #[test]
    fn a_cpu_that_comes_is_the_sibling_of_the_one_that_was_alone() {
        let mut known = machine(&[0, 1, 2]);
        let places = |machine: &Machine| (0..4).map(|cpu| sibling_of(machine, CpuId(cpu))).collect::<Vec<_>>();
        assert_eq!(places(&known), [1, 0, NO_SIBLING, UNKNOWN_SIBLINGS]);
        // CPU 1 has gone meanwhile, and stays the sibling of CPU 0.
        complete(&mut known, &machine(&[0, 2, 3]), &[CpuId(3)]);
        assert_eq!(places(&known), [1, 0, 3, 2]);
        assert_eq!(known.cpus.len(), known.class.len());
    }

    #[test]
    fn sums_stay_where_they_were_when_a_place_changes() {
        let mut places = Places::new(&[true]);
        let mut raw = RawCpu::zeroed();
        raw.busy = 10;
        assert_eq!(places.by_sibling(0, &raw, NO_SIBLING).none_ns, 10);
        (raw.busy, raw.with_sibling) = (15, 0);
        places.by_sibling(0, &raw, UNKNOWN_SIBLINGS);
        (raw.busy, raw.with_sibling) = (25, 4);
        let sums = SiblingSums { none_ns: 10, unknown_ns: 5, busy_ns: 4, idle_ns: 6 };
        assert_eq!(places.by_sibling(0, &raw, 1), sums);
    }

    #[test]
    fn a_core_is_offline_while_all_its_cpus_are() {
        let machine = machine(&[0, 1]);
        let mut places = Places::new(&[true, true]);
        let mut last = Vec::new();
        // At each reading, 10 ns after the last one: which are online, and how much of all time is unknown.
        for (online, unknown_ns) in
            [([true, true], [0, 1]), ([true, false], [0, 5]), ([false, false], [3, 15]), ([true, true], [9, 21])]
        {
            let sums = |cpu: usize| CpuSums {
                cpu: cpu as u32,
                online: online[cpu],
                unknown_ns: unknown_ns[cpu],
                ..CpuSums::default()
            };
            last = vec![sums(0), sums(1)];
            places.note_offline(&mut last, &machine);
        }
        assert_eq!((last[0].offline_ns, last[1].offline_ns), (9, 20), "1 ns of CPU 1 is unknown for another reason");
        assert_eq!((last[0].core_offline_ns, last[1].core_offline_ns), (9, 9));
    }
}
