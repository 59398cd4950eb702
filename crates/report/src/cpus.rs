//! The CPUs: busy, idle and unknown time.

use crate::words::{grouped, ms, percent, share};
use engine::Session;
use model::tables::cpus;
use model::{Ns, Table};
use page::{Anchor, Bar, Bars, Column, Page, Tone};

/// Characters of a CPU's bar.
const BAR: i64 = 24;
/// If there are more CPUs, only core types are shown.
const MAX_ROWS: usize = 64;

/// A row of the table.
#[derive(Default)]
struct Row {
    name: String,
    core_type: String,
    busy: Ns,
    idle: Ns,
    unknown: Ns,
    inferred: Ns,
    lossy: Ns,
    switches: i64,
    inconsistent: i64,
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.busy += other.busy;
        self.idle += other.idle;
        self.unknown += other.unknown;
        self.inferred += other.inferred;
        self.lossy += other.lossy;
        self.switches = self.switches.saturating_add(other.switches);
        self.inconsistent = self.inconsistent.saturating_add(other.inconsistent);
    }

    fn whole(&self) -> Ns {
        (self.busy + self.idle) + self.unknown
    }

    fn picture(&self, typed: bool) -> Bar {
        let core_type = if typed { format!(" {}", self.core_type.replace('_', " ")) } else { String::new() };
        Bar::new(
            if self.name.starts_with("all") {
                format!("{}{core_type}", self.name)
            } else {
                format!("CPU {}{core_type}", self.name)
            },
            format!("busy {}", percent(self.busy, self.whole())),
            [self.busy, self.idle, self.unknown],
            self.whole(),
        )
    }

    /// A bar of characters: busy, unknown, idle.
    fn bar(&self) -> String {
        if self.whole() <= Ns::ZERO {
            return String::new();
        }
        let whole = self.whole();
        let part = |ns: Ns| ((i128::from(ns.0) * i128::from(BAR) * 2 / i128::from(whole.0) + 1) / 2) as i64;
        let busy = part(self.busy).clamp(0, BAR);
        let unknown = part(self.unknown).clamp(0, BAR - busy);
        let times = |c: &str, n: i64| c.repeat(usize::try_from(n).unwrap_or(0));
        format!("{}{}{}", times("#", busy), times("?", unknown), times(".", BAR - busy - unknown))
    }
}

/// Writes each CPU and the sum; for a large machine, the core types.
pub fn write(page: &mut Page, session: &Session, table: &Table) {
    let rows = read(table);
    if rows.is_empty() {
        return;
    }
    let mut all = Row { name: format!("all {}", rows.len()), ..Row::default() };
    rows.iter().for_each(|r| all.add(r));
    let mut by_type: Vec<Row> = Vec::new();
    for row in &rows {
        let at = by_type.iter().position(|t| t.core_type == row.core_type).unwrap_or_else(|| {
            by_type.push(Row { name: "all".to_owned(), core_type: row.core_type.clone(), ..Row::default() });
            by_type.len() - 1
        });
        by_type[at].add(row);
    }
    let several = by_type.len() > 1;
    page.heading(&format!("CPUs: {}", rows.len()));
    if all.busy == Ns::ZERO && all.idle == Ns::ZERO && all.inferred == Ns::ZERO && all.switches == 0 {
        page.paragraph("No context switch of a known CPU was recorded, so what ran on them is unknown.");
        return;
    }
    if rows.len() > MAX_ROWS {
        let path = session.path().display();
        page.note(&format!("(for each CPU: corewise table {path} cpus --format md)"));
    }
    let mut shown: Vec<&Row> = if rows.len() > MAX_ROWS { Vec::new() } else { rows.iter().collect() };
    if several {
        shown.extend(&by_type);
    }
    let totals = usize::from(shown.len() != 1);
    if totals > 0 {
        shown.push(&all);
    }
    type Cell = fn(&Row) -> String;
    let columns: [(Column, bool, Cell); 13] = [
        (Column::numbers("CPU", 0), true, |r| r.name.clone()),
        (Column::text("type", 0), several, |r| r.core_type.clone()),
        (Column::numbers("busy ms", 1), true, |r| ms(r.busy)),
        (Column::numbers("busy %", 0), true, |r| share(r.busy, r.whole())),
        (Column::numbers("idle ms", 3), true, |r| ms(r.idle)),
        (Column::numbers("idle %", 0), true, |r| share(r.idle, r.whole())),
        (Column::numbers("unknown ms", 2), all.unknown > Ns::ZERO, |r| ms(r.unknown)),
        (Column::numbers("unknown %", 0), true, |r| share(r.unknown, r.whole())),
        (Column::numbers("inferred ms", 2), all.inferred > Ns::ZERO, |r| ms(r.inferred)),
        (Column::numbers("lossy ms", 2), all.lossy > Ns::ZERO, |r| ms(r.lossy)),
        (Column::numbers("switches", 1), true, |r| grouped(r.switches)),
        (Column::numbers("inconsistent", 2), all.inconsistent > 0, |r| grouped(r.inconsistent)),
        (Column::drawn("# busy . idle ? unknown", 4), true, Row::bar),
    ];
    page.picture(Bars {
        title: "CPU utilisation".to_owned(),
        legend: [(Tone::Blue, "busy"), (Tone::Idle, "idle"), (Tone::Unknown, "unknown")]
            .map(|(tone, words)| (tone, words.to_owned()))
            .into(),
        bars: shown.iter().map(|row| row.picture(several)).collect(),
    });
    let columns = columns.into_iter().filter(|(_, there, _)| *there).map(|(mut column, _, cell)| {
        shown.iter().for_each(|row| column.push(cell(row)));
        column
    });
    let mut columns: Vec<Column> = columns.collect();
    let numbers = shown.iter().map_while(|row| row.name.parse().ok());
    columns.iter_mut().take(1).for_each(|first| first.places.extend(numbers.clone().map(Anchor::Cpu)));
    page.grid(columns, totals);
}

fn read(table: &Table) -> Vec<Row> {
    let row = |row: model::Row<'_, cpus::Table>| Row {
        name: row.get(cpus::CPU).to_string(),
        core_type: row.get(cpus::CORE_TYPE).to_owned(),
        busy: row.get(cpus::BUSY_NS),
        idle: row.get(cpus::IDLE_NS),
        unknown: row.get(cpus::UNKNOWN_NS),
        inferred: row.get(cpus::INFERRED_NS.or_zero()),
        lossy: row.get(cpus::LOSSY_NS),
        switches: row.get(cpus::SWITCHES),
        inconsistent: row.get(cpus::BROKEN),
    };
    table.rows_of(cpus::Table).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_the_same_length_unless_there_is_no_time() {
        let bar =
            |busy, idle, unknown| Row { busy: Ns(busy), idle: Ns(idle), unknown: Ns(unknown), ..Row::default() }.bar();
        assert_eq!(bar(1, 1, 0), "############............");
        assert_eq!(bar(0, 0, 7), "????????????????????????");
        assert_eq!(bar(39, 1, 1).len(), 24);
        assert_eq!(bar(i64::MAX, i64::MAX, -1).len(), 24);
        assert_eq!(bar(0, 0, 0), "");
    }
}
