//! `--counters`: from what the user wrote to the events of each CPU.

use crate::failure::Failure;
use capture::{CounterPlan, CounterSet, Trial, try_counters};
use counters::{Attr, Pmu, Pmus, Resolved};
use engine::Machine;
use model::CpuId;

/// Plans which events each CPU of this machine counts in a recording. `text`: as after `--counters`.
///
/// # Errors
/// As for [`plan`], or switches are to be counted.
pub fn plan_of_recording(text: &str, machine: &Machine) -> Result<CounterPlan, Failure> {
    // The kernel counts a switch after the reading at it, so it would be booked to the thread that comes.
    if asked(text, &Pmus::live())?
        .iter()
        .flat_map(|group| &group.events)
        .any(|event| name_of(event) == "context-switches")
    {
        return Err(Failure::usage(format!(
            "--counters {text}: context-switches is not counted in addition: every recording has each switch (corewise table DIR threads); \
             leave it out"
        )));
    }
    plan(text, machine)
}

/// Plans what is counted if the user asks for nothing: cycles and instructions where there is a PMU for them.
pub fn default_plan(machine: &Machine) -> CounterPlan {
    // Without rights or a free counter, watching goes on without them.
    if Pmus::live().core().next().is_some() {
        plan("default", machine).unwrap_or_default()
    } else {
        CounterPlan::default()
    }
}

fn asked(text: &str, pmus: &Pmus) -> Result<Vec<counters::AskedGroup>, Failure> {
    let wrong = |why: counters::BadEvent| Failure::usage(format!("--counters {text}: {why}"));
    counters::expand(counters::parse(text).map_err(wrong)?, pmus).map_err(wrong)
}

/// Plans which events each CPU of this machine counts. `text`: as after `--counters`.
///
/// # Errors
/// The text is not a list of events, an event is unknown, or a group in braces does not fit.
pub fn plan(text: &str, machine: &Machine) -> Result<CounterPlan, Failure> {
    let wrong = |why: counters::BadEvent| Failure::usage(format!("--counters {text}: {why}"));
    let pmus = Pmus::live();
    let asked = asked(text, &pmus)?;
    let all: Vec<CpuId> = machine.cpus.iter().map(|cpu| cpu.id).collect();
    let cpus_of = |pmu: Option<&Pmu>| pmu.and_then(|pmu| pmu.cpus.clone()).unwrap_or_else(|| all.clone());
    let online = |cpu: &CpuId| machine.cpu(*cpu).is_some_and(|cpu| cpu.online);
    // Without the rights to try, the recording fails with the same sentence a moment later.
    let mut fits = |pmu: Option<&Pmu>, events: &[Attr]| {
        let cpu = cpus_of(pmu).into_iter().find(online);
        cpu.is_none_or(|cpu| !matches!(try_counters(events, cpu), Ok(Trial::NotSupported | Trial::TooMany)))
    };
    let plan = counters::plan(&asked, &pmus, &mut fits).map_err(wrong)?;
    let mut done = CounterPlan { events: plan.events.iter().map(name).collect(), ..CounterPlan::default() };
    let attr_on = |at: usize, pmu: Option<&str>| {
        let on = plan.events.get(at)?.on.iter().find(|on| pmu.map_or(!on.core, |pmu| on.pmu == pmu))?;
        Some((at, on.attr.clone().ok()?))
    };
    for core in &plan.cores {
        let cpus = cpus_of(pmus.named(&core.pmu));
        for set in &core.sets {
            let events = set.iter().filter_map(|at| attr_on(*at, Some(&core.pmu))).collect();
            done.sets.push(CounterSet { pmu: core.pmu.clone(), cpus: cpus.clone(), events });
        }
        done.lacks.extend(core.refused.iter().filter_map(|at| plan.events.get(*at)).map(|event| {
            format!("{} is not counted on the CPUs of {}: the kernel refuses it there.", name(event), core.pmu)
        }));
    }
    for at in &plan.everywhere {
        let pmu = plan.events.get(*at).and_then(|event| event.on.iter().find(|on| !on.core));
        let cpus = cpus_of(pmu.and_then(|on| pmus.named(&on.pmu)));
        let pmu = pmu.map(|on| on.pmu.clone()).unwrap_or_default();
        done.sets.push(CounterSet { pmu, cpus, events: attr_on(*at, None).into_iter().collect() });
    }
    let refused = |at: &usize| plan.events.get(*at).map(name);
    done.lacks.extend(
        plan.refused
            .iter()
            .filter_map(refused)
            .map(|name| format!("{name} is not counted: the kernel refuses it on this machine.")),
    );
    if done.sets.iter().all(|set| set.events.is_empty()) {
        return Err(Failure::new(format!("--counters {text}: {}", done.lacks.join(" "))));
    }
    Ok(done)
}

fn name(event: &Resolved) -> String {
    event.event.to_string()
}

/// Returns the event's name without modes.
fn name_of(event: &counters::Event) -> String {
    counters::Event { user: false, kernel: false, ..event.clone() }.to_string()
}
