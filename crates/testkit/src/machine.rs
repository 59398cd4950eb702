//! Machines drawn as text.

use topology::Machine;

/// Reads lines such as `cpu0 P0`: the number of a CPU, then the type (P performance, M middle, E efficient, L low power, U uniform) and
/// number of its core, and its maximum frequency in MHz if that is known (`cpu0 P0/5000`). CPUs of one core are siblings. The rest of a line (a drawn trace) is ignored.
///
/// # Panics
/// If a line is invalid.
#[must_use]
pub fn machine(text: &str) -> Machine {
    let drawn: Vec<(u32, String)> = text.lines().filter_map(row).collect();
    let (mut toml, mut rows) = (String::new(), Vec::new());
    for (cpu, word) in &drawn {
        let (core, mhz) = word.split_once('/').map_or((word.as_str(), None), |(core, mhz)| (core, Some(mhz)));
        rows.push((*cpu, core.to_owned()));
        let kind = match &core[..1] {
            "P" => "performance",
            "M" => "middle",
            "E" => "efficient",
            "L" => "low_power",
            "U" => "uniform",
            other => panic!("unknown core type {other}: use P, M, E, L or U"),
        };
        toml += &format!("[[cpus]]\nids = \"{cpu}\"\ntype = \"{kind}\"\n");
        if let Some(mhz) = mhz {
            toml += &format!("max_khz = {mhz}000\n");
        }
    }
    let mut cores: Vec<&String> = rows.iter().map(|r| &r.1).collect();
    cores.dedup();
    let siblings = |core: &String| {
        let cpus: Vec<String> = rows.iter().filter(|r| r.1 == *core).map(|r| r.0.to_string()).collect();
        format!("{:?}", cpus.join(","))
    };
    let groups: Vec<String> = cores.into_iter().map(siblings).collect();
    toml = format!("siblings = [{}]\n{toml}", groups.join(", "));
    Machine::from_user(&toml).unwrap_or_else(|e| panic!("{e} in\n{toml}"))
}

/// Returns the CPU and the core of a line that draws a CPU.
fn row(line: &str) -> Option<(u32, String)> {
    let mut words = line.split('#').next()?.split_whitespace();
    let cpu = words.next()?.strip_prefix("cpu")?;
    let cpu = cpu.parse().unwrap_or_else(|_| panic!("invalid CPU number: cpu{cpu}"));
    words.next().filter(|w| is_core(w)).map(|core| (cpu, core.to_owned()))
}

/// Whether a word is a core, such as `P0` or `P0/5000`.
pub(crate) fn is_core(word: &str) -> bool {
    let (word, mhz) = word.split_once('/').unwrap_or((word, ""));
    mhz.bytes().all(|b| b.is_ascii_digit())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.len() > 1
        && word[1..].bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::cpu;
    use model::CoreType;

    #[test]
    fn a_hybrid_machine() {
        let machine = super::machine(
            "cpu0 P0  A A A   # followed by a trace
             cpu1 P0  . . .
             cpu2 E1/3900",
        );
        assert_eq!([0, 2].map(|n| machine.cpu(cpu(n)).unwrap().max_khz), [None, Some(3_900_000)]);
        assert_eq!(machine.core_type(cpu(1)), CoreType::Performance);
        assert_eq!(machine.core_type(cpu(2)), CoreType::Efficient);
        assert_eq!(machine.cpu(cpu(0)).unwrap().siblings, [cpu(0), cpu(1)]);
    }
}
