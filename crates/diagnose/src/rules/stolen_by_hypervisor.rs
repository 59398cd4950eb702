//! CPU time that a hypervisor gave to other guests.

use crate::context::{EvidenceRows, RuleContext};
use crate::finding::{Confidence, Subject};
use crate::rule::{Fits, Page, Rule, RuleOutcome, Threshold, Unit};
use engine::EngineError;
use model::tables::{self, threads};
use model::words::{ms, percent};
use model::{Fix, Ns};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "stolen-by-hypervisor",
    about: "the hypervisor ran something else while threads of this machine were on their CPUs",
    page: Page {
        description: "Time that the host gave to others while a virtual CPU had something to run (steal in /proc/stat), and the threads that \
                were on a CPU without being charged for it.",
        rationale: "Stolen time is not the program's fault: a run with more of it is slower, and two runs can be compared only after stolen \
                  time is subtracted. If time is stolen from a thread that holds a lock, all waiting threads are delayed.",
        certainty: "The host reports how much it stole on each CPU. The affected threads are estimated from running time that the kernel did not charge, \
               which includes interrupts. Stolen time cannot be fixed in the program, so the severity is low and the finding comes last. A note \
               at the top mentions stolen time, as it affects all times.",
        fix: "Use dedicated CPUs, or measure at another time.",
        example: "Of 1000 ms, 80 ms were stolen on CPU 0, and a thread that ran there all the time was charged for 910 ms.",
    },
    tables: &[&tables::THREADS],
    thresholds: &[&MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

const MIN_SHARE: Threshold = Threshold {
    name: "min_share",
    unit: Unit::Ratio,
    value: 0.005,
    reason: "half of severity.medium_share: if every CPU lost less than this share of its time, nothing is reported",
};

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    if ctx.is_part() {
        return Ok(RuleOutcome::MissingData(
            "steal time is known for the whole recording only, not for a range".to_owned(),
        ));
    }
    let Some(stolen) = stolen(ctx) else {
        return Ok(RuleOutcome::MissingData(
            "the source does not record steal time; recordings by corewise on a virtual machine do".to_owned(),
        ));
    };
    let (cpu, most) = stolen.iter().max_by_key(|(_, ns)| **ns).map_or((0, Ns::ZERO), |(cpu, ns)| (*cpu, *ns));
    let all: Ns = stolen.values().sum();
    if most < ctx.share_ns(&MIN_SHARE).max(Ns(1)) {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let (mut claims, mut evidence) = (Vec::new(), EvidenceRows::default());
    ctx.each_row(threads::Table, |row| {
        let uncharged = row
            .get(threads::EXEC_OF_NS)
            .zip(row.get(threads::EXEC_NS))
            .map_or(Ns::ZERO, |(on_cpu, charged)| on_cpu - charged);
        if uncharged > Ns::ZERO {
            let (thread, tid) = row.all((threads::THREAD, threads::TID));
            claims.push(ctx.claim(thread, tid, uncharged.min(all)));
            evidence.push(uncharged, row, &[&threads::EXEC_OF_NS, &threads::EXEC_NS]);
        }
    })?;
    let change = Fix::HostCpus { cpus: u32::try_from(stolen.len()).unwrap_or(u32::MAX) };
    let mut finding = ctx.finding(claims, change, "Run on a host that no other guests use".to_owned());
    finding.subject = Subject::Conditions;
    finding.title = format!(
        "The hypervisor took {} ms of CPU time, mostly on CPU {cpu} ({} of its time)",
        ms(all),
        percent(most, ctx.span().len())
    );
    finding.range_ns = [Ns::ZERO, all];
    finding.confidence = Confidence::Medium;
    finding.evidence = evidence.finish();
    finding.assumptions = vec![
        "running time for which a thread was not charged, which includes interrupts, was stolen, up to the total steal time".to_owned(),
        "the kernel reports steal time in clock ticks".to_owned(),
    ];
    Ok(RuleOutcome::Findings(vec![finding]))
}

/// The steal time of each CPU between start and end, where both are recorded.
fn stolen(ctx: &RuleContext<'_>) -> Option<BTreeMap<i64, Ns>> {
    let condition = ctx.facts().conditions.iter().find(|c| c.name == "steal_ns")?;
    let read = |words: &str| -> BTreeMap<i64, Ns> {
        let one = |word: &str| {
            let (cpu, ns) = word.strip_prefix("cpu")?.split_once('=')?;
            Some((cpu.parse().ok()?, ns.parse().ok().map(Ns)?))
        };
        words.split_whitespace().filter_map(one).collect()
    };
    let (start, end) = (read(condition.start.as_ref().ok()?), read(condition.end.as_ref().ok()?));
    let both = end.into_iter().filter_map(|(cpu, ns)| Some((cpu, (ns - *start.get(&cpu)?).max(Ns::ZERO))));
    let stolen: BTreeMap<i64, Ns> = both.collect();
    (!stolen.is_empty()).then_some(stolen)
}
