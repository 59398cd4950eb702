//! Machines of the trace collection, held against what was recorded beside them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests stand outside the test functions"
)]

mod support;

use model::CoreType;
use std::collections::{BTreeMap, BTreeSet};
use support::{collection, deciders, groups, of_type, unpacked};
use topology::{Machine, Source, cpulist, draw};

/// guests/README.md: types by capacity, and SMT pairs.
#[test]
#[ignore = "needs ../shared"]
fn guests_are_as_their_readme_says() {
    let dir = collection();
    let mut seen = 0;
    for guest in std::fs::read_dir(dir.join("guests")).unwrap().map(|e| e.unwrap().path()) {
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
                assert_eq!(deciders(&machine), [Source::Assumed]);
                assert_eq!(machine.arch.as_deref(), Some("x86_64"));
            }
            other => panic!("guests/README.md has a family that this test does not know: {other}"),
        }
        if family.starts_with("arm") {
            assert_eq!(deciders(&machine), [Source::CpuCapacity], "{name}");
            assert_eq!(machine.arch.as_deref(), Some("aarch64"), "{name}");
        }
        assert_eq!(groups(&machine, |c| &c.l3), ["0-7"], "{name}");
        seen += 1;
    }
    println!("{seen} guests");
    assert!(seen > 0);
}

/// hwloc's tree and its `.console`: PUs of each core, L2 groups, and the CPU kinds with their cpusets. The kernel had no
/// hybrid PMU lists in it, and two of the six P-cores are favoured (5.2 against 5.0 GHz).
#[test]
#[ignore = "needs ../shared"]
fn hwloc_raptor_lake() {
    let dir = collection();
    let stem = "hwloc__20em64t-hybrid-1p6c2t+2ca4co1t";
    let (_keep, machine) = unpacked(&dir.join(format!("topology/hwloc/{stem}.tar.bz2")));
    let console = std::fs::read_to_string(dir.join(format!("topology/hwloc/{stem}.console"))).unwrap();
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
    assert_eq!(deciders(&machine), [Source::CppcHighestPerf]);
    assert!(machine.class.iter().all(|j| j.against.is_empty()));
    assert_eq!(machine.model_name.as_deref(), Some("13th Gen Intel(R) Core(TM) i7-1370P"));
    assert!(machine.cpus.iter().all(|c| c.node == Some(0) && c.package == Some(0)));
    let drawing = draw(&machine);
    assert!(drawing.contains("5000-5200 MHz  [0+1] [2+3] [4+5] [6+7] [8+9] [10+11]"), "{drawing}");
    assert!(drawing.contains("[12 13 14 15] [16 17 18 19]"), "{drawing}");
}

/// The CPU, core, socket, L2 and L3 columns of `lscpu -p`: sets of CPUs that have the same value.
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
#[ignore = "needs ../shared"]
fn lscpu_arm_with_four_kinds_of_core() {
    let dir = collection();
    let dir = dir.join("topology/lscpu");
    let (_keep, machine) = unpacked(&dir.join("util-linux__arm-A510-A710-A715-X3.tar.gz"));
    let expected = std::fs::read_to_string(dir.join("util-linux__lscpu-arm-A510-A710-A715-X3")).unwrap();
    // cpu_capacity 280, 855, 1024: the A710 and the A715 are one class with two names.
    assert_eq!(of_type(&machine, CoreType::Efficient), "0-2");
    assert_eq!(of_type(&machine, CoreType::Middle), "3-6");
    assert_eq!(of_type(&machine, CoreType::Performance), "7");
    assert_eq!(deciders(&machine), [Source::CpuCapacity]);
    assert_eq!(set(groups(&machine, |c| &c.l2)), lscpu_groups(&expected, |c| Some(c[7].to_owned())));
    assert_eq!(set(groups(&machine, |c| &c.l3)), lscpu_groups(&expected, |c| Some(c[8].to_owned())));
    // Each "Model name" block of lscpu has the cores' name, their number and their highest frequency.
    let mut named: BTreeMap<(String, u32), usize> = BTreeMap::new();
    for cpu in &machine.cpus {
        *named.entry((cpu.vendor_type.clone().unwrap(), cpu.max_khz.unwrap() / 1000)).or_default() += 1;
    }
    let value = |line: &str| line.split(':').nth(1).unwrap().trim().to_owned();
    let (mut told, mut name, mut count) = (BTreeMap::new(), String::new(), 0);
    for line in expected.lines() {
        if line.starts_with("Model name") {
            name = value(line);
        } else if line.starts_with("Core(s) per socket") {
            count = value(line).parse().unwrap();
        } else if line.starts_with("CPU max MHz") {
            told.insert((name.clone(), value(line).split('.').next().unwrap().parse::<u32>().unwrap()), count);
        }
    }
    assert_eq!(named, told);
    assert!(
        draw(&machine).contains("`-- package 2"),
        "an L3 over several packages is drawn outside:\n{}",
        draw(&machine)
    );
}

#[test]
#[ignore = "needs ../shared"]
fn lscpu_epyc() {
    let dir = collection();
    let dir = dir.join("topology/lscpu");
    let (_keep, machine) = unpacked(&dir.join("util-linux__x86_64-epyc_7451.tar.gz"));
    let expected = std::fs::read_to_string(dir.join("util-linux__lscpu-x86_64-epyc_7451")).unwrap();
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

/// pepc keeps a `/sys` as lines of `mode|path|value`, without what it does not use (no topology files but the die's).
fn pepc(name: &str) -> Machine {
    let dir = collection().join("topology/pepc").join(name);
    let text = std::fs::read_to_string(dir.join("sys/inlinefiles.txt")).unwrap();
    let mut files: BTreeMap<String, String> = text
        .lines()
        .filter_map(|line| line.split_once('|')?.1.split_once('|'))
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    // Of caches it keeps neither level nor type, but who shares index2 and index3.
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
#[ignore = "needs ../shared"]
fn pepc_alder_lake() {
    let machine = pepc("adl0");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-7");
    assert_eq!(of_type(&machine, CoreType::Efficient), "8-15");
    assert_eq!(deciders(&machine), [Source::PmuCpuList]);
    assert_eq!(machine.cpus[0].max_khz, Some(4_700_000), "from cpufreq/policy0, as cpu0/cpufreq is not there");
    assert_eq!(groups(&machine, |c| &c.l2), ["0-1", "2-3", "4-5", "6-7", "8-11", "12-15"]);
    let state = |s: &topology::IdleState| (s.name.clone(), s.target_residency_us, s.exit_latency_us);
    let states: Vec<_> = machine.cpus[0].idle_states.iter().map(state).collect();
    let told = [("POLL", 0, 0), ("C1E", 4, 2), ("C6", 500, 170), ("C8", 600, 200), ("C10", 700, 230)];
    assert_eq!(states, told.map(|(name, target, exit)| (name.to_owned(), Some(target), Some(exit))));
    assert!(machine.class.iter().all(|j| j.against.is_empty()), "CPPC and the frequency agree");
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
    println!("{}", draw(&machine));
}

/// Its two low-power E-cores stand in cpu_atom's list: efficient, as no source says low power; but what CPPC and the
/// frequency see is told.
#[test]
#[ignore = "needs ../shared"]
fn pepc_meteor_lake() {
    let machine = pepc("mtl-m-2");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-13");
    assert_eq!(of_type(&machine, CoreType::LowPower), "");
    let finer = "max_frequency sees 2 kinds within efficient, slowest first: 12-13 | 4-11";
    assert!(machine.notes.iter().any(|n| n == finer), "{:?}", machine.notes);
    assert!(machine.class.iter().all(|j| j.against.is_empty()), "finer is not against");
    let drawing = draw(&machine);
    assert!(drawing.contains("[12 13]"), "{drawing}");
    println!("{drawing}");
}

#[test]
#[ignore = "needs ../shared"]
fn pepc_kaby_lake_is_uniform() {
    let machine = pepc("dell-9360-kbl");
    assert_eq!(of_type(&machine, CoreType::Uniform), "0-3");
    assert_eq!(groups(&machine, |c| &c.l2), ["0,2", "1,3"], "siblings are not pairs n, n+1");
}
