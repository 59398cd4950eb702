//! What it costs to hand a lock over: a spin lock, whose cache line moves, and a mutex, whose waiter sleeps.

use crate::clock::{Delay, now_ns};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::probes::switch::places;
use crate::setup::{Pair, Setup};
use crate::thread::{Evidence, Part, bind, together};
use model::CpuId;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use topology::{CostUnit, PairClass};

/// Hand-overs of one repetition of the spin lock, both ways together.
const SPINS: u32 = 10_000;
/// Hand-overs of one repetition of the mutex, both ways together.
const SLEEPS: u32 = 100;
/// For how long the spin lock is held, ns: the other thread spins on it by then.
const HOLD_NS: f64 = 400.0;
/// For how long the mutex is held after another thread waits for it, ns: that thread sleeps by then.
const HELD_NS: i64 = 30_000;

/// See the module.
pub struct Lock;

impl Probe for Lock {
    fn name(&self) -> &'static str {
        "lock"
    }

    fn about(&self) -> &'static str {
        "what it costs to hand a lock over to another CPU: a spin lock and a mutex"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "spin",
                "from the release of a spin lock until the thread that spins on the other CPU has it: its cache line moves",
            ),
            (
                "mutex",
                "from the release of a mutex until the thread that sleeps for it on the other CPU has it: a wakeup by futex and a switch",
            ),
            (
                "line",
                "from a write to a word until the thread that spins on it on the other CPU has written to it: its cache line moves, nothing is held",
            ),
            ("alone", "taking and releasing the spin lock where no other thread wants it"),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        bind(&setup.cpus[..1])?;
        let hold = Delay::calibrated(HOLD_NS);
        bind(&setup.cpus)?;
        let alone_on = |plan: &mut Plan, cpu: CpuId| {
            plan.series(format!("lock held alone {}", cpu.0), alone(cpu, [Some(hold), None]))
        };
        for pair in setup.pairs() {
            let cpus = pair.cpus();
            if pair.class == PairClass::SameCpu {
                let name = format!("lock alone {}", pair.from.0);
                let taken =
                    plan.checked_steps(setup, &name, &cpus[..1], false, |delay| Ok(alone(pair.from, [delay, None])))?;
                let again = plan.series(format!("{name} again"), alone(pair.from, [None, None]));
                let figure = Wanted::new("alone", &cpus[..1], CostUnit::Ns, Formula::of(taken)).pair(pair.class);
                plan.figure(figure.control(Formula::difference(again, taken)));
                continue;
            }
            let name = |what: &str| format!("{what} {}", places(&cpus));
            let figure = |figure, formula, control| {
                Wanted::new(figure, &cpus, CostUnit::Ns, formula).pair(pair.class).control(control)
            };
            let line = plan.series(name("line"), lines(pair));
            let twin = plan.series(name("line again"), lines(pair));
            plan.figure(figure("line", Formula::of(line), Formula::difference(twin, line)));
            let held = |delay| in_turn(pair, [Some(hold), delay]);
            let spin = plan.checked_steps(setup, &name("spin"), &cpus, false, |delay| Ok(held(delay)))?;
            let twin = plan.series(name("spin again"), held(None));
            // The lock is held for a while on both CPUs in turn: what that takes without another thread is no part of the hand-over.
            let (from, to) = (alone_on(&mut plan, pair.from), alone_on(&mut plan, pair.to));
            let hand_over = Formula::Sum(vec![(1.0, spin), (-0.5, from), (-0.5, to)]);
            plan.figure(figure("spin", hand_over, Formula::difference(twin, spin)));
            // The time of a thread that is woken until it runs is part of the hand-over and no disturbance.
            let mutex = plan.checked_steps(setup, &name("mutex"), &cpus, true, |delay| Ok(mutex(pair, delay)))?;
            let twin = plan.sharing(name("mutex again"), self::mutex(pair, None));
            plan.figure(figure("mutex", Formula::of(mutex), Formula::difference(twin, mutex)));
        }
        if setup.cpus.len() < 2 {
            plan.left_out.push("left out: a lock has no other CPU to go to".to_owned());
        }
        plan.left_out.extend(setup.missing_pairs());
        Ok(plan)
    }
}

/// The state of a lock that a thread has.
const HELD: u32 = 2;

/// A lock that goes in turn, and what it protects, in cache lines of their own: two, since processors fetch them in pairs.
#[repr(align(128))]
#[derive(Default)]
struct InTurn {
    /// The thread that may take it next, or [`HELD`].
    turn: AtomicU32,
    /// How often it was taken. Only the owner changes it, so a lock that lets two threads in loses counts.
    taken: AtomicU32,
}

impl InTurn {
    /// Takes it, and releases it for the other thread after these delays.
    fn pass(&self, own: u32, other: u32, held: [Option<Delay>; 2]) {
        self.change(own, HELD);
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        for delay in held.into_iter().flatten() {
            delay.spend();
        }
        self.turn.store(other, Ordering::Release);
    }

    /// Waits until it has a value, and changes it.
    fn change(&self, from: u32, to: u32) {
        while self.turn.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
    }
}

fn counted(found: u32, expected: u32) -> io::Result<()> {
    let lost = || io::Error::other(format!("the lock was taken {found} times instead of {expected}"));
    if found == expected { Ok(()) } else { Err(lost()) }
}

/// Two threads that pass the lock to each other.
fn passes(pair: Pair, pass: impl Fn(&InTurn, u32) + Sync) -> io::Result<(Repetition, u32)> {
    let lock = InTurn::default();
    let part = |cpu: CpuId, own: u32| -> Part<'_, ()> {
        let (lock, pass) = (&lock, &pass);
        let passes = move || {
            (0..SPINS / 2).for_each(|_| pass(lock, own));
            // The time ends when the lock is back.
            while own == 0 && lock.turn.load(Ordering::Acquire) != own {
                std::hint::spin_loop();
            }
            ((), 0)
        };
        (vec![cpu], Box::new(passes))
    };
    let done = together(vec![part(pair.from, 0), part(pair.to, 1)])?;
    let threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
    let whole = threads.first().map_or(0, Evidence::len_ns);
    Ok((Repetition { value: whole as f64 / f64::from(SPINS), threads }, lock.taken.load(Ordering::Relaxed)))
}

fn in_turn(pair: Pair, held: [Option<Delay>; 2]) -> Step {
    Box::new(move || {
        let (done, taken) = passes(pair, |lock, own| lock.pass(own, 1 - own, held))?;
        counted(taken, SPINS)?;
        Ok(done)
    })
}

/// The word goes back and forth, and nothing is held. That it went each time follows from the end: each change needs the one before.
fn lines(pair: Pair) -> Step {
    Box::new(move || Ok(passes(pair, |lock, own| lock.change(own, 1 - own))?.0))
}

fn alone(cpu: CpuId, held: [Option<Delay>; 2]) -> Step {
    Box::new(move || {
        let lock = InTurn::default();
        let of = &lock;
        let passes = move || {
            (0..SPINS).for_each(|_| of.pass(0, 0, held));
            ((), 0)
        };
        let part: Part<'_, ()> = (vec![cpu], Box::new(passes));
        let threads: Vec<Evidence> = together(vec![part])?.into_iter().map(|(_, evidence)| evidence).collect();
        counted(lock.taken.load(Ordering::Relaxed), SPINS)?;
        let whole = threads.first().map_or(0, Evidence::len_ns);
        Ok(Repetition { value: whole as f64 / f64::from(SPINS), threads })
    })
}

/// A mutex with three states (U. Drepper, "Futexes Are Tricky", 2011, section 5): 0 free, 1 taken, 2 taken and another thread waits.
#[repr(align(128))]
#[derive(Default)]
struct Mutex {
    state: AtomicU32,
    /// Which thread has it; 2: none had it yet.
    owner: AtomicU32,
    taken: AtomicU32,
}

impl Mutex {
    fn lock(&self) {
        if self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return;
        }
        while self.state.swap(2, Ordering::Acquire) != 0 {
            // SAFETY: the word lives as long as the call; without a time limit. It returns if the state is not 2 any more.
            unsafe {
                let no_limit = std::ptr::null::<libc::timespec>();
                let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
                libc::syscall(libc::SYS_futex, self.state.as_ptr(), wait, 2_u32, no_limit);
            }
        }
    }

    fn unlock(&self) {
        if self.state.swap(0, Ordering::Release) == 2 {
            crate::probes::switch::futex_wake(&self.state);
        }
    }

    fn is_wanted(&self) -> bool {
        self.state.load(Ordering::Acquire) == 2
    }
}

/// When a thread got the mutex and when it released it, ns, by turn.
type Turns = Vec<[i64; 2]>;

/// Hands a mutex over between two threads: the owner holds it until the other one sleeps for it, and after the release it waits until the
/// other one has it.
fn mutex(pair: Pair, delay: Option<Delay>) -> Step {
    const TURNS: u32 = SLEEPS / 2;
    Box::new(move || {
        let mutex = Mutex::default();
        mutex.owner.store(2, Ordering::Relaxed);
        let part = |cpu: CpuId, own: u32| -> Part<'_, Turns> {
            let mutex = &mutex;
            let turns = move || {
                let mut turns = Turns::with_capacity(TURNS as usize);
                // The first thread has it first.
                while own == 1 && mutex.owner.load(Ordering::Acquire) != 0 {
                    std::hint::spin_loop();
                }
                for step in 0..TURNS {
                    mutex.lock();
                    if let Some(delay) = delay {
                        delay.spend();
                    }
                    let got = now_ns();
                    mutex.taken.store(mutex.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    mutex.owner.store(own, Ordering::Release);
                    let last = own == 1 && step + 1 == TURNS;
                    while !last && !mutex.is_wanted() {
                        std::hint::spin_loop();
                    }
                    let until = now_ns() + HELD_NS;
                    while !last && now_ns() < until {
                        std::hint::spin_loop();
                    }
                    turns.push([got, now_ns()]);
                    mutex.unlock();
                    while !last && mutex.owner.load(Ordering::Acquire) == own {
                        std::hint::spin_loop();
                    }
                }
                (turns, 0)
            };
            (vec![cpu], Box::new(turns))
        };
        let done = together(vec![part(pair.from, 0), part(pair.to, 1)])?;
        counted(mutex.taken.load(Ordering::Relaxed), SLEEPS)?;
        let turns = done.iter().map(|(turns, _)| turns.iter().copied());
        let mut all: Turns = turns.flatten().collect();
        all.sort_unstable();
        // The first turn follows no release.
        let mut took: Vec<i64> = all.windows(2).map(|of| of[1][0] - of[0][1]).collect();
        took.sort_unstable();
        let value = took.get(took.len() / 2).copied().unwrap_or(0) as f64;
        let mut threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
        // Where the waiting thread did not sleep, it was no hand-over of this kind.
        for thread in &mut threads {
            thread.as_meant &= thread.slept * 10 >= i64::from(TURNS - 1) * 9;
        }
        Ok(Repetition { value, threads })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::allowed;

    fn pair() -> Option<Pair> {
        let all = allowed().unwrap();
        Some(Pair { class: PairClass::SameL3, from: *all.first()?, to: *all.get(1)? })
    }

    /// Each hand-over needs the one before: none is left out, and all lie one after the other within the time of both threads.
    #[test]
    fn a_lock_goes_to_the_other_cpu_and_back() {
        let Some(pair) = pair() else { return };
        for _ in 0..3 {
            let hold = Some(Delay::calibrated(HOLD_NS));
            for (mut step, count) in
                [(lines(pair), SPINS), (in_turn(pair, [hold, None]), SPINS), (mutex(pair, None), SLEEPS)]
            {
                let done = step().unwrap();
                assert!(done.value > 0.0 && done.threads.len() == 2, "{done:?}");
                assert!(done.threads.iter().all(|thread| thread.found == [thread.expected[0]; 2]), "{done:?}");
                let begin = done.threads.iter().map(|thread| thread.span_ns[0]).min().unwrap();
                let end = done.threads.iter().map(|thread| thread.span_ns[1]).max().unwrap();
                // Half of them take at least as long as the median, which the value may be.
                let least = done.value * f64::from(count / 2 - 1);
                assert!((end - begin) as f64 >= least, "{least} ns of {}: {done:?}", end - begin);
            }
        }
    }

    #[test]
    fn lost_counts_are_refused() {
        assert!(counted(9, 10).unwrap_err().to_string().contains("9 times instead of 10"));
        assert!(counted(10, 10).is_ok());
    }
}
