//! How long a woken thread takes to run, by how long its CPU had been idle, and by the core types of both; and on a busy CPU, as the contrast.
//!
//! The waker reads the clock, wakes the sleeper by a futex, and the sleeper reads the clock when it runs: one clock, which the kernel keeps
//! equal on all CPUs. The idle time counts from when the sleeper says that it goes to sleep; entering the kernel and idle is part of it.

use crate::clock::{Delay, now_ns};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::probes::sleep::{SWITCH_NS, sleep_once};
use crate::probes::switch::{futex_wait, futex_wake, places};
use crate::setup::{Pair, Setup};
use crate::thread::{Evidence, Part, together};
use model::CpuId;
use std::hint;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use topology::{CostUnit, IdleState, PairClass};

/// How long the sleeper's CPU has been idle, µs.
const IDLE_US: [u32; 4] = [5, 50, 500, 5000];
/// The time between two wakeups on a busy CPU, µs.
const BUSY_US: u32 = 500;
/// About how long a repetition waits in all, µs.
const WAITS_US: u32 = 10_000;
/// How long the waker is awake before a wakeup, µs: long enough for the frequency and caches of its core.
const AWAKE_US: u32 = 200;
/// The most core types. All pairs of types, and a pair of siblings, with all idle times are at most 170 series, however large the machine is.
const TYPES: usize = 4;

/// See the module.
pub struct Wake;

impl Probe for Wake {
    fn name(&self) -> &'static str {
        "wake"
    }

    fn about(&self) -> &'static str {
        "how long a woken thread takes to run, by how long its CPU was idle, by core types, and on a busy CPU"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "wake_latency",
                "from just before the wakeup by the first CPU until the thread runs on the second one, which was idle for idle_us; deepest_state is the deepest idle state whose target residency is not longer",
            ),
            (
                "wake_latency_busy",
                "the same while another thread of normal priority runs on the second CPU: the time until it is preempted, or until its slice ends",
            ),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let pairs = pairs(setup);
        for pair in &pairs {
            let cpus = pair.cpus();
            let figure =
                |figure, series| Wanted::new(figure, &cpus, CostUnit::Ns, Formula::of(series)).pair(pair.class);
            for idle_us in idle_times(setup) {
                let name = format!("wake after {idle_us} us on {}", places(&cpus));
                let woken = plan.steps(setup, &name, &cpus, false, |delay| Ok(wakes(*pair, idle_us, false, delay)))?;
                // The null control: the same wakeups once more.
                let again = plan.series(format!("{name} again"), wakes(*pair, idle_us, false, None));
                let found = figure("wake_latency", woken).with("idle_us", idle_us);
                let found = match deepest_state(setup, pair.to, idle_us) {
                    Some(state) => found.with("deepest_state", &state.name),
                    None => found,
                };
                plan.figure(found.control(Formula::difference(again, woken)));
            }
            let name = format!("wake on a busy CPU on {}", places(&cpus));
            let woken = plan.series(name.clone(), wakes(*pair, BUSY_US, true, None));
            let again = plan.series(format!("{name} again"), wakes(*pair, BUSY_US, true, None));
            let found = figure("wake_latency_busy", woken).with("between_us", BUSY_US);
            plan.figure(found.control(Formula::difference(again, woken)));
        }
        if pairs.is_empty() {
            plan.left_out.push("left out: all wakeups, since they need two CPUs".to_owned());
        }
        plan.left_out.extend(setup.missing_pairs().filter(|_| !pairs.is_empty()));
        let unknown: Vec<CpuId> =
            pairs.iter().map(|pair| pair.to).filter(|cpu| states(setup, *cpu).is_empty()).collect();
        if let Some(first) = unknown.first() {
            plan.left_out.push(format!(
                "left out: the idle state in which a CPU was, since the kernel names no idle states of CPU {} (cpuidle is off, or a hypervisor hides it)",
                first.0
            ));
        }
        Ok(plan)
    }

    fn judge(&self, _setup: &Setup, costs: &[topology::Cost]) -> Vec<String> {
        let early = |cost: &&topology::Cost| cost.figure.starts_with("wake_latency") && cost.estimate.high < 0.0;
        costs
            .iter()
            .filter(early)
            .map(|cost| {
                format!(
                    "a thread on CPU {} ran {:.0} ns before CPU {} woke it: the clocks of these CPUs differ, do not use wake-up latencies of this machine",
                    places(cost.cpus.get(1..).unwrap_or_default()),
                    -cost.estimate.value,
                    places(cost.cpus.get(..1).unwrap_or_default())
                )
            })
            .collect()
    }
}

/// The idle times to measure, µs.
fn idle_times(setup: &Setup) -> Vec<u32> {
    IDLE_US.into_iter().filter(|us| !setup.quick || *us != 50).collect()
}

fn states(setup: &Setup, cpu: CpuId) -> &[IdleState] {
    setup.machine.cpu(cpu).map(|of| of.idle_states.as_slice()).unwrap_or_default()
}

/// The deepest state that saves energy within this idle time, which is how the kernel's governors choose (menu.c, teo.c).
fn deepest_state(setup: &Setup, cpu: CpuId, idle_us: u32) -> Option<&IdleState> {
    states(setup, cpu).iter().rfind(|state| state.target_residency_us.is_some_and(|us| us <= idle_us))
}

/// A waker of each type and a sleeper of each type on different cores, and two siblings.
fn pairs(setup: &Setup) -> Vec<Pair> {
    let mut classes = setup.by_class();
    // The fastest last: these are kept.
    classes.drain(..classes.len().saturating_sub(TYPES));
    let pair = |from: CpuId, to: CpuId| Pair { class: setup.machine.pair_class(from, to), from, to };
    let mut pairs: Vec<Pair> = Vec::new();
    for (_, wakers) in &classes {
        for (_, sleepers) in &classes {
            let Some(from) = wakers.first() else { continue };
            let others = sleepers.iter().map(|to| pair(*from, *to));
            let other_core = |pair: &Pair| !matches!(pair.class, PairClass::SameCpu | PairClass::Sibling);
            pairs.extend(others.filter(other_core).min_by_key(|pair| pair.class));
        }
    }
    // Of the fastest type with siblings.
    let siblings = classes.iter().rev().find_map(|(_, cpus)| {
        let of_first = |from: &CpuId| cpus.iter().map(|to| pair(*from, *to)).find(|of| of.class == PairClass::Sibling);
        cpus.iter().find_map(of_first)
    });
    pairs.extend(siblings);
    pairs
}

/// Wakes a thread again and again after a time in which it sleeps. `busy`: another thread runs on the sleeper's CPU. The value is the median.
fn wakes(pair: Pair, idle_us: u32, busy: bool, delay: Option<Delay>) -> Step {
    let wakes = (WAITS_US / idle_us).clamp(3, 100);
    Box::new(move || {
        // What the sleeper waits for: the number of the last wakeup. What it reached: it sleeps before this wakeup.
        let (word, asleep, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)), AtomicU32::new(0));
        let (of_waker, of_sleeper) = ((&word, &asleep), (&word, &asleep));
        let ended = &ended;
        let mut parts: Vec<Part<'_, Vec<i64>>> = vec![
            (
                vec![pair.from],
                Box::new(move || {
                    let (word, asleep) = of_waker;
                    let mut sent = Vec::with_capacity(wakes as usize);
                    for wake in 1..=wakes {
                        while asleep.load(Ordering::Acquire) < wake {
                            hint::spin_loop();
                        }
                        let until = now_ns() + i64::from(idle_us) * 1_000;
                        if idle_us > AWAKE_US {
                            // So long a time is not spun through: another process would want the CPU meanwhile.
                            sleep_once(i64::from(idle_us - AWAKE_US) * 1_000);
                        }
                        while now_ns() < until {
                            hint::spin_loop();
                        }
                        sent.push(now_ns());
                        word.store(wake, Ordering::Release);
                        futex_wake(word);
                    }
                    (sent, 0)
                }),
            ),
            (
                vec![pair.to],
                Box::new(move || {
                    let (word, asleep) = of_sleeper;
                    let mut ran = Vec::with_capacity(wakes as usize);
                    for wake in 1..=wakes {
                        asleep.store(wake, Ordering::Release);
                        futex_wait(word, wake - 1);
                        // After the wakeup: before it, it would make the idle time longer.
                        if let Some(delay) = delay {
                            delay.spend();
                        }
                        ran.push(now_ns());
                    }
                    ended.store(1, Ordering::Release);
                    (ran, 0)
                }),
            ),
        ];
        if busy {
            let runs = move || {
                while ended.load(Ordering::Relaxed) == 0 {
                    hint::spin_loop();
                }
                (Vec::new(), 0)
            };
            parts.push((vec![pair.to], Box::new(runs)));
        }
        let done = together(parts)?;
        let times = |i: usize| done.get(i).map(|(times, _)| times.as_slice()).unwrap_or_default();
        let latencies = latencies(times(0), times(1));
        let in_wakeups: i64 = latencies.iter().sum();
        let value = median(latencies);
        let mut threads: Vec<Evidence> = done.into_iter().map(|(_, thread)| thread).collect();
        judge_threads(&mut threads, wakes, if idle_us > AWAKE_US { wakes } else { 0 }, in_wakeups);
        Ok(Repetition { value, threads })
    })
}

/// Leaves in the ready times of waker, sleeper and the thread that keeps the sleeper's CPU busy only what others are the reason of; and marks
/// a sleeper that did not sleep. `slept`: how often the waker slept.
fn judge_threads(threads: &mut [Evidence], wakes: u32, slept: u32, in_wakeups_ns: i64) {
    let (waker, sleeper, runs) = match threads {
        [waker, sleeper] => (waker, sleeper, None),
        [waker, sleeper, runs] => (waker, sleeper, Some(runs)),
        _ => return,
    };
    waker.ready_ns = waker.ready_ns.map(|ready| (ready - SWITCH_NS * i64::from(slept)).max(0));
    // Woken before it slept, it only went on.
    sleeper.as_meant &= sleeper.slept >= i64::from(wakes * 9 / 10);
    match runs {
        // It is ready from each wakeup until it runs: this is what is measured.
        None => sleeper.ready_ns = sleeper.ready_ns.map(|ready| (ready - in_wakeups_ns).max(0)),
        // Each of the two waits for the other. One of them always runs, unless a third one does.
        Some(runs) => {
            sleeper.ready_ns = runs.ready_ns.map(|_| (runs.len_ns() - runs.ran_ns - sleeper.ran_ns).max(0));
            runs.ready_ns = None;
        }
    }
}

/// From each wakeup until the thread ran, ns.
fn latencies(sent: &[i64], ran: &[i64]) -> Vec<i64> {
    sent.iter().zip(ran).map(|(sent, ran)| ran - sent).collect()
}

/// The median; 0 of none.
pub(crate) fn median(mut values: Vec<i64>) -> f64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::drawn::{HYBRID, setup};
    use crate::thread::allowed;

    #[test]
    fn a_waker_and_a_sleeper_of_each_type_are_measured() {
        let setup = setup(HYBRID, false);
        let found: Vec<(u32, u32, PairClass)> = pairs(&setup).iter().map(|of| (of.from.0, of.to.0, of.class)).collect();
        use PairClass::{OtherType, SameCluster, SameL3, Sibling};
        assert_eq!(found, [(8, 9, SameCluster), (8, 0, OtherType), (0, 8, OtherType), (0, 2, SameL3), (0, 1, Sibling)]);
        let plan = Wake.plan(&setup).unwrap();
        assert_eq!(plan.series.len(), 5 * 2 * (4 + 1));
        assert!(plan.figures.iter().all(|of| of.control.is_some()));
        let described: Vec<&str> = Wake.figures().iter().map(|(name, _)| *name).collect();
        assert_eq!(described, ["wake_latency", "wake_latency_busy"]);
        assert!(plan.figures.iter().all(|of| described.contains(&of.figure)));
        assert!(plan.left_out[0].contains("names no idle states of CPU"), "{:?}", plan.left_out);
    }

    #[test]
    fn a_large_machine_has_a_bounded_plan_and_one_cpu_has_none() {
        let large = setup("[[cpus]]\nids = \"0-127\"\n", false);
        assert_eq!(Wake.plan(&large).unwrap().series.len(), 10);
        let mut text = String::new();
        for (i, kind) in ["performance", "middle", "efficient", "low_power"].iter().enumerate() {
            text += &format!("[[cpus]]\nids = \"{}-{}\"\ntype = \"{kind}\"\n", i * 32, i * 32 + 31);
        }
        let text = text.replacen("type", "siblings = [\"0-1\"]\ntype", 1);
        assert_eq!(Wake.plan(&setup(&text, false)).unwrap().series.len(), 170);
        let one = Wake.plan(&setup("[[cpus]]\nids = \"0\"\n", false)).unwrap();
        assert_eq!(one.series.len(), 0);
        assert!(one.left_out[0].contains("need two CPUs"));
    }

    #[test]
    fn the_deepest_state_is_the_one_that_pays_within_the_idle_time() {
        let mut setup = setup("[[cpus]]\nids = \"0-1\"\n", false);
        let state = |name: &str, target| IdleState {
            name: name.to_owned(),
            target_residency_us: Some(target),
            exit_latency_us: None,
        };
        setup.machine.cpus[1].idle_states = vec![state("POLL", 0), state("C1E", 20), state("C6", 600)];
        let name = |us| deepest_state(&setup, CpuId(1), us).unwrap().name.clone();
        assert_eq!([name(5), name(50), name(500), name(5000)], ["POLL", "C1E", "C1E", "C6"]);
        let plan = Wake.plan(&setup).unwrap();
        assert_eq!(plan.figures[3].parameters["deepest_state"], "C6");
        assert_eq!(plan.left_out.len(), 1, "the missing pairs only: {:?}", plan.left_out);
    }

    #[test]
    fn waiting_for_each_other_is_no_disturbance_but_waiting_for_others_is() {
        let thread = |ready_ns, ran_ns, slept| Evidence {
            tid: 1,
            span_ns: [0, 1_000_000],
            expected: vec![CpuId(0)],
            found: [CpuId(0); 2],
            moves: 0,
            ready_ns: Some(ready_ns),
            ran_ns,
            preempted: 0,
            slept,
            as_meant: true,
            disturbed: false,
        };
        let judged = |mut threads: Vec<Evidence>, slept| {
            judge_threads(&mut threads, 10, slept, 80_000);
            threads.iter().map(|of| (of.ready_ns, of.as_meant)).collect::<Vec<_>>()
        };
        let idle = judged(vec![thread(60_000, 0, 10), thread(85_000, 0, 10)], 10);
        assert_eq!(idle, [(Some(10_000), true), (Some(5_000), true)]);
        assert!(!judged(vec![thread(0, 0, 0), thread(0, 0, 3)], 0)[1].1, "it slept 3 times of 10");
        let busy = judged(vec![thread(0, 0, 0), thread(500_000, 200_000, 10), thread(200_000, 500_000, 0)], 0);
        assert_eq!(busy, [(Some(0), true), (Some(300_000), true), (None, true)], "a third one ran for 300 µs");
    }

    #[test]
    fn a_thread_does_not_run_before_it_is_woken() {
        assert_eq!(latencies(&[100, 200], &[150, 290]), [50, 90]);
        let cpus = allowed().unwrap();
        let Some(to) = cpus.get(1) else { return };
        let pair = Pair { class: PairClass::OtherCore, from: cpus[0], to: *to };
        for busy in [false, true] {
            let done = wakes(pair, 500, busy, None)().unwrap();
            assert!(done.value > 0.0, "{}", done.value);
            assert!(done.threads.iter().all(|of| of.found == [of.expected[0]; 2]));
            let asleep = 500 * 1000 * i64::from(WAITS_US / 500);
            assert!(done.threads[0].len_ns() > asleep, "the waker waits each time");
        }
    }
}
