//! `corewise counters` on machines given as trees of files, and on this one.

use crate::support::{Folder, good, run};

/// Writes a tree: a file a line, `path = text`.
fn tree(files: &str) -> Folder {
    let folder = Folder::new();
    for line in files.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (path, text) = line.split_once(" = ").unwrap();
        let path = folder.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{}\n", text.replace("\\n", "\n"))).unwrap();
    }
    folder
}

const ALDER_LAKE: &str = "
    proc/cpuinfo = vendor_id : GenuineIntel\\ncpu family : 6\\nmodel : 151\\nstepping : 2
    proc/sys/kernel/nmi_watchdog = 1
    sys/devices/system/cpu/present = 0-5
    sys/devices/system/cpu/online = 0-5
    sys/devices/cpu_core/cpus = 0-1
    sys/devices/cpu_atom/cpus = 2-5
    sys/bus/event_source/devices/cpu_core/type = 4
    sys/bus/event_source/devices/cpu_core/cpus = 0-1
    sys/bus/event_source/devices/cpu_core/format/event = config:0-7
    sys/bus/event_source/devices/cpu_core/format/umask = config:8-15
    sys/bus/event_source/devices/cpu_core/events/slots = event=0x00,umask=0x4
    sys/bus/event_source/devices/cpu_atom/type = 10
    sys/bus/event_source/devices/cpu_atom/cpus = 2-5
    sys/bus/event_source/devices/cpu_atom/format/event = config:0-7
    sys/bus/event_source/devices/cpu_atom/format/umask = config:8-15
    sys/bus/event_source/devices/power/type = 20
    sys/bus/event_source/devices/power/cpumask = 0
    sys/bus/event_source/devices/power/format/event = config:0-7
    sys/bus/event_source/devices/power/events/energy-pkg = event=0x02
    sys/bus/event_source/devices/software/type = 1
";

#[test]
fn a_hybrid_machine_is_listed_by_core_type() {
    let folder = tree(ALDER_LAKE);
    let text = good(["counters", "--machine", &folder.name("")]);
    for part in [
        "  cpu_core  performance cores, CPU 0-1: number of counters not tried\n",
        "  cpu_atom  efficient cores, CPU 2-5: number of counters not tried\n",
        "  power     counts for several CPUs together (read on CPU 0): belongs to no thread\n",
        "Note: the kernel's NMI watchdog takes one counter of each core: sysctl kernel.nmi_watchdog=0 frees it\n",
        "  default   {cycles,instructions}",
        "  cpu_core/slots/          not tried\n",
        "  power/energy-pkg/        no (power/energy-pkg/: power counts for several CPUs together",
        "Intel's list alderlake_goldencove 1.40 (cpu_core): 319 names, searched by `corewise counters FILTER`\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let csv = good(["counters", "--machine", &folder.name(""), "--format", "csv", "inst_retired.any_p"]);
    assert_eq!(
        csv.replace("\r\n", "\n"),
        "event,source,pmu,core_type,cpus,counted,why,type,config,description\n\
         INST_RETIRED.ANY_P,intel,cpu_core,performance,0-1,,not this machine,4,0xc0 0x0 0x0,Counts the total number of instructions retired.\n\
         INST_RETIRED.ANY_P,intel,cpu_atom,efficient,2-5,,not this machine,10,0xc0 0x0 0x0,Counts the total number of instructions retired.\n"
    );
    let json: serde_json::Value = serde_json::from_str(&good([
        "counters",
        "--machine",
        &folder.name(""),
        "--format",
        "json",
        "topdown_retiring.all",
    ]))
    .unwrap();
    let rows = json.as_array().unwrap();
    let of = |pmu: &str| rows.iter().find(|row| row["event"] == "TOPDOWN_RETIRING.ALL" && row["pmu"] == pmu).unwrap();
    assert_eq!((&of("cpu_core")["counted"], &of("cpu_core")["why"]), (&false.into(), &"not on that type".into()));
    assert_eq!(
        (&of("cpu_atom")["counted"], &of("cpu_atom")["config"]),
        (&serde_json::Value::Null, &"0xc2 0x0 0x0".into())
    );
}

#[test]
fn a_virtual_machine_says_why_it_counts_no_cycles() {
    let folder = tree(
        "
        proc/cpuinfo = vendor_id : AuthenticAMD\\ncpu family : 26\\nmodel : 2\\nflags : fpu hypervisor
        sys/devices/system/cpu/online = 0-1
        sys/bus/event_source/devices/software/type = 1
        sys/bus/event_source/devices/msr/type = 9
        sys/bus/event_source/devices/msr/format/event = config:0-63
        sys/bus/event_source/devices/msr/events/tsc = event=0x00
    ",
    );
    let text = good(["counters", "--machine", &folder.name("")]);
    for part in [
        "  msr       on every CPU\n",
        "Note: no core PMU: this is a virtual machine whose hypervisor passes on no counters; software events",
        "  cycles                   no  Cycles in which",
        "  msr/tsc/                 not tried\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn this_machine_is_listed_and_what_is_not_there_is_said() {
    let csv = good(["counters", "--format", "csv"]);
    assert!(csv.contains("page-faults,software,software,"), "{csv}");
    let ran = run(["counters", "no such event"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert!(ran.err.contains("nothing that this machine counts has no such event in its name"), "{}", ran.err);
    let folder = Folder::new();
    let ran = run(["counters", "--machine", &folder.name("")]);
    assert!(ran.code == Some(1) && ran.err.contains("describes no PMUs: give a folder"), "{}", ran.err);
}
