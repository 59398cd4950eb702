//! Tests machines described by other tools: the drawings of the fixtures, and the trace collection compared with its reference
//! files.

use crate::support::{groups, of_type, type_sources, unpacked};
use model::{CoreType, CpuId};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::corpus;
use topology::{Fact, Machine, Source, cpulist, draw, is_description, is_machine, machine_file};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

fn fixtures() -> Vec<PathBuf> {
    let all = std::fs::read_dir(FIXTURES).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|p| p.extension().is_some_and(|x| x != "drawn" && x != "md")).collect();
    all.sort();
    all
}

fn fixture(name: &str) -> Machine {
    machine_file(&Path::new(FIXTURES).join(name)).unwrap()
}

#[test]
fn drawings_match_the_fixtures() {
    let bless = testkit::cases::is_blessing();
    for path in fixtures() {
        let mut expected = path.clone().into_os_string();
        expected.push(".drawn");
        assert!(is_machine(&path), "{}", path.display());
        let drawn = draw(&machine_file(&path).unwrap());
        if bless {
            std::fs::write(&expected, &drawn).unwrap();
        }
        assert_eq!(drawn, std::fs::read_to_string(&expected).unwrap(), "{}", path.display());
    }
}

/// Reads the same machine from the output of seven tools: their common facts must be equal.
#[test]
fn one_machine_from_many_tools() {
    let all: Vec<(PathBuf, Machine)> = fixtures()
        .into_iter()
        .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("vm."))
        .map(|p| (p.clone(), machine_file(&p).unwrap()))
        .collect();
    assert!(all.len() > 7);
    for (path, machine) in &all {
        assert_eq!(of_type(machine, CoreType::Uniform), "0-1", "{}", path.display());
        let (_, first) = &all[0];
        for (ours, theirs) in machine.cpus.iter().zip(&first.cpus) {
            for fact in [Fact::Package, Fact::Core, Fact::Siblings, Fact::L2, Fact::L3, Fact::Node] {
                let of =
                    |c: &topology::Cpu| (c.package, c.core, c.siblings.clone(), c.l2.clone(), c.l3.clone(), c.node);
                if ours.has(fact) && theirs.has(fact) {
                    let (a, b) = (of(ours), of(theirs));
                    let equal = match fact {
                        Fact::Package => a.0 == b.0,
                        Fact::Core => a.1 == b.1,
                        Fact::Siblings => a.2 == b.2,
                        Fact::L2 => a.3 == b.3,
                        Fact::L3 => a.4 == b.4,
                        _ => a.5 == b.5,
                    };
                    assert!(equal, "{} of CPU {} in {}", fact.as_str(), ours.id.0, path.display());
                }
            }
        }
    }
}

#[test]
fn kinds_of_core_are_those_of_hwloc() {
    let machine = fixture("kinds.hwloc3.xml");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3", "favoured cores are not a kind");
    assert_eq!(of_type(&machine, CoreType::Efficient), "4-8");
    assert_eq!(machine.cpus[4].cluster, Some(7));
    assert_eq!(machine.cpus[0].die, Some(2));
    assert!(!machine.cpus[8].online);
    assert!(machine.unknown.iter().any(|u| u.starts_with("CPU 8: offline")), "{:?}", machine.unknown);
    // With swapped names, the names decide, and the contradicting efficiency is noted.
    let text = std::fs::read_to_string(Path::new(FIXTURES).join("kinds.hwloc3.xml")).unwrap();
    let swapped = text.replace("IntelAtom", "x").replace("IntelCore", "IntelAtom").replace("\"x\"", "\"IntelCore\"");
    let machine = Machine::from_text(&swapped).unwrap();
    assert_eq!(of_type(&machine, CoreType::Performance), "4-7");
    assert!(machine.notes.iter().any(|n| n.contains("contradict")), "{:?}", machine.notes);
    assert!(machine.class[0].against.iter().any(|c| c.source == Source::MaxFrequency));
    // Without names and frequencies, the forced efficiency decides.
    let bare: String = text.lines().filter(|l| !l.contains("CoreType") && !l.contains("Frequency")).collect();
    let machine = Machine::from_text(&bare).unwrap();
    assert_eq!(machine.class_names, [CoreType::Efficient, CoreType::Middle, CoreType::Performance]);
    assert_eq!(of_type(&machine, CoreType::Performance), "2-3");
    assert_eq!(type_sources(&machine), [Source::Hwloc]);
    for (name, fast, slow) in [("arm431", "7", "0-3"), ("armsmt", "0-3", "4-7")] {
        let machine = fixture(&format!("{name}.hwloc2.xml"));
        assert_eq!(of_type(&machine, CoreType::Performance), fast, "{name}");
        assert_eq!(of_type(&machine, CoreType::Efficient), slow, "{name}");
        assert_eq!(type_sources(&machine), [Source::CpuCapacity], "{name}");
    }
}

/// Two performance cores (CPU 0-1), four efficient ones (2-5) and two low-power ones (6-7), whose kinds differ as given.
fn two_classes_of_atom(slow: &str, fast: &str, core: &str) -> Machine {
    let pus: String =
        (0..8).map(|n| format!("<object type=\"PU\" os_index=\"{n}\" cpuset=\"{:#x}\"/>", 1 << n)).collect();
    let kind = |cpus: &str, name: &str, rest: &str| {
        let (attribute, info) = rest.split_once('|').unwrap();
        format!("<cpukind cpuset=\"{cpus}\" {attribute}><info name=\"CoreType\" value=\"{name}\"/>{info}</cpukind>")
    };
    let kinds =
        [kind("0xc0", "IntelAtom", slow), kind("0x3c", "IntelAtom", fast), kind("0x3", "IntelCore", core)].concat();
    let xml =
        format!("<topology version=\"3.0\"><object type=\"Machine\" cpuset=\"0xff\">{pus}</object>{kinds}</topology>");
    Machine::from_text(&xml).unwrap()
}

#[test]
fn the_slower_of_two_classes_of_atom_is_low_power() {
    let mhz = |n: u32| format!("|<info name=\"FrequencyMaxMHz\" value=\"{n}\"/>");
    let efficiency = |n: u32| format!("forced_efficiency=\"{n}\"|");
    let capacity = |n: u32| format!("|<info name=\"LinuxCapacity\" value=\"{n}\"/>");
    for [slow, fast, core] in [
        [efficiency(0), efficiency(1), efficiency(2)],
        [mhz(2500), mhz(3800), mhz(4800)],
        [capacity(400), capacity(600), capacity(1024)],
    ] {
        let machine = two_classes_of_atom(&slow, &fast, &core);
        assert_eq!(machine.class_names, [CoreType::LowPower, CoreType::Efficient, CoreType::Performance], "{slow}");
        assert_eq!(of_type(&machine, CoreType::LowPower), "6-7", "{slow}");
        assert_eq!(of_type(&machine, CoreType::Efficient), "2-5", "{slow}");
        assert_eq!(type_sources(&machine), [Source::Hwloc], "{slow}");
        assert!(machine.class.iter().all(|judged| judged.against.is_empty()), "{slow}");
    }
    // The same speed within 5 %, and no speed at all: one class.
    let derived = |n: u32, f: u32| format!("forced_efficiency=\"{n}\"{}", mhz(f));
    for [slow, fast, core] in [
        [mhz(3700), mhz(3800), mhz(4800)],
        [derived(0, 3700), derived(1, 3800), derived(2, 4800)],
        ["|".into(), "|".into(), "|".into()],
    ] {
        let machine = two_classes_of_atom(&slow, &fast, &core);
        assert_eq!(machine.class_names, [CoreType::Efficient, CoreType::Performance], "{slow}");
        assert_eq!(of_type(&machine, CoreType::Efficient), "2-7", "{slow}");
    }
}

#[test]
fn an_invalid_description_is_an_error_with_a_place() {
    let xml = |body: &str| format!("<?xml version=\"1.0\"?>\n<topology version=\"2.0\">\n{body}\n</topology>\n");
    let pu = "<object type=\"Machine\" cpuset=\"0x1\"><object type=\"PU\" os_index=\"0\"/>";
    for (text, message) in [
        ("<html>", "an XML file, but not from hwloc"),
        ("{\"traceEvents\": []}", "a JSON file, but neither"),
        ("{\"lscpu\": [}", "line 1: invalid JSON"),
        ("{\"lscpu\": []}", "lscpu's output has no CPU"),
        ("{\"cpus\": [{\"cpu\": \"x\"}]}", "`x` is not a row of a CPU"),
        ("{\"cpus\": [{\"cpu\": 1}, {\"cpu\": 1}]}", "CPU 1 has two rows"),
        ("CPU(s): 4\nOn-line CPU(s) list: 0-x\n", "On-line CPU(s) list: `0-x` is not a CPU list"),
        ("cpu-capacities:\n  a: [\n", "line 3: invalid YAML"),
        ("platform-info:\n  name: x\n", "a platform file without CPUs"),
        (&xml("<object type=\"PU\" os_index=\"0\"/>"), "an hwloc XML without a Machine"),
        (&xml("<object type=\"Machine\"/>"), "line 3: no PUs"),
        (
            &xml(&format!("{pu}<object type=\"PU\" os_index=\"99999\"/></object>")),
            "line 3: a PU without a valid os_index",
        ),
        (&xml(&format!("{pu}\n<object type=\"Core\" cpuset=\"0-1\"/></object>")), "line 4: `0-1` is not a cpuset"),
        (&xml("<object type=\"Machine\">"), "line 4: invalid XML"),
        ("<!DOCTYPE topology [<!ENTITY a \"b\">]><topology>&a;</topology>", "an XML file with its own DTD"),
        ("{\"model_name\": null, \"cpus\": 3}", "line 1: invalid JSON"),
    ] {
        let why = Machine::from_text(text).unwrap_err().to_string();
        assert!(why.starts_with(message), "{text}\n  gave     {why}\n  expected {message}");
    }
    let archive = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(archive.path(), b"BZh91AY").unwrap();
    let why = machine_file(archive.path()).unwrap_err().to_string();
    assert!(why.contains("is an archive: unpack it"), "{why}");
}

#[test]
fn traces_and_prose_are_not_machines() {
    for text in [
        "",
        "# tracer: nop\n# entries-in-buffer/entries-written: 1/1   #P:8\n  a-1 [000] d..2 1.000: sched_switch: prev_comm=a\n",
        "perf 1 [000] 1.000: sched:sched_switch: CPU(s) 3\n",
        "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1}]}",
        "<html><body>processor</body></html>",
        "The CPU and its CORE",
    ] {
        assert!(!is_description(text), "{text}");
    }
    assert!(is_description("# mine\n[[cpus]]\nids = \"0\"\n"));
}

#[test]
fn our_own_json_round_trips() {
    for path in fixtures() {
        let machine = machine_file(&path).unwrap();
        let json = serde_json::to_string_pretty(&machine).unwrap();
        assert_eq!(Machine::from_text(&json).unwrap(), machine, "{}", path.display());
    }
    let json = serde_json::to_string(&fixture("kinds.hwloc3.xml")).unwrap();
    for (what, with) in [("\"id\":1,", "\"id\":7,"), ("\"value\":1", "\"value\":9"), ("\"efficient\"", "\"fast\"")] {
        assert!(Machine::from_text(&json.replacen(what, with, 1)).is_err(), "{what}");
    }
}

/// Compares the packages, cores, caches and kinds of core of hwloc's own exports with the cpusets in the files.
#[test]
fn hwloc_collection() {
    let read = |name: &str| machine_file(&corpus::path(&format!("topology/hwloc/hwloc__{name}.xml"))).unwrap();
    let machine = read("Intel-RaptorLake-Corei7-1370P");
    assert_eq!(of_type(&machine, CoreType::Performance), "0-11");
    assert_eq!(of_type(&machine, CoreType::Efficient), "12-19");
    assert_eq!(type_sources(&machine), [Source::Hwloc]);
    let pairs = ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11"];
    assert_eq!(groups(&machine, |c| &c.l2), [&pairs[..], &["12-15", "16-19"]].concat());
    assert_eq!(groups(&machine, |c| &c.siblings)[..6], pairs);
    assert_eq!(groups(&machine, |c| &c.l3), ["0-19"]);
    let machine = read("AMD-19h-Zen3-2xEpyc-7763");
    assert_eq!((machine.cpus.len(), of_type(&machine, CoreType::Uniform)), (128, "0-127".to_owned()));
    assert_eq!(groups(&machine, |c| &c.l3).len(), 16);
    assert_eq!(machine.cpus.iter().filter(|c| c.package == Some(1)).count(), 64);
    let machine = read("fakecpukinds");
    assert_eq!(groups(&machine, |c| &c.siblings), ["0,2", "1,3"]);
    assert_eq!(machine.core_class(CpuId(0)), 0, "the lowest efficiency and frequency");
    assert_eq!(machine.core_type(CpuId(3)), CoreType::Performance);
    assert_eq!(machine.cpus[2].vendor_type.as_deref(), Some("YouBigcore"));
}

/// Exports the tree of a hybrid laptop with hwloc, and compares the export with the tree.
#[test]
#[ignore = "needs lstopo"]
fn hwloc_and_sysfs_give_the_same_machine() {
    let stem = "20em64t-hybrid-1p6c2t+2ca4co1t";
    let archive = corpus::path(&format!("topology/hwloc/hwloc__{stem}.tar.bz2"));
    // Unpack everything: hwloc reads files that we do not.
    let tree = tempfile::tempdir().unwrap();
    let done = std::process::Command::new("tar").arg("-C").arg(tree.path()).arg("-xf").arg(&archive).status().unwrap();
    assert!(done.success());
    let by_sysfs = machine_file(tree.path()).unwrap();
    let below = tree.path().join(stem);
    let mut lstopo = std::process::Command::new("lstopo-no-graphics");
    lstopo.args(["--no-io", "--if", "fsroot", "--of", "xml", "-i"]).arg(&below);
    for version in ["", "v1"] {
        lstopo.args(if version.is_empty() { vec![] } else { vec!["--export-xml-flags", version] });
        let xml = lstopo.output().unwrap();
        let by_hwloc = Machine::from_text(&String::from_utf8(xml.stdout).unwrap()).unwrap();
        for (ours, theirs) in by_hwloc.cpus.iter().zip(&by_sysfs.cpus) {
            assert_eq!(
                (ours.id, ours.package, ours.core, &ours.siblings, &ours.l2, &ours.l3, ours.node),
                (theirs.id, theirs.package, theirs.core, &theirs.siblings, &theirs.l2, &theirs.l3, theirs.node)
            );
        }
        assert_eq!(by_hwloc.cpus.len(), by_sysfs.cpus.len());
        if version.is_empty() {
            assert_eq!(of_type(&by_hwloc, CoreType::Performance), of_type(&by_sysfs, CoreType::Performance));
            assert_eq!(of_type(&by_hwloc, CoreType::Efficient), of_type(&by_sysfs, CoreType::Efficient));
        } else {
            assert_eq!(by_hwloc.class_names, [CoreType::Uniform], "version 1 had no kinds of core");
        }
    }
}

/// Compares util-linux's expected outputs with the trees that they were made from.
#[test]
#[ignore = "needs corpus"]
fn lscpu_collection() {
    let lscpu = |name: &str| corpus::path(&format!("topology/lscpu/{name}"));
    for name in ["arm-A510-A710-A715-X3", "x86_64-epyc_7451"] {
        let (_keep, tree) = unpacked(&lscpu(&format!("util-linux__{name}.tar.gz")));
        let machine = machine_file(&lscpu(&format!("util-linux__lscpu-{name}"))).unwrap();
        assert_eq!(machine.cpus.len(), tree.cpus.len());
        for (ours, theirs) in machine.cpus.iter().zip(&tree.cpus) {
            assert_eq!((&ours.siblings, &ours.l2, &ours.l3), (&theirs.siblings, &theirs.l2, &theirs.l3), "{name}");
            assert_eq!(ours.node, theirs.node, "{name}");
        }
        assert_eq!(machine.sources[&Fact::Siblings], Source::Lscpu);
        assert_eq!(machine.class_names, [CoreType::Uniform], "lscpu -p has no kinds");
    }
    let arm = machine_file(&lscpu("util-linux__lscpu-arm-A510-A710-A715-X3")).unwrap();
    assert!(arm.unknown[0].contains("Cortex-A510, Cortex-A710, Cortex-A715, Cortex-X3"), "{:?}", arm.unknown);
    assert!(arm.notes[0].contains("treated as separate cores"), "{:?}", arm.notes);
    let epyc = machine_file(&lscpu("util-linux__lscpu-x86_64-epyc_7451")).unwrap();
    assert_eq!(epyc.model_name.as_deref(), Some("AMD EPYC 7451 24-Core Processor"));
    assert!((0..2).all(|n| epyc.cpus.iter().filter(|c| c.package == Some(n)).count() == 48));
}

/// LISA's board: `cpu-capacities` 446 and 1024, maximum frequencies 850 and 1100 MHz.
#[test]
fn lisa_collection() {
    for name in ["lisa__sched_load_plat_info.yml", "lisa__trace_txt_plat_info.yml"] {
        let machine = machine_file(&corpus::path(&format!("trace-dat/{name}"))).unwrap();
        assert_eq!(
            (of_type(&machine, CoreType::Performance), of_type(&machine, CoreType::Efficient)),
            ("1-2".into(), "0,3-5".into())
        );
        let capacities: Vec<_> = machine.cpus.iter().map(|c| c.capacity.unwrap()).collect();
        assert_eq!(capacities, [446, 1024, 1024, 446, 446, 446]);
        assert_eq!(machine.cpus[1].max_khz, Some(1_100_000));
        assert_eq!(
            (type_sources(&machine), machine.sources[&Fact::Capacity]),
            (vec![Source::CpuCapacity], Source::PlatInfo)
        );
        assert!(machine.notes.iter().any(|n| n == "kernel 4.19.0-07801-gf317706"));
    }
}

/// Reads pepc's folders; `recorded.rs` tests their trees.
#[test]
fn pepc_folders() {
    for (name, fast, slow, cores) in
        [("adl0", "0-7", "8-15", 12), ("mtl-m-2", "0-3", "4-13", 12), ("dell-9360-kbl", "", "", 2)]
    {
        let path = corpus::path(&format!("topology/pepc/{name}"));
        assert!(is_machine(&path), "{name}");
        let machine = machine_file(&path).unwrap();
        assert_eq!(of_type(&machine, CoreType::Performance), fast, "{name}");
        assert_eq!(of_type(&machine, CoreType::Efficient), slow, "{name}");
        assert_eq!(machine.sources[&Fact::Siblings], Source::CpuInfo, "{name}");
        assert_eq!(groups(&machine, |c| &c.siblings).len(), cores, "{name}");
        let of_l2 = groups(&machine, |c| &c.l2);
        let of_p_cores = groups(&machine, |c| &c.siblings).into_iter().filter(|g| g.contains(['-', ',']));
        of_p_cores.for_each(|core| assert!(of_l2.contains(&core), "{name}: a core's threads share its L2"));
        // /proc/cpuinfo alone has the cores, but not their kinds.
        let alone = machine_file(&path.join("proc/cpuinfo")).unwrap();
        assert_eq!(groups(&alone, |c| &c.siblings), groups(&machine, |c| &c.siblings), "{name}");
        assert_eq!(alone.class_names, [CoreType::Uniform], "{name}");
    }
}

/// Phones have names of cores, and core types only if the kernel provided a capacity or a frequency.
#[test]
fn phones() {
    let cpuinfo = |name: &str| corpus::path(&format!("topology/cpuinfo/{name}"));
    let names = |machine: &Machine| {
        let mut names: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
        machine.cpus.iter().for_each(|c| names.entry(c.vendor_type.clone().unwrap()).or_default().push(c.id));
        names.into_iter().map(|(name, of)| format!("{name} {}", cpulist::format(of))).collect::<Vec<_>>()
    };
    let galaxy = machine_file(&cpuinfo("cpuinfo__galaxy-s9-us.log")).unwrap();
    assert_eq!(names(&galaxy), ["Kryo-3XX-Gold 4-7", "Kryo-3XX-Silver 0-3"]);
    assert_eq!(galaxy.class_names, [CoreType::Uniform], "a name is not a class");
    // A C source with the phone's files as strings.
    let mock = std::fs::read_to_string(cpuinfo("cpuinfo__pixel-8.h")).unwrap();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for part in mock.split(".path = \"").skip(1) {
        let (path, rest) = part.split_once('"').unwrap();
        let content = rest.split(".content =").nth(1).unwrap_or_default();
        let strings =
            content.lines().filter_map(|l| l.trim().trim_end_matches(['}', ',']).strip_prefix('"')?.strip_suffix('"'));
        files.insert(path.to_owned(), strings.map(|s| s.replace("\\n", "\n").replace("\\t", "\t")).collect());
    }
    let pixel = Machine::from_sysfs(&files);
    assert_eq!(names(&pixel), ["Cortex-A510 0-3", "Cortex-A715 4-7", "Cortex-X3 8"]);
    println!("{}", draw(&pixel));
    assert_eq!(of_type(&pixel, CoreType::Performance), "8");
    assert_eq!(of_type(&pixel, CoreType::Efficient), "0-3");
}

#[test]
fn damaged_descriptions_never_panic() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for at in (0..bytes.len()).step_by((bytes.len() / 30).max(1)) {
            let _ = Machine::from_text(&String::from_utf8_lossy(&bytes[..at]));
            for with in [b'0', b'9', b'<', b'"', b':', b'[', b'-', b'\n', 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] = with;
                if let Ok(machine) = Machine::from_text(&String::from_utf8_lossy(&bytes)) {
                    assert!(machine.class.len() == machine.cpus.len() && !draw(&machine).is_empty(), "{name} at {at}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(testkit::drawn(256))]
    #[test]
    fn no_table_panics(cells in "[0-9,:\\- a-zA-Z#\n]{0,200}", head in prop::sample::select(vec![
        "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE MAXMHZ\n", "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n", "CPU(s): 8\n",
        "processor : 0\n", "cpu-capacities: ", "platform-info:\n  conf: ", "{\"cpus\": [{\"cpu\": 0, \"core\": \""
    ])) {
        let _ = Machine::from_text(&format!("{head}{cells}"));
    }
}
