//! The requests of a drawn server and its clients are those of a simulation that knows them.

use crate::support::drawn;
use proptest::prelude::*;
use std::collections::BTreeMap;
use testkit::{ByName, Rng};
use topology::Machine;

/// A client, start and end (ms), whether a waking brought it, and for how long the server worked.
type Request = (i64, i64, i64, bool, i64);

/// Rows of cells that are `.` unless they are set.
#[derive(Default)]
struct Grid(BTreeMap<String, BTreeMap<usize, String>>);

impl Grid {
    fn add(&mut self, row: &str, column: usize, what: &str) {
        let cell = self.0.entry(row.to_owned()).or_default().entry(column).or_default();
        *cell = if cell.is_empty() { what.to_owned() } else { format!("{cell},{what}") };
    }

    fn text(&self, columns: usize) -> String {
        let cell = |row: &BTreeMap<usize, String>, at| row.get(&at).cloned().unwrap_or_else(|| ".".to_owned());
        let line = |(name, row): (&String, &BTreeMap<usize, String>)| {
            format!("{name} {}\n", (0..columns).map(|at| cell(row, at)).collect::<Vec<_>>().join(" "))
        };
        self.0.iter().map(line).collect()
    }
}

/// Simulates a server, A, that serves its clients in order of their requests and sleeps when there is none. Each client runs for 1 ms,
/// asks at its begin, and sleeps until it is answered.
fn simulate(rng: &mut Rng, clients: usize, requests: usize) -> (String, Vec<Request>) {
    let (mut grid, mut truth) = (Grid::default(), Vec::new());
    grid.add("cpu0", 0, "A");
    grid.add("process", 0, "A");
    let name = |client: usize| char::from(b'B' + client as u8);
    let mut asks: Vec<usize> = (0..clients).map(|_| 4 + rng.below(9)).collect();
    for (client, at) in asks.iter().enumerate() {
        grid.add("process", 0, &name(client).to_string());
        grid.add(&format!("cpu{}", client + 1), 0, &format!("{}s", name(client)));
        grid.add("waking", at - 1, &format!("{}<.@{}", name(client), client + 1));
    }
    // Until when the server runs: its last answer.
    let mut free = 1;
    for _ in 0..requests {
        let client = (0..clients).min_by_key(|client| (asks[*client], *client)).unwrap();
        let asked = asks[client];
        grid.add(&format!("cpu{}", client + 1), asked, &format!("{}s", name(client)));
        let is_idle = asked > free;
        let begin = if is_idle { asked + 1 } else { free };
        // The client sleeps when it is answered.
        let work = (1 + rng.below(6)).max((asked + 2).saturating_sub(begin));
        if is_idle {
            grid.add("waking", asked, &format!("A<{}!", name(client)));
        }
        (begin..begin + work).for_each(|at| grid.add("cpu0", at, "A"));
        let start = if is_idle { asked } else { free };
        free = begin + work;
        grid.add("waking", free, &format!("{}<A", name(client)));
        truth.push((client as i64 + 2, start as i64, free as i64, is_idle, work as i64));
        asks[client] = free + 1 + rng.below(12);
    }
    (grid.text(free + 2), truth)
}

proptest! {
    #![proptest_config(testkit::drawn(100))]
    #[test]
    fn requests_are_those_of_the_simulation(seed in any::<u64>(), clients in 1usize..4, requests in 1usize..80) {
        let (text, mut truth) = simulate(&mut Rng(seed), clients, requests);
        let analysed = drawn(&text, Machine::default(), |whole| whole);
        let table = &analysed.tables["requests"];
        // The TID of each thread.
        let tids: BTreeMap<i64, i64> = analysed.threads.iter().map(|s| (s.thread.0, i64::from(s.tid.0))).collect();
        let mut rows: Vec<Request> = Vec::new();
        for row in 0..table.rows.len() {
            let of = |col| table.int(row, col).unwrap();
            let ms = |col| of(col) / 1_000_000;
            prop_assert_eq!(of("tid"), 1);
            prop_assert_eq!(of("response_ns"), of("end_ns") - of("start_ns"));
            let parts = ["before_ns", "running_ns", "ready_ns", "blocked_ns", "unknown_ns"];
            prop_assert_eq!(parts.map(of).iter().sum::<i64>(), of("response_ns"));
            let asked = table.int(row, "asked");
            prop_assert!(asked.is_none_or(|asked| asked == of("answered")));
            rows.push((tids[&of("answered")], ms("start_ns"), ms("end_ns"), asked.is_some(), ms("running_ns")));
        }
        let answers = |client: i64| truth.iter().filter(|request| request.0 == client).count();
        let certain: Vec<i64> = (2..5).filter(|client| answers(*client) >= 8).collect();
        truth.retain(|request| certain.contains(&request.0));
        truth.sort_unstable();
        rows.sort_unstable();
        let differs = rows.iter().zip(&truth).find(|(row, truth)| row != truth);
        prop_assert!(rows == truth, "{:?}, {} rows, {} true\n{}", differs, rows.len(), truth.len(), text);
    }
}
