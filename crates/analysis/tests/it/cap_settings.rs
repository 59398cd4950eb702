//! Capabilities 3, 5 and 64, by their numbers in testdata/figures/README.md: the scheduling settings of threads, and
//! whether they ran on their ideal CPU.

use crate::support::drawn;
use testkit::ByName;

/// Two cores of two CPUs each share an L3 in pairs; a third has its own.
fn machine() -> topology::Machine {
    let mut machine = testkit::machine("cpu0 P0 .\ncpu1 P0 .\ncpu2 P1 .\ncpu3 P2 .");
    let ids = |of: &[u32]| of.iter().map(|id| model::CpuId(*id)).collect::<Vec<_>>();
    for (at, l3) in [[0, 1, 2].as_slice(), &[0, 1, 2], &[0, 1, 2], &[3]].into_iter().enumerate() {
        machine.cpus[at].l3 = ids(l3);
        machine.cpus[at].l2 = if at < 2 { ids(&[0, 1]) } else { ids(&[at as u32]) };
    }
    machine
}

/// CPU 1 becomes the ideal CPU of A at 1 ms. A runs 1 ms on CPU 0 before, then 2 there on the ideal CPU's sibling, 3 on
/// the ideal CPU, 1 on CPU 2 with the same L3, and 2 on CPU 3 that shares nothing.
#[test]
fn cap_64_time_on_the_ideal_cpu_in_its_cache_group_and_elsewhere() {
    let text = "cpu0    A A A . . . . . . .
                cpu1    . . . A A A . . . .
                cpu2    . . . . . . A . . .
                cpu3    . . . . . . . A A .
                ideal   . A@1 . . . . . . . .";
    let a = drawn(text, machine(), |whole| whole);
    let cols = ["ideal_ns", "same_core_ns", "same_l2_ns", "same_l3_ns", "elsewhere_ns", "unknown_ns"];
    assert_eq!(cols.map(|col| a.ints("ideal_cpu", col)[0] / 1_000_000), [3, 2, 0, 1, 2, 1]);
    let share = &a.tables["ideal_cpu"].rows[0][a.tables["ideal_cpu"].def.col("share").unwrap()];
    assert_eq!(*share, model::Value::Float(3.0 / 9.0));
}

/// The base priority (5) is that of the nice value, whatever priority it inherits: A has nice 0 and then 5, while its
/// switches record 98.
#[test]
fn cap_5_the_base_priority_of_a_thread() {
    let text = "cpu0  A   A A A   A A
                nice  A=0 . . A=5 . .
                prio  A=98";
    let a = drawn(text, topology::Machine::default(), |whole| whole);
    let cols = ["start_ns", "nice", "static_prio"].map(|col| a.ints("thread_scheduling", col));
    assert_eq!(cols, [vec![0, 3_000_000], vec![0, 5], vec![120, 125]]);
    assert_eq!(a.tables["thread_scheduling"].text(0, "policy"), Some("other"));
}
