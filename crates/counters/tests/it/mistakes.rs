//! Lists with mistakes, and hostile files: a sentence with a place, never a panic.

use crate::support::*;
use counters::{AskedGroup, Event, EventName, HARDWARE, Pmus, SOFTWARE, Term, parse};
use proptest::prelude::*;

#[test]
fn a_mistake_has_a_place_and_what_to_write() {
    let machine = alder_lake().read();
    for (text, message) in [
        ("", "character 1: the text ends here: expected the name of an event"),
        ("cycles,", "character 8: the text ends here: expected the name of an event"),
        ("cycles;instructions", "character 7: `;`: expected a comma"),
        ("cpu_core/event=0x3c", "character 9: this / has no second /: write PMU/term=value/"),
        ("cycles,cpu_core/event=0x3c,", "character 16: this / has no second /: write PMU/term=value/"),
        ("cpu_core/event/,cpu_core/event=0x/", "character 32: `0x` is not a number of 64 bits such as 60 or 0x3c"),
        (
            "cpu_core/event=0x1ffffffffffffffff/",
            "character 16: `0x1ffffffffffffffff` is not a number of 64 bits such as 60 or 0x3c",
        ),
        ("cpu_core/event=-1/", "character 16: `-1` is not a number of 64 bits such as 60 or 0x3c"),
        ("{cycles,instructions", "character 1: this { has no }"),
        ("cycles}", "character 7: this } has no {"),
        ("{cycles instructions}", "character 9: `i`: expected a comma or }"),
        ("cycles:up", "character 9: modifier p is not supported: u counts user mode, k kernel mode"),
        ("cycles:", "character 8: expected a modifier: u or k"),
        ("cpu_core/umaks=1/", "character 10: PMU cpu_core has no term umaks, did you mean umask?"),
        (
            "cpu_core/zz=1/",
            "character 10: PMU cpu_core has no term zz; its terms: cmask, edge, event, frontend, inv, ldlat, offcore_rsp, pc, umask",
        ),
        (
            "cycles,cpu_core/event=0x3c,umask=0x100/",
            "character 28: umask=0x100 does not fit: PMU cpu_core has config:8-15 for it, at most 0xff",
        ),
        ("cpu_core/edge=2/", "character 10: edge=0x2 does not fit: PMU cpu_core has config:18 for it, at most 0x1"),
        ("cpu/event=1/", "character 1: this machine has no PMU cpu, did you mean cpu_atom or cpu_core?"),
        ("cylces", "character 1: there is no event cylces, did you mean cycles?"),
        (
            "cycles,branch-mises",
            "character 8: there is no event branch-mises, did you mean branch-misses, branches or branch-instructions?",
        ),
        (
            "INST_RETIERD.ANY",
            "character 1: there is no event INST_RETIERD.ANY, did you mean INST_RETIRED.ANY, INST_RETIRED.ANY_P or INST_RETIRED.NOP?",
        ),
        ("zzzz", "character 1: there is no event zzzz; `corewise counters` lists what there is"),
        ("{cycles,branch}", "character 9: branch is a group of its own: write it outside the braces"),
        (
            "uncore_imc_0/data_reads/",
            "character 1: uncore_imc_0/data_reads/: uncore_imc_0 counts for several CPUs together (it is read on CPU 0), so its \
             counts belong to no thread",
        ),
    ] {
        assert_eq!(drawn(text, &machine).trim_end(), message, "{text}");
    }
}

#[test]
fn terms_of_the_kernel_that_need_a_value_or_name_themselves() {
    let tree = alder_lake()
        .pmu("odd", "type=30 format/event=config:0-7 format/chip=config:16-31 events/need=event=0x1,chip=? events/a=b events/b=a events/c=c");
    let machine = tree.read();
    for (text, message) in [
        ("odd/need/", "chip of PMU odd needs a value: chip=0x1"),
        ("odd/a/", "is defined by itself"),
        ("odd/c/", "is defined by itself"),
    ] {
        let found = drawn(text, &machine);
        assert!(found.contains(message), "{text}: {found}");
    }
}

#[test]
fn long_lists_and_hostile_files_are_limited() {
    assert!(parse(&"cycles,".repeat(300)).unwrap_err().what.contains("more than 256 events"));
    assert!(parse(&format!("a/{}/", "x,".repeat(100))).unwrap_err().what.contains("more than 64 terms"));
    assert!(parse(&"x".repeat(500)).unwrap_err().what.contains("128 characters"));
    let mut tree = alder_lake()
        .pmu("cpu_broken", "type=-1")
        .pmu("cpu_list", "type=40 cpus=0-99999999")
        .pmu("bits", "type=41 format/a=config:0-99 format/b=config9:1 format/c=config:1,1")
        .file("/sys/bus/event_source/devices/cpu_core/events/long", &"event=1,".repeat(2000))
        .file("/sys/bus/event_source/devices/\u{1b}[31m/type", "50");
    for n in 0..3000 {
        tree = tree.file(&format!("/sys/bus/event_source/devices/bits/events/e{n}"), "event=1");
    }
    let machine = tree.read();
    assert!(machine.named("cpu_broken").is_none());
    assert_eq!(machine.named("bits").unwrap().events.len(), 1024);
    assert!(machine.named("bits").unwrap().formats.is_empty());
    let notes = machine.notes.join("\n");
    for part in
        ["cpu_broken/type: not a number", "names a CPU beyond", "format/b", "events/long: longer", "name is not one"]
    {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    assert!(machine.all.iter().all(|pmu| !pmu.name.contains('\u{1b}')) && !notes.contains('\u{1b}'));
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_.-]{1,12}".prop_filter("names of generic events are parsed as such", |name| {
        let known = |a: &str, b: Option<&str>| a == name || b == Some(name);
        !HARDWARE.iter().any(|e| known(e.name, e.alias)) && !SOFTWARE.iter().any(|e| known(e.name, e.alias))
    })
}

fn event() -> impl Strategy<Value = Event> {
    let term = (name(), proptest::option::of(any::<u64>())).prop_map(|(name, value)| Term { name, value, at: 0 });
    let of_pmu =
        (name(), proptest::collection::vec(term, 1..5)).prop_map(|(pmu, terms)| EventName::OfPmu { pmu, terms });
    let any_name = prop_oneof![
        (0..HARDWARE.len()).prop_map(|at| EventName::Hardware(&HARDWARE[at])),
        (0..SOFTWARE.len()).prop_map(|at| EventName::Software(&SOFTWARE[at])),
        of_pmu,
        name().prop_map(EventName::Named),
    ];
    (any_name, any::<bool>(), any::<bool>()).prop_map(|(name, user, kernel)| Event { name, user, kernel, at: 0 })
}

fn group() -> impl Strategy<Value = AskedGroup> {
    prop_oneof![
        event().prop_map(|event| AskedGroup { together: false, events: vec![event] }),
        proptest::collection::vec(event(), 1..5).prop_map(|events| AskedGroup { together: true, events }),
    ]
}

/// Without the places in the text.
fn without_places(mut groups: Vec<AskedGroup>) -> Vec<AskedGroup> {
    for event in groups.iter_mut().flat_map(|group| &mut group.events) {
        event.at = 0;
        if let EventName::OfPmu { terms, .. } = &mut event.name {
            terms.iter_mut().for_each(|term| term.at = 0);
        }
    }
    groups
}

proptest! {
    #![proptest_config(testkit::drawn(256))]
    #[test]
    fn what_is_printed_parses_to_the_same(groups in proptest::collection::vec(group(), 1..6)) {
        let text = groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        prop_assert_eq!(without_places(parse(&text).unwrap()), groups, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9/{},:=ukx. \u{e9}\u{1b}-]{0,40}") {
        let machine = alder_lake().read();
        let drawing = drawn(&text, &machine);
        prop_assert!(!drawing.contains('\u{1b}'), "{:?}", drawing);
    }

    #[test]
    fn no_file_panics(bits in "[a-z0-9:,-]{0,20}", events in "[a-z0-9=?,]{0,20}", cpus in "[0-9,-]{0,9}", number in "[0-9-]{0,12}") {
        let at = "/sys/bus/event_source/devices/cpu_core";
        let tree = alder_lake().file(&format!("{at}/format/event"), &bits).file(&format!("{at}/events/e"), &events)
            .file(&format!("{at}/cpus"), &cpus).file(&format!("{at}/type"), &number);
        let machine = Pmus::read(&tree.0);
        let _ = drawn("e,cpu_core/e/,cycles,cpu_core/event=1/", &machine);
    }
}
