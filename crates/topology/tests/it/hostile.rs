//! Tests texts that no kernel writes, and unreadable files: memory is limited, errors are noted, nothing panics.

use crate::support::Tree;
use model::CpuId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use topology::{Files, HeaderCache, HeaderCpu, HeaderTopology, Machine, draw};

/// A tree in which some paths cannot be read.
struct Locked(Tree, &'static str);

impl Files for Locked {
    fn read(&self, path: &str) -> Result<String> {
        if path.contains(self.1) { Err(ErrorKind::PermissionDenied.into()) } else { self.0.0.read(path) }
    }

    fn list(&self, path: &str) -> Result<Vec<String>> {
        if path.contains(self.1) { Err(Error::from(ErrorKind::PermissionDenied)) } else { self.0.0.list(path) }
    }
}

#[test]
fn a_denied_permission_is_noted_with_its_path() {
    let tree = Tree::of(2).each("0-1", "cpu_capacity", "1024").core("0-1");
    let machine = Machine::from_sysfs(&Locked(tree, "acpi_cppc"));
    assert_eq!(machine.unknown.len(), 2, "{:?}", machine.unknown);
    assert!(machine.unknown[0].starts_with("/sys/devices/system/cpu/cpu0/acpi_cppc/highest_perf: permission denied"));
    assert_eq!(machine.cpus[0].siblings.len(), 2);
    let many = Machine::from_sysfs(&Locked(Tree::of(200), "/cpu1"));
    assert!(many.unknown.len() <= 51 && many.unknown.last().unwrap().ends_with("more"));
}

#[test]
fn an_empty_tree_is_a_machine_without_cpus() {
    let machine = Machine::from_sysfs(&BTreeMap::<String, String>::new());
    assert!(machine.cpus.is_empty() && machine.unknown.is_empty());
    assert!(draw(&machine).contains("0 CPUs online"));
}

#[test]
fn endless_lists_and_numbers_are_refused() {
    let tree =
        Tree::of(2).each("0", "topology/core_cpus_list", "0-4294967295").each("1", "topology/core_cpus_list", "0");
    let tree = tree.each("0", "topology/physical_package_id", "-1").each("1", "topology/physical_package_id", "-7");
    let tree = tree.each("0-1", "cpu_capacity", "99999999999999999999").each("0", "topology/cluster_id", "65535");
    let machine = tree.machine();
    assert!(machine.cpus.iter().all(|c| c.siblings.is_empty() && c.package.is_none() && c.capacity.is_none()));
    let noted = |what: &str| machine.unknown.iter().filter(|u| u.contains(what)).count();
    assert_eq!(
        noted("cpu0/topology/core_cpus_list: `0-4294967295` names a CPU beyond 8191"),
        1,
        "{:?}",
        machine.unknown
    );
    assert_eq!(noted("cpu1/topology/core_cpus_list: does not include CPU 1 itself"), 1);
    assert_eq!(noted("cpu1/topology/physical_package_id: `-7` is not a number"), 1);
    assert_eq!(noted("cpu_capacity"), 2);
    assert_eq!(machine.unknown.len(), 5, "-1 and 65535 are the kernel's values for none: {:?}", machine.unknown);
    // Without a readable list, the folders give the CPUs.
    let tree = Tree::default().file("/sys/devices/system/cpu/online", "0-4294967295");
    let machine = tree.each("0", "cpu_capacity", "1").each("5", "cpu_capacity", "1").machine();
    assert_eq!(machine.cpus.iter().map(|c| c.id.0).collect::<Vec<_>>(), [0, 5]);
}

#[test]
fn cpus_that_all_claim_to_share_everything_stay_small() {
    let tree = Tree::of(4096).each("0-4095", "cache/index3/level", "3");
    let machine = tree.each("0-4095", "cache/index3/shared_cpu_list", "0-4095").machine();
    let entries: usize = machine.cpus.iter().map(|c| c.l3.len()).sum();
    assert!(entries <= 4 << 20, "{entries}");
    assert!(machine.unknown.iter().any(|u| u.contains("all further sharing lists are ignored")));
}

#[test]
fn too_many_levels_are_not_types() {
    let tree = (0..64)
        .fold(Tree::of(64), |tree, i| tree.each(&i.to_string(), "cpu_capacity", &(1_u64 << (i / 2)).to_string()));
    let machine = tree.machine();
    assert_eq!(machine.class_names.len(), 1);
    assert!(machine.notes[0].contains("too many to be core types"), "{:?}", machine.notes);
}

fn check_consistent(machine: &Machine) -> std::result::Result<(), TestCaseError> {
    prop_assert!(machine.cpus.windows(2).all(|w| w[0].id < w[1].id));
    prop_assert_eq!(machine.class.len(), machine.cpus.len());
    prop_assert!(!machine.class_names.is_empty());
    for judged in &machine.class {
        for claim in std::iter::once(&judged.best).chain(&judged.against) {
            prop_assert!((claim.value as usize) < machine.class_names.len());
        }
        prop_assert!(judged.against.iter().all(|c| c.value != judged.best.value));
    }
    for cpu in &machine.cpus {
        prop_assert!([&cpu.siblings, &cpu.l2, &cpu.l3].iter().all(|g| g.is_empty() || g.contains(&cpu.id)));
    }
    let drawing = draw(machine);
    prop_assert!(drawing.lines().all(|l| !l.ends_with(' ')), "{}", drawing);
    let json = serde_json::to_string(machine).unwrap();
    prop_assert_eq!(&serde_json::from_str::<Machine>(&json).unwrap(), machine);
    Ok(())
}

const NAMES: [&str; 10] = [
    "topology/core_cpus_list",
    "topology/physical_package_id",
    "topology/cluster_id",
    "cache/index2/level",
    "cache/index2/shared_cpu_list",
    "cache/index3/level",
    "cache/index3/shared_cpu_list",
    "cpu_capacity",
    "acpi_cppc/highest_perf",
    "cpufreq/cpuinfo_max_freq",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,2}",
        "[0-9]-[0-9]{1,2}",
        Just("0-11".to_owned()),
        Just("2".to_owned()),
        Just("3".to_owned()),
        "[0-9,\\- a\u{e9}]{0,9}",
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let file = (0..12_u32, 0..NAMES.len(), text());
    let pmu = (prop_oneof![Just("core"), Just("atom"), Just("lowpower")], text());
    let lists = (proptest::collection::vec(file, 0..80), proptest::collection::vec(pmu, 0..3), text(), any::<bool>());
    lists.prop_map(|(files, pmus, online, x86)| {
        let mut tree = Tree::of(12).file("/sys/devices/system/cpu/online", &online);
        if x86 {
            tree = tree.file("/proc/sys/kernel/arch", "x86_64");
        }
        for (cpu, name, text) in files {
            tree = tree.file(&format!("/sys/devices/system/cpu/cpu{cpu}/{}", NAMES[name]), &text);
        }
        pmus.into_iter().fold(tree, |tree, (pmu, text)| tree.file(&format!("/sys/devices/cpu_{pmu}/cpus"), &text))
    })
}

proptest! {
    #![proptest_config(testkit::drawn(100))]

    #[test]
    fn any_tree_gives_a_consistent_machine(tree in tree()) {
        check_consistent(&tree.machine())?;
    }

    #[test]
    fn any_overlay_is_consistent(below in tree(), above in tree()) {
        check_consistent(&below.machine().overlay(above.machine()))?;
    }

    #[test]
    fn any_header_gives_a_consistent_machine(
        lists in proptest::collection::vec(text(), 8),
        places in proptest::collection::vec((any::<Option<u32>>(), 0..4_u32), 0..12),
        available in any::<Option<u32>>(),
    ) {
        let header = HeaderTopology {
            available,
            core_siblings: lists[0..2].to_vec(),
            thread_siblings: lists[2..5].to_vec(),
            cpus: places.iter().map(|(core, n)| HeaderCpu { core: *core, socket: Some(*n), die: None }).collect(),
            caches: vec![HeaderCache { level: 2, kind: "Unified".into(), cpus: lists[5].clone() }],
            hybrid_pmus: vec![("cpu_core".into(), lists[6].clone()), ("cpu_atom".into(), lists[7].clone())],
            ..HeaderTopology::default()
        };
        check_consistent(&Machine::from_trace_header(&header))?;
    }

    #[test]
    fn any_machine_file_is_consistent_or_refused(
        ids in text(), kind in "(performance|efficient|middle|low_power|uniform|quick)", group in text(), rest in "[a-z=\\[\\]\"\n ]{0,20}"
    ) {
        let toml = format!("[[cpus]]\nids = \"{ids}\"\ntype = \"{kind}\"\nl2 = [\"{group}\"]\n{rest}");
        if let Ok(machine) = Machine::from_user(&toml) {
            check_consistent(&machine)?;
            check_consistent(&Machine::of_cpus((0..4).map(CpuId)).overlay(machine))?;
        }
    }
}
