//! What else ran while a test did: printed when a live test fails, because the machine may explain it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// How many processes are named.
const BUSIEST: usize = 10;
/// Time in `/proc/*/stat` is counted in hundredths of a second, whatever the kernel's own tick is.
const TICK_MS: u64 = 10;

/// One reading of the machine.
pub struct Load {
    at: Instant,
    /// Stolen by the hypervisor, of all CPUs, in ticks.
    stolen: u64,
    /// Name and time of each process, in ticks, by PID.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Load {
    /// Reads the machine. What cannot be read is left out.
    pub fn now() -> Self {
        let stat = text("/proc/stat");
        // user nice system idle iowait irq softirq steal …
        let stolen = stat.lines().next().and_then(|cpu| cpu.split_whitespace().nth(8)?.parse().ok());
        let names = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let processes = pids.filter_map(|pid| Some((pid, process(&text(&format!("/proc/{pid}/stat")))?)));
        Self { at: Instant::now(), stolen: stolen.unwrap_or(0), processes: processes.collect() }
    }

    /// Describes what ran since that reading.
    pub fn since(&self) -> String {
        let now = Self::now();
        let stolen = now.stolen.saturating_sub(self.stolen) * TICK_MS;
        let mut busy: Vec<(u64, &str)> = now
            .processes
            .iter()
            .map(|(pid, (name, ticks))| {
                let before = self.processes.get(pid).map_or(0, |(_, ticks)| *ticks);
                (ticks.saturating_sub(before) * TICK_MS, name.as_str())
            })
            .filter(|(ms, _)| *ms > 0)
            .collect();
        busy.sort_unstable_by(|a, b| b.cmp(a));
        let named: Vec<String> = busy.iter().take(BUSIEST).map(|(ms, name)| format!("{name} {ms} ms")).collect();
        format!(
            "meanwhile ({:.1} s): load {}; CPU pressure {}; {stolen} ms stolen; busiest of what still runs: {}",
            self.at.elapsed().as_secs_f64(),
            text("/proc/loadavg").trim(),
            text("/proc/pressure/cpu").lines().next().unwrap_or("unknown"),
            if named.is_empty() { "none".to_owned() } else { named.join(", ") }
        )
    }
}

/// Parses the name and the time of a process: `pid (name) state ppid … utime stime cutime cstime …`. The time of its ended
/// children is included.
fn process(stat: &str) -> Option<(String, u64)> {
    let (begin, rest) = stat.rsplit_once(')')?;
    let name = begin.split_once('(')?.1.to_owned();
    let ticks = rest.split_whitespace().skip(11).take(4).map(|word| word.parse::<u64>().ok());
    Some((name, ticks.sum::<Option<u64>>()?))
}

fn text(path: &str) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194560 100 0 0 0 11 22 3 4 20 0 1 0 5 0 0";
        assert_eq!(process(stat), Some(("a) b".to_owned(), 40)));
        assert_eq!(process("7 (a"), None);
        assert_eq!(process(""), None);
    }

    #[test]
    fn this_process_is_among_those_that_run() {
        let before = Load::now();
        assert!(before.processes.contains_key(&std::process::id()));
        assert!(before.since().starts_with("meanwhile ("));
    }
}
