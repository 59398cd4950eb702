//! Tests the core classes of hand-written machines.

use crate::support::{Tree, of_type, type_sources};
use model::{CoreType, CpuId};
use topology::{Machine, Source, draw};

const FREQ: &str = "cpufreq/cpuinfo_max_freq";
const CPPC: &str = "acpi_cppc/highest_perf";

/// Returns a machine with 2 P-cores of 2 threads and 4 E-cores with one L2. Each test adds what distinguishes the types.
fn hybrid() -> Tree {
    let tree = Tree::of(8).file("/proc/sys/kernel/arch", "x86_64");
    let tree = tree.core("0-1").core("2-3").core("4").core("5").core("6").core("7");
    tree.cache(2, "0-1").cache(2, "2-3").cache(2, "4-7").cache(3, "0-7")
}

fn pmus(tree: Tree) -> Tree {
    tree.file("/sys/devices/cpu_core/cpus", "0-3").file("/sys/devices/cpu_atom/cpus", "4-7")
}

#[test]
fn a_virtual_machine_is_uniform() {
    let machine = Tree::of(4).each("0-3", "cpu_capacity", "1024").machine();
    assert_eq!(of_type(&machine, CoreType::Uniform), "0-3");
    assert_eq!(type_sources(&machine), [Source::Assumed]);
    assert!(machine.unknown.is_empty());
    assert!(draw(&machine).contains("no source distinguishes the cores (capacity 1024 on every CPU)"));
}

#[test]
fn pmu_lists_decide_before_equal_capacities() {
    let machine = pmus(hybrid()).each("0-7", "cpu_capacity", "1024").each("0-7", FREQ, "5000000").machine();
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-7");
    assert_eq!(type_sources(&machine), [Source::PmuCpuList]);
    assert!(machine.class.iter().all(|j| j.against.is_empty()), "equal numbers are ignored");
    assert_eq!(machine.cpus[4].vendor_type.as_deref(), Some("cpu_atom"));
    assert_eq!(machine.core_class(CpuId(0)), 1);
    assert_eq!(machine.core_class(CpuId(99)), 0);
}

#[test]
fn only_a_pmu_makes_a_class_low_power() {
    let tree = hybrid().file("/sys/devices/cpu_core/cpus", "0-3").file("/sys/devices/cpu_atom/cpus", "4-5");
    let machine = tree.file("/sys/devices/cpu_lowpower/cpus", "6-7").machine();
    assert_eq!(machine.class_names, [CoreType::LowPower, CoreType::Efficient, CoreType::Performance]);
    assert_eq!(of_type(&machine, CoreType::LowPower), "6-7");
    // The lowest of three is not low power by its capacity alone.
    let arm = Tree::of(3).each("0", "cpu_capacity", "200").each("1", "cpu_capacity", "600");
    let machine = arm.each("2", "cpu_capacity", "1024").machine();
    assert_eq!(machine.class_names, [CoreType::Efficient, CoreType::Middle, CoreType::Performance]);
}

#[test]
fn capacities_within_five_per_cent_are_one_class() {
    let two = |low: &str| Tree::of(2).each("0", "cpu_capacity", low).each("1", "cpu_capacity", "1024").machine();
    assert_eq!(two("976").class_names, [CoreType::Uniform]);
    assert_eq!(two("970").class_names, [CoreType::Efficient, CoreType::Performance]);
}

#[test]
fn favoured_turbo_cores_are_not_a_class() {
    // A small i9-14900K: two P-cores at 6.0 GHz, the others at 5.6, E-cores at 4.4.
    let tree = Tree::of(8).file("/proc/sys/kernel/arch", "x86_64").core("0-1").core("2-3").core("4").core("5");
    let tree = tree.core("6").core("7").cache(2, "0-1").cache(2, "2-3").cache(2, "4-7");
    let tree = tree.each("0-1", FREQ, "5600000").each("2-3", FREQ, "6000000").each("4-7", FREQ, "4400000");
    let machine = tree.machine();
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-7");
    assert_eq!(type_sources(&machine), [Source::MaxFrequency]);
    let noted = |start: &str| machine.notes.iter().any(|n| n.starts_with(start));
    assert!(noted("max_frequency: CPU 2-3 (6000000) higher than 0-1 (5600000)"), "{:?}", machine.notes);
    assert!(noted("the core types are inferred from the maximum frequency only"), "{:?}", machine.notes);
    // Turbo Boost Max of Broadwell-E: 4.0 and 3.5 GHz, otherwise equal.
    let tree = Tree::of(4).core("0").core("1").core("2").core("3").each("0-3", FREQ, "3500000");
    assert_eq!(tree.each("2", FREQ, "4000000").machine().class_names, [CoreType::Uniform]);
}

#[test]
fn capacities_of_x86_are_treated_like_cppc() {
    let tree = Tree::of(4).core("0").core("1").core("2").core("3");
    let tree = tree.each("0-2", "cpu_capacity", "955").each("3", "cpu_capacity", "1024");
    assert_eq!(tree.clone().file("/proc/sys/kernel/arch", "x86_64").machine().class_names, [CoreType::Uniform]);
    assert_eq!(tree.file("/proc/sys/kernel/arch", "aarch64").machine().class_names.len(), 2);
}

#[test]
fn preferred_cores_in_small_steps_are_not_classes() {
    // AMD ranks cores in CPPC: 166, 171, 176 ... 236.
    let tree = (0..16).fold(Tree::of(16).file("/proc/sys/kernel/arch", "x86_64"), |tree, i| {
        tree.each(&i.to_string(), CPPC, &(166 + 5 * i).to_string())
    });
    assert_eq!(tree.machine().class_names, [CoreType::Uniform]);
}

#[test]
fn close_frequencies_are_classes_if_the_cores_differ_in_shape() {
    // A small Arrow Lake: 4.9 and 4.4 GHz, no SMT, only the E-cores share their L2.
    let tree = Tree::of(6).file("/proc/sys/kernel/arch", "x86_64").cache(2, "0").cache(2, "1").cache(2, "2-5");
    let tree = (0..6).fold(tree, |tree, i| tree.core(&i.to_string()));
    let machine = tree.each("0-1", FREQ, "4900000").each("2-5", FREQ, "4400000").machine();
    assert_eq!(of_type(&machine, CoreType::Efficient), "2-5");
    // Zen 4 and Zen 4c: the same shape, but very different values.
    let tree = Tree::of(4).core("0-1").core("2-3").each("0-1", CPPC, "196").each("2-3", CPPC, "140");
    assert_eq!(of_type(&tree.machine(), CoreType::Efficient), "2-3");
}

#[test]
fn a_source_with_reversed_order_contradicts() {
    let machine = pmus(hybrid()).each("0-3", FREQ, "3000000").each("4-7", FREQ, "5000000").machine();
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    for judged in &machine.class {
        let [against] = judged.against.as_slice() else { panic!("{judged:?}") };
        assert_eq!(against.source, Source::MaxFrequency);
        assert_ne!(against.value, judged.best.value);
    }
    let drawing = draw(&machine);
    assert!(drawing.contains("differs: performance 4-7 (source: max_frequency)"), "{drawing}");
}

#[test]
fn a_source_with_another_boundary_is_kept_as_a_differing_claim() {
    let tree = pmus(hybrid()).each("0-4", CPPC, "60").each("5-7", CPPC, "35");
    let machine = tree.machine();
    let against: Vec<u32> =
        machine.cpus.iter().zip(&machine.class).filter(|(_, j)| !j.against.is_empty()).map(|(c, _)| c.id.0).collect();
    assert_eq!(against, [4]);
    assert_eq!(machine.class[4].against[0].value, 1);
    assert_eq!(machine.core_type(CpuId(4)), CoreType::Efficient, "the PMU decides");
}

#[test]
fn an_offline_cpu_with_few_files_is_not_an_error() {
    let tree = Tree::of(4).file("/sys/devices/system/cpu/online", "0-2").core("0").core("1").core("2");
    let machine = tree.each("0-1", "cpu_capacity", "512").each("2", "cpu_capacity", "1024").machine();
    assert!(!machine.cpus[3].online);
    assert!(machine.cpus[3].siblings.is_empty());
    assert_eq!(of_type(&machine, CoreType::Performance), "2");
    assert_eq!(machine.class[3].best.source, Source::Assumed);
    assert_eq!(machine.unknown, ["core type of CPU 3: not recorded, assumed to be the slowest"]);
    let drawing = draw(&machine);
    assert!(drawing.contains("3 CPUs online (offline: 3), 3 cores"), "{drawing}");
}

#[test]
fn a_source_that_covers_all_online_cpus_takes_precedence() {
    let tree = hybrid().each("0-3", CPPC, "60").each("4-6", CPPC, "35").each("0-3", FREQ, "5000000");
    let machine = tree.each("4-7", FREQ, "3500000").machine();
    assert_eq!(type_sources(&machine), [Source::MaxFrequency]);
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-7");
}

#[test]
fn cpu_numbers_alone_give_uniform_cores() {
    let machine = Machine::of_cpus([3, 1, 1, 0].map(CpuId));
    assert_eq!(machine.cpus.iter().map(|c| c.id.0).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(machine.class_names, [CoreType::Uniform]);
    assert_eq!(machine.class.len(), 3);
    assert!(machine.sources.is_empty());
    assert!(draw(&machine).contains("uniform  0 1 3"), "{}", draw(&machine));
    assert_eq!(Machine::of_cpus([]).core_type(CpuId(0)), CoreType::Uniform);
}
