//! Work of several CPUs at the same time, all of it during all of the others'.
//!
//! Each thread does its work in chunks until every thread has done enough of them since all have begun, and then one more. So, however late a
//! thread gets its CPU, the enough chunks of each lie within the time in which every thread was at work, and only whole chunks within that time
//! count: whatever one of them does, the others do their work during all of it.
//!
//! ```text
//!   cpu0  |chunk|chunk|chunk|chunk|chunk|chunk|
//!   cpu1      |chunk  |chunk  |chunk  |chunk  |
//!             ^from                           ^to     the first and the last chunk of cpu0 do not count
//! ```

use crate::clock::now_ns;
use crate::plan::Repetition;
use crate::probes::switch::{futex_wait, futex_wake};
use crate::thread::{Evidence, Part, bind, together};
use crate::work::{Kernel, Work, Wrong};
use model::CpuId;
use std::collections::BTreeMap;
use std::hint;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// The length of a chunk, ns.
const CHUNK_NS: f64 = 100_000.0;

/// What a thread does.
#[derive(Clone, Copy)]
pub enum Load {
    /// Checked work in chunks.
    Kernel(&'static Kernel),
    /// Reads a word until the others are done, with the processor's hint for such loops.
    SpinWithPause,
    /// Reads a word until the others are done.
    Spin,
    /// Sleeps until the others are done: the empty neighbour.
    Sleep,
}

/// The work of a plan by kernel and CPU, made when it is first needed: series that do the same work on the same CPU share its memory.
#[derive(Clone, Default)]
pub struct Bank(Arc<Mutex<BTreeMap<(&'static str, CpuId), Work>>>);

impl Bank {
    /// Makes the missing work, each on its CPU, so that its memory is near to it.
    fn prepare(&self, loads: &[(CpuId, Load)]) -> io::Result<Vec<Option<Work>>> {
        let mut bank = self.0.lock().map_err(|_| io::Error::other("an earlier repetition ended early"))?;
        for (cpu, load) in loads {
            let Load::Kernel(kernel) = load else { continue };
            if bank.contains_key(&(kernel.name, *cpu)) {
                continue;
            }
            let like = bank.iter().find(|((name, _), _)| *name == kernel.name).map(|(_, work)| work);
            let made = std::thread::scope(|scope| {
                let make = || {
                    bind(&[*cpu])?;
                    // The same number of iterations on each CPU.
                    like.map_or_else(|| checked(kernel), |like| Ok(like.again()))
                };
                scope.spawn(make).join().map_err(|_| io::Error::other("a thread ended early"))?
            })?;
            bank.insert((kernel.name, *cpu), made);
        }
        let take = |(cpu, load): &(CpuId, Load)| match load {
            Load::Kernel(kernel) => bank.remove(&(kernel.name, *cpu)),
            _ => None,
        };
        Ok(loads.iter().map(take).collect())
    }

    fn give_back(&self, of: impl Iterator<Item = (CpuId, Work)>) {
        if let Ok(mut bank) = self.0.lock() {
            bank.extend(of.map(|(cpu, work)| ((work.kernel().name, cpu), work)));
        }
    }
}

/// Work that passed its check. The check compares times, so that other processes can make it fail: it may fail twice.
fn checked(kernel: &'static Kernel) -> io::Result<Work> {
    for _ in 0..2 {
        match Work::of(kernel, CHUNK_NS) {
            Err(Wrong::Removed { .. } | Wrong::TooFast { .. }) => {}
            done => return done.map_err(io::Error::other),
        }
    }
    Work::of(kernel, CHUNK_NS).map_err(io::Error::other)
}

/// What one thread of [`run`] did.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// The time of an iteration, ns; `None` of a load that is no work.
    pub iteration_ns: Option<f64>,
    /// Where it ran.
    pub thread: Evidence,
}

/// Starts and ends of chunks, ns.
type Chunks = Vec<[i64; 2]>;

/// What a thread returns: its chunks, its work, and whether all results were right.
type Worked = (Chunks, Option<Work>, bool);

/// Does all loads at the same time, each on its CPU, until each thread with work has done at least `chunks` chunks.
///
/// # Errors
/// A CPU is not allowed, the work cannot be trusted or has a wrong result, or a thread did less than one whole chunk while all were at work.
pub fn run(bank: &Bank, loads: &[(CpuId, Load)], chunks: usize) -> io::Result<Vec<Done>> {
    let works = bank.prepare(loads)?;
    let iterations: Vec<Option<u64>> = works.iter().map(|of| of.as_ref().map(Work::iterations)).collect();
    // The threads that have begun: those with work have done a chunk.
    let begun = AtomicU32::new(0);
    // The threads with work that have not done enough of it. 0 ends all.
    let unfinished = AtomicU32::new(works.iter().flatten().count() as u32);
    // 0 until the end, for those who sleep.
    let ended = AtomicU32::new(0);
    let threads = loads.len() as u32;
    let mut parts: Vec<Part<'_, Worked>> = Vec::new();
    for ((cpu, load), work) in loads.iter().zip(works) {
        let (load, begun, unfinished, ended) = (*load, &begun, &unfinished, &ended);
        let part = move || {
            let from = now_ns();
            if let Some(mut work) = work {
                let begin = || _ = begun.fetch_add(1, Ordering::AcqRel);
                let all_begun = || begun.load(Ordering::Acquire) == threads;
                let (spans, right) = chunks_of(&mut work, chunks, begin, all_begun, unfinished, ended);
                return ((spans, Some(work), right), 0);
            }
            begun.fetch_add(1, Ordering::AcqRel);
            match load {
                Load::SpinWithPause => {
                    while unfinished.load(Ordering::Relaxed) > 0 {
                        hint::spin_loop();
                    }
                }
                Load::Spin => while unfinished.load(Ordering::Relaxed) > 0 {},
                Load::Sleep => futex_wait(ended, 0),
                Load::Kernel(_) => {}
            }
            ((vec![[from, now_ns()]], None, true), 0)
        };
        parts.push((vec![*cpu], Box::new(part)));
    }
    let done = together(parts)?;
    let span = |((spans, _, _), _): &(Worked, Evidence)| Some([spans.first()?[0], spans.last()?[1]]);
    let at_work: Vec<[i64; 2]> = done.iter().filter_map(span).collect();
    let from = at_work.iter().map(|span| span[0]).max().unwrap_or(0);
    let to = at_work.iter().map(|span| span[1]).min().unwrap_or(0);
    let right = done.iter().all(|((_, _, right), _)| *right);
    let mut results = Vec::with_capacity(loads.len());
    let mut used = Vec::new();
    for (((cpu, load), iterations), ((spans, work, _), thread)) in loads.iter().zip(iterations).zip(done) {
        used.extend(work.map(|work| (*cpu, work)));
        results.push((matches!(load, Load::Kernel(_)), iteration_ns(&spans, iterations, [from, to]), thread));
    }
    bank.give_back(used.into_iter());
    if !right {
        return Err(io::Error::other("the work has a wrong result"));
    }
    let result = |(works, iteration_ns, thread): (bool, Option<f64>, Evidence)| match (works, iteration_ns) {
        (true, None) => Err(io::Error::other("a thread did no whole chunk of work while all others were at work")),
        (true, some) => Ok(Done { iteration_ns: some, thread }),
        (false, _) => Ok(Done { iteration_ns: None, thread }),
    };
    results.into_iter().map(result).collect()
}

/// Chunks until all threads are done, and whether all results were right. The first one is before `begin`: the thread is at work by then.
fn chunks_of(
    work: &mut Work,
    chunks: usize,
    begin: impl FnOnce(),
    all_begun: impl Fn() -> bool,
    unfinished: &AtomicU32,
    ended: &AtomicU32,
) -> (Chunks, bool) {
    let mut spans = Vec::with_capacity(chunks * 8);
    let (mut right, mut counted) = (true, 0);
    let mut chunk = || {
        let start = now_ns();
        right &= work.run().is_some();
        spans.push([start, now_ns()]);
    };
    chunk();
    begin();
    loop {
        let counts = all_begun();
        // The chunk that ends after all others have done enough of them is the last one.
        let is_last = counted >= chunks && unfinished.load(Ordering::Acquire) == 0;
        chunk();
        counted += usize::from(counts);
        if counts && counted == chunks && unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
            ended.store(1, Ordering::Release);
            futex_wake(ended);
            break;
        }
        if is_last {
            break;
        }
    }
    (spans, right)
}

/// The time of an iteration within a time, by the whole chunks in it.
fn iteration_ns(spans: &[[i64; 2]], iterations: Option<u64>, [from, to]: [i64; 2]) -> Option<f64> {
    let within = |span: &&[i64; 2]| span[0] >= from && span[1] <= to;
    let (mut sum, mut chunks) = (0, 0_u64);
    for span in spans.iter().filter(within) {
        sum += span[1] - span[0];
        chunks += 1;
    }
    (chunks > 0).then_some(sum as f64 / (chunks * iterations?) as f64)
}

/// A step that measures the time of an iteration: the median of the loads in `measured`, by their place in `loads`.
pub fn step(
    bank: &Bank,
    loads: Vec<(CpuId, Load)>,
    measured: Vec<usize>,
    chunks: usize,
) -> impl FnMut() -> io::Result<Repetition> + Send + 'static {
    let bank = bank.clone();
    move || {
        let done = run(&bank, &loads, chunks)?;
        let mut values: Vec<f64> = measured.iter().filter_map(|i| done.get(*i)?.iteration_ns).collect();
        values.sort_by(f64::total_cmp);
        let value = values.get(values.len() / 2).copied();
        let value = value.ok_or_else(|| io::Error::other("nothing of it is work that could be measured"))?;
        Ok(Repetition { value, threads: done.into_iter().map(|of| of.thread).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::allowed;
    use crate::work::KERNELS;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn only_whole_chunks_during_all_others_count() {
        let spans = [[0, 10], [10, 20], [20, 32], [32, 42]];
        assert_eq!(iteration_ns(&spans, Some(2), [5, 35]), Some(22.0 / 4.0));
        assert_eq!(iteration_ns(&spans, Some(1), [0, 100]), Some(10.5));
        assert_eq!(iteration_ns(&spans, Some(1), [11, 19]), None);
    }

    #[test]
    fn every_thread_does_checked_work_during_all_of_the_others() {
        let cpus = allowed().unwrap();
        let mut loads: Vec<(CpuId, Load)> = vec![(cpus[0], Load::Kernel(&KERNELS[0]))];
        let others = [Load::Kernel(&KERNELS[1]), Load::Sleep, Load::Spin, Load::SpinWithPause];
        let bank = Bank::default();
        for other in others {
            loads.truncate(1);
            loads.extend(cpus.get(1).map(|cpu| (*cpu, other)));
            let done = run(&bank, &loads, 5).unwrap();
            assert!(done[0].iteration_ns.unwrap() > 1.0, "32 additions: {done:?}");
            assert!(done.iter().all(|of| of.thread.is_placed()));
            if let (Some(of), Load::Kernel(_)) = (done.get(1), other) {
                assert!(of.iteration_ns.unwrap() > 0.1, "{of:?}");
            }
        }
        assert!(bank.0.lock().unwrap().len() == cpus.len().min(2), "work is used again");
    }

    /// A thread that begins late, as when another process has its CPU, finds the others still at work. The first chunk is done before a thread
    /// says that it has begun.
    #[test]
    fn chunks_count_only_once_all_threads_have_begun() {
        let bank = Bank::default();
        let load = [(allowed().unwrap()[0], Load::Kernel(&KERNELS[0]))];
        let mut work = bank.prepare(&load).unwrap().remove(0).unwrap();
        let (begun, unfinished, ended) = (AtomicU32::new(0), AtomicU32::new(1), AtomicU32::new(0));
        // The other one begins after 30 more chunks.
        let all_begun = || begun.fetch_add(1, Ordering::Relaxed) >= 30;
        let (spans, right) = chunks_of(&mut work, 5, || (), all_begun, &unfinished, &ended);
        assert_eq!((spans.len(), right, unfinished.into_inner(), ended.into_inner()), (36, true, 0, 1));
    }

    /// A thread that has done enough chunks waits for its CPU until the other one has, too: it is at work until then.
    #[test]
    fn a_thread_ends_with_a_chunk_after_all_others_have_done_enough() {
        let bank = Bank::default();
        let load = [(allowed().unwrap()[0], Load::Kernel(&KERNELS[0]))];
        let mut work = bank.prepare(&load).unwrap().remove(0).unwrap();
        let (rounds, unfinished, ended) = (AtomicU32::new(0), AtomicU32::new(2), AtomicU32::new(0));
        let other_is_done = AtomicU64::new(0);
        // After its 5 chunks, when 20 rounds have begun, the other one has done enough, too.
        let all_begun = || {
            if rounds.fetch_add(1, Ordering::Relaxed) == 20 {
                other_is_done.store(now_ns().unsigned_abs(), Ordering::Relaxed);
                unfinished.store(0, Ordering::Release);
            }
            true
        };
        let (spans, right) = chunks_of(&mut work, 5, || (), all_begun, &unfinished, &ended);
        let last = spans.last().unwrap();
        assert_eq!((spans.len(), right), (22, true));
        assert!(last[1].unsigned_abs() >= other_is_done.into_inner(), "{last:?}");
    }

    #[test]
    fn work_with_a_wrong_result_ends_the_series() {
        // Right when it is checked, then wrong: as if a later run were left out.
        static RUNS: AtomicU32 = AtomicU32::new(0);
        static LAZY: Kernel = Kernel {
            name: "lazy",
            about: "",
            bytes: 8,
            run: |memory, iterations, seed| {
                let late = RUNS.fetch_add(1, Ordering::Relaxed) > 1_000;
                (KERNELS[0].run)(memory, iterations, seed) ^ u64::from(late)
            },
            expected: |memory, iterations, seed| (KERNELS[0].expected)(memory, iterations, seed),
            prepare: |_| {},
        };
        let loads = vec![(allowed().unwrap()[0], Load::Kernel(&LAZY))];
        let mut step = step(&Bank::default(), loads, vec![0], 600);
        let found = (0..3).find_map(|_| step().err()).unwrap();
        assert!(found.to_string().contains("wrong result"), "{found}");
    }
}
