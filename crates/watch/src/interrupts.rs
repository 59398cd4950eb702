//! Interrupts by CPU, as the kernel counts them itself.

use crate::snapshot::{InterruptCount, InterruptKind};
use std::collections::BTreeMap;

/// The counts of each CPU, by kind and name.
pub type ByCpu = BTreeMap<u32, BTreeMap<(InterruptKind, String), u64>>;

/// The counts since watching began. They never fall: the kernel lists no CPU that is offline, and no device that has gone.
pub struct Interrupts {
    before: ByCpu,
    last: ByCpu,
}

impl Interrupts {
    /// Begins to count. `now`: what the kernel counted ([`read`]).
    #[must_use]
    pub fn new(now: ByCpu) -> Self {
        Self { last: now.clone(), before: now }
    }

    /// Notes what the kernel counted.
    pub fn update(&mut self, now: ByCpu) {
        for (cpu, counts) in now {
            if !self.last.contains_key(&cpu) {
                // It has come online.
                self.before.insert(cpu, counts.clone());
            }
            let last = self.last.entry(cpu).or_default();
            for (key, count) in counts {
                let had = last.entry(key).or_default();
                *had = (*had).max(count);
            }
        }
    }

    /// Returns a CPU's counts, without those that are 0.
    #[must_use]
    pub fn of(&self, cpu: u32) -> Vec<InterruptCount> {
        since(&self.last, &self.before, cpu)
    }
}

/// Reads the counts since the machine started.
pub fn read() -> ByCpu {
    let text = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let mut counts = ByCpu::new();
    parse(&text("/proc/interrupts"), false, &mut counts);
    parse(&text("/proc/softirqs"), true, &mut counts);
    counts
}

/// Returns a CPU's counts since `before`, without those that are 0.
fn since(now: &ByCpu, before: &ByCpu, cpu: u32) -> Vec<InterruptCount> {
    let of = |counts: &'_ ByCpu, key| counts.get(&cpu).and_then(|c| c.get(key)).copied().unwrap_or(0);
    let all = now.get(&cpu).into_iter().flatten();
    let all = all.map(|(key, count)| (key, count.saturating_sub(of(before, key))));
    all.filter(|(_, count)| *count > 0)
        .map(|((kind, name), count)| InterruptCount { kind: *kind, name: name.clone(), count })
        .collect()
}

/// Parses `/proc/interrupts` or `/proc/softirqs`: a line of CPUs, then a line for each source.
fn parse(text: &str, soft: bool, counts: &mut ByCpu) {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect();
    for line in lines {
        let Some((source, rest)) = line.split_once(':') else { continue };
        let source = source.trim();
        let mut words = rest.split_whitespace();
        let numbers: Vec<u64> = words.by_ref().take(cpus.len()).map_while(|word| word.parse().ok()).collect();
        // Sources that are counted for the machine (ERR, MIS) have one number.
        if numbers.len() < cpus.len() {
            continue;
        }
        // ARM's timers are devices to the kernel.
        let device = words.next_back().unwrap_or(source);
        let (kind, name) = if soft {
            (InterruptKind::Softirq, source)
        } else {
            match source {
                "LOC" => (InterruptKind::Timer, source),
                "RES" | "CAL" | "TLB" | "IWI" | "TRM" => (InterruptKind::Processor, source),
                _ if source.strip_prefix("IPI").is_some_and(|n| n.parse::<u32>().is_ok()) => {
                    (InterruptKind::Processor, source)
                }
                _ if device == "arch_timer" => (InterruptKind::Timer, device),
                _ if source.bytes().all(|b| b.is_ascii_digit()) => (InterruptKind::Device, device),
                _ => (InterruptKind::Other, source),
            }
        };
        for (cpu, number) in cpus.iter().zip(&numbers) {
            // Devices may have several interrupts of one name.
            *counts.entry(*cpu).or_default().entry((kind, name.to_owned())).or_default() += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_kinds_and_devices_their_names() {
        let text = "            CPU0       CPU2\n\
             \x20 4:         10          3   IO-APIC   4-edge      ttyS0\n\
             \x20 5:          1          1   PCI-MSI 524288-edge      virtio0-input.0\n\
             \x20LOC:        100        200   Local timer interrupts\n\
             \x20RES:          7          8   Rescheduling interrupts\n\
             \x20MCP:          2          2   Machine check polls\n\
             \x20ERR:          0\n";
        let mut now = ByCpu::new();
        parse(text, false, &mut now);
        parse(
            "                    CPU0       CPU2\n          HI:          0          1\n      NET_RX:  5 6\n",
            true,
            &mut now,
        );
        let mut before = ByCpu::new();
        parse("CPU0 CPU2\nLOC: 90 200 Local timer interrupts\n", false, &mut before);
        let of = |cpu| -> Vec<(InterruptKind, String, u64)> {
            since(&now, &before, cpu).into_iter().map(|c| (c.kind, c.name, c.count)).collect()
        };
        let is = |kind, name: &str, count| (kind, name.to_owned(), count);
        assert_eq!(
            of(0),
            [
                is(InterruptKind::Device, "ttyS0", 10),
                is(InterruptKind::Device, "virtio0-input.0", 1),
                is(InterruptKind::Timer, "LOC", 10),
                is(InterruptKind::Processor, "RES", 7),
                is(InterruptKind::Softirq, "NET_RX", 5),
                is(InterruptKind::Other, "MCP", 2),
            ]
        );
        assert!(of(2).contains(&is(InterruptKind::Softirq, "HI", 1)), "{:?}", of(2));
        assert_eq!(of(1), []);
    }

    #[test]
    fn counts_stay_while_a_cpu_is_offline() {
        let read = |text: &str| {
            let mut counts = ByCpu::new();
            parse(text, false, &mut counts);
            counts
        };
        let mut interrupts = Interrupts::new(read("CPU0 CPU1\nLOC: 5 7 timer\n"));
        let counts = |of: &Interrupts, cpu| of.of(cpu).iter().map(|c| c.count).collect::<Vec<_>>();
        interrupts.update(read("CPU0 CPU1\n 11: 0 4 GICv3 27 Level arch_timer\nLOC: 6 9 timer\n"));
        assert_eq!((counts(&interrupts, 0), counts(&interrupts, 1)), (vec![1], vec![2, 4]));
        assert_eq!(interrupts.of(1)[0].kind, InterruptKind::Timer, "a device to ARM's kernel");
        // CPU 1 has gone; CPU 2, which counted before watching began, has come.
        interrupts.update(read("CPU0 CPU2\nLOC: 7 1000 timer\n"));
        assert_eq!((counts(&interrupts, 1), counts(&interrupts, 2)), (vec![2, 4], vec![]));
        interrupts.update(read("CPU0 CPU1 CPU2\nLOC: 8 10 1001 timer\n"));
        assert_eq!((counts(&interrupts, 1), counts(&interrupts, 2)), (vec![3, 4], vec![1]));
    }
}
