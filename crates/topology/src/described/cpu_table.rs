//! Reads a table with one row per CPU, as written by `lscpu -e`, `lscpu -p` and `lscpu -J -e`.

use super::{all_from, bad, group_by_key};
use crate::cpulist;
use crate::header::set_groups;
use crate::machine::{Cpu, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use std::collections::BTreeMap;

/// The maximum number of columns; `lscpu -e=all` has about twenty.
const MAX_COLUMNS: usize = 64;

/// A table: lower-case names of columns, and rows with as many cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Returns whether a line is the header of such a table.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("# CPU,") || (line.starts_with("CPU ") && line.contains(" CORE"))
}

impl Table {
    /// Reads the first table in a text; empty if there is none.
    pub(super) fn of_text(text: &str) -> Self {
        let mut table = Self::default();
        let mut lines = text.lines().skip_while(|l| !is_header(l));
        let Some(header) = lines.next() else { return table };
        let commas = header.starts_with('#');
        let header = header.trim_start_matches("# ").to_lowercase();
        table.columns = cells(&header, commas, &[]);
        // `lscpu -p` ends its table with a blank line or the next table's comment.
        let rows = lines.take_while(|l| l.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        for row in rows.take(cpulist::MAX_CPUS as usize) {
            table.rows.push(cells(row, commas, &table.columns));
        }
        table
    }

    /// Adds a row from pairs of column name and value.
    pub(super) fn push(&mut self, cells: impl Iterator<Item = (String, String)>) {
        let mut row = vec![String::new(); self.columns.len()];
        for (name, value) in cells.take(MAX_COLUMNS) {
            let at = self.columns.iter().position(|c| *c == name).unwrap_or_else(|| {
                self.columns.push(name);
                row.push(String::new());
                row.len() - 1
            });
            if let Some(cell) = row.get_mut(at) {
                *cell = value;
            }
        }
        if self.rows.len() < cpulist::MAX_CPUS as usize {
            self.rows.push(row);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the cell of a column; those of caches may be parts of a column `L1d:L1i:L2:L3`.
    fn cell<'a>(&'a self, row: &'a [String], name: &str) -> Option<&'a str> {
        let column = |name: &str| self.columns.iter().position(|c| c == name);
        let known = |text: &'a str| Some(text).filter(|t| !t.is_empty() && *t != "-");
        if let Some(at) = column(name) {
            return known(row.get(at)?);
        }
        let joined = self.columns.iter().position(|c| c.contains(':'))?;
        let part = self.columns.get(joined)?.split(':').position(|p| p == name)?;
        known(row.get(joined)?.split(':').nth(part)?)
    }

    /// Returns the machine that the table describes.
    pub(super) fn machine(&self) -> Result<Machine, BadMachine> {
        let mut rows: BTreeMap<CpuId, &[String]> = BTreeMap::new();
        for row in &self.rows {
            let id = self.cell(row, "cpu").and_then(|c| c.parse().ok()).filter(|n| *n < cpulist::MAX_CPUS);
            let id =
                id.ok_or_else(|| bad(format!("`{}` is not a row of a CPU", cpulist::shortened(&row.join(" ")))))?;
            if rows.insert(CpuId(id), row).is_some() {
                return Err(bad(format!("CPU {id} has two rows")));
            }
        }
        let mut cpus: Vec<Cpu> = rows.iter().map(|(id, row)| self.cpu(*id, row)).collect();
        let cache = |name: &'static str| {
            let of = rows.iter().map(move |(id, row)| (*id, self.cell(row, name)));
            group_by_key(of)
        };
        set_groups(&mut cpus, &cache("l2"), |c| &mut c.l2);
        set_groups(&mut cpus, &cache("l3"), |c| &mut c.l3);
        let mut notes = Vec::new();
        set_groups(&mut cpus, &self.cores(&rows, &mut notes), |c| &mut c.siblings);
        let sources = all_from(Source::Lscpu, &cpus);
        Ok(Machine { cpus, sources, notes, ..Machine::default() })
    }

    fn cpu(&self, id: CpuId, row: &[String]) -> Cpu {
        let number = |name| self.cell(row, name).and_then(|t| t.parse().ok());
        let mut cpu = Cpu::new(id);
        cpu.online = !matches!(self.cell(row, "online"), Some("no" | "n" | "N" | "false"));
        cpu.node = number("node");
        cpu.package = number("socket");
        cpu.cluster = number("cluster");
        // lscpu has its own core numbers (unless run with -y), not the kernel's `core_id`, so they are only used to find the threads of
        // each core.
        cpu.max_khz = self.cell(row, "maxmhz").and_then(khz);
        cpu
    }

    /// Returns the CPUs of each core: those with the same socket and core number. lscpu may number the cores of each cluster from 0, so
    /// CPUs with the same number but different first-level caches are separate cores.
    fn cores(&self, rows: &BTreeMap<CpuId, &[String]>, notes: &mut Vec<String>) -> Vec<Vec<CpuId>> {
        let numbers = |row: &[String]| Some((self.cell(row, "socket")?.to_owned(), self.cell(row, "core")?.to_owned()));
        let caches =
            |row: &[String]| (self.cell(row, "l1d").map(str::to_owned), self.cell(row, "l2").map(str::to_owned));
        let coarse = group_by_key(rows.iter().map(|(id, row)| (*id, numbers(row))));
        let fine = group_by_key(rows.iter().map(|(id, row)| (*id, numbers(row).map(|n| (n, caches(row))))));
        if fine.len() > coarse.len() {
            let split = coarse.iter().filter(|group| !fine.contains(group)).flatten().copied();
            notes.push(format!(
                "lscpu gives CPUs {} the same core numbers although their caches differ: treated as separate cores",
                cpulist::format(split)
            ));
        }
        fine
    }
}

/// Converts MHz, such as `2016.0000`, to kHz.
pub(super) fn khz(mhz: &str) -> Option<u32> {
    let khz = mhz.parse::<f64>().ok()? * 1000.0;
    (khz >= 1.0 && khz < f64::from(u32::MAX)).then(|| khz.round() as u32)
}

fn cells(line: &str, commas: bool, columns: &[String]) -> Vec<String> {
    if commas {
        return line.split(',').take(MAX_COLUMNS).map(|c| c.trim().to_owned()).collect();
    }
    let mut words: Vec<String> = line.split_whitespace().take(2 * MAX_COLUMNS).map(str::to_owned).collect();
    // The model's name may contain blanks; no other column does.
    if let Some(name) = columns.iter().position(|c| c == "modelname")
        && let Some(more) = words.len().checked_sub(columns.len())
        && let Some(tail) = words.get(name..=name + more).map(|w| w.join(" "))
    {
        words.splice(name..=name + more, [tail]);
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_with_blanks_stay_in_their_column() {
        let text = "CPU CORE MODELNAME       ONLINE\n  0    0 An old CPU @ 2x    yes\n  1    0 Other    no\n";
        let machine = Table::of_text(text).machine().unwrap();
        assert_eq!(machine.cpus.iter().map(|c| c.online).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn megahertz_are_converted() {
        assert_eq!(khz("2016.0000"), Some(2_016_000));
        for not in ["", "-1", "nan", "inf", "1e300"] {
            assert_eq!(khz(not), None, "{not}");
        }
    }
}
