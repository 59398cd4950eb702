//! A parallel loop of checked work: how its units get to threads, and when each thread was done.

use crate::clock::{Delay, now_ns};
use crate::thread::{Evidence, Gate, Mask, Part, together};
use crate::work::Work;
use makespan::Schedule;
use model::CpuId;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where threads get their next chunk, a range of units. The schedules are those of the crate `makespan`, so that its model is that of this
/// code.
pub(crate) enum Supply {
    /// A chunk for each thread.
    Own(Vec<AtomicU64>),
    /// One queue of equal chunks: the next one, and how many there are.
    Equal { next: AtomicU32, chunks: u32, units: u32 },
    /// One queue whose chunks become smaller: the next unit.
    Guided { next: AtomicU32, smallest: u32, threads: u32, units: u32 },
    /// A queue of equal chunks for each thread: the owner takes from the front, others from the back.
    Stealing { own: Vec<AtomicU64>, chunks: u32, units: u32 },
}

/// A range in one word, so that both ends change together.
fn packed(of: &Range<u32>) -> u64 {
    u64::from(of.start) << 32 | u64::from(of.end)
}

fn unpacked(of: u64) -> Range<u32> {
    (of >> 32) as u32..of as u32
}

/// The units of one of `parts` equal parts.
fn part(of: u32, parts: u32, units: u32) -> Range<u32> {
    let at = |part: u32| (u64::from(part) * u64::from(units) / u64::from(parts.max(1))) as u32;
    at(of)..at(of + 1)
}

impl Supply {
    /// The units of a loop for so many threads.
    pub(crate) fn new(schedule: Schedule, units: u32, threads: u32) -> Self {
        let chunks = (schedule.max_chunks(threads as usize) as u32).clamp(1, units.max(1));
        let of_threads = |all: u32| (0..threads).map(|i| AtomicU64::new(packed(&part(i, threads, all)))).collect();
        match schedule {
            Schedule::Affinity | Schedule::Static => Self::Own(of_threads(units)),
            Schedule::Dynamic(_) => Self::Equal { next: AtomicU32::new(0), chunks, units },
            Schedule::Guided(_) => {
                Self::Guided { next: AtomicU32::new(0), smallest: (units / chunks).max(1), threads, units }
            }
            Schedule::Stealing(_) => Self::Stealing { own: of_threads(chunks), chunks, units },
        }
    }

    /// The next chunk of a thread; `None` if there is no more work for it.
    pub(crate) fn next(&self, thread: usize) -> Option<Range<u32>> {
        match self {
            Self::Own(own) => Some(unpacked(own.get(thread)?.swap(0, Ordering::Relaxed))).filter(|of| !of.is_empty()),
            Self::Equal { next, chunks, units } => {
                // A load first: threads that find nothing must not count on.
                let chunk = (next.load(Ordering::Relaxed) < *chunks).then(|| next.fetch_add(1, Ordering::Relaxed))?;
                (chunk < *chunks).then(|| part(chunk, *chunks, *units))
            }
            Self::Guided { next, smallest, threads, units } => {
                let end = |from: u32| from + ((units - from).div_ceil(*threads)).max(*smallest).min(units - from);
                let more = |from: u32| (from < *units).then(|| end(from));
                let from = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
                Some(from..end(from))
            }
            Self::Stealing { own, chunks, units } => {
                let chunk = front(own.get(thread)?).or_else(|| steal(own, thread))?;
                Some(part(chunk, *chunks, *units))
            }
        }
    }
}

/// Takes the first chunk of a queue.
fn front(queue: &AtomicU64) -> Option<u32> {
    let rest = |of: u64| {
        let of = unpacked(of);
        (!of.is_empty()).then(|| packed(&(of.start + 1..of.end)))
    };
    queue.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).ok().map(|of| unpacked(of).start)
}

/// Takes half of the chunks, rounded up, from the end of the longest queue: the first of them is returned, the others become the own queue.
///
/// A queue's word says all that is in it, so it cannot be mistaken for an earlier state. A thread that finds all queues empty while another
/// one carries chunks from queue to queue ends, and the other one does them.
fn steal(own: &[AtomicU64], thread: usize) -> Option<u32> {
    loop {
        let waiting = own.iter().map(|queue| (queue, queue.load(Ordering::Relaxed)));
        let (victim, seen) = waiting.max_by_key(|(_, of)| unpacked(*of).len())?;
        let of = unpacked(seen);
        if of.is_empty() {
            return None;
        }
        let middle = of.end - of.len().div_ceil(2) as u32;
        let left = packed(&(of.start..middle));
        if victim.compare_exchange(seen, left, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            own.get(thread)?.store(packed(&(middle + 1..of.end)), Ordering::Relaxed);
            return Some(middle);
        }
    }
}

/// A loop to run.
pub(crate) struct ParallelLoop {
    /// One thread for each of these CPUs.
    pub cpus: Vec<CpuId>,
    /// Whether threads stay where they begin.
    pub bound: bool,
    /// How the units get to them.
    pub schedule: Schedule,
    /// How many units.
    pub units: u32,
    /// The work of a unit, of each thread.
    pub work: Vec<Work>,
    /// Added to each chunk on purpose.
    pub delay: Option<Delay>,
}

/// How a loop ran.
pub(crate) struct LoopRun {
    /// From the begin until the last thread was done, ns.
    pub makespan_ns: f64,
    /// From the first thread that was done until the last one was, ns.
    pub tail_ns: f64,
    /// The chunks of all threads.
    pub chunks: u32,
    /// What each thread did.
    pub threads: Vec<Evidence>,
}

/// What a thread did of a loop.
struct Done {
    start_ns: i64,
    end_ns: i64,
    units: u32,
    chunks: u32,
    right: bool,
}

impl ParallelLoop {
    /// Runs the loop. Each thread begins on a CPU of its own, all at one time.
    pub(crate) fn run(&mut self) -> io::Result<LoopRun> {
        let threads = self.cpus.len();
        let supply = Supply::new(self.schedule, self.units, threads as u32);
        let (gate, all) = (Gate::new(threads), Mask::of(&self.cpus));
        let (bound, delay) = (self.bound, self.delay);
        let parts = self.work.iter_mut().zip(&self.cpus).enumerate().map(|(thread, (work, cpu))| {
            let (supply, gate, all, own) = (&supply, &gate, &all, Mask::of(&[*cpu]));
            let loops = move || {
                let mut right = own.apply().is_ok();
                gate.pass();
                right &= bound || all.apply().is_ok();
                let mut done = Done { start_ns: now_ns(), end_ns: 0, units: 0, chunks: 0, right };
                while let Some(chunk) = supply.next(thread) {
                    if let Some(delay) = delay {
                        delay.spend();
                    }
                    for _ in chunk.clone() {
                        done.right &= work.run().is_some();
                    }
                    done.units += chunk.len() as u32;
                    done.chunks += 1;
                }
                done.end_ns = now_ns();
                (done, if bound { 0 } else { Evidence::ANY_MOVES })
            };
            let cpus = if bound { vec![*cpu] } else { self.cpus.clone() };
            let of: Part<'_, Done> = (cpus, Box::new(loops));
            of
        });
        let done = together(parts.collect())?;
        let of = || done.iter().map(|(done, _)| done);
        if !of().all(|done| done.right) {
            return Err(io::Error::other("the work has a wrong result"));
        }
        if of().map(|done| done.units).sum::<u32>() != self.units {
            return Err(io::Error::other("units of the loop were lost or done twice"));
        }
        let times = of().map(|done| (done.start_ns, done.end_ns));
        let (mut start, mut first, mut last) = (i64::MAX, i64::MAX, i64::MIN);
        times.for_each(|(begin, end)| (start, first, last) = (start.min(begin), first.min(end), last.max(end)));
        Ok(LoopRun {
            makespan_ns: (last - start) as f64,
            tail_ns: (last - first) as f64,
            chunks: of().map(|done| done.chunks).sum(),
            threads: done.into_iter().map(|(_, evidence)| evidence).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{KERNELS, Kernel};
    use std::sync::Mutex;

    const SCHEDULES: [Schedule; 6] = [
        Schedule::Affinity,
        Schedule::Static,
        Schedule::Dynamic(7),
        Schedule::Dynamic(1000),
        Schedule::Guided(256),
        Schedule::Stealing(300),
    ];

    #[test]
    fn each_unit_is_given_to_one_thread_once() {
        for schedule in SCHEDULES {
            for threads in [1, 2, 5] {
                let supply = Supply::new(schedule, 1000, threads);
                let taken = Mutex::new(Vec::new());
                std::thread::scope(|scope| {
                    for thread in 0..threads as usize {
                        let (supply, taken) = (&supply, &taken);
                        scope.spawn(move || {
                            while let Some(chunk) = supply.next(thread) {
                                taken.lock().unwrap().extend(chunk);
                                std::thread::yield_now();
                            }
                        });
                    }
                });
                let mut taken = taken.into_inner().unwrap();
                taken.sort_unstable();
                assert_eq!(taken, (0..1000).collect::<Vec<_>>(), "{schedule:?} {threads}");
            }
        }
    }

    /// Each unit is done by one thread at a time, and all within the loop: however busy the machine is, the times of the units add up to no more
    /// than the threads had.
    #[test]
    fn no_schedule_is_faster_than_its_work() {
        static SUM_NS: AtomicU64 = AtomicU64::new(0);
        fn timed(memory: &mut [u64], iterations: u64, seed: u64) -> u64 {
            let start = now_ns();
            let result = (KERNELS[0].run)(memory, iterations, seed);
            SUM_NS.fetch_add((now_ns() - start).unsigned_abs(), Ordering::Relaxed);
            result
        }
        static TIMED: Kernel = Kernel {
            name: "timed",
            about: "",
            bytes: 8,
            run: timed,
            expected: |memory, iterations, seed| (KERNELS[0].expected)(memory, iterations, seed),
            prepare: |_| {},
        };
        const UNITS: u32 = 300;
        let cpus = crate::thread::allowed().unwrap();
        let work = Work::of(&TIMED, 5_000.0).unwrap();
        for schedule in SCHEDULES {
            let mut of = ParallelLoop {
                cpus: cpus.clone(),
                bound: matches!(schedule, Schedule::Affinity),
                schedule,
                units: UNITS,
                work: cpus.iter().map(|_| work.again()).collect(),
                delay: None,
            };
            SUM_NS.store(0, Ordering::Relaxed);
            let run = of.run().unwrap();
            let (sum, had) = (SUM_NS.load(Ordering::Relaxed) as f64, run.makespan_ns * cpus.len() as f64);
            assert!(sum > 0.0 && sum <= had, "{schedule:?}: {sum} ns of work in {had} ns");
            assert!(
                (0.0..=run.makespan_ns).contains(&run.tail_ns),
                "{schedule:?}: {} {}",
                run.tail_ns,
                run.makespan_ns
            );
            let most = schedule.max_chunks(cpus.len()).max(cpus.len()) as u32;
            assert!((1..=most.min(UNITS)).contains(&run.chunks), "{schedule:?}: {} chunks", run.chunks);
            assert_eq!(run.threads.len(), cpus.len());
        }
    }

    #[test]
    fn chunks_are_those_of_the_model() {
        // One thread after the other in turn: the chunks of equal cores.
        let chunks = |schedule, threads: usize| -> Vec<usize> {
            let supply = Supply::new(schedule, 1024, threads as u32);
            let mut turns: Vec<usize> = (0..threads).collect();
            let mut lens = Vec::new();
            while !turns.is_empty() {
                turns.retain(|thread| supply.next(*thread).inspect(|chunk| lens.push(chunk.len())).is_some());
            }
            lens
        };
        let run = |schedule, threads: usize| {
            let of = makespan::Loop { work: 1024.0, chunk_cost: 0.0, move_cost: 0.0 };
            makespan::simulate(&vec![1.0; threads], &of, schedule).unwrap()
        };
        for schedule in SCHEDULES {
            for threads in [1, 2, 4] {
                let (found, model) = (chunks(schedule, threads), run(schedule, threads));
                // The model divides work at will, so its guided chunks have no whole lengths.
                let near = if matches!(schedule, Schedule::Guided(_)) { 8 } else { 0 };
                assert!(
                    found.len().abs_diff(model.chunks()) <= near,
                    "{schedule:?}: {} {}",
                    found.len(),
                    model.chunks()
                );
                let longest = *found.iter().max().unwrap() as f64;
                assert!(
                    (longest - model.longest_chunk).abs() <= 1.0,
                    "{schedule:?}: {longest} {}",
                    model.longest_chunk
                );
            }
        }
    }

    #[test]
    fn a_thread_without_work_takes_half_of_the_longest_queue_from_its_end() {
        let supply = Supply::new(Schedule::Stealing(8), 8, 2);
        let take = |thread| supply.next(thread).map(|chunk| chunk.start);
        // The first thread does its own 4, then takes 2 of the 4 of the other one.
        assert_eq!([take(0), take(0), take(0), take(0), take(0)], [0, 1, 2, 3, 6].map(Some));
        assert_eq!([take(1), take(1), take(1), take(0)], [Some(4), Some(5), Some(7), None]);
    }
}
