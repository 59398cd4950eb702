//! Capabilities 6, 20, 30, 31 and 34: the effect of SMT siblings and core types on threads, checked against printed
//! figures.

use crate::support::{Analysed, analyse};
use account::Rules;
use analysis::{Context, Running, capacity_used};
use model::{CpuId, CpuState, CpuStretch, Ns, Span, Table, ThreadKey, Timeline, Value};
use std::collections::BTreeMap;
use testkit::ByName;
use testkit::figures::{self, agrees};
use topology::Machine;

/// Two siblings: how long neither, the first, the second and both ran a thread, in thousandths of a percent.
struct Pair {
    cpus: [u32; 2],
    idle: i64,
    first: i64,
    second: i64,
    both: i64,
}

impl Pair {
    fn end(&self) -> i64 {
        self.idle + self.first + self.second + self.both
    }
}

/// A percentage in thousandths.
fn thousandths(row: &BTreeMap<String, String>, col: &str) -> i64 {
    (row[col].parse::<f64>().unwrap() * 1000.0).round() as i64
}

/// A table of pairs that were busy as given, over the longest of them; the rest of the shorter ones is unknown.
fn table_of(name: &str, pairs: &[Pair]) -> Table {
    let end = pairs.iter().map(Pair::end).max().unwrap();
    let groups: Vec<String> = pairs.iter().map(|p| format!("\"{},{}\"", p.cpus[0], p.cpus[1])).collect();
    let ids: Vec<String> = pairs.iter().flat_map(|p| p.cpus).map(|c| c.to_string()).collect();
    let text = format!("siblings = [{}]\n[[cpus]]\nids = \"{}\"\n", groups.join(", "), ids.join(","));
    let machine = Machine::from_user(&text).unwrap();
    let mut cpus = Vec::new();
    for pair in pairs {
        // Both, the first alone, the second alone, none, unknown.
        let cuts = [pair.both, pair.first, pair.second, pair.idle, end - pair.end()];
        let mut at = 0;
        for (place, length) in cuts.into_iter().enumerate() {
            let span = Span::new(Ns(at), Ns(at + length));
            at += length;
            for (which, cpu) in pair.cpus.into_iter().enumerate() {
                let (state, thread) = match place {
                    4 => (CpuState::Unknown, ThreadKey::UNKNOWN),
                    _ if place == 0 || place == which + 1 => (CpuState::Busy, ThreadKey(i64::from(cpu) + 1)),
                    _ => (CpuState::Idle, ThreadKey::IDLE),
                };
                cpus.push(CpuStretch { span, cpu: CpuId(cpu), state, thread });
            }
        }
    }
    cpus.sort_by_key(|s| (s.span.start, s.cpu));
    let followed: Vec<CpuId> = machine.cpus.iter().map(|c| c.id).collect();
    let span = Span::new(Ns::ZERO, Ns(end));
    let context = Context { machine: &machine, span, to_end: true, followed: &followed, ready_known: false };
    let mut running = Running::start(&[name], &context, Vec::new());
    running.push(&Timeline { cpus: &cpus, ..Timeline::default() });
    running.finish().remove(0)
}

fn ints(table: &Table, col: &str) -> Vec<i64> {
    (0..table.rows.len()).map(|row| table.int(row, col).unwrap()).collect()
}

fn float(table: &Table, row: usize, col: &str) -> f64 {
    match table.rows[row][table.def.col(col).unwrap()] {
        Value::Float(v) => v,
        _ => f64::NAN,
    }
}

/// Mean over the rows, in percent.
fn mean(table: &Table, cols: &[&str]) -> f64 {
    let sum: i64 = cols.iter().flat_map(|col| ints(table, col)).sum();
    sum as f64 / 1000.0 / table.rows.len() as f64
}

#[test]
fn cap_30_both_siblings_idle_and_both_active() {
    let mut means = Vec::new();
    for (name, end) in [("smt_siblings_8c16t", "8c16t"), ("smt_siblings_hybrid", "hybrid")] {
        let rows = figures::table(name);
        let pair = |row: &BTreeMap<String, String>| {
            let (idle, both) = (thousandths(row, "both_idle_pct"), thousandths(row, "both_active_pct"));
            let cpus = [row["lp_a"].parse().unwrap(), row["lp_b"].parse().unwrap()];
            Pair { cpus, idle, first: 100_000 - idle - both, second: 0, both }
        };
        let pairs: Vec<Pair> = rows.iter().map(pair).collect();
        let cores = table_of("smt_cores", &pairs);
        assert_eq!(ints(&cores, "idle_ns"), pairs.iter().map(|p| p.idle).collect::<Vec<_>>());
        assert_eq!(ints(&cores, "all_busy_ns"), pairs.iter().map(|p| p.both).collect::<Vec<_>>());
        assert_eq!(cores.text(7, "cpus"), Some("14-15"));
        agrees(&format!("30.mean_active.{end}"), mean(&cores, &["many_busy_ns"]));
        agrees(&format!("30.exactly_one.{end}"), mean(&cores, &["one_busy_ns"]));
        means.push(mean(&cores, &["all_busy_ns"]));
    }
    agrees("E5.relative", 100.0 * (1.0 - means[1] / means[0]));
    agrees("E5.points", means[0] - means[1]);
}

/// The pairs of a table of Linux-KI, or its row of totals.
fn linuxki(name: &str, kind: &str) -> Vec<Pair> {
    let rows = figures::table(name);
    let pair = |row: &BTreeMap<String, String>| Pair {
        cpus: [row["lp_a"].parse().unwrap_or(0), row["lp_b"].parse().unwrap_or(1)],
        idle: thousandths(row, "double_idle_pct"),
        first: thousandths(row, "lcpu1_busy_pct"),
        second: thousandths(row, "lcpu2_busy_pct"),
        both: thousandths(row, "double_busy_pct"),
    };
    rows.iter().filter(|r| r["row"] == kind).map(pair).collect()
}

#[test]
fn cap_31_double_busy_pairs() {
    let pairs = linuxki("linuxki_double_busy_same", "pair");
    let cores = table_of("smt_cores", &pairs);
    assert_eq!((cores.rows.len(), cores.text(0, "cpus")), (32, Some("0,32")));
    agrees("31.mean.double_idle_pct", mean(&cores, &["idle_ns"]));
    agrees("31.mean.lcpu1_busy_pct", mean(&cores, &["first_alone_ns"]));
    agrees("31.mean.lcpu2_busy_pct", mean(&cores, &["second_alone_ns"]));
    agrees("31.mean.double_busy_pct", mean(&cores, &["many_busy_ns"]));
    let end = pairs.iter().map(Pair::end).max().unwrap();
    let known = || ints(&cores, "unknown_ns").into_iter().map(|unknown| (end - unknown) as f64 / 1000.0);
    agrees("31.row_min", known().fold(f64::MAX, f64::min));
    agrees("31.row_max", known().fold(0.0, f64::max));
}

#[test]
fn cap_31_busy_by_cpus_and_by_cores() {
    for end in ["other", "same"] {
        let total = linuxki(&format!("linuxki_double_busy_{end}"), "total");
        assert_eq!(total[0].end(), 100_000);
        let (cores, used) = (table_of("smt_cores", &total), table_of("smt_utilisation", &total));
        agrees(&format!("31.logical_busy.{end}"), 100.0 * float(&used, 0, "busy_share"));
        agrees(&format!("31.core_busy.{end}"), mean(&cores, &["one_busy_ns", "many_busy_ns"]));
    }
}

#[test]
fn cap_34_one_thread_on_every_core_is_more_than_half() {
    let rows = figures::table("perf_smt_on_off");
    for node in ["other", "same"] {
        let instructions = |smt: &str| -> f64 {
            let run = format!("{node}_node_smt_{smt}");
            let row = rows.iter().find(|r| r["run"] == run && r["event"] == "instructions").unwrap();
            row["value"].parse().unwrap()
        };
        let gain = instructions("on") / instructions("off");
        agrees(&format!("34.capacity_at_50.{node}"), 100.0 * capacity_used(1, 2, gain));
    }
}

#[test]
fn cap_34_headroom_is_not_what_utilisation_leaves() {
    let half = |first| Pair { cpus: [first, first + 1], idle: 0, first: 100_000, second: 0, both: 0 };
    let used = table_of("smt_utilisation", &[half(0), half(2)]);
    let shares = ["busy_share", "used_share", "headroom_share"].map(|col| float(&used, 0, col));
    assert!((shares[0] - 0.5).abs() < 1e-9, "{shares:?}");
    assert!((shares[1] - 1.0 / 1.3).abs() < 1e-9 && (shares[2] - 0.3 / 1.3).abs() < 1e-9, "{shares:?}");
    // A second sibling that only slows down the first leaves no headroom.
    assert!((capacity_used(1, 2, 0.967) - 1.0).abs() < 1e-9);
}

fn drawn(text: &str, machine: Machine) -> Analysed {
    analyse(testkit::trace(text).opened(), machine, Rules::default(), |whole| whole)
}

#[test]
fn cap_20_bands_of_a_hybrid_machine() {
    // P only, P and E, P and E and second siblings.
    let text = "cpu0 P0  A A A A
                cpu1 P0  . . . B
                cpu2 E1  . C C C
                cpu3 E2  . . D D
                current  .@1,.@2,.@3 . . .";
    let a = drawn(text, testkit::machine(text));
    let cols = ["performance", "efficient", "second_siblings", "unknown", "duration_ns"];
    let cols = cols.map(|col| a.ints("concurrency_bands", col));
    let rows: Vec<[i64; 5]> = (0..cols[0].len()).map(|row| cols.each_ref().map(|c| c[row])).collect();
    let ms = 1_000_000;
    assert_eq!(rows, [[1, 0, 0, 0, ms], [1, 1, 0, 0, ms], [1, 2, 0, 0, ms], [1, 2, 1, 0, ms]]);
}

#[test]
fn cap_6_what_breaks_the_order_and_what_it_may_cost() {
    // A is on a slower core for three milliseconds, while a core of twice the capacity is idle for two.
    let drawing = "cpu0  B . . B
                   cpu1  A A A .";
    let machine = |fast: u32| {
        let cpus = format!(
            "siblings = [\"0\", \"1\"]
             [[cpus]]\nids = \"0\"\ntype = \"performance\"\n{}
             [[cpus]]\nids = \"1\"\ntype = \"efficient\"\ncapacity = 512\n",
            if fast > 0 { format!("capacity = {fast}") } else { String::new() },
        );
        Machine::from_user(&cpus).unwrap()
    };
    let of_a = |a: &Analysed, col| {
        let row = a.ints("placement", "tid").iter().position(|tid| *tid == 1).unwrap();
        a.tables["placement"].int(row, col)
    };
    let ms = Some(1_000_000);
    for (fast, cost) in [(1024, ms), (0, None), (512, None)] {
        let a = drawn(drawing, machine(fast));
        assert_eq!(of_a(&a, "slower_core_lower_ns"), Some(0));
        assert_eq!(of_a(&a, "slower_core_upper_ns"), Some(2_000_000));
        assert_eq!(of_a(&a, "in_order_ns"), ms);
        assert_eq!(of_a(&a, "cost_lower_ns"), Some(0));
        assert_eq!(of_a(&a, "cost_upper_ns"), cost, "capacity {fast}");
    }
    // If it is recorded when A is allowed on the faster core, both bounds are equal: for all of the two milliseconds,
    // for the second of them, and never.
    let cases = [("A=0-1 .", 2_000_000, 1_000_000), ("A=1 . A=0", 1_000_000, 500_000), ("A=1 .", 0, 0)];
    for (allowed, slower, cost) in cases {
        let a = drawn(&format!("{drawing}\n allowed {allowed}"), machine(1024));
        let range = ["slower_core_lower_ns", "slower_core_upper_ns", "cost_lower_ns", "cost_upper_ns"];
        let range = range.map(|col| of_a(&a, col).unwrap());
        assert_eq!(range, [slower, slower, cost, cost], "{allowed}");
    }
}
