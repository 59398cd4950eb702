//! Machines drawn as text.

use topology::Machine;

/// Reads lines such as `cpu0 P0`: the number of a CPU, then the type (P performance, M middle, E efficient, L low power, U uniform) and
/// number of its core. CPUs of one core are siblings. The rest of a line (a drawn trace) is ignored.
///
/// # Panics
/// If a line is invalid.
#[must_use]
pub fn machine(text: &str) -> Machine {
    let rows: Vec<(u32, String)> = text.lines().filter_map(row).collect();
    let mut toml = String::new();
    for (cpu, core) in &rows {
        let kind = match &core[..1] {
            "P" => "performance",
            "M" => "middle",
            "E" => "efficient",
            "L" => "low_power",
            "U" => "uniform",
            other => panic!("unknown core type {other}: use P, M, E, L or U"),
        };
        toml += &format!("[[cpus]]\nids = \"{cpu}\"\ntype = \"{kind}\"\n");
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

/// Whether a word is a core, such as `P0`.
pub(crate) fn is_core(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
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
             cpu2 E1",
        );
        assert_eq!(machine.core_type(cpu(1)), CoreType::Performance);
        assert_eq!(machine.core_type(cpu(2)), CoreType::Efficient);
        assert_eq!(machine.cpu(cpu(0)).unwrap().siblings, [cpu(0), cpu(1)]);
    }
}
