//! What it costs to hand over to another thread: by a pipe, a futex or `sched_yield`, on one CPU and to another one.

use crate::clock::{Delay, now_ns};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::setup::{Pair, Setup};
use crate::thread::{Evidence, Part, together};
use model::CpuId;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::FromRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use topology::{CostUnit, PairClass};

/// The most hand-overs of one repetition, both ways together.
const MOST_STEPS: u32 = 400;
/// The length of a repetition, ns: so short that most have no timer interrupt in them.
const LENGTH_NS: f64 = 800_000.0;

/// Turns of each thread before and after those that count: the threads do not begin and end at exactly the same time, and their caches are cold.
const UNCOUNTED: u32 = 4;

/// The number of steps of a repetition, which the first repetitions determine.
#[derive(Clone, Copy, Debug)]
struct StepCount {
    of_next: u32,
    learned: u32,
}

impl StepCount {
    const FIRST: Self = Self { of_next: 40, learned: 0 };

    fn learn(&mut self, step_ns: f64) {
        // Two: the first is still cold.
        if self.learned < 2 {
            self.learned += 1;
            // Even, as two threads take turns.
            self.of_next = ((LENGTH_NS / step_ns.max(1.0)) as u32).clamp(20, MOST_STEPS) & !1;
        }
    }
}

/// See the module.
pub struct Switch;

impl Probe for Switch {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn about(&self) -> &'static str {
        "what it costs to hand over to another thread, on one CPU and to another one"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "pipe",
                "from the write of a byte to a pipe until the other thread has read it: a write, a wakeup, a switch and a read",
            ),
            ("futex", "from the wakeup of a futex until the other thread runs: a wakeup, a wait and a switch"),
            ("yield", "from sched_yield until the other thread of the CPU runs"),
            ("write_read", "a write to a pipe and the read of it by the same thread: what pipe costs without a switch"),
            ("yield_alone", "sched_yield where no other thread is ready: the call without a switch"),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        for pair in setup.pairs() {
            let cpus = pair.cpus();
            let place = if pair.class == PairClass::SameCpu { &cpus[..1] } else { &cpus[..] };
            let shares = pair.class == PairClass::SameCpu;
            let name = |what: &str| format!("{what} {}", places(place));
            // Nothing is added to hand-overs to another CPU: that CPU would be idle for longer, and take longer to wake.
            let (pipe, futex) = if shares {
                (
                    plan.checked_steps(setup, &name("pipe"), place, shares, |delay| Ok(pipe(pair, delay)))?,
                    plan.checked_steps(setup, &name("futex"), place, shares, |delay| Ok(futex(pair, delay)))?,
                )
            } else {
                (plan.series(name("pipe"), pipe(pair, None)), plan.series(name("futex"), futex(pair, None)))
            };
            let figure =
                |figure, series| Wanted::new(figure, place, CostUnit::Ns, Formula::of(series)).pair(pair.class);
            let control = |twin, series| Formula::difference(twin, series);
            // The null control: the same hand-over once more under another name. Where it differs, the difference is none of the CPUs.
            let pipe_again = plan.like(pipe, name("pipe again"), self::pipe(pair, None));
            plan.figure(figure("pipe", pipe).control(control(pipe_again, pipe)));
            let futex_again = plan.like(futex, name("futex again"), self::futex(pair, None));
            plan.figure(figure("futex", futex).control(control(futex_again, futex)));
            if shares {
                let yielded =
                    plan.checked_steps(setup, &name("yield"), place, true, |delay| Ok(yields(pair, 2, delay)))?;
                let again = plan.sharing(name("yield again"), yields(pair, 2, None));
                plan.figure(figure("yield", yielded).control(control(again, yielded)));
                let alone =
                    plan.checked_steps(setup, &name("yield alone"), place, false, |delay| Ok(yields(pair, 1, delay)))?;
                plan.figure(figure("yield_alone", alone));
                let calls = plan.checked_steps(setup, &name("write and read"), place, false, |delay| {
                    Ok(write_read(pair.from, delay))
                })?;
                plan.figure(figure("write_read", calls));
            }
        }
        plan.left_out.extend(setup.missing_pairs());
        plan.notes.push(mitigations());
        Ok(plan)
    }
}

/// The mitigations that each switch pays for, as one sentence.
fn mitigations() -> String {
    let dir = "/sys/devices/system/cpu/vulnerabilities";
    let mut on: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let state = std::fs::read_to_string(entry.path()).ok()?;
            state.starts_with("Mitigation").then(|| entry.file_name().to_string_lossy().into_owned())
        })
        .collect();
    on.sort();
    match on.as_slice() {
        [] => "no mitigation of a vulnerability is active".to_owned(),
        on => format!(
            "measured with the mitigations of {}; without them (mitigations=off at boot) switches are cheaper",
            on.join(", ")
        ),
    }
}

/// CPUs by number, for names.
pub(crate) fn places(cpus: &[CpuId]) -> String {
    cpus.iter().map(|cpu| cpu.0.to_string()).collect::<Vec<_>>().join("-")
}

/// A pipe: where to read, where to write.
fn pipe_ends() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors, which are ours from then on.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

/// Two threads hand over to each other; they begin at one time. `sleeps`: each sleeps until it is its turn.
fn hand_overs(
    cpus: [CpuId; 2],
    steps: &mut StepCount,
    sleeps: bool,
    first: impl FnMut() + Send,
    second: impl FnMut() + Send,
) -> io::Result<Repetition> {
    /// The work returns when the turns that count began and ended. The last turns do not count: a thread that is done keeps its CPU until it has
    /// read its counters.
    fn part<'a>(cpu: CpuId, turns: u32, mut turn: impl FnMut() + Send + 'a) -> Part<'a, [i64; 2]> {
        let work = move || {
            (0..UNCOUNTED).for_each(|_| turn());
            let start = now_ns();
            (0..turns).for_each(|_| turn());
            let end = now_ns();
            (0..UNCOUNTED).for_each(|_| turn());
            ([start, end], 0)
        };
        (vec![cpu], Box::new(work))
    }
    let count = steps.of_next;
    let done = together(vec![part(cpus[0], count / 2, first), part(cpus[1], count / 2, second)])?;
    let [start, end] = done.first().map_or([0; 2], |(counted, _)| *counted);
    let mut threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
    if sleeps && cpus[0] != cpus[1] {
        // Two threads on two CPUs can answer each other before either sleeps: then nothing was handed over by a switch.
        for thread in &mut threads {
            thread.as_meant &= thread.slept >= i64::from((2 * UNCOUNTED + count / 2) * 9 / 10);
        }
    }
    // A turn of the first thread is two hand-overs: it sends, and receives the answer.
    let value = (end - start) as f64 / f64::from(count);
    steps.learn(value);
    Ok(Repetition { value, threads })
}

/// Adds the delay to a hand-over: each thread spends it once a turn, so that each of the two hand-overs of a turn has it.
fn spend(delay: Option<Delay>) {
    if let Some(delay) = delay {
        delay.spend();
    }
}

fn pipe(pair: Pair, delay: Option<Delay>) -> Step {
    let mut steps = StepCount::FIRST;
    Box::new(move || {
        let (there, back) = (pipe_ends()?, pipe_ends()?);
        let (mut read_there, mut write_there) = there;
        let (mut read_back, mut write_back) = back;
        let mut byte = [0_u8];
        let mut other = [0_u8];
        // An error ends no repetition: the time would be absurd, and a pipe of ours has none.
        hand_overs(
            pair.cpus(),
            &mut steps,
            true,
            move || {
                spend(delay);
                let _ = write_there.write(&byte);
                let _ = read_back.read(&mut byte);
            },
            move || {
                let _ = read_there.read(&mut other);
                spend(delay);
                let _ = write_back.write(&other);
            },
        )
    })
}

fn write_read(cpu: CpuId, delay: Option<Delay>) -> Step {
    let mut steps = StepCount::FIRST;
    Box::new(move || {
        let (mut read, mut write) = pipe_ends()?;
        let mut byte = [0_u8];
        alone(cpu, &mut steps, move || {
            spend(delay);
            let _ = write.write(&byte);
            let _ = read.read(&mut byte);
        })
    })
}

/// A step that one thread repeats.
fn alone(cpu: CpuId, steps: &mut StepCount, mut step: impl FnMut() + Send) -> io::Result<Repetition> {
    let count = steps.of_next;
    let work: Part<'_, ()> = (
        vec![cpu],
        Box::new(|| {
            (0..count).for_each(|_| step());
            ((), 0)
        }),
    );
    let threads: Vec<Evidence> = together(vec![work])?.into_iter().map(|(_, of)| of).collect();
    let whole = threads.first().map_or(0, Evidence::len_ns);
    let value = whole as f64 / f64::from(count);
    steps.learn(value);
    Ok(Repetition { value, threads })
}

/// Waits while the word has this value.
pub(crate) fn futex_wait(word: &AtomicU32, while_it_is: u32) {
    while word.load(Ordering::Acquire) == while_it_is {
        // SAFETY: the word lives as long as the call; without a time limit.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                while_it_is,
                std::ptr::null::<libc::timespec>(),
            );
        }
    }
}

/// Wakes the thread that waits for the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word lives as long as the call.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
    }
}

fn futex(pair: Pair, delay: Option<Delay>) -> Step {
    let mut steps = StepCount::FIRST;
    Box::new(move || {
        // Whose turn it is, 0 or 1.
        let word = Arc::new(AtomicU32::new(0));
        let thread = |own: u32| {
            let word = Arc::clone(&word);
            move || {
                futex_wait(&word, 1 - own);
                spend(delay);
                word.store(1 - own, Ordering::Release);
                futex_wake(&word);
            }
        };
        let first = thread(0);
        let word_of_first = Arc::clone(&word);
        hand_overs(
            pair.cpus(),
            &mut steps,
            true,
            move || {
                first();
                // The time of a turn ends when it is its turn again.
                futex_wait(&word_of_first, 1);
            },
            thread(1),
        )
    })
}

fn yields(pair: Pair, threads: usize, delay: Option<Delay>) -> Step {
    let turn_of = move || {
        spend(delay);
        // SAFETY: no arguments.
        unsafe { libc::sched_yield() };
    };
    let mut steps = StepCount::FIRST;
    Box::new(move || match threads {
        1 => alone(pair.from, &mut steps, turn_of),
        _ => {
            let count = steps.of_next;
            let mut done = hand_overs(pair.cpus(), &mut steps, false, turn_of, turn_of)?;
            // The kernel may let the same thread go on, so the switches are counted; it counts one after sched_yield as a preemption.
            let switches: i64 = done.threads.iter().map(|thread| thread.preempted).sum();
            done.value *= f64::from(count + 4 * UNCOUNTED) / switches.max(1) as f64;
            Ok(done)
        }
    })
}
