//! What it costs to move a thread to another CPU: the call, the move, the refill of its caches; each is a measurement of its own.

use crate::clock::{Delay, now_ns};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::probes::switch::{futex_wait, futex_wake, places};
use crate::setup::{Pair, Setup};
use crate::thread::{Evidence, Mask, Part, current_cpu, together};
use crate::work::{KERNELS, Work};
use model::CpuId;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use topology::{CostUnit, PairClass};

/// Moves of one repetition.
const MOVES: u32 = 60;
/// Turns of a loop with a working set that do not count, and those that do. After another working set, passes become steady within about ten
/// turns, which is measured at the size of a cache. Fewer if passes are long. Even, so that it ends where it began.
fn turns_of(bytes: usize) -> [u32; 2] {
    if bytes <= 4 << 20 { [12, 28] } else { [2, 4] }
}
/// A move that took this many times as long as the median of its repetition waited for another thread of the CPU.
const MUCH_LONGER: i64 = 5;
/// The work of one iteration of the whole loop, ns.
const WORK_NS: f64 = 20_000.0;

/// See the module.
pub struct Migrate;

impl Probe for Migrate {
    fn name(&self) -> &'static str {
        "migrate"
    }

    fn about(&self) -> &'static str {
        "what it costs to move a thread: the call, the move, the wakeup, the refill of caches, and the speed before and after"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("call", "sched_setaffinity to the CPU on which the thread runs: the call without a move"),
            ("move", "sched_setaffinity to the other CPU, until the thread runs there: the call with a move"),
            ("wake", "from the wakeup of a thread that sleeps on the other CPU until it runs"),
            ("refill", "a pass over the working set after a move minus a pass without one, as a mean of both CPUs"),
            ("speed", "the time of fixed work on the second CPU over that on the first"),
            ("iteration", "a loop of work, a move and a pass over the working set, measured as a whole"),
            (
                "parts",
                "the same loop as the sum of its separately measured parts, over the whole: 1 if the parts explain it",
            ),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let last_level = last_level_bytes(setup).unwrap_or(8 << 20);
        let mut sets = vec![4 << 10, 32 << 10, 256 << 10, 1 << 20];
        if setup.quick {
            sets = vec![32 << 10, 1 << 20];
        }
        sets.push(last_level.clamp(2 << 20, 32 << 20));
        let kernel = &KERNELS[0];
        for pair in setup.pairs() {
            let own = pair.class == PairClass::SameCpu;
            let cpus = pair.cpus();
            let place = if own { &cpus[..1] } else { &cpus[..] };
            let name = |what: &str| format!("{what} {}", places(place));
            let figure = |figure, unit, formula| Wanted::new(figure, place, unit, formula).pair(pair.class);
            let call = plan.checked_steps(setup, &name("call"), &cpus[..1], false, |delay| {
                Ok(moves(pair.from, pair.from, delay))
            })?;
            let again = plan.series(name("call again"), moves(pair.from, pair.from, None));
            if own {
                plan.figure(figure("call", CostUnit::Ns, Formula::of(call)).control(Formula::difference(again, call)));
                continue;
            }
            // Nothing is added to a move: the other CPU would be idle for longer, and take longer to wake.
            let moved = plan.series(name("move"), moves(pair.from, pair.to, None));
            // The null control of a move is a move that goes nowhere: the same call twice.
            let control = Formula::difference(again, call);
            plan.figure(figure("move", CostUnit::Ns, Formula::of(moved)).with("work_between_us", 0).control(control));
            let woken = plan.series(name("wake"), wakes(pair));
            plan.figure(figure("wake", CostUnit::Ns, Formula::of(woken)));
            let work = Work::of(kernel, WORK_NS * 20.0).map_err(io::Error::other)?;
            let (on_from, on_to) = (
                plan.series(name("work on the first of"), works(work.again(), pair.from)),
                plan.series(name("work on the second of"), works(work.again(), pair.to)),
            );
            let on_from_again = plan.series(name("work again on the first of"), works(work, pair.from));
            let same = Formula::ratio(on_from_again, on_from);
            plan.figure(figure("speed", CostUnit::Ratio, Formula::ratio(on_to, on_from)).control(same));
            for bytes in &sets {
                let set: Set = Arc::new(Mutex::new(vec![1; *bytes / 8]));
                let name = |what: &str| name(&format!("{what} {bytes} bytes"));
                let (stays, moves) = (
                    plan.series(name("pass"), refills(pair.from, pair.from, &set, LoopPart::Pass)?),
                    plan.series(name("pass after a move"), refills(pair.from, pair.to, &set, LoopPart::Pass)?),
                );
                let stays_again = plan.series(name("pass again"), refills(pair.from, pair.from, &set, LoopPart::Pass)?);
                let stays_there = plan.series(name("pass there"), refills(pair.to, pair.to, &set, LoopPart::Pass)?);
                // Half of the passes after a move are on each CPU.
                let of = Formula::Sum(vec![(1.0, moves), (-0.5, stays), (-0.5, stays_there)]);
                let refill = figure("refill", CostUnit::Ns, of).with("working_set_bytes", bytes);
                plan.figure(refill.control(Formula::difference(stays_again, stays)).enough(200.0));
                if *bytes == 256 << 10 || (setup.quick && *bytes == 32 << 10) {
                    let whole = plan.series(name("whole loop"), refills(pair.from, pair.to, &set, LoopPart::Whole)?);
                    let apart =
                        plan.series(name("move of the loop"), refills(pair.from, pair.to, &set, LoopPart::Move)?);
                    let moved = figure("move", CostUnit::Ns, Formula::of(apart));
                    plan.figure(moved.with("work_between_us", WORK_NS / 1000.0).with("working_set_bytes", bytes));
                    let alone =
                        plan.series(name("work of the loop"), refills(pair.from, pair.to, &set, LoopPart::Work)?);
                    plan.figure(figure("iteration", CostUnit::Ns, Formula::of(whole)).with("working_set_bytes", bytes));
                    // Work, the call with its move, and the pass after it.
                    let parts = vec![(1.0, alone), (1.0, apart), (1.0, moves)];
                    let sum = Formula::Ratio(parts, vec![(1.0, whole)]);
                    plan.figure(figure("parts", CostUnit::Ratio, sum).with("working_set_bytes", bytes));
                }
            }
        }
        plan.left_out.extend(setup.missing_pairs());
        Ok(plan)
    }
}

/// The size of the last-level cache, bytes, as the kernel states it.
fn last_level_bytes(setup: &Setup) -> Option<usize> {
    let cpu = setup.cpus.first()?.0;
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3/size")).ok()?;
    let kib: usize = text.trim().strip_suffix('K')?.parse().ok()?;
    Some(kib << 10)
}

/// Measures in one thread. `work` returns the value, the times of its moves and their number.
fn single(cpus: Vec<CpuId>, work: impl FnOnce() -> ((f64, Vec<i64>), u64) + Send) -> io::Result<Repetition> {
    let part: Part<'_, (f64, Vec<i64>)> = (cpus, Box::new(work));
    let mut done = together(vec![part])?;
    let ((value, mut each), mut evidence) = done.pop().ok_or_else(|| io::Error::other("no thread measured"))?;
    each.sort_unstable();
    let much_longer = each.get(each.len() / 2).map(|median| median * MUCH_LONGER);
    evidence.disturbed |= each.last().zip(much_longer).is_some_and(|(longest, most)| *longest > most);
    Ok(Repetition { value, threads: vec![evidence] })
}

/// Moves back and forth, or calls without a move if both CPUs are the same.
fn moves(from: CpuId, to: CpuId, delay: Option<Delay>) -> Step {
    Box::new(move || {
        let masks = [Mask::of(&[to]), Mask::of(&[from])];
        single(vec![from, to], move || {
            let mut moves = 0;
            let _ = masks[1].apply();
            let mut at = current_cpu();
            let mut each = Vec::with_capacity(MOVES as usize);
            let start = now_ns();
            let mut before = start;
            for turn in 0..MOVES {
                if let Some(delay) = delay {
                    delay.spend();
                }
                let _ = masks[turn as usize % 2].apply();
                let now = current_cpu();
                moves += u64::from(now != at);
                at = now;
                if from != to {
                    // Small against a move, but not against a call.
                    let after = now_ns();
                    each.push(after - before);
                    before = after;
                }
            }
            (((now_ns() - start) as f64 / f64::from(MOVES), each), moves)
        })
        .map(|of| placed(of, from, to, MOVES))
    })
}

/// Marks a repetition as misplaced if it did not move as often as it should.
fn placed(mut of: Repetition, from: CpuId, to: CpuId, moves: u32) -> Repetition {
    let wanted = if from == to { 0 } else { u64::from(moves) };
    for thread in &mut of.threads {
        thread.as_meant &= thread.moves == wanted;
    }
    of
}

fn works(mut work: Work, cpu: CpuId) -> Step {
    Box::new(move || {
        let work = &mut work;
        let of = single(vec![cpu], move || ((work.run().unwrap_or(f64::NAN), Vec::new()), 0))?;
        if of.value.is_nan() { Err(io::Error::other("the work has a wrong result")) } else { Ok(of) }
    })
}

/// What of the loop is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LoopPart {
    /// The pass over the working set.
    Pass,
    /// The work.
    Work,
    /// The call and the move.
    Move,
    /// Work, move and pass.
    Whole,
}

/// A working set. All series of one size share it: where its pages lie decides how often they evict each other from a cache.
type Set = Arc<Mutex<Vec<u64>>>;

/// A loop of work, a move and a pass over a working set, of which one part is measured.
fn refills(from: CpuId, to: CpuId, set: &Set, part: LoopPart) -> io::Result<Step> {
    let mut work = Work::of(&KERNELS[0], WORK_NS).map_err(io::Error::other)?;
    let set = Arc::clone(set);
    let [uncounted, counted] = turns_of(set.lock().map_or(1, |set| set.len() * 8));
    Ok(Box::new(move || {
        let masks = [Mask::of(&[to]), Mask::of(&[from])];
        let mut set = set.lock().map_err(|_| io::Error::other("another series failed"))?;
        let (set, work) = (set.as_mut_slice(), &mut work);
        single(vec![from, to], move || {
            let mut moves = 0;
            let (mut each, mut times) = (Vec::with_capacity(counted as usize), Vec::with_capacity(counted as usize));
            let _ = masks[1].apply();
            let mut at = current_cpu();
            for turn in 0..uncounted + counted {
                let start = now_ns();
                black_box(work.run());
                let worked = now_ns();
                let _ = masks[turn as usize % 2].apply();
                let now = current_cpu();
                moves += u64::from(now != at);
                at = now;
                let moved = now_ns();
                pass(set);
                let done = now_ns();
                if turn >= uncounted {
                    each.push(moved - worked);
                    times.push(match part {
                        LoopPart::Work => worked - start,
                        LoopPart::Move => moved - worked,
                        LoopPart::Pass => done - moved,
                        LoopPart::Whole => done - start,
                    });
                }
            }
            ((midmean(times), each), moves)
        })
        .map(|of| placed(of, from, to, uncounted + counted))
    }))
}

/// The mean of the middle half: single interrupted turns have no part in it.
fn midmean(mut times: Vec<i64>) -> f64 {
    times.sort_unstable();
    let middle = &times[times.len() / 4..times.len() - times.len() / 4];
    middle.iter().sum::<i64>() as f64 / middle.len().max(1) as f64
}

/// Reads and writes one word of each cache line.
fn pass(set: &mut [u64]) {
    let mut sum = 0_u64;
    for word in set.iter_mut().step_by(8) {
        sum = sum.wrapping_add(*word);
        *word = sum | 1;
    }
    black_box(sum);
}

/// Wakes a thread that sleeps on the other CPU, and waits until it says when it ran.
fn wakes(pair: Pair) -> Step {
    const WAKES: u32 = 16;
    Box::new(move || {
        let word = Arc::new(AtomicU32::new(0));
        let (waker, sleeper) = (Arc::clone(&word), Arc::clone(&word));
        let ran = Arc::new(Mutex::new(Vec::with_capacity(WAKES as usize)));
        let of_sleeper = Arc::clone(&ran);
        let parts: Vec<Part<'static, Vec<i64>>> = vec![
            (
                vec![pair.from],
                Box::new(move || {
                    let mut sent = Vec::with_capacity(WAKES as usize);
                    for _ in 0..WAKES {
                        // The other thread sleeps again after some time: it has nothing else to do.
                        let until = now_ns() + 30_000;
                        while now_ns() < until {
                            std::hint::spin_loop();
                        }
                        sent.push(now_ns());
                        waker.store(1, Ordering::Release);
                        futex_wake(&waker);
                        while waker.load(Ordering::Acquire) != 0 {
                            std::hint::spin_loop();
                        }
                    }
                    (sent, 0)
                }),
            ),
            (
                vec![pair.to],
                Box::new(move || {
                    for _ in 0..WAKES {
                        futex_wait(&sleeper, 0);
                        let at = now_ns();
                        if let Ok(mut ran) = of_sleeper.lock() {
                            ran.push(at);
                        }
                        sleeper.store(0, Ordering::Release);
                    }
                    (Vec::new(), 0)
                }),
            ),
        ];
        let done = together(parts)?;
        let sent = done.first().map(|(sent, _)| sent.clone()).unwrap_or_default();
        let ran = ran.lock().map(|ran| ran.clone()).unwrap_or_default();
        let mut took: Vec<i64> = sent.iter().zip(&ran).map(|(sent, ran)| ran - sent).collect();
        took.sort_unstable();
        let value = took.get(took.len() / 2).copied().unwrap_or(0) as f64;
        let threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
        Ok(Repetition { value, threads })
    })
}
