//! What a parallel loop takes by its schedule: bound or not, in few or many chunks, with or without work stealing; and whether a model explains it.

use crate::clock::Delay;
use crate::now_ns;
use crate::parallel_loop::{LoopRun, ParallelLoop};
use crate::plan::{Formula, Plan, Probe, Repetition, Step, Wanted};
use crate::setup::Setup;
use crate::thread::{Evidence, Part, together};
use crate::work::{KERNELS, Kernel, Work};
use makespan::Schedule;
use model::CpuId;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use topology::{Cost, CostUnit};

/// Units of the loop for up to [`CPUS`] CPUs, and more for more: the largest number of chunks.
const UNITS: u32 = 1024;
/// The CPUs for which the numbers of chunks are those of the document that they come from (CAPABILITIES 52: 4 threads, 4 … 1024 chunks in total).
const CPUS: u32 = 4;
/// The work of a unit for the cost of a chunk, ns: so little that the cost is seen.
const SMALL_NS: f64 = 250.0;
/// Units for the cost of a chunk, and the chunks of the fewer kind.
const SMALL_UNITS: u32 = 16_384;
const FEW: usize = 64;
/// For how long the speeds of all CPUs are measured, ns.
const SPEED_NS: i64 = 6_000_000;
/// The model uses the median of this many measurements: one of them may be disturbed.
const KNOWN: usize = 5;

/// See the module.
pub struct Chunks;

/// What the model is calculated from.
#[derive(Default)]
struct Known {
    /// Units a nanosecond, by CPU, all at work.
    speeds: Vec<VecDeque<f64>>,
    /// The time of a loop of small units per chunk with few and with many chunks, ns.
    few: VecDeque<f64>,
    many: VecDeque<f64>,
}

type Shared = Arc<Mutex<Known>>;

impl Probe for Chunks {
    fn name(&self) -> &'static str {
        "chunks"
    }

    fn about(&self) -> &'static str {
        "what a parallel loop takes by its schedule and number of chunks, and whether speeds and the cost of a chunk explain it"
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("makespan", "from the begin of the loop until the last thread is done"),
            ("tail", "from the first thread that finds no more work until the last one is done"),
            ("chunk_cost", "what each chunk adds to the time of the thread that takes it"),
            ("ideal", "the whole work over the sum of the speeds of all CPUs: no schedule is faster"),
            ("over_ideal", "the makespan over the ideal: at least 1"),
            ("model", "the makespan by the model, from the speeds and the cost of a chunk as measured, without a fit"),
            ("explained", "the makespan over that of the model: 1 if the model explains it"),
        ]
    }

    fn plan(&self, setup: &Setup) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let cpus = &setup.cpus;
        let threads = cpus.len() as u32;
        let times = threads.div_ceil(CPUS);
        let units = UNITS * times;
        let of_cpu = if setup.quick { 15e6 } else { 40e6 };
        let kernel = &KERNELS[1];
        let work = Work::of(kernel, of_cpu * f64::from(threads) / f64::from(units)).map_err(io::Error::other)?;
        let known = Shared::default();
        chunk_costs(&mut plan, setup, kernel, &known)?;
        let again = |schedule| ParallelLoop {
            cpus: cpus.clone(),
            bound: matches!(schedule, Schedule::Affinity),
            schedule,
            units,
            work: cpus.iter().map(|_| work.again()).collect(),
            delay: None,
        };
        let ideal = plan.series("speeds of all CPUs together", speeds(cpus, &work, units, &known));
        let figure = |figure, unit, formula| Wanted::new(figure, cpus, unit, formula);
        plan.figure(figure("ideal", CostUnit::Ns, Formula::of(ideal)));
        for (schedule, name) in schedules(setup.quick, times as usize) {
            let chunks = schedule.max_chunks(cpus.len());
            let label = format!("{name} {chunks}");
            let mut add = |what: &str, value: fn(&LoopRun) -> f64| {
                let step = loops(again(schedule), value);
                // Threads that are not bound may meet on a CPU: that is part of the schedule and no disturbance. What is bound is compared with
                // these, so the same rule holds for it: without its disturbed rounds it would seem faster.
                plan.scheduled(format!("{label} {what}"), step)
            };
            let makespan = add("makespan", |of| of.makespan_ns);
            let twin = add("makespan again", |of| of.makespan_ns);
            let tail = add("tail", |of| of.tail_ns);
            let model = plan.series(format!("{label} model"), model(schedule, units, &known));
            let figure = |of, unit, formula| figure(of, unit, formula).with("schedule", name).with("chunks", chunks);
            let same = Formula::difference(twin, makespan);
            plan.figure(figure("makespan", CostUnit::Ns, Formula::of(makespan)).control(same));
            // A tail ends within a chunk of the slowest CPU: narrower than 1 % of the loop is of no use.
            plan.figure(figure("tail", CostUnit::Ns, Formula::of(tail)).enough(of_cpu * 0.01));
            let ratio = |of, over| Formula::ratio(of, over);
            plan.figure(figure("over_ideal", CostUnit::Ratio, ratio(makespan, ideal)).control(ratio(twin, makespan)));
            plan.figure(figure("model", CostUnit::Ns, Formula::of(model)));
            plan.figure(figure("explained", CostUnit::Ratio, ratio(makespan, model)).control(ratio(twin, makespan)));
        }
        if threads < 2 {
            plan.left_out.push("left out: a loop on one CPU has no schedule to compare".to_owned());
        }
        plan.notes.push(format!(
            "the loop has {units} units of the kernel `{}`, {} ms for each of {threads} CPUs; threads are bound in the schedule `affinity` only",
            kernel.name,
            of_cpu / 1e6
        ));
        Ok(plan)
    }

    fn judge(&self, _: &Setup, costs: &[Cost]) -> Vec<String> {
        let mut said: Vec<String> = ranking(costs).into_iter().collect();
        said.extend(unlawful(costs));
        said
    }
}

/// The schedules, with their names. The numbers of chunks are of all threads together.
fn schedules(quick: bool, times: usize) -> Vec<(Schedule, &'static str)> {
    let dynamic: &[usize] = if quick { &[4, 16, 128, 1024] } else { &[4, 16, 64, 128, 256, 1024] };
    let mut all = vec![(Schedule::Affinity, "affinity"), (Schedule::Static, "static")];
    all.extend(dynamic.iter().map(|chunks| (Schedule::Dynamic(chunks * times), "dynamic")));
    all.push((Schedule::Guided(UNITS as usize * times), "guided"));
    all.push((Schedule::Stealing(UNITS as usize * times), "stealing"));
    all
}

/// The slope of small work over the number of chunks, on one CPU and on all.
fn chunk_costs(plan: &mut Plan, setup: &Setup, kernel: &'static Kernel, known: &Shared) -> io::Result<()> {
    let work = Work::of(kernel, SMALL_NS).map_err(io::Error::other)?;
    let mut places = vec![(&setup.cpus[..1], "one")];
    if setup.cpus.len() > 1 {
        places.push((&setup.cpus[..], "all"));
    }
    for (i, (cpus, name)) in places.iter().enumerate() {
        let last = i + 1 == places.len();
        let loops = |chunks: usize, delay: Option<Delay>, known: Option<Shared>| -> Step {
            let mut of = ParallelLoop {
                cpus: cpus.to_vec(),
                bound: true,
                schedule: Schedule::Dynamic(chunks),
                units: SMALL_UNITS,
                work: cpus.iter().map(|_| work.again()).collect(),
                delay,
            };
            Box::new(move || {
                let run = of.run()?;
                // Each thread takes its part of the chunks.
                let value = run.makespan_ns * of.cpus.len() as f64 / f64::from(run.chunks.max(1));
                if let Some(mut known) = known.as_ref().and_then(|known| known.lock().ok()) {
                    let values = if chunks == FEW { &mut known.few } else { &mut known.many };
                    push(values, value);
                }
                Ok(Repetition { value, threads: run.threads })
            })
        };
        let shared = || last.then(|| Arc::clone(known));
        let many_chunks = SMALL_UNITS as usize;
        let many = plan.steps(setup, &format!("a loop of many chunks on {name}"), cpus, false, |delay| {
            Ok(loops(many_chunks, delay, if delay.is_none() { shared() } else { None }))
        })?;
        let few = plan.series(format!("a loop of few chunks on {name}"), loops(FEW, None, shared()));
        let few_again = plan.series(format!("a loop of few chunks again on {name}"), loops(FEW, None, None));
        let (of_many, of_few) =
            (many_chunks as f64 / (many_chunks - FEW) as f64, FEW as f64 / (many_chunks - FEW) as f64);
        let slope = Formula::Sum(vec![(of_many, many), (-of_few, few)]);
        let none = Formula::Sum(vec![(of_few, few_again), (-of_few, few)]);
        let cost = Wanted::new("chunk_cost", cpus, CostUnit::Ns, slope).with("threads", cpus.len());
        plan.figure(cost.control(none).enough(2.0));
    }
    Ok(())
}

fn push(values: &mut VecDeque<f64>, value: f64) {
    if values.len() == KNOWN {
        values.pop_front();
    }
    values.push_back(value);
}

fn median(values: &VecDeque<f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn loops(mut of: ParallelLoop, value: fn(&LoopRun) -> f64) -> Step {
    Box::new(move || {
        let run = of.run()?;
        Ok(Repetition { value: value(&run), threads: run.threads })
    })
}

/// Measures the speed of each CPU while all are at work. Returns the ideal makespan, ns.
fn speeds(cpus: &[CpuId], work: &Work, units: u32, known: &Shared) -> Step {
    let (cpus, known) = (cpus.to_vec(), Arc::clone(known));
    let mut work: Vec<Work> = cpus.iter().map(|_| work.again()).collect();
    Box::new(move || {
        let parts = work.iter_mut().zip(&cpus).map(|(work, cpu)| -> Part<'_, Option<f64>> {
            let speed = move || {
                let (start, mut units, mut right) = (now_ns(), 0_u32, true);
                // Whole units until the time is over, so that no CPU ends much earlier than another.
                let mut now = start;
                while now - start < SPEED_NS {
                    right &= work.run().is_some();
                    units += 1;
                    now = now_ns();
                }
                (right.then_some(f64::from(units) / (now - start) as f64), 0)
            };
            (vec![*cpu], Box::new(speed))
        });
        let done = together(parts.collect())?;
        let right: Option<Vec<f64>> = done.iter().map(|(speed, _)| *speed).collect();
        let right = right.ok_or_else(|| io::Error::other("the work has a wrong result"))?;
        let mut known = known.lock().map_err(|_| io::Error::other("another series failed"))?;
        known.speeds.resize(right.len(), VecDeque::new());
        known.speeds.iter_mut().zip(&right).for_each(|(all, speed)| push(all, *speed));
        let threads: Vec<Evidence> = done.into_iter().map(|(_, evidence)| evidence).collect();
        Ok(Repetition { value: makespan::ideal(f64::from(units), &right), threads })
    })
}

/// Calculates the makespan from what is known.
fn model(schedule: Schedule, units: u32, known: &Shared) -> Step {
    let known = Arc::clone(known);
    Box::new(move || {
        let known = known.lock().map_err(|_| io::Error::other("another series failed"))?;
        let speeds: Option<Vec<f64>> = known.speeds.iter().map(median).collect();
        let cost = median(&known.many).zip(median(&known.few));
        let missing = || io::Error::other("the speeds or the cost of a chunk were not measured");
        let (speeds, (many, few)) = speeds.zip(cost).ok_or_else(missing)?;
        let (all, some) = (f64::from(SMALL_UNITS), FEW as f64);
        let chunk_cost = ((many * all - few * some) / (all - some)).max(0.0);
        let of = makespan::Loop { work: f64::from(units), chunk_cost, move_cost: 0.0 };
        let run = makespan::simulate(&speeds, &of, schedule).map_err(io::Error::other)?;
        Ok(Repetition { value: run.makespan, threads: Vec::new() })
    })
}

/// Ranks the schedules by their makespan, fastest first. Schedules whose intervals overlap with that of the first of their group do not differ.
pub(crate) fn ranking(costs: &[Cost]) -> Option<String> {
    let mut found: Vec<&Cost> = costs.iter().filter(|cost| cost.figure == "makespan").collect();
    found.sort_by(|a, b| a.estimate.value.total_cmp(&b.estimate.value));
    let mut groups: Vec<Vec<&Cost>> = Vec::new();
    for cost in found {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|first| cost.estimate.low <= first.estimate.high) => {
                group.push(cost)
            }
            _ => groups.push(vec![cost]),
        }
    }
    let said: Vec<String> = groups
        .iter()
        .filter_map(|group| {
            let times = (group.first()?.estimate.value / 1e6, group.last()?.estimate.value / 1e6);
            Some(match group.as_slice() {
                [one] => format!("{} ({:.2} ms)", label(one), times.0),
                many => {
                    let names: Vec<String> = many.iter().map(|cost| label(cost)).collect();
                    format!("{} ({:.2} to {:.2} ms, which do not differ)", names.join(", "), times.0, times.1)
                }
            })
        })
        .collect();
    (!said.is_empty()).then(|| format!("schedules, fastest first: {}", said.join("; ")))
}

/// A schedule as it is written: of `dynamic`, the chunks belong to its name.
fn label(cost: &Cost) -> String {
    let of = |name: &str| cost.parameters.get(name).map(String::as_str).unwrap_or_default();
    match of("schedule") {
        "dynamic" => format!("dynamic {}", of("chunks")),
        other => other.to_owned(),
    }
}

/// Schedules that are faster than all CPUs together can be: speeds changed during the measurement, or the work was not done.
fn unlawful(costs: &[Cost]) -> Vec<String> {
    let of = costs.iter().filter(|cost| cost.figure == "over_ideal" && cost.estimate.high < 1.0);
    of.map(|cost| {
        format!(
            "the schedule {} took {:.3} of the work over the sum of the speeds, which is impossible at constant speeds: the speeds changed while the loop was measured",
            label(cost),
            cost.estimate.value
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, measure};
    use std::time::Duration;
    use topology::Estimate;

    fn cost(schedule: &str, chunks: usize, [low, value, high]: [f64; 3]) -> Cost {
        Cost {
            probe: "chunks".to_owned(),
            figure: "makespan".to_owned(),
            pair: None,
            cpus: Vec::new(),
            core_types: Vec::new(),
            parameters: [("schedule", schedule.to_owned()), ("chunks", chunks.to_string())]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            unit: CostUnit::Ns,
            estimate: Estimate { value, low, high },
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
    fn schedules_are_ranked_and_ties_are_said() {
        let costs = [
            cost("affinity", 2, [8.5e6, 8.6e6, 8.7e6]),
            cost("guided", 1024, [5.15e6, 5.2e6, 5.3e6]),
            cost("dynamic", 128, [5.1e6, 5.17e6, 5.2e6]),
            cost("static", 2, [5.6e6, 5.7e6, 5.8e6]),
        ];
        assert_eq!(
            ranking(&costs).unwrap(),
            "schedules, fastest first: dynamic 128, guided (5.17 to 5.20 ms, which do not differ); static (5.70 ms); affinity (8.60 ms)"
        );
        assert_eq!(ranking(&[]), None);
    }

    #[test]
    fn a_loop_faster_than_its_work_allows_is_reported() {
        let of = |value: [f64; 3]| Cost { figure: "over_ideal".to_owned(), ..cost("dynamic", 16, value) };
        assert_eq!(unlawful(&[of([0.99, 1.0, 1.01])]), Vec::<String>::new());
        assert!(unlawful(&[of([0.8, 0.85, 0.9])])[0].contains("dynamic 16 took 0.850"));
    }

    /// On the CPUs of this machine: the chain from loops to figures. What a loop takes depends on what else runs, and so does the ideal time,
    /// which is measured at another moment; `parallel_loop` has the law that no loop is faster than its work.
    #[test]
    fn every_schedule_is_measured() {
        let machine = topology::live();
        let setup = Setup::of(machine, None, true, 1).unwrap();
        let plan = Chunks.plan(&setup).unwrap();
        let options = Options { precision: 0.05, budget: Duration::from_secs(1) };
        let done = measure("chunks", plan, &setup, &options, None, &|| false, &mut |_| {});
        // A busy machine leaves few rounds: what there is must hold.
        assert!(!done.lacks.iter().any(|why| why.contains("was not measured")), "{:?}", done.lacks);
        for cost in &done.costs {
            // A tail may have no length, and the slope of a chunk's cost may be lost in what else runs.
            let may_be_zero = ["tail", "chunk_cost"].contains(&cost.figure.as_str());
            assert!(cost.estimate.value > 0.0 || may_be_zero, "{cost:?}");
            assert!(cost.figure != "tail" || cost.estimate.low >= 0.0, "{cost:?}");
        }
    }
}
