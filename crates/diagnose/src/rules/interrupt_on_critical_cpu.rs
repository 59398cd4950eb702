//! Device interrupts that delay the critical thread and that another CPU could handle.

use super::{MIN_PATH_SHARE, MIN_SHARE};
use crate::context::{EvidenceRows, RuleContext, add};
use crate::finding::{Claim, Confidence, Finding};
use crate::rule::{Fits, Page, Rule, RuleOutcome};
use engine::EngineError;
use model::tables::{self, cpus, critical_by_thread, interrupts, ready_wait};
use model::words::{ms, percent, plain, plural, short};
use model::{Column, CpuId, Fix, Ns, Row, ThreadKey};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "interrupt-on-critical-cpu",
    about: "device interrupts were handled on the CPU of a thread on the critical path",
    page: Page {
        description: "Threads that are a large part of the critical path and on whose CPUs device interrupt handlers, and the softirqs they raised, ran \
                while the thread was running there, although the machine has other CPUs.",
        rationale: "A handler takes the CPU from whatever runs there, regardless of priority. On any other CPU it would delay work that is \
                  not critical; on this one it delays the end.",
        certainty: "When handlers ran and which thread they interrupted is recorded. Timers and interprocessor interrupts belong to their CPU and are \
               not counted. How much of the handlers' time fell on the thread while it was on the critical path is not recorded; it is \
               estimated by the share of the thread's running time that is on the path. Cache effects are not counted. Softirqs run on the \
               CPU of the interrupt that raised them, except packets that the kernel steers elsewhere (RPS).",
        fix: "Let another CPU handle the device: set the interrupt's affinity to exclude the CPUs of the thread, or pin the thread to other CPUs.",
        example: "A network card's handler takes 30 of each 100 ms on CPU 0, where the render thread runs; CPU 1 is idle.",
    },
    tables: &[&tables::INTERRUPTS, &tables::CRITICAL_BY_THREAD, &tables::READY_WAIT, &tables::CPUS],
    thresholds: &[&MIN_PATH_SHARE, &MIN_SHARE],
    explains: &[],
    worst: Fits::Running,
    shares_out_work: false,
    check,
};

/// Softirqs that run on the CPU that handled the device (include/linux/interrupt.h: `NET_TX`, `NET_RX`, `BLOCK`, `IRQ_POLL`,
/// `TASKLET`). The others are those of timers, the scheduler and RCU, which are per CPU.
const DEVICE_SOFTIRQS: [i64; 5] = [2, 3, 4, 5, 6];

/// An interrupt of a device raises up to so many softirqs: of the network, one for itself and one for what it answers.
const RAISED_BY_EACH: i64 = 4;

/// The time that device handlers took from a thread on a CPU.
#[derive(Clone, Default)]
struct Taken {
    time: Ns,
    count: i64,
    /// The number of interrupts of devices and of other CPUs, which raise softirqs. Without them, the thread runs the softirqs that it
    /// raised itself, as one does that sends packets to its own machine.
    raised_by_others: i64,
    /// The time of device interrupts, by number and name.
    by_device: BTreeMap<(i64, String), Ns>,
}

fn check(ctx: &RuleContext<'_>) -> Result<RuleOutcome, EngineError> {
    let (mut taken, mut has_data) = (BTreeMap::<(ThreadKey, i64), Taken>::new(), false);
    ctx.each_row(interrupts::Table, |row| {
        has_data = true;
        if matches!(row.get(interrupts::KIND), "device" | "ipi") {
            let sums = taken.entry((row.get(interrupts::THREAD), row.get(interrupts::CPU))).or_default();
            sums.raised_by_others = sums.raised_by_others.saturating_add(row.get(interrupts::COUNT));
        }
        if let Some(at) = movable(row).filter(|(thread, _)| !ctx.is_per_cpu_kthread(*thread)) {
            let (number, count, time) =
                row.all((interrupts::NUMBER.or_zero(), interrupts::COUNT, interrupts::HANDLER_NS));
            let sums = taken.entry(at).or_default();
            sums.time += time;
            sums.count = sums.count.saturating_add(count);
            if row.get(interrupts::KIND) == "device" {
                add(&mut sums.by_device, (number, row.get(interrupts::INTERRUPT).to_owned()), time);
            }
        }
    })?;
    if !has_data {
        return Ok(RuleOutcome::MissingData(
            "no interrupts are recorded; `corewise record` records them unless --no-irq".to_owned(),
        ));
    }
    let (least, mut cpus) = (ctx.share_ns(&MIN_SHARE).max(Ns(1)), Vec::new());
    ctx.each_row(cpus::Table, |row| cpus.push(row.get(cpus::CPU)))?;
    taken.retain(|_, sums| sums.time >= least && sums.count / RAISED_BY_EACH <= sums.raised_by_others);
    // The critical path of a file requires a pass of its own.
    if taken.is_empty() || cpus.len() < 2 {
        return Ok(RuleOutcome::Findings(Vec::new()));
    }
    let mut running = BTreeMap::new();
    ctx.each_row(ready_wait::Table, |row| {
        add(&mut running, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS))
    })?;
    let share = ctx.threshold(&MIN_PATH_SHARE) * ctx.span().len().max(Ns(1)).as_f64();
    let (mut claims, mut best) = (Vec::new(), None::<MostAffected>);
    ctx.each_row(critical_by_thread::Table, |row| {
        let (thread, tid, path) =
            row.all((critical_by_thread::THREAD, critical_by_thread::TID.or_zero(), critical_by_thread::PATH_NS));
        let of_thread = taken.range((thread, i64::MIN)..=(thread, i64::MAX));
        let Some(((_, cpu), sums)) = of_thread.max_by_key(|(_, sums)| sums.time).filter(|_| path.as_f64() >= share)
        else {
            return;
        };
        let ran = row.all(ON_PATH).iter().sum::<Ns>();
        let off_path = (running.get(&thread).copied().unwrap_or(Ns::ZERO) - ran).max(Ns::ZERO);
        let part = ran.as_f64() / (ran + off_path).max(Ns(1)).as_f64();
        let on_path = Ns::nearest(sums.time.as_f64() * part);
        if on_path < least {
            return;
        }
        claims.push(ctx.claim(thread, tid, on_path));
        if best.as_ref().is_none_or(|best| best.on_path < on_path) {
            let range_ns = [(sums.time - off_path).clamp(Ns::ZERO, on_path), sums.time.min(ran).max(on_path)];
            best = Some(MostAffected { thread, cpu: *cpu, path, on_path, range_ns });
        }
    })?;
    let Some(best) = best else { return Ok(RuleOutcome::Findings(Vec::new())) };
    let mut evidence = EvidenceRows::default();
    ctx.each_row(interrupts::Table, |row| {
        if movable(row) == Some((best.thread, best.cpu)) {
            evidence.push(
                row.get(interrupts::HANDLER_NS),
                row,
                &[&interrupts::COUNT, &interrupts::HANDLER_NS, &interrupts::LONGEST_NS],
            );
        }
    })?;
    let sums = taken.get(&(best.thread, best.cpu)).cloned().unwrap_or_default();
    let finding = finding(ctx, claims, &best, &sums, &cpus);
    Ok(RuleOutcome::Findings(vec![Finding { evidence: evidence.finish(), ..finding }]))
}

/// The thread with the largest saving, and the CPU on which it was interrupted most.
struct MostAffected {
    thread: ThreadKey,
    cpu: i64,
    path: Ns,
    on_path: Ns,
    range_ns: [Ns; 2],
}

/// The columns of `critical_by_thread` that sum up the thread's running time on the path.
const ON_PATH: [Column<critical_by_thread::Table, Ns>; 5] = [
    critical_by_thread::RUNNING_PERFORMANCE_NS,
    critical_by_thread::RUNNING_MIDDLE_NS,
    critical_by_thread::RUNNING_EFFICIENT_NS,
    critical_by_thread::RUNNING_LOW_POWER_NS,
    critical_by_thread::RUNNING_UNIFORM_NS,
];

/// The thread and the CPU of a row whose interrupt another CPU could handle.
fn movable(row: &Row<'_, interrupts::Table>) -> Option<(ThreadKey, i64)> {
    let movable = match row.get(interrupts::KIND) {
        "device" => true,
        "softirq" => DEVICE_SOFTIRQS.contains(&row.get(interrupts::NUMBER.or_zero())),
        _ => false,
    };
    movable.then(|| (row.get(interrupts::THREAD), row.get(interrupts::CPU)))
}

fn finding(ctx: &RuleContext<'_>, claims: Vec<Claim>, best: &MostAffected, sums: &Taken, cpus: &[i64]) -> Finding {
    let device = sums.by_device.iter().max_by_key(|(_, ns)| **ns).map(|(device, _)| device);
    let device_name = device.map_or_else(|| "devices".to_owned(), |(_, name)| short(&plain(name), 24));
    let others = cpus.iter().filter(|cpu| **cpu != best.cpu);
    let change = Fix::Interrupts {
        irq: device.and_then(|(number, _)| u32::try_from(*number).ok()),
        cpus: others.filter_map(|cpu| u32::try_from(*cpu).ok()).map(CpuId).collect(),
    };
    let name = ctx.name(best.thread);
    let what = format!("Let a CPU other than {} handle the interrupts of {device_name}", best.cpu);
    Finding {
        title: format!(
            "{name}, which is {} of the critical path, lost {} ms on CPU {} to {}, mainly of {device_name}",
            percent(best.path, ctx.span().len()),
            ms(sums.time),
            best.cpu,
            plural(sums.count.unsigned_abs(), "interrupt handler")
        ),
        range_ns: best.range_ns,
        confidence: Confidence::Medium,
        assumptions: vec![
            "handlers interrupted it as often on the critical path as off it (bounds: as rarely and as often as possible)".to_owned(),
            "on another CPU they delay no thread on the critical path".to_owned(),
        ],
        ..ctx.finding(claims, change, what)
    }
}
