//! A table with a row a CPU, as `lscpu -e`, `lscpu -p` and `lscpu -J -e` write it.

use super::{alike, all_from, bad};
use crate::cpulist;
use crate::header::spread;
use crate::machine::{Cpu, Machine, Source};
use crate::user::BadMachine;
use model::CpuId;
use std::collections::BTreeMap;

/// Columns in all; `lscpu -e=all` has some twenty.
const MOST_COLUMNS: usize = 64;

/// Lower-case names of columns, and rows of as many words.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Whether a line is the head of such a table.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("# CPU,") || (line.starts_with("CPU ") && line.contains(" CORE"))
}

impl Table {
    /// Reads the first table in a text; empty where there is none.
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

    /// Adds a row by its columns' names.
    pub(super) fn push(&mut self, cells: impl Iterator<Item = (String, String)>) {
        let mut row = vec![String::new(); self.columns.len()];
        for (name, value) in cells.take(MOST_COLUMNS) {
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

    /// By name; the columns of the caches also as parts of `L1d:L1i:L2:L3`.
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

    /// What it tells of the machine.
    pub(super) fn machine(&self) -> Result<Machine, BadMachine> {
        let mut rows: BTreeMap<CpuId, &[String]> = BTreeMap::new();
        for row in &self.rows {
            let id = self.cell(row, "cpu").and_then(|c| c.parse().ok()).filter(|n| *n < cpulist::MAX_CPUS);
            let id = id.ok_or_else(|| bad(format!("`{}` is no CPU's row", cpulist::shortened(&row.join(" ")))))?;
            if rows.insert(CpuId(id), row).is_some() {
                return Err(bad(format!("CPU {id} has two rows")));
            }
        }
        let mut cpus: Vec<Cpu> = rows.iter().map(|(id, row)| self.cpu(*id, row)).collect();
        let cache = |name: &'static str| {
            let of = rows.iter().map(move |(id, row)| (*id, self.cell(row, name)));
            alike(of)
        };
        spread(&mut cpus, &cache("l2"), |c| &mut c.l2);
        spread(&mut cpus, &cache("l3"), |c| &mut c.l3);
        let mut notes = Vec::new();
        spread(&mut cpus, &self.cores(&rows, &mut notes), |c| &mut c.siblings);
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
        // lscpu numbers cores anew (unless asked for physical ones with -y), so its number is not the kernel's `core_id`; it
        // still tells whose threads are of one core.
        cpu.max_khz = self.cell(row, "maxmhz").and_then(khz);
        cpu
    }

    /// The CPUs of each core: of one socket and core number. lscpu may count the cores of each cluster anew, so that CPUs
    /// with first-level caches of their own bear one number: the caches tell them apart.
    fn cores(&self, rows: &BTreeMap<CpuId, &[String]>, notes: &mut Vec<String>) -> Vec<Vec<CpuId>> {
        let numbers = |row: &[String]| Some((self.cell(row, "socket")?.to_owned(), self.cell(row, "core")?.to_owned()));
        let caches =
            |row: &[String]| (self.cell(row, "l1d").map(str::to_owned), self.cell(row, "l2").map(str::to_owned));
        let coarse = alike(rows.iter().map(|(id, row)| (*id, numbers(row))));
        let fine = alike(rows.iter().map(|(id, row)| (*id, numbers(row).map(|n| (n, caches(row))))));
        if fine.len() > coarse.len() {
            let split = coarse.iter().filter(|group| !fine.contains(group)).flatten().copied();
            notes.push(format!(
                "lscpu gives CPUs {} core numbers of others with caches of their own: the caches tell the cores apart",
                cpulist::format(split)
            ));
        }
        fine
    }
}

/// `2016.0000` MHz.
pub(super) fn khz(mhz: &str) -> Option<u32> {
    let khz = mhz.parse::<f64>().ok()? * 1000.0;
    (khz >= 1.0 && khz < f64::from(u32::MAX)).then(|| khz.round() as u32)
}

fn cells(line: &str, commas: bool, columns: &[String]) -> Vec<String> {
    if commas {
        return line.split(',').take(MOST_COLUMNS).map(|c| c.trim().to_owned()).collect();
    }
    let mut words: Vec<String> = line.split_whitespace().take(2 * MOST_COLUMNS).map(str::to_owned).collect();
    // A model's name has blanks in it; it is the only column that has.
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
    fn names_with_blanks_keep_their_column() {
        let text = "CPU CORE MODELNAME       ONLINE\n  0    0 An old CPU @ 2x    yes\n  1    0 Other    no\n";
        let machine = Table::of_text(text).machine().unwrap();
        assert_eq!(machine.cpus.iter().map(|c| c.online).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn megahertz() {
        assert_eq!(khz("2016.0000"), Some(2_016_000));
        for not in ["", "-1", "nan", "inf", "1e300"] {
            assert_eq!(khz(not), None, "{not}");
        }
    }
}
