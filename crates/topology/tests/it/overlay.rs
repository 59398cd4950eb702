//! Tests machines from trace headers and from the user, and their overlay.

use crate::support::{Tree, groups, of_type, type_sources};
use model::{CoreType, CpuId};
use topology::{Fact, HeaderCache, HeaderCpu, HeaderTopology, Machine, Source, draw, machine_file};

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Returns the header that `perf report --header-only` shows for a hybrid laptop with one offline CPU.
fn header() -> HeaderTopology {
    let position = |core| HeaderCpu { core: Some(core), socket: Some(0), die: Some(0) };
    let unknown = HeaderCpu { core: Some(u32::MAX), socket: Some(u32::MAX), die: None };
    HeaderTopology {
        arch: Some("x86_64".into()),
        cpudesc: Some("A laptop".into()),
        online: Some(7),
        available: Some(8),
        core_siblings: strings(&["0-6"]),
        thread_siblings: strings(&["0-1", "2-3", "4", "5", "6"]),
        cpus: [0, 0, 1, 1, 8, 9, 10].map(position).into_iter().chain([unknown]).collect(),
        caches: vec![
            HeaderCache { level: 1, kind: "Instruction".into(), cpus: "0-1".into() },
            HeaderCache { level: 2, kind: "Unified".into(), cpus: "0-1".into() },
            HeaderCache { level: 2, kind: "Unified".into(), cpus: "2-3".into() },
            HeaderCache { level: 2, kind: "Unified".into(), cpus: "4-6".into() },
            HeaderCache { level: 3, kind: "Unified".into(), cpus: "0-6".into() },
        ],
        nodes: vec![(0, "0-6".into())],
        hybrid_pmus: vec![("cpu_core".into(), "0-3".into()), ("cpu_atom".into(), "4-6".into())],
    }
}

#[test]
fn a_perf_header_has_most_facts() {
    let machine = Machine::from_trace_header(&header());
    assert_eq!(of_type(&machine, CoreType::Performance), "0-3");
    assert_eq!(type_sources(&machine), [Source::PmuCpuList]);
    assert_eq!(groups(&machine, |c| &c.siblings), ["0-1", "2-3", "4", "5", "6"]);
    assert_eq!(groups(&machine, |c| &c.l2), ["0-1", "2-3", "4-6"]);
    assert!(!machine.cpus[7].online && machine.cpus[7].package.is_none());
    assert_eq!(machine.sources[&Fact::Siblings], Source::TraceHeader);
    assert_eq!(machine.cpus[6].core, Some(10));
}

#[test]
fn an_old_header_has_few_facts_and_nothing_is_guessed() {
    let header = HeaderTopology { online: Some(4), available: Some(8), ..HeaderTopology::default() };
    let machine = Machine::from_trace_header(&header);
    assert_eq!(machine.cpus.len(), 8);
    assert_eq!(of_type(&machine, CoreType::Uniform), "0-7");
    assert_eq!(machine.unknown, ["which 4 of 8 CPUs were online"]);
    assert!(machine.cpus.iter().all(|c| c.siblings.is_empty()));
    let header = HeaderTopology { core_siblings: strings(&["0-3", "4-7"]), ..header };
    let machine = Machine::from_trace_header(&header);
    assert_eq!(machine.cpus[4].package, Some(1), "without package numbers, the lists are in order of packages");
}

#[test]
fn invalid_headers_are_noted() {
    let header = HeaderTopology {
        available: Some(u32::MAX),
        thread_siblings: strings(&["0-1", "0-4294967295", "x"]),
        ..HeaderTopology::default()
    };
    let machine = Machine::from_trace_header(&header);
    assert_eq!(machine.cpus.len(), 2);
    assert_eq!(machine.unknown.len(), 3, "{:?}", machine.unknown);
}

/// The example in the documentation of `--machine`.
const FILE: &str = r#"
model = "Handheld"
arch = "aarch64"
l3 = ["0-7"]

[[cpus]]
ids = "0-3"
type = "efficient"
vendor = "Cortex-A510"
capacity = 300
max_khz = 2000000
l2 = ["0-1", "2-3"]

[[cpus]]
ids = "4-7"
type = "performance"
siblings = ["4-5", "6-7"]
package = 0
"#;

#[test]
fn a_machine_file_is_read() {
    let machine = Machine::from_user(FILE).unwrap();
    assert_eq!(of_type(&machine, CoreType::Performance), "4-7");
    assert_eq!(of_type(&machine, CoreType::Efficient), "0-3");
    assert_eq!(type_sources(&machine), [Source::User]);
    assert_eq!(groups(&machine, |c| &c.l3), ["0-7"]);
    assert_eq!(groups(&machine, |c| &c.siblings), ["4-5", "6-7"]);
    assert_eq!(machine.cpus[1].capacity, Some(300));
    assert_eq!(machine.sources[&Fact::L2], Source::User);
    // Types from numbers alone get their names from the rule.
    let text = "[[cpus]]\nids='0'\ncapacity=300\n[[cpus]]\nids='1'\ncapacity=700\n[[cpus]]\nids='2-3'\ncapacity=1024";
    let machine = Machine::from_user(text).unwrap();
    assert_eq!(machine.class_names, [CoreType::Efficient, CoreType::Middle, CoreType::Performance]);
    assert_eq!(type_sources(&machine), [Source::User]);
    // The user's type is kept, whatever the rule would name the slowest.
    let text = "[[cpus]]\nids='0'\ntype='low_power'\n[[cpus]]\nids='1'\ntype='performance'";
    assert_eq!(Machine::from_user(text).unwrap().class_names, [CoreType::LowPower, CoreType::Performance]);
}

#[test]
fn an_invalid_machine_file_is_an_error_with_line_and_correction() {
    for (text, message) in [
        ("", "no CPUs: write [[cpus]] and below it ids = \"0-7\""),
        ("[[cpus]]\n\nids = \"0-x\"", "line 3: `0-x` is not a CPU list such as 0-3,8: write the CPUs' numbers"),
        (
            "[[cpus]]\nids = \"0\"\nkind = \"performance\"",
            "line 3: unknown field `kind`, expected one of `ids`, `type`",
        ),
        ("[[cpus]]\nids = \"0\"\ntype = \"big\"", "line 3: unknown variant `big`, expected one of `performance`"),
        ("[[cpus]]\ntype = \"middle\"", "line 1: missing field `ids`"),
        ("[[cpus]]\nids='0'\n[[cpus]]\nids='0-1'", "line 4: CPU 0 is in two `ids`"),
        ("[[cpus]]\nids='0'\nsiblings=['0-1']", "line 3: CPU 1 is in no `ids`"),
        ("[[cpus]]\nids='0-3'\nl2=[\n'0-1',\n'1-2']", "line 5: CPU 1 is in two of these groups"),
        ("[[cpus]]\nids='0'\ntype='middle'\n[[cpus]]\nids='1'", "line 4: this [[cpus]] has no `type`"),
        ("[[cpus]]\nids='0'\ntype='middle'\n[[cpus]]\nids='1'\ntype='uniform'", "line 4: `uniform` means"),
        ("[[cpus]]\nids='0'\ncapacity=2048", "line 3: the maximum of `capacity` is 1024"),
        ("[[cpus]]\nids='0'\nnode=-1", "line 3: "),
        ("ids = 3", "line 1: unknown field `ids`"),
        ("[[cpus]\n", "line 1: "),
    ] {
        let why = Machine::from_user(text).unwrap_err().to_string();
        assert!(why.starts_with(message), "{text:?}\n  gave     {why}\n  expected {message}");
    }
}

#[test]
fn the_users_facts_win_and_replaced_ones_are_kept() {
    let base = Machine::from_trace_header(&header());
    let user =
        "[[cpus]]\nids='0-1'\ntype='performance'\n[[cpus]]\nids='2-6'\ntype='efficient'\nl2=['2-6']\nmax_khz=3000000";
    let machine = base.overlay(Machine::from_user(user).unwrap());
    assert_eq!(of_type(&machine, CoreType::Performance), "0-1");
    assert_eq!(of_type(&machine, CoreType::Efficient), "2-7", "CPU 7 is offline and has no type");
    assert_eq!(type_sources(&machine), [Source::User]);
    let against: Vec<_> = machine.class[2].against.iter().map(|c| (c.value, c.source)).collect();
    assert_eq!(against, [(1, Source::PmuCpuList)]);
    assert!(machine.class[0].against.is_empty());
    assert_eq!(machine.cpus[2].max_khz, Some(3_000_000));
    assert_eq!(machine.sources[&Fact::L2], Source::User);
    assert_eq!(machine.sources[&Fact::L3], Source::TraceHeader);
    assert!(
        machine.notes.contains(&"l2 of CPU 2-3: 2-6 (user), instead of 2-3 (trace_header)".to_owned()),
        "{:?}",
        machine.notes
    );
    assert!(!machine.cpus[7].online);
    let drawing = draw(&machine);
    assert!(drawing.contains("differs: performance 2-3 (source: pmu_cpu_list)"), "{drawing}");
}

#[test]
fn the_user_may_set_all_cores_to_uniform() {
    let base = Machine::from_trace_header(&header());
    let machine = base.clone().overlay(Machine::from_user("[[cpus]]\nids='0-7'\ntype='uniform'").unwrap());
    assert_eq!(machine.class_names, [CoreType::Uniform]);
    assert!(
        machine.notes.iter().any(
            |n| n == "performance for CPU 0-3 (pmu_cpu_list) was dropped: the machine no longer has this core type"
        )
    );
    // Facts without types do not change the types.
    let machine = base.clone().overlay(Machine::from_user("[[cpus]]\nids='0-7'\nmax_khz=1").unwrap());
    assert_eq!((machine.class.clone(), machine.class_names.clone()), (base.class.clone(), base.class_names.clone()));
    // A user's file for a trace without any facts.
    let machine = Machine::of_cpus((0..8).map(CpuId)).overlay(Machine::from_user(FILE).unwrap());
    assert_eq!(of_type(&machine, CoreType::Performance), "4-7");
    // Types for a part of the machine; the rest is from the trace.
    let machine = base
        .overlay(Machine::from_user("[[cpus]]\nids='3'\ntype='efficient'\n[[cpus]]\nids='2'\ntype='middle'").unwrap());
    assert_eq!(machine.class_names, [CoreType::Efficient, CoreType::Middle, CoreType::Performance]);
    assert_eq!(of_type(&machine, CoreType::Performance), "0-1");
    assert_eq!(type_sources(&machine), [Source::User, Source::PmuCpuList]);
}

#[test]
fn a_machine_file_may_be_a_tree() {
    let dir = tempfile::tempdir().unwrap();
    let why = machine_file(dir.path()).unwrap_err().to_string();
    assert!(why.contains("is a folder without sys/devices/system/cpu"), "{why}");
    for prefix in ["sys/", ""] {
        let dir = tempfile::tempdir().unwrap();
        let cpus = dir.path().join(prefix).join("devices/system/cpu");
        std::fs::create_dir_all(cpus.join("cpu1")).unwrap();
        std::fs::write(cpus.join("present"), "0-1\n").unwrap();
        std::fs::write(cpus.join("cpu1/cpu_capacity"), "512\n").unwrap();
        std::fs::create_dir(cpus.join("cpu1/online")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/proc/self/status", cpus.join("online")).unwrap();
        let machine = machine_file(dir.path()).unwrap();
        assert_eq!(machine.cpus.len(), 2);
        assert_eq!(machine.cpus[1].capacity, Some(512));
        let noted = |what: &str| machine.unknown.iter().any(|u| u == what);
        #[cfg(unix)]
        assert!(noted("/sys/devices/system/cpu/online: leads out of the recorded tree"), "{:?}", machine.unknown);
        assert!(noted("/sys/devices/system/cpu/cpu1/online: not a plain file"), "{:?}", machine.unknown);
    }
    let file = dir.path().join("m.toml");
    std::fs::write(&file, FILE).unwrap();
    assert_eq!(machine_file(&file).unwrap(), Machine::from_user(FILE).unwrap());
    assert!(machine_file(&dir.path().join("none")).unwrap_err().line.is_none());
}

#[test]
fn the_live_machine_can_be_read() {
    let machine = topology::live();
    assert!(!machine.cpus.is_empty() && machine.arch.is_some());
    println!("{}", draw(&machine));
}

#[test]
fn json_has_the_documented_keys() {
    let machine = Tree::of(1).each("0", "cpu_capacity", "1024").machine();
    let json = serde_json::to_value(&machine).unwrap();
    let names = |v: &serde_json::Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let fields = ["arch", "class", "class_names", "cpus", "model_name", "notes", "sources", "unknown"];
    assert_eq!(names(&json), fields);
    let cpu = [
        "capacity",
        "cluster",
        "core",
        "die",
        "highest_perf",
        "id",
        "l2",
        "l3",
        "max_khz",
        "node",
        "online",
        "package",
        "siblings",
        "vendor_type",
    ];
    assert_eq!(names(&json["cpus"][0]), cpu);
    for fact in Fact::ALL {
        assert_eq!(serde_json::to_value(fact).unwrap(), fact.as_str());
        assert!(cpu.contains(&fact.as_str()));
    }
    assert_eq!(json["sources"]["capacity"], "cpu_capacity");
    assert_eq!(json["class"][0]["best"]["source"], Source::Assumed.as_str());
}
