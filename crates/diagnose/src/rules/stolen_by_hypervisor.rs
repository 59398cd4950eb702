//! CPU time that a hypervisor gave to others.

use crate::finding::{Confidence, Subject};
use crate::given::{Given, Shown};
use crate::rule::{Looked, Page, Rule, Threshold, Unit};
use engine::EngineError;
use model::Fix;
use model::tables::{self, threads};
use model::words::{ms, percent};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "stolen-by-hypervisor",
    about: "the hypervisor ran something else while threads of this machine were on their CPUs",
    page: Page {
        finds: "Time that the host gave to others while a virtual CPU had something to run (steal in /proc/stat), and for which threads \
                were on a CPU without being charged for it.",
        matters: "It is no fault of the program: a run with more of it is slower, and comparing two runs says nothing before it is \
                  subtracted. A thread that is stolen from while it holds a lock delays all who wait.",
        sure: "The host says how much it stole on each CPU; whose it was is estimated from running time that the kernel did not charge, \
               which interrupts are in too. Whoever has the program cannot mend it: it is low, and stands behind what can be mended, but \
               is told of first, since it bears on all times.",
        mend: "Use CPUs of one's own, or measure at another time.",
        example: "Of 1000 ms, 80 ms were stolen on CPU 0, and a thread that ran there all the time was charged for 910 ms.",
    },
    tables: &[&tables::THREADS],
    thresholds: &[&LEAST_SHARE],
    explains: &[],
    look,
};

const LEAST_SHARE: Threshold = Threshold {
    name: "least_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "of a CPU's time: half of what makes a finding medium",
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if given.is_part() {
        return Ok(Looked::Lacks("what was stolen is known of the whole recording only, not of a part".to_owned()));
    }
    let Some(stolen) = stolen(given) else {
        return Ok(Looked::Lacks(
            "the source does not say what was stolen: recordings by corewise on a virtual machine do".to_owned(),
        ));
    };
    let (cpu, most) = stolen.iter().max_by_key(|(_, ns)| **ns).map_or((0, 0), |(cpu, ns)| (*cpu, *ns));
    let all: i64 = stolen.values().fold(0, |sum, ns| sum.saturating_add(*ns));
    if most < given.share(&LEAST_SHARE).max(1) {
        return Ok(Looked::At(Vec::new()));
    }
    let (mut claims, mut shown) = (Vec::new(), Shown::default());
    given.each(threads::Table, |row| {
        let uncharged = row
            .get(threads::EXEC_OF_NS)
            .zip(row.get(threads::EXEC_NS))
            .map_or(0, |(of, charged)| of.saturating_sub(charged));
        if uncharged > 0 {
            let [thread, tid] = row.all([threads::THREAD, threads::TID]);
            claims.push(given.claim(thread, tid, uncharged.min(all)));
            shown.push(uncharged, row, &[&threads::EXEC_OF_NS, &threads::EXEC_NS]);
        }
    })?;
    let change = Fix::HostCpus { cpus: u32::try_from(stolen.len()).unwrap_or(u32::MAX) };
    let mut finding = given.finding(claims, change, "Run where nobody else does".to_owned());
    finding.of = Subject::Conditions;
    finding.title = format!(
        "The hypervisor took {} ms of CPU time, most of it on CPU {cpu} ({} of its time)",
        ms(all),
        percent(most, given.span().len().0)
    );
    finding.range_ns = [0, all];
    finding.confidence = Confidence::Medium;
    finding.evidence = shown.finish();
    finding.assumptions = vec![
        "running time for which a thread was not charged was stolen, up to what was stolen in all; interrupts are in it too".to_owned(),
        "the steal that the kernel tells has a grain of a clock tick".to_owned(),
    ];
    Ok(Looked::At(vec![finding]))
}

/// How much was stolen of each CPU between start and end, where both are told.
fn stolen(given: &Given<'_>) -> Option<BTreeMap<i64, i64>> {
    let condition = given.facts().conditions.iter().find(|c| c.name == "steal_ns")?;
    let read = |words: &str| -> BTreeMap<i64, i64> {
        let one = |word: &str| {
            let (cpu, ns) = word.strip_prefix("cpu")?.split_once('=')?;
            Some((cpu.parse().ok()?, ns.parse().ok()?))
        };
        words.split_whitespace().filter_map(one).collect()
    };
    let (start, end) = (read(condition.start.as_ref().ok()?), read(condition.end.as_ref().ok()?));
    let both = end.into_iter().filter_map(|(cpu, ns)| Some((cpu, ns.saturating_sub(*start.get(&cpu)?).max(0))));
    let stolen: BTreeMap<i64, i64> = both.collect();
    (!stolen.is_empty()).then_some(stolen)
}
