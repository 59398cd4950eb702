//! Which CPUs a word or a list means on a machine.

use model::CpuId;
use topology::{CpuChoice, Machine, cpulist};

/// Two P-cores with two CPUs each, two E-cores.
fn hybrid() -> Machine {
    testkit::machine("cpu0 P0\ncpu1 P0\ncpu2 P1\ncpu3 P1\ncpu4 E0\ncpu5 E1")
}

fn ids(list: &str) -> Vec<CpuId> {
    cpulist::parse(list).unwrap()
}

fn chosen(text: &str, machine: &Machine, allowed: &str) -> Result<String, String> {
    let of = CpuChoice::parse(text)?.of(machine, &ids(allowed)).map_err(|why| why.to_string())?;
    Ok(cpulist::format(of.cpus.iter().copied()) + &of.left_out().map_or_else(String::new, |why| format!("; {why}")))
}

#[test]
fn words_choose_by_class_and_core() {
    let machine = hybrid();
    for (text, cpus) in [("P", "0-3"), ("e", "4-5"), ("no-siblings", "0,2,4-5"), ("all", "0-5"), ("1,4-5", "1,4-5")] {
        assert_eq!(chosen(text, &machine, "0-5"), Ok(cpus.to_owned()), "{text}");
    }
}

#[test]
fn cpus_that_are_not_available_are_left_out() {
    let mut machine = hybrid();
    machine.cpus[2].online = false;
    let is = |text: &str, wanted: &str| assert_eq!(chosen(text, &machine, "1,3-4"), Ok(wanted.to_owned()));
    let not = "not available to this process (its affinity, cpuset, or machine)";
    is("P", &format!("1,3; CPU 2 is offline and CPU 0 is {not}"));
    is("E", &format!("4; CPU 5 is {not}"));
    is("all", "1,3-4; CPU 2 is offline");
    is("3,9", &format!("3; CPU 9 is {not}"));
    // The first available CPU of a core, not the first one.
    let all = testkit::machine("cpu0 P0\ncpu1 P0\ncpu2 P0\ncpu3 P1");
    assert_eq!(chosen("no-siblings", &all, "1-3"), Ok("1,3".to_owned()));
}

#[test]
fn what_the_machine_lacks_is_one_sentence_with_what_is_possible() {
    let uniform = testkit::machine("cpu0 U0\ncpu1 U1");
    for text in ["P", "E"] {
        let why = chosen(text, &uniform, "0-1").unwrap_err();
        let wanted =
            "all cores of this machine have one type: choose among the available CPUs 0-1, for example --cores 0";
        assert_eq!(why, format!("--cores {text}: {wanted}"));
    }
    let why = chosen("no-siblings", &uniform, "0-1").unwrap_err();
    assert!(why.contains("no two available CPUs of this machine share a core") && why.contains("--cores 0"), "{why}");
    let why = chosen("no-siblings", &Machine::of_cpus(ids("0-1")), "0-1").unwrap_err();
    assert!(why.contains("is unknown"), "{why}");
    // The siblings exist, but each is the only one of its core that is available.
    assert!(chosen("no-siblings", &hybrid(), "0,3-5").unwrap_err().contains("share a core"));
    let why = chosen("7", &uniform, "0-1").unwrap_err();
    assert!(why.contains("CPU 7 is not available") && why.contains("CPUs 0-1"), "{why}");
    assert!(chosen("E", &hybrid(), "0-3").unwrap_err().contains("CPUs 4-5 are not available"));
}

#[test]
fn other_words_are_refused() {
    for (text, part) in
        [("", "expected P"), ("Q", "`q` is not P"), ("0-", "not P"), ("3-1", "ends before"), ("9999", "beyond")]
    {
        let why = CpuChoice::parse(text).unwrap_err();
        assert!(why.contains(part), "{text:?}: {why}");
    }
    for text in ["all", "P", "E", "no-siblings", "0-3,8"] {
        assert_eq!(CpuChoice::parse(text).unwrap().to_string(), text);
    }
}
