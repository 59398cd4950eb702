//! The thread that decides when all is done, under devices' interrupts that another CPU could handle.

use super::{LEAST_PATH_SHARE, LEAST_SHARE};
use crate::finding::{Claim, Confidence, Finding};
use crate::given::{Given, Shown, add};
use crate::rule::{Looked, Page, Rule};
use engine::EngineError;
use model::tables::{self, cpus, critical_by_thread, interrupts, ready_wait};
use model::words::{ms, percent, plain, plural, short};
use model::{Column, CpuId, Fix, Row};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "interrupt-on-critical-cpu",
    about: "devices' interrupts were handled on the CPU of the thread for which the rest waits",
    page: Page {
        finds: "Threads that are much of the critical path, and on whose CPUs handlers of devices, and the softirqs behind them, ran while the \
                thread was there, while the machine has other CPUs.",
        matters: "A handler takes the CPU from whatever runs there, whatever its priority. On any other CPU it would delay work for which nobody \
                  waits; on this one it delays the end.",
        sure: "When handlers ran, and on whom, the source tells. Timers and interrupts that CPUs send each other belong to their CPU and are not \
               counted. How much of the handlers' time fell on the thread while it was the path is not told: as much as the thread's running on \
               the path is of all its running is taken. What the caches lose is not counted. Softirqs go with the interrupt that raised them, \
               but for packets that the kernel steers elsewhere (RPS).",
        mend: "Let another CPU handle the device: its affinity, away from the CPUs of the thread; or pin the thread away from the device's CPUs.",
        example: "A network card's handler takes 30 of each 100 ms on CPU 0, where the render thread runs; CPU 1 idles.",
    },
    tables: &[&tables::INTERRUPTS, &tables::CRITICAL_BY_THREAD, &tables::READY_WAIT, &tables::CPUS],
    thresholds: &[&LEAST_PATH_SHARE, &LEAST_SHARE],
    explains: &[],
    look,
};

/// Softirqs that run on the CPU that handled the device (include/linux/interrupt.h: `NET_TX`, `NET_RX`, `BLOCK`, `IRQ_POLL`,
/// `TASKLET`); the others are of timers, of the scheduler and of RCU, which each CPU has of its own.
const OF_DEVICES: [i64; 5] = [2, 3, 4, 5, 6];

/// What handlers of devices took of a thread on a CPU.
#[derive(Clone, Default)]
struct Taken {
    time: i64,
    count: i64,
    /// Those of devices themselves, by number and name.
    by: BTreeMap<(i64, String), i64>,
}

fn look(given: &Given<'_>) -> Result<Looked, EngineError> {
    let (mut taken, mut told) = (BTreeMap::<(i64, i64), Taken>::new(), false);
    given.each(interrupts::Table, |row| {
        told = true;
        if let Some(at) = movable(row).filter(|(thread, _)| !given.is_of_one_cpu(*thread)) {
            let [number, count, time] =
                row.all([interrupts::NUMBER.or_zero(), interrupts::COUNT, interrupts::HANDLER_NS]);
            let of = taken.entry(at).or_default();
            of.time = of.time.saturating_add(time);
            of.count = of.count.saturating_add(count);
            if row.get(interrupts::KIND) == "device" {
                add(&mut of.by, (number, row.get(interrupts::INTERRUPT).to_owned()), time);
            }
        }
    })?;
    if !told {
        return Ok(Looked::Lacks("no interrupt is told: `corewise record --irq` records them".to_owned()));
    }
    let (least, mut cpus) = (given.share(&LEAST_SHARE).max(1), Vec::new());
    given.each(cpus::Table, |row| cpus.push(row.get(cpus::CPU)))?;
    taken.retain(|_, of| of.time >= least);
    // The path of a file is a pass of its own.
    if taken.is_empty() || cpus.len() < 2 {
        return Ok(Looked::At(Vec::new()));
    }
    let mut running = BTreeMap::new();
    given.each(ready_wait::Table, |row| {
        add(&mut running, row.get(ready_wait::THREAD), row.get(ready_wait::RUNNING_NS))
    })?;
    let share = given.threshold(&LEAST_PATH_SHARE) * given.span().len().0.max(1) as f64;
    let (mut claims, mut best) = (Vec::new(), None::<Most>);
    given.each(critical_by_thread::Table, |row| {
        let [thread, tid, path] =
            row.all([critical_by_thread::THREAD, critical_by_thread::TID.or_zero(), critical_by_thread::PATH_NS]);
        let of_thread = taken.range((thread, i64::MIN)..=(thread, i64::MAX));
        let Some(((_, cpu), of)) = of_thread.max_by_key(|(_, of)| of.time).filter(|_| path as f64 >= share) else {
            return;
        };
        let ran = row.all(ON_PATH).iter().fold(0, |sum: i64, ns| sum.saturating_add(*ns));
        let beside = running.get(&thread).copied().unwrap_or(0).saturating_sub(ran).max(0);
        let part = ran as f64 / ran.saturating_add(beside).max(1) as f64;
        let on_path = (of.time as f64 * part).round() as i64;
        if on_path < least {
            return;
        }
        claims.push(given.claim(thread, tid, on_path));
        if best.as_ref().is_none_or(|best| best.on_path < on_path) {
            let range_ns = [of.time.saturating_sub(beside).clamp(0, on_path), of.time.min(ran).max(on_path)];
            best = Some(Most { thread, cpu: *cpu, path, on_path, range_ns });
        }
    })?;
    let Some(best) = best else { return Ok(Looked::At(Vec::new())) };
    let mut shown = Shown::default();
    given.each(interrupts::Table, |row| {
        if movable(row) == Some((best.thread, best.cpu)) {
            shown.push(
                row.get(interrupts::HANDLER_NS),
                row,
                &[&interrupts::COUNT, &interrupts::HANDLER_NS, &interrupts::LONGEST_NS],
            );
        }
    })?;
    let of = taken.get(&(best.thread, best.cpu)).cloned().unwrap_or_default();
    let finding = finding(given, claims, &best, &of, &cpus);
    Ok(Looked::At(vec![Finding { evidence: shown.finish(), ..finding }]))
}

/// The thread that gains most, and the CPU on which it was interrupted most.
struct Most {
    thread: i64,
    cpu: i64,
    path: i64,
    on_path: i64,
    range_ns: [i64; 2],
}

/// Whose running on the path a row of `critical_by_thread` tells.
const ON_PATH: [Column<critical_by_thread::Table, i64>; 5] = [
    critical_by_thread::RUNNING_PERFORMANCE_NS,
    critical_by_thread::RUNNING_MIDDLE_NS,
    critical_by_thread::RUNNING_EFFICIENT_NS,
    critical_by_thread::RUNNING_LOW_POWER_NS,
    critical_by_thread::RUNNING_UNIFORM_NS,
];

/// The thread and the CPU of a row whose interrupt another CPU could handle.
fn movable(row: &Row<'_, interrupts::Table>) -> Option<(i64, i64)> {
    let movable = match row.get(interrupts::KIND) {
        "device" => true,
        "softirq" => OF_DEVICES.contains(&row.get(interrupts::NUMBER.or_zero())),
        _ => false,
    };
    movable.then(|| (row.get(interrupts::THREAD), row.get(interrupts::CPU)))
}

fn finding(given: &Given<'_>, claims: Vec<Claim>, best: &Most, of: &Taken, cpus: &[i64]) -> Finding {
    let device = of.by.iter().max_by_key(|(_, ns)| **ns).map(|(device, _)| device);
    let called = device.map_or_else(|| "devices".to_owned(), |(_, name)| short(&plain(name), 24));
    let others = cpus.iter().filter(|cpu| **cpu != best.cpu);
    let change = Fix::Interrupts {
        irq: device.and_then(|(number, _)| u32::try_from(*number).ok()),
        cpus: others.filter_map(|cpu| u32::try_from(*cpu).ok()).map(CpuId).collect(),
    };
    let name = given.name(best.thread);
    let what = format!("Let another CPU than {} handle the interrupts of {called}", best.cpu);
    Finding {
        title: format!(
            "{name}, {} of the critical path, lost {} ms on CPU {} to {} of interrupts, most to {called}",
            percent(best.path, given.span().len().0),
            ms(of.time),
            best.cpu,
            plural(of.count.unsigned_abs(), "handler")
        ),
        range_ns: best.range_ns,
        confidence: Confidence::Medium,
        assumptions: vec![
            "handlers came upon it as often while it was the path as at other times; the range: as seldom, and as often, as can be".to_owned(),
            "on another CPU they delay nobody who is on the path".to_owned(),
        ],
        ..given.finding(claims, change, what)
    }
}
