//! What is counted on machines of several kinds: golden cases.

use crate::support::*;
use counters::{Role, intel};

#[test]
fn alder_lake_has_two_core_pmus() {
    let machine = alder_lake().read();
    assert!(machine.notes.is_empty(), "{:?}", machine.notes);
    let pmus: Vec<_> = machine
        .all
        .iter()
        .map(|pmu| (pmu.name.as_str(), pmu.number, pmu.role, pmu.cpu_list(), pmu.core_type_names()))
        .collect();
    let own = |text: &str| text.to_owned();
    assert_eq!(
        pmus,
        [
            ("cpu_core", 4, Role::Core, own("0-15"), own("performance")),
            ("cpu_atom", 10, Role::Core, own("16-23"), own("efficient")),
            ("msr", 9, Role::Dynamic, own("all"), own("")),
            ("software", 1, Role::Software, own("all"), own("")),
            ("uncore_imc_0", 20, Role::Shared, own("0"), own("")),
        ]
    );
    assert_eq!(machine.named("cpu_core").unwrap().caps["pmu_name"], "alderlake_hybrid");
    assert_eq!(
        drawn("{cycles,instructions:u},page-faults,msr/tsc/,slots,mem-loads:k", &machine),
        "\
cycles on cpu_core: type 0 config 0x400000000
cycles on cpu_atom: type 0 config 0xa00000000
instructions:u on cpu_core: type 0 config 0x400000001 no kernel
instructions:u on cpu_atom: type 0 config 0xa00000001 no kernel
page-faults on software: type 1 config 0x2
msr/tsc/ on msr: type 9 config 0x0
slots on cpu_core: type 4 config 0x400
slots on cpu_atom: not on that type
mem-loads:k on cpu_core: type 4 config 0x1cd config1 0x3 no user
mem-loads:k on cpu_atom: type 10 config 0x5d0 config1 0x3 no user
"
    );
    assert_eq!(
        drawn(
            "cpu_core/event=0xc0,umask=0x1/uk,cpu_atom/mem-loads,ldlat=0x80/,cpu_core/config=0x1ff,event=0x3c/,tsc",
            &machine
        ),
        "\
cpu_core/event=0xc0,umask=0x1/uk on cpu_core: type 4 config 0x1c0
cpu_atom/mem-loads,ldlat=0x80/ on cpu_atom: type 10 config 0x5d0 config1 0x80
cpu_core/config=0x1ff,event=0x3c/ on cpu_core: type 4 config 0x13c
tsc on msr: type 9 config 0x0
"
    );
}

/// Each encoding as perf 6.1.187 has it in its own table (`strings /usr/bin/perf`): `event=0xc0`, `event=0x3c`, `event=0x00,umask=0x03`,
/// `event=0xcd,umask=0x1,ldlat=0x80`, `event=0x2a,umask=0x1,offcore_rsp=0x10001`, `event=0xc6,umask=0x1,frontend=0x11`,
/// `event=0xa3,umask=0x6,cmask=6` and so on.
#[test]
fn names_of_intel_by_kind_of_core() {
    let machine = alder_lake().read();
    assert_eq!(
        drawn(
            "INST_RETIRED.ANY,cpu_clk_unhalted.thread,CPU_CLK_UNHALTED.REF_TSC,MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128,\
             OCR.DEMAND_DATA_RD.ANY_RESPONSE,FRONTEND_RETIRED.DSB_MISS,CYCLE_ACTIVITY.STALLS_L3_MISS,\
             MACHINE_CLEARS.COUNT,TOPDOWN_RETIRING.ALL:u,cpu_atom/inst_retired.any/k",
            &machine
        ),
        "\
INST_RETIRED.ANY on cpu_core: type 4 config 0xc0
INST_RETIRED.ANY on cpu_atom: type 10 config 0xc0
cpu_clk_unhalted.thread on cpu_core: type 4 config 0x3c
cpu_clk_unhalted.thread on cpu_atom: type 10 config 0x3c
CPU_CLK_UNHALTED.REF_TSC on cpu_core: type 4 config 0x300
CPU_CLK_UNHALTED.REF_TSC on cpu_atom: type 10 config 0x300
MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128 on cpu_core: type 4 config 0x1cd config1 0x80
MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128 on cpu_atom: not on that type
OCR.DEMAND_DATA_RD.ANY_RESPONSE on cpu_core: type 4 config 0x12a config1 0x10001
OCR.DEMAND_DATA_RD.ANY_RESPONSE on cpu_atom: type 10 config 0x1b7 config1 0x10001
FRONTEND_RETIRED.DSB_MISS on cpu_core: type 4 config 0x1c6 config1 0x11
FRONTEND_RETIRED.DSB_MISS on cpu_atom: not on that type
CYCLE_ACTIVITY.STALLS_L3_MISS on cpu_core: type 4 config 0x60006a3
CYCLE_ACTIVITY.STALLS_L3_MISS on cpu_atom: not on that type
MACHINE_CLEARS.COUNT on cpu_core: type 4 config 0x10401c3
MACHINE_CLEARS.COUNT on cpu_atom: not on that type
TOPDOWN_RETIRING.ALL:u on cpu_core: not on that type
TOPDOWN_RETIRING.ALL:u on cpu_atom: type 10 config 0xc2 no kernel
cpu_atom/inst_retired.any/k on cpu_atom: type 10 config 0xc0 no user
"
    );
}

#[test]
fn three_kinds_of_core_have_three_lists() {
    let machine = arrow_lake().read();
    let of: Vec<_> = machine
        .core()
        .map(|pmu| {
            let list = intel::list_of(machine.processor.as_ref().unwrap(), pmu).unwrap();
            (pmu.name.as_str(), pmu.core_type_names(), list.name)
        })
        .collect();
    let own = |text: &str| text.to_owned();
    assert_eq!(
        of,
        [
            ("cpu_core", own("performance"), "arrowlake_lioncove"),
            ("cpu_atom", own("efficient"), "arrowlake_skymont"),
            ("cpu_lowpower", own("low_power"), "arrowlake_crestmont"),
        ]
    );
    assert_eq!(
        drawn("cycles,TOPDOWN_BAD_SPECULATION.ALL_P", &machine),
        "\
cycles on cpu_core: type 0 config 0x400000000
cycles on cpu_atom: type 0 config 0xa00000000
cycles on cpu_lowpower: type 0 config 0xb00000000
TOPDOWN_BAD_SPECULATION.ALL_P on cpu_core: not on that type
TOPDOWN_BAD_SPECULATION.ALL_P on cpu_atom: type 10 config 0x73
TOPDOWN_BAD_SPECULATION.ALL_P on cpu_lowpower: type 11 config 0x73
"
    );
}

/// An umask of two bytes needs a kernel that shows bits for it.
#[test]
fn an_event_that_the_kernel_has_no_bits_for() {
    let wide = "cpu_core/BR_INST_RETIRED.COND/";
    assert_eq!(drawn(wide, &arrow_lake().read()), format!("{wide} on cpu_core: type 4 config 0x100000011c4\n"));
    let old = Tree::intel(16, 0xc5, 2).pmu("cpu_core", &format!("type=4 cpus=0-5 {INTEL_BITS}")).read();
    for text in [wide, "BR_INST_RETIRED.COND"] {
        let text = drawn(text, &old);
        assert!(text.contains("umask=0x111 does not fit: PMU cpu_core has config:8-15 for it, at most 0xff"), "{text}");
    }
}

#[test]
fn one_kind_of_core_needs_no_number_of_a_pmu() {
    let server = |model, stepping| {
        Tree::intel(8, model, stepping).pmu("cpu", &format!("type=4 {INTEL_BITS} format/any=config:21")).software()
    };
    let skylake = server(0x55, 4).read();
    assert_eq!(skylake.named("cpu").unwrap().cpu_list(), "0-7");
    assert_eq!(
        drawn(
            "cycles,INST_RETIRED.PREC_DIST,CPU_CLK_UNHALTED.THREAD_ANY,OFFCORE_RESPONSE.DEMAND_DATA_RD.ANY_RESPONSE",
            &skylake
        ),
        "\
cycles on cpu: type 0 config 0x0
INST_RETIRED.PREC_DIST on cpu: type 4 config 0x1c0
CPU_CLK_UNHALTED.THREAD_ANY on cpu: type 4 config 0x20003c
OFFCORE_RESPONSE.DEMAND_DATA_RD.ANY_RESPONSE on cpu: type 4 config 0x1b7 config1 0x10001
"
    );
    // Stepping 7 is Cascade Lake, whose list is not in the table.
    let cascade_lake = server(0x55, 7).read();
    let text = drawn("INST_RETIRED.PREC_DIST", &cascade_lake);
    assert!(text.contains("not of this processor"), "{text}");
    // AMD with a model number that Intel uses too.
    let mut amd = server(0x55, 4);
    let info = amd.0["/proc/cpuinfo"].replace("GenuineIntel", "AuthenticAMD");
    amd.0.insert("/proc/cpuinfo".into(), info);
    assert!(drawn("INST_RETIRED.PREC_DIST", &amd.read()).contains("not of this processor"));
    assert_eq!(drawn("branches", &amd.read()), "branches on cpu: type 0 config 0x4\n");
}

#[test]
fn arm_has_a_pmu_for_each_kind_of_core() {
    let machine = arm().read();
    assert_eq!(
        drawn("cycles,inst_retired,stall_backend,armv8_cortex_a55/event=0x11,long/", &machine),
        "\
cycles on armv8_cortex_a78: type 0 config 0x900000000
cycles on armv8_cortex_a55: type 0 config 0x800000000
inst_retired on armv8_cortex_a78: type 9 config 0x8
inst_retired on armv8_cortex_a55: type 8 config 0x8
stall_backend on armv8_cortex_a78: type 9 config 0x24
stall_backend on armv8_cortex_a55: not on that type
armv8_cortex_a55/event=0x11,long/ on armv8_cortex_a55: type 8 config 0x11 config1 0x1
"
    );
    let cycles = resolved("cycles", &machine).unwrap().remove(0);
    assert_eq!(cycles.on[0].attr.clone().unwrap().without_pmu().config, 0, "for kernels without extended types");
    let shared = drawn("arm_dsu_0/bus_access/", &machine);
    assert!(shared.contains("belong to no thread"), "{shared}");
}

#[test]
fn a_virtual_machine_without_counters_says_what_it_can_count() {
    let mut tree = Tree::intel(2, 0x97, 2).software();
    tree.0.insert(
        "/proc/cpuinfo".into(),
        "vendor_id: GenuineIntel\ncpu family: 6\nmodel: 151\nflags: fpu hypervisor tsc\n".into(),
    );
    let machine = tree.read();
    assert_eq!(
        drawn("cycles", &machine),
        "character 1: cycles: no core PMU: this is a virtual machine whose hypervisor passes on no counters; \
         still counted: task-clock, page-faults, msr/tsc/\n"
    );
    assert_eq!(
        drawn("default:u", &machine),
        "\
msr/tsc/u on msr: type 9 config 0x0 no kernel
minor-faults:u on software: type 1 config 0x5 no kernel
major-faults:u on software: type 1 config 0x6 no kernel
cpu-migrations:u on software: type 1 config 0x4 no kernel
"
    );
    assert!(drawn("INST_RETIRED.ANY", &machine).contains("no core PMU"));
}

/// This machine, whatever it is: reading it must not fail, and software events are always there.
#[test]
fn this_machine() {
    let machine = counters::Pmus::live();
    assert!(machine.named("software").is_none_or(|pmu| pmu.role == Role::Software));
    assert_eq!(drawn("page-faults", &machine), "page-faults on software: type 1 config 0x2\n");
    assert!(resolved("default", &machine).is_ok(), "{:?}", resolved("default", &machine));
}
