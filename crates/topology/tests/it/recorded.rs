//! Compares the machines of the trace collection with the reference data recorded with them.

use crate::support::{groups, of_type, type_sources, unpacked};
use model::CoreType;
use std::collections::{BTreeMap, BTreeSet};
use testkit::corpus;
use topology::{Machine, Source, cpulist, draw};

/// guests/README.md describes the types by capacity, and the SMT pairs.
#[test]
fn guests_match_their_readme() {
    let mut seen = 0;
    for guest in corpus::list("guests") {
        let name = guest.file_name().unwrap().to_string_lossy().into_owned();
        let archive = guest.join("sys.tar.gz");
        if !archive.is_file() {
            continue;
        }
        let (_keep, machine) = unpacked(&archive);
        let types = [CoreType::Performance, CoreType::Middle, CoreType::Efficient, CoreType::Uniform];
        let types = types.map(|t| of_type(&machine, t));
        let family = name.split('-').next().unwrap();
        let capacities: Vec<u32> = machine.cpus.iter().filter_map(|c| c.capacity).collect();
        assert_eq!(machine.cpus.len(), 8, "{name}");
        assert!(machine.unknown.is_empty(), "{name}: {:?}", machine.unknown);
        let singles = ["0", "1", "2", "3", "4", "5", "6", "7"];
        match family {
            "arm431" => {
                assert_eq!(types, ["7", "4-6", "0-3", ""], "{name}");
                assert_eq!(capacities, [446, 446, 446, 446, 745, 745, 745, 1024]);
                assert_eq!(groups(&machine, |c| &c.siblings), singles);
                assert_eq!(groups(&machine, |c| &c.l2), ["0-3", "4-6", "7"]);
                assert_eq!(machine.cpus.iter().map(|c| c.cluster).max(), Some(Some(2)));
            }
            "armsmt" => {
                assert_eq!(types, ["0-3", "", "4-7", ""], "{name}");
                assert_eq!(capacities, [1024, 1024, 1024, 1024, 578, 578, 578, 578]);
                assert_eq!(groups(&machine, |c| &c.siblings), ["0-1", "2-3", "4", "5", "6", "7"]);
                assert_eq!(groups(&machine, |c| &c.l2), ["0-3", "4-7"]);
            }
            "arm44" => {
                assert_eq!(types, ["4-7", "", "0-3", ""], "{name}");
                assert_eq!(groups(&machine, |c| &c.siblings), singles);
            }
            "x86smt" => {
                assert_eq!(types, ["", "", "", "0-7"], "{name}");
                assert!(capacities.is_empty());
                assert_eq!(groups(&machine, |c| &c.siblings), ["0-1", "2-3", "4-5", "6-7"]);
                assert_eq!(groups(&machine, |c| &c.l2), ["0-1", "2-3", "4-5", "6-7"]);
                assert_eq!(type_sources(&machine), [Source::Assumed]);
                assert_eq!(machine.arch.as_deref(), Some("x86_64"));
            }
            other => panic!("guests/README.md has a family unknown to this test: {other}"),
        }
        if family.starts_with("arm") {
            assert_eq!(type_sources(&machine), [Source::CpuCapacity], "{name}");
            assert_eq!(machine.arch.as_deref(), Some("aarch64"), "{name}");
        }
        assert_eq!(groups(&machine, |c| &c.l3), ["0-7"], "{name}");
        seen += 1;
    }
    println!("{seen} guests");
    assert!(seen > 0);
}

/// Compares hwloc's tree with its `.console`: the PUs of each core, L2 groups, and the CPU kinds with their cpusets. The tree has no
/// hybrid PMU lists, and two of the six P-cores are favoured (5.2 GHz instead of 5.0 GHz).
#[test]
fn hwloc_raptor_lake() {
    let stem = "hwloc__20em64t-hybrid-1p6c2t+2ca4co1t";
    let (_keep, machine) = unpacked(&corpus::path(&format!("topology/hwloc/{stem}.tar.bz2")));
    let console = std::fs::read_to_string(corpus::path(&format!("topology/hwloc/{stem}.console"))).unwrap();
    let (mut l2, mut cores, mut l3) = (vec![], vec![], vec![]);
    let mut kinds = BTreeMap::new();
    for line in console.lines().map(str::trim) {
        let os = |line: &str| line.split("(P#").nth(1)?.split([')', ' ']).next()?.parse::<u32>().ok();
        if line.starts_with("L3Cache") {
            l3.push(vec![]);
        } else if line.starts_with("L2Cache") {
            l2.push(vec![]);
        } else if line.starts_with("Core ") {
            cores.push(vec![]);
        } else if line.starts_with("PU ") {
            let pu = model::CpuId(os(line).unwrap());
            [&mut l2, &mut cores, &mut l3].into_iter().for_each(|list| list.last_mut().unwrap().push(pu));
        } else if let Some(kind) = line.strip_prefix("CPU kind #") {
            let mask = u64::from_str_radix(kind.split("0x").nth(1).unwrap(), 16).unwrap();
            let ids = (0..64).filter(|bit| mask >> bit & 1 == 1).map(model::CpuId);
            kinds.insert(kind.split_whitespace().nth(2).unwrap().to_owned(), cpulist::format(ids));
        }
    }
    let lists = |all: Vec<Vec<model::CpuId>>| all.into_iter().map(cpulist::format).collect::<Vec<_>>();
    assert_eq!(groups(&machine, |c| &c.siblings), lists(cores));
    assert_eq!(groups(&machine, |c| &c.l2), lists(l2));
    assert_eq!(groups(&machine, |c| &c.l3), lists(l3));
    assert_eq!(of_type(&machine, CoreType::Efficient), kinds["0"]);
    assert_eq!(of_type(&machine, CoreType::Performance), kinds["1"]);
    assert_eq!(type_sources(&machine), [Source::CppcHighestPerf]);
    assert!(machine.class.iter().all(|j| j.against.is_empty()));
    assert_eq!(machine.model_name.as_deref(), Some("13th Gen Intel(R) Core(TM) i7-1370P"));
    assert!(machine.cpus.iter().all(|c| c.node == Some(0) && c.package == Some(0)));
    let drawing = draw(&machine);
    assert!(drawing.contains("5000-5200 MHz  [0+1] [2+3] [4+5] [6+7] [8+9] [10+11]"), "{drawing}");
    assert!(drawing.contains("[12 13 14 15] [16 17 18 19]"), "{drawing}");
}

/// Returns the sets of CPUs with the same value in a column (core, socket, L2, L3) of `lscpu -p`.
fn lscpu_groups(text: &str, key: impl Fn(&[&str]) -> Option<String>) -> BTreeSet<String> {
    let mut by: BTreeMap<String, Vec<model::CpuId>> = BTreeMap::new();
    let block = text.split("# CPU,Core,Socket").nth(1).unwrap();
    for line in block.lines().skip(1).take_while(|l| l.starts_with(|c: char| c.is_ascii_digit())) {
        let columns: Vec<&str> = line.split(',').collect();
        if let Some(key) = key(&columns) {
            by.entry(key).or_default().push(model::CpuId(columns[0].parse().unwrap()));
        }
    }
    by.into_values().map(cpulist::format).collect()
}

fn set(groups: Vec<String>) -> BTreeSet<String> {
    groups.into_iter().collect()
}

#[test]
#[ignore = "needs corpus"]
fn lscpu_arm_with_four_kinds_of_core() {
    let lscpu = |name: &str| corpus::path(&format!("topology/lscpu/{name}"));
    let (_keep, machine) = unpacked(&lscpu("util-linux__arm-A510-A710-A715-X3.tar.gz"));
    let expected = std::fs::read_to_string(lscpu("util-linux__lscpu-arm-A510-A710-A715-X3")).unwrap();
    // cpu_capacity is 280, 855 and 1024: the A710 and the A715 are one class with two names.
    assert_eq!(of_type(&machine, CoreType::Efficient), "0-2");
    assert_eq!(of_type(&machine, CoreType::Middle), "3-6");
    assert_eq!(of_type(&machine, CoreType::Performance), "7");
    assert_eq!(type_sources(&machine), [Source::CpuCapacity]);
    assert_eq!(set(groups(&machine, |c| &c.l2)), lscpu_groups(&expected, |c| Some(c[7].to_owned())));
    assert_eq!(set(groups(&machine, |c| &c.l3)), lscpu_groups(&expected, |c| Some(c[8].to_owned())));
    // Each "Model name" block of lscpu has the name, the number and the highest frequency of its cores.
    let mut named: BTreeMap<(String, u32), usize> = BTreeMap::new();
    for cpu in &machine.cpus {
        *named.entry((cpu.vendor_type.clone().unwrap(), cpu.max_khz.unwrap() / 1000)).or_default() += 1;
    }
    let value = |line: &str| line.split(':').nth(1).unwrap().trim().to_owned();
    let (mut listed, mut name, mut count) = (BTreeMap::new(), String::new(), 0);
    for line in expected.lines() {
        if line.starts_with("Model name") {
            name = value(line);
        } else if line.starts_with("Core(s) per socket") {
            count = value(line).parse().unwrap();
        } else if line.starts_with("CPU max MHz") {
            listed.insert((name.clone(), value(line).split('.').next().unwrap().parse::<u32>().unwrap()), count);
        }
    }
    assert_eq!(named, listed);
    assert!(
        draw(&machine).contains("`-- package 2"),
        "an L3 across several packages is drawn outside of them:\n{}",
        draw(&machine)
    );
}

#[test]
#[ignore = "needs corpus"]
fn lscpu_epyc() {
    let lscpu = |name: &str| corpus::path(&format!("topology/lscpu/{name}"));
    let (_keep, machine) = unpacked(&lscpu("util-linux__x86_64-epyc_7451.tar.gz"));
    let expected = std::fs::read_to_string(lscpu("util-linux__lscpu-x86_64-epyc_7451")).unwrap();
    assert_eq!(of_type(&machine, CoreType::Uniform), "0-95");
    assert_eq!(set(groups(&machine, |c| &c.siblings)), lscpu_groups(&expected, |c| Some(c[1].to_owned())));
    assert_eq!(set(groups(&machine, |c| &c.l2)), lscpu_groups(&expected, |c| Some(c[7].to_owned())));
    assert_eq!(set(groups(&machine, |c| &c.l3)), lscpu_groups(&expected, |c| Some(c[8].to_owned())));
    let packages: BTreeSet<String> =
        (0..2).map(|n| cpulist::format(machine.cpus.iter().filter(|c| c.package == Some(n)).map(|c| c.id))).collect();
    assert_eq!(packages, lscpu_groups(&expected, |c| Some(c[2].to_owned())));
    let nodes: BTreeSet<String> =
        (0..8).map(|n| cpulist::format(machine.cpus.iter().filter(|c| c.node == Some(n)).map(|c| c.id))).collect();
    assert_eq!(nodes, lscpu_groups(&expected, |c| Some(c[3].to_owned())));
    assert!(draw(&machine).lines().count() < 50);
}

/// pepc stores a `/sys` as lines `mode|path|value`, limited to what it uses (of the topology files, only the die).
fn pepc(name: &str) -> Machine {
    let dir = corpus::path(&format!("topology/pepc/{name}"));
    let text = std::fs::read_to_string(dir.join("sys/inlinefiles.txt")).unwrap();
    let mut files: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once('|')?.1.split_once('|'))
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    // It stores neither the level nor the type of caches, but the CPUs that share index2 and index3.
    for cpu in 0..64 {
        for level in [2, 3] {
            let at = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{level}");
            if files.contains_key(&format!("{at}/shared_cpu_list")) {
                files.insert(format!("{at}/level"), level.to_string());
            }
        }
    }
    files.insert("/proc/cpuinfo".to_owned(), std::fs::read_to_string(dir.join("proc/cpuinfo")).unwrap());
    Machine::from_sysfs(&files)
}

#[test]
fn pepc_alder_lake() {
    let machine = pepc("adl0");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-7");
    assert_eq!(of_type(&machine, CoreType::Efficient), "8-15");
    assert_eq!(type_sources(&machine), [Source::PmuCpuList]);
    assert_eq!(machine.cpus[0].max_khz, Some(4_700_000), "from cpufreq/policy0, as cpu0/cpufreq does not exist");
    assert_eq!(groups(&machine, |c| &c.l2), ["0-1", "2-3", "4-5", "6-7", "8-11", "12-15"]);
    let state = |s: &topology::IdleState| (s.name.clone(), s.target_residency_us, s.exit_latency_us);
    let states: Vec<_> = machine.cpus[0].idle_states.iter().map(state).collect();
    let expected = [("POLL", 0, 0), ("C1E", 4, 2), ("C6", 500, 170), ("C8", 600, 200), ("C10", 700, 230)];
    assert_eq!(states, expected.map(|(name, target, exit)| (name.to_owned(), Some(target), Some(exit))));
    assert!(machine.class.iter().all(|j| j.against.is_empty()), "CPPC and the frequency agree");
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
    println!("{}", draw(&machine));
}

/// The two low-power E-cores are in cpu_atom's list. They are efficient, since no source marks them as low power, but the difference
/// in CPPC and frequency is noted.
#[test]
fn pepc_meteor_lake() {
    let machine = pepc("mtl-m-2");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-13");
    assert_eq!(of_type(&machine, CoreType::LowPower), "");
    let finer = "max_frequency splits efficient into 2 kinds, slowest first: 12-13 | 4-11";
    assert!(machine.notes.iter().any(|n| n == finer), "{:?}", machine.notes);
    assert!(machine.class.iter().all(|j| j.against.is_empty()), "a finer partition does not differ");
    let drawing = draw(&machine);
    assert!(drawing.contains("[12 13]"), "{drawing}");
    println!("{drawing}");
}

#[test]
fn pepc_kaby_lake_is_uniform() {
    let machine = pepc("dell-9360-kbl");
    assert_eq!(of_type(&machine, CoreType::Uniform), "0-3");
    assert_eq!(groups(&machine, |c| &c.l2), ["0,2", "1,3"], "siblings are not neighbouring numbers");
}
