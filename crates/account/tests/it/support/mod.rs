//! Runs a source through ingest, both stages of the accounting, and the concurrency analysis.

use account::{Accountant, Collector, InferredIndex, Laws, Rules, StretchBatch, ThreadTotals, Totals};
use analysis::{Context, Running};
use ingest::{Limits, Opened, Ordered};
use model::{Batch, CpuId, CpuStretch, Ns, Span, Table, ThreadStretch, Timeline};
use topology::Machine;

pub struct Accounted {
    pub totals: Totals,
    pub instances: Vec<ThreadTotals>,
    pub laws: Laws,
    pub threads: Vec<ThreadStretch>,
    pub cpus: Vec<CpuStretch>,
    pub concurrency: Table,
    pub late: u64,
}

/// Accounts a source; the tables include inferred time if the rules infer it.
pub fn account(open: impl Fn() -> Opened<'static>, rules: Rules, sort_all: bool) -> Accounted {
    accounted(open, rules.clone(), sort_all, rules.infer)
}

/// Calls `open` again if there are losses or CPUs without events, as the engine does.
pub fn accounted(open: impl Fn() -> Opened<'static>, rules: Rules, sort_all: bool, inferred: bool) -> Accounted {
    let mut ordered = Ordered::new(open(), sort_all, Limits { batch: 37, ..Limits::default() });
    let (mut accountant, mut sink) = (Accountant::new(rules.clone()), Collector::default());
    let mut batch = Batch::default();
    while ordered.next(&mut batch) {
        accountant.push(&batch, &mut sink);
    }
    let mut totals = accountant.finish(&mut sink);
    if !totals.lossy_complete || !totals.unrecorded_complete {
        let losses = if totals.lossy_complete { rules.losses } else { Some(totals.loss_index()) };
        let rules = Rules { losses, unrecorded: Some(totals.unrecorded), ..rules };
        return accounted(open, rules, sort_all, inferred);
    }
    let mut stretches = sink.finish();
    if rules.strict {
        stretches = stretches.strict(totals.loss_index());
    }
    if inferred {
        stretches = stretches.with_inferred(InferredIndex::new(&totals.inferred));
        totals = totals.with_inferred();
    }
    let (mut threads, mut cpus) = (Vec::new(), Vec::new());
    let ok = Ok::<_, account::SpillError>;
    stretches.threads(|s| ok(threads.extend_from_slice(s))).unwrap();
    stretches.cpus(|s| ok(cpus.extend_from_slice(s))).unwrap();
    let (mut in_turn, mut cpus_in_turn) = (Vec::new(), Vec::new());
    let took = stretches.in_turn(|some| {
        match some {
            StretchBatch::Threads(threads) => in_turn.append(threads),
            StretchBatch::Cpus(cpus) => cpus_in_turn.extend_from_slice(cpus),
        }
        ok(())
    });
    took.unwrap();
    assert!(in_turn == threads && cpus_in_turn == cpus, "in state_id as one after the other");
    let concurrency = concurrency(&totals, &cpus);
    let (laws, instances) = (Laws::check(&totals).unwrap(), totals.threads.all().unwrap());
    Accounted { laws, instances, totals, threads, cpus, concurrency, late: ordered.late() }
}

fn concurrency(totals: &Totals, cpus: &[CpuStretch]) -> Table {
    let followed: Vec<CpuId> = totals.cpus.iter().filter(|c| c.followed).map(|c| c.cpu).collect();
    let (machine, span) = (Machine::default(), Span::new(Ns::ZERO, totals.end));
    let context =
        Context { machine: &machine, span, to_end: true, followed: &followed, ready_known: totals.ready_known };
    let mut running = Running::start(&["concurrency"], &context, Vec::new());
    running.push(&Timeline { cpus, ..Timeline::default() });
    running.finish().remove(0)
}
