//! Threads that waited while the only CPUs without a thread were parked.

use super::LEAST_SHARE;
use crate::finding::{Confidence, Finding};
use crate::given::{Given, Shown};
use crate::rule::{Looked, Page, Rule};
use engine::EngineError;
use model::tables::{self, parking, ready_wait};
use model::words::{ms, plural};
use model::{CpuId, Fix};

pub(super) const RULE: Rule = Rule {
    id: "parked-while-ready",
    about: "a thread was ready while the only CPUs that ran nothing were parked",
    page: Page {
        finds: "Threads that were ready while, of the CPUs on which they are allowed, only parked ones ran no thread.",
        matters: "Parked CPUs save energy as long as the others have room. A burst of work finds too few, waits, and is done before the next \
                  look at the load unparks any: a stall of tens of milliseconds that nobody sees in a mean.",
        sure: "Which CPUs were parked and who was ready is known. Unparking and waking a CPU takes time, which is not in the estimate.",
        mend: "Let fewer CPUs be parked, or none while the program runs.",
        example: "A and B share CPU 0 while CPU 1 is parked: each waits for 2 ms.",
    },
    tables: &[&tables::READY_WAIT, &tables::PARKING],
    thresholds: &[&LEAST_SHARE],
    explains: &[],
    look,
};

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    if !given.summary().ready_known {
        return Ok(Looked::Lacks("the source has no wakings, so nobody knows who was ready".to_owned()));
    }
    let (mut claims, mut shown, mut told) = (Vec::new(), Shown::default(), false);
    let least = given.share(&LEAST_SHARE).max(1);
    given.each(ready_wait::Table, |row| {
        let Some(ns) = row.get(ready_wait::FREE_PARKED_NS) else { return };
        told = true;
        let [thread, tid] = row.all([ready_wait::THREAD, ready_wait::TID]);
        // A kernel thread of one CPU waits for that CPU, whatever becomes of it.
        if ns >= least && !given.is_of_one_cpu(thread) {
            claims.push(given.claim(thread, tid, ns));
            shown.push(ns, row, &[&ready_wait::FREE_PARKED_NS, &ready_wait::READY_NS]);
        }
    })?;
    if !told {
        return Ok(Looked::Lacks("the source does not tell which CPUs were parked".to_owned()));
    }
    if claims.is_empty() {
        return Ok(Looked::At(Vec::new()));
    }
    let mut cpus = Vec::new();
    given.each(parking::Table, |row| {
        if row.get(parking::PARKED_NS.or_zero()) > 0 {
            cpus.extend(u32::try_from(row.get(parking::CPU)).ok().map(CpuId));
        }
    })?;
    let many = plural(cpus.len() as u64, "CPU");
    let change = Fix::Unpark { cpus };
    let finding = given.finding(claims, change, "Let these CPUs be used".to_owned());
    Ok(Looked::At(vec![Finding {
        title: format!(
            "{} was ready for {} ms while the only free CPUs were parked ({many} at one time or another)",
            finding.threads.first().map_or("", |c| c.name.as_str()),
            ms(finding.recoverable_ns)
        ),
        range_ns: [0, finding.recoverable_ns],
        confidence: Confidence::High,
        evidence: shown.finish(),
        assumptions: vec![
            "a CPU that was parked would have run it at the same speed, and at once".to_owned(),
            "the lower end: another would have taken it".to_owned(),
        ],
        ..finding
    }]))
}
