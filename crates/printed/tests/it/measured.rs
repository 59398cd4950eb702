//! What `perf stat` and tables of ready and waiting times measured, by hand-made tables.

use printed::{Measured, read};

fn measured(text: &str) -> Vec<Measured> {
    let sheet = read("table", text).unwrap();
    sheet.kind.measured(&sheet).unwrap()
}

fn one(text: &str) -> Measured {
    let mut all = measured(text);
    assert_eq!(all.len(), 1, "{:?}", all.iter().map(|m| &m.run).collect::<Vec<_>>());
    all.remove(0)
}

fn close(of: &Measured, id: &str, wanted: f64) {
    let value = of.values.get(id).copied();
    assert!(value.is_some_and(|v| (v - wanted).abs() <= 1e-9 * wanted.abs()), "{id}: {value:?}, not {wanted}");
}

/// perf stat 6.1 -- sleep 1: one second of time, in which 2 ms of CPU time had 4e6 cycles (2 GHz) and 6e6 instructions.
#[test]
fn text_of_one_run() {
    let of = one(" Performance counter stats for 'sleep 1':

              2.00 msec task-clock                #    0.002 CPUs utilized
                 4      context-switches          #    2.000 K/sec
         4,000,000      cycles                    #    2.000 GHz
         6,000,000      instructions              #    1.50  insn per cycle
           100,000      LLC-loads
            25,000      LLC-load-misses           #   25.00% of all LL-cache accesses
   <not supported>      L1-icache-loads

       1.000000000 seconds time elapsed
       0.001000000 seconds user
       0.001000000 seconds sys
");
    for (id, wanted) in [
        ("elapsed", 1e9),
        ("cpu_ns", 2e6),
        ("cycles", 4e6),
        ("instructions", 6e6),
        ("ipc", 1.5),
        ("cpi", 4.0 / 6.0),
        ("frequency", 2e6),
        ("LLC-load-misses.share", 0.25),
        ("LLC-load-misses.mpki", 25e3 / 6e3),
        ("context-switches.per_cpu_s", 2000.0),
    ] {
        close(&of, id, wanted);
    }
    assert!(of.lacks.is_empty(), "{:?}", of.lacks);
    assert!(!of.values.contains_key("L1-icache-loads"));
}

/// `-x,`: an event that was counted for 4 % of the time is refused, one for 40 % is used and named.
#[test]
fn a_multiplexed_count_below_five_percent_is_refused() {
    let of = one("2.00,msec,task-clock,2000000,100.00,0.002,CPUs utilized\n\
                  4000000,,cycles,800000,40.00,2.000,GHz\n\
                  6000000,,instructions,80000,4.00,1.50,insn per cycle\n");
    close(&of, "cycles", 4e6);
    close(&of, "running_share", 0.4);
    assert!(!of.values.contains_key("instructions") && !of.values.contains_key("ipc"), "{:?}", of.values);
    assert!(of.lacks[0].starts_with("instructions was counted for 4.00 % of the time"), "{:?}", of.lacks);
    assert!(of.lacks[1].starts_with("1 of 3 events were counted for only 40 to 40 %"), "{:?}", of.lacks);
}

/// A task ran 98 % of its time on P-cores. perf extrapolates the 2e5 cycles of the 2 % on E-cores to 1e7: only the raw counts
/// may be summed, and a share below 5 % is no reason to refuse a count of a core type.
#[test]
fn counts_of_core_types_are_summed_without_extrapolation() {
    let of = one("10000000,,cpu_core/cycles/,980000,98.00,,\n10000000,,cpu_atom/cycles/,20000,2.00,,\n\
                  20000000,,cpu_core/instructions/,980000,98.00,,\n20000000,,cpu_atom/instructions/,20000,2.00,,\n");
    close(&of, "cpu_core/cycles/", 9.8e6);
    close(&of, "cpu_atom/cycles/", 2e5);
    close(&of, "cycles", 1e7);
    close(&of, "ipc", 2.0);
    assert!(of.lacks.is_empty(), "{:?}", of.lacks);
    // Both types were counted half of the time that their CPUs were measured: the sum is unknown.
    let of = one("10000000,,cpu_core/cycles/,900000,50.00,,\n10000000,,cpu_atom/cycles/,100000,30.00,,\n");
    assert!(!of.values.contains_key("cycles"));
    assert!(of.lacks[0].contains("cover 80 % of the time"), "{:?}", of.lacks);
}

/// Counts in user mode do not give the frequency or the CPI of the whole time.
#[test]
fn counts_of_user_mode_keep_their_names() {
    let of = one("2.00,msec,task-clock,2000000,100.00,0.002,CPUs utilized\n4000000,,cycles:u,2000000,100.00,,\n\
                  6000000,,instructions:u,2000000,100.00,,\n");
    close(&of, "cycles:u", 4e6);
    assert!(["cycles", "ipc", "frequency"].iter().all(|id| !of.values.contains_key(*id)), "{:?}", of.values);
}

/// `-I 1000 -A`: intervals and CPUs are summed.
#[test]
fn intervals_and_cpus_are_parts_of_one_run() {
    let of = one("1.0,CPU0,10,,cycles,1,100.00,,\n1.0,CPU1,20,,cycles,1,100.00,,\n2.0,CPU0,30,,cycles,1,100.00,,\n\
                  2.0,CPU1,40,,cycles,1,100.00,,\n");
    close(&of, "cycles", 100.0);
    let of = one("1.0,10,,cycles,1,100.00,,\n2.0,20,,cycles,1,100.00,,\n3.0,<not counted>,,cycles,0,100.00,,\n");
    close(&of, "elapsed", 3e9);
    assert!(!of.values.contains_key("cycles") && of.lacks == ["cycles was not counted all the time"], "{of:?}");
}

#[test]
fn outputs_in_one_file_are_runs() {
    let block = " Performance counter stats for 'x':\n\n 4 cycles\n\n 1.5 seconds time elapsed\n";
    let all = measured(&block.repeat(2));
    assert_eq!(all.iter().map(|m| m.run.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    close(&all[1], "elapsed", 1.5e9);
}

/// WPA: threads of one name are summed, their longest times are compared; rows of processes have no TID.
#[test]
fn threads_of_one_name_are_one_role() {
    let of = one("New Process;New Thread Id;New Thread Name;CPU Usage (in view) (ms);Ready (us) Sum;Waits (us) Sum;Ready (us) Max;Count;Count:Waits
game;;;9,0;;;;;
game;7;Worker;3,0;1000;500;100;5;4
game;8;Worker;5,0;1000;500;300;5;3
");
    let worker = &of.rows["Worker"];
    for (id, wanted) in [
        ("threads", 2.0),
        ("running_ns", 8e6),
        ("ready_ns", 2e6),
        ("blocked_ns", 1e6),
        ("max_ready_ns", 3e5),
        ("switches", 10.0),
        ("involuntary", 3.0),
        ("ready_share", 0.2),
        ("involuntary_share", 0.3),
    ] {
        assert!((worker[id] - wanted).abs() <= 1e-9 * wanted, "{id}: {}", worker[id]);
    }
    assert_eq!(of.rows.len(), 1);
}
