//! What memory costs: the latency of a load by working set, and the bandwidth by working set and number of cores.

use crate::clock::now_ns;
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::setup::Setup;
use crate::thread::{Evidence, Gate, Part, bind, together};
use crate::work::{Kernel, Work, chase_in, stream_in};
use model::CpuId;
use std::io;
use std::sync::{Arc, Mutex};
use topology::{Cost, CostUnit};

/// The working sets of the latency.
static CHASES: [Kernel; 8] = [
    chase_in(16 << 10),
    chase_in(64 << 10),
    chase_in(256 << 10),
    chase_in(1 << 20),
    chase_in(4 << 20),
    chase_in(16 << 20),
    chase_in(64 << 20),
    chase_in(256 << 20),
];
/// Those of a first look.
const QUICK: [usize; 4] = [16 << 10, 256 << 10, 4 << 20, 64 << 20];
/// The working sets of the bandwidth, of each thread.
static STREAMS: [Kernel; 4] = [stream_in(16 << 10), stream_in(256 << 10), stream_in(4 << 20), stream_in(64 << 20)];
/// The share of the available memory that is used at most.
const MEMORY_SHARE: usize = 8;
/// The length of one measurement, ns.
const LENGTH_NS: f64 = 2_000_000.0;
/// The bytes of an iteration of a stream: a cache line.
const LINE: f64 = 64.0;

/// See the module.
pub struct Memory;

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn about(&self) -> &'static str {
        "the latency of a load and the bandwidth of reading, by working set, core type and number of cores"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "latency",
                "a load whose address is the result of the load before, in random order through the working set",
            ),
            ("bandwidth", "reading the working set in order, each thread its own, summed over the threads"),
            ("scaling", "the bandwidth of a thread with the others over its bandwidth alone: at most 1"),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let most = available_bytes().map_or(64 << 20, |bytes| bytes / MEMORY_SHARE);
        let (used, too_large): (Vec<&Kernel>, Vec<&Kernel>) = CHASES
            .iter()
            .filter(|kernel| !setup.quick || QUICK.contains(&kernel.bytes))
            .partition(|kernel| kernel.bytes <= most);
        if let Some(first) = too_large.first() {
            plan.left_out.push(format!(
                "left out: working sets of {} MiB and more, since {} MiB are an eighth of the available memory",
                first.bytes >> 20,
                most >> 20
            ));
        }
        for (_, cpus) in setup.by_class() {
            for kernel in &used {
                latency(&mut plan, setup, &cpus, kernel)?;
            }
        }
        bandwidths(&mut plan, setup, most)?;
        if let Some(pages) = huge_pages() {
            plan.notes.push(pages);
        }
        Ok(plan)
    }

    fn judge(&self, _: &Setup, costs: &[Cost]) -> Vec<String> {
        let above = |cost: &&Cost| cost.figure == "scaling" && cost.estimate.low > 1.02;
        let said = costs.iter().filter(above).map(|cost| {
            format!(
                "{} threads together read {:.2} times as fast each as one alone, which is impossible at a constant frequency: the frequency changed while the bandwidth was measured",
                cost.cpus.len(),
                cost.estimate.value
            )
        });
        said.chain(falling(costs)).collect()
    }
}

/// Working sets that are slower than a larger one: no cache is slower than what it caches.
fn falling(costs: &[Cost]) -> Vec<String> {
    let latencies: Vec<&Cost> = costs.iter().filter(|cost| cost.figure == "latency").collect();
    let pairs = latencies.windows(2).filter(|of| of[0].cpus == of[1].cpus && of[0].estimate.low > of[1].estimate.high);
    let bytes = |of: &Cost| of.parameters.get("working_set_bytes").cloned().unwrap_or_default();
    pairs
        .map(|of| {
            format!(
                "the latency of {} bytes is above that of {} bytes, which cannot be: something else used the caches",
                bytes(of[0]),
                bytes(of[1])
            )
        })
        .collect()
}

fn latency(plan: &mut Plan, setup: &Setup, cpus: &[CpuId], kernel: &'static Kernel) -> io::Result<()> {
    let Some(cpu) = cpus.first().copied() else { return Ok(()) };
    // Memory belongs to the node of the CPU that touches it first.
    bind(&[cpu])?;
    let work = Work::of(kernel, LENGTH_NS);
    bind(&setup.cpus)?;
    let work = Arc::new(Mutex::new(work.map_err(io::Error::other)?));
    let name = format!("loads of {} KiB on {}", kernel.bytes >> 10, cpu.0);
    let first = plan.series(name.as_str(), loads(cpu, &work));
    let again = plan.series(format!("{name} again"), loads(cpu, &work));
    let figure = Wanted::new("latency", &[cpu], CostUnit::Ns, Formula::of(first));
    let figure = figure.with("working_set_bytes", kernel.bytes);
    plan.figure(figure.control(Formula::difference(again, first)).enough(0.02));
    Ok(())
}

/// Runs once to fill the caches with what fits, then once more.
fn loads(cpu: CpuId, work: &Arc<Mutex<Work>>) -> Step {
    let work = Arc::clone(work);
    Box::new(move || {
        let mut work = work.lock().map_err(|_| io::Error::other("another series failed"))?;
        let iterations = work.iterations() as f64;
        let work = &mut *work;
        let run = move || (work.run().and_then(|_| work.run()), 0);
        let part: Part<'_, Option<f64>> = (vec![cpu], Box::new(run));
        let done = together(vec![part])?;
        let took = done.first().and_then(|(took, _)| *took);
        let took = took.ok_or_else(|| io::Error::other("the work has a wrong result"))?;
        Ok(Repetition { value: took / iterations, threads: done.into_iter().map(|(_, of)| of).collect() })
    })
}

/// Bandwidth by working set and number of threads, cores before their siblings.
fn bandwidths(plan: &mut Plan, setup: &Setup, most: usize) -> io::Result<()> {
    let mut order = setup.cores();
    order.extend(setup.cpus.iter().filter(|cpu| !order.contains(cpu)).copied().collect::<Vec<_>>());
    let all = order.len();
    let mut counts = vec![1, 2, all / 2, all];
    counts.retain(|count| (1..=all).contains(count));
    counts.sort_unstable();
    counts.dedup();
    let mut left_out = 0;
    for kernel in &STREAMS {
        if setup.quick && kernel.bytes == 256 << 10 {
            continue;
        }
        let work = Work::of(kernel, LENGTH_NS).map_err(io::Error::other)?;
        let mut alone = None;
        for count in &counts {
            if kernel.bytes * count > most {
                left_out += 1;
                continue;
            }
            let cpus = &order[..*count];
            let name = format!("reading {} KiB on each of {count}", kernel.bytes >> 10);
            // Both series read the same memory.
            let sets = Arc::new(Mutex::new(own_sets(cpus, &work)?));
            let first = plan.series(name.as_str(), reads(cpus, &sets));
            let again = plan.series(format!("{name} again"), reads(cpus, &sets));
            let figure = |figure, unit, formula| {
                let of = Wanted::new(figure, cpus, unit, formula).with("working_set_bytes", kernel.bytes);
                of.with("threads", count)
            };
            let figures = figure("bandwidth", CostUnit::BytesPerSecond, Formula::of(first));
            plan.figure(figures.control(Formula::difference(again, first)));
            let alone = *alone.get_or_insert(first);
            if *count > 1 {
                let each = Formula::Ratio(vec![(1.0 / *count as f64, first)], vec![(1.0, alone)]);
                plan.figure(figure("scaling", CostUnit::Ratio, each).control(Formula::ratio(again, first)));
            }
        }
    }
    if left_out > 0 {
        plan.left_out
            .push(format!("left out: {left_out} bandwidths that need more than an eighth of the available memory"));
    }
    Ok(())
}

/// The same work for each CPU, in memory that its CPU touched first.
fn own_sets(cpus: &[CpuId], work: &Work) -> io::Result<Vec<Work>> {
    let parts = cpus.iter().map(|cpu| -> Part<'_, Work> { (vec![*cpu], Box::new(|| (work.again(), 0))) });
    Ok(together(parts.collect())?.into_iter().map(|(work, _)| work).collect())
}

fn reads(cpus: &[CpuId], sets: &Arc<Mutex<Vec<Work>>>) -> Step {
    let (cpus, sets) = (cpus.to_vec(), Arc::clone(sets));
    Box::new(move || {
        let mut sets = sets.lock().map_err(|_| io::Error::other("another series failed"))?;
        let gate = Gate::new(cpus.len());
        let parts = sets.iter_mut().zip(&cpus).map(|(work, cpu)| -> Part<'_, Option<f64>> {
            let gate = &gate;
            let read = move || {
                let first = work.run();
                gate.pass();
                let start = now_ns();
                let bytes = work.iterations() as f64 * LINE;
                let second = work.run();
                let took = (now_ns() - start) as f64;
                (first.and(second).map(|_| bytes / took * 1e9), 0)
            };
            (vec![*cpu], Box::new(read))
        });
        let done = together(parts.collect())?;
        let value: Option<f64> = done.iter().map(|(of, _)| *of).sum();
        let value = value.ok_or_else(|| io::Error::other("the work has a wrong result"))?;
        let threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
        Ok(Repetition { value, threads })
    })
}

/// The memory that programs can get without swapping, bytes.
fn available_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

/// Whether large sets lie in huge pages, which shortens the search for addresses, as one sentence.
fn huge_pages() -> Option<String> {
    let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok()?;
    let chosen = text.split_once('[')?.1.split_once(']')?.0;
    Some(format!(
        "transparent huge pages are set to `{chosen}`: with `always`, loads in large sets miss fewer address translations"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::allowed;
    use topology::Estimate;

    fn cost(bytes: usize, low: f64, high: f64) -> Cost {
        let estimate = Estimate { value: f64::midpoint(low, high), low, high };
        Cost {
            probe: "memory".to_owned(),
            figure: "latency".to_owned(),
            pair: None,
            cpus: vec![CpuId(0)],
            core_types: Vec::new(),
            parameters: [("working_set_bytes".to_owned(), bytes.to_string())].into(),
            unit: CostUnit::Ns,
            estimate,
            systematic: None,
            next: None,
            repetitions: 10,
            disturbed: 0,
            misplaced: 0,
            control: None,
            precise: true,
        }
    }

    #[test]
    fn a_smaller_set_that_is_slower_is_reported() {
        let costs =
            [cost(16 << 10, 1.0, 1.2), cost(64 << 10, 1.1, 1.3), cost(256 << 10, 4.0, 4.2), cost(1 << 20, 3.0, 3.5)];
        let said = falling(&costs);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("262144 bytes is above that of 1048576"), "{said:?}");
    }

    /// What a larger set costs depends on the machine. That it is seen follows from the walk: through each cache line of the set once, before any
    /// line comes again, and hardly ever to the next or the last one, which the processor would have fetched.
    #[test]
    fn a_chain_of_loads_goes_through_the_whole_set_in_random_order() {
        const LINE_WORDS: usize = 8;
        for kernel in &CHASES[..6] {
            let mut memory = vec![0; kernel.bytes / 8];
            (kernel.prepare)(&mut memory);
            let lines = memory.len() / LINE_WORDS;
            let (mut at, mut seen, mut near) = (0, vec![false; lines], 0);
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut seen[at / LINE_WORDS], true), "{} bytes: {at} twice", kernel.bytes);
                let next = memory[at] as usize;
                near += usize::from(next.abs_diff(at) <= LINE_WORDS);
                at = next;
            }
            assert!(at == 0 && seen.iter().all(|seen| *seen), "{} bytes: not all lines", kernel.bytes);
            assert!(near * 20 < lines, "{} bytes: {near} of {lines} loads are of a neighbour", kernel.bytes);
        }
    }

    /// The measured loads are a part of what the thread did.
    #[test]
    fn loads_take_no_longer_than_their_thread() {
        let cpu = allowed().unwrap()[0];
        for kernel in [&CHASES[0], &CHASES[3]] {
            let work = Arc::new(Mutex::new(Work::of(kernel, 200_000.0).unwrap()));
            let iterations = work.lock().unwrap().iterations() as f64;
            let done = loads(cpu, &work)().unwrap();
            let [thread] = &done.threads[..] else { panic!("{:?}", done.threads) };
            assert!(thread.is_placed() && done.value > 0.0, "{done:?}");
            assert!(done.value * iterations <= thread.len_ns() as f64 + 1.0, "{iterations} loads: {done:?}");
        }
    }

    /// Each thread reads its own set within its time, so together they are at least as fast as over the whole time of each.
    #[test]
    fn two_threads_read_their_own_sets() {
        let all = allowed().unwrap();
        let work = Work::of(&STREAMS[0], 200_000.0).unwrap();
        let bytes = work.iterations() as f64 * LINE;
        let sets = Arc::new(Mutex::new(own_sets(&all, &work).unwrap()));
        let done = reads(&all, &sets)().unwrap();
        assert_eq!(done.threads.len(), all.len());
        assert!(done.threads.iter().all(Evidence::is_placed));
        let least: f64 = done.threads.iter().map(|thread| bytes / thread.len_ns() as f64 * 1e9).sum();
        assert!(done.value >= least, "{} bytes a second, at least {least}", done.value);
        // No processor reads a cache line in a tenth of a nanosecond.
        let most = all.len() as f64 * LINE / 0.1e-9;
        assert!(done.value <= most, "{} bytes a second, at most {most}", done.value);
    }
}
