//! What a probe measures: series of repetitions, and the figures that follow from them.

use crate::clock::Delay;
use crate::setup::Setup;
use crate::thread::{Evidence, Part, bind, together};
use model::CpuId;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use topology::{Cost, CostUnit, Estimate, PairClass};

/// One measured part of a series: many equal steps, or one long one.
#[derive(Clone, PartialEq, Debug)]
pub struct Repetition {
    /// The value of one step, in the unit of the series.
    pub value: f64,
    /// What each thread did.
    pub threads: Vec<Evidence>,
}

/// Measures once.
pub type Step = Box<dyn FnMut() -> io::Result<Repetition> + Send>;

/// How the threads of a series use the CPUs, which decides when a repetition counts as disturbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuUse {
    /// Each thread has a CPU of its own: one that waited for it was disturbed.
    Own,
    /// The threads share one CPU and wait for each other, and one of them always runs: if none ran for some time, others did.
    Shared,
    /// The scheduler places the threads, and what it does is part of the measurement: no wait is a disturbance.
    Scheduled,
}

impl CpuUse {
    /// Returns the use of threads that share one CPU or do not.
    const fn of(shares_cpu: bool) -> Self {
        if shares_cpu { Self::Shared } else { Self::Own }
    }
}

/// Repetitions of one measurement.
pub struct Series {
    /// A name that is unique within the plan; the recording's verification and errors use it.
    pub name: String,
    /// How its threads use the CPUs.
    pub cpu_use: CpuUse,
    /// Measures once.
    pub step: Step,
}

/// A sum of series, each with its factor.
pub type Sum = Vec<(f64, usize)>;

/// How a figure follows from the series, by round: the series of one round are neighbours in time.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// A sum of series: one alone, or a difference.
    Sum(Sum),
    /// A sum over another sum.
    Ratio(Sum, Sum),
    /// What a function returns for the values of these series; `NaN` if it has no result.
    Function(Vec<usize>, Calculation),
}

/// A function of the values of a round, in the order of the formula's series.
#[derive(Clone, Copy)]
pub struct Calculation {
    /// Its name, by which two of them are compared.
    pub name: &'static str,
    /// Calculates.
    pub of: fn(&[f64]) -> f64,
}

impl PartialEq for Calculation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Calculation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Formula {
    /// The value of one series.
    #[must_use]
    pub fn of(series: usize) -> Self {
        Self::Sum(vec![(1.0, series)])
    }

    /// A series minus another one.
    #[must_use]
    pub fn difference(of: usize, minus: usize) -> Self {
        Self::Sum(vec![(1.0, of), (-1.0, minus)])
    }

    /// A series over another one.
    #[must_use]
    pub fn ratio(of: usize, over: usize) -> Self {
        Self::Ratio(vec![(1.0, of)], vec![(1.0, over)])
    }

    /// The value of a round; `None` if a series has none in it, or nothing is divided by.
    #[must_use]
    pub fn in_round(&self, round: &dyn Fn(usize) -> Option<f64>) -> Option<f64> {
        let sum = |of: &Sum| of.iter().map(|(factor, series)| Some(factor * round(*series)?)).sum::<Option<f64>>();
        match self {
            Self::Sum(of) => sum(of),
            Self::Ratio(of, over) => sum(over).filter(|over| *over != 0.0).and_then(|over| Some(sum(of)? / over)),
            Self::Function(series, calculation) => {
                let values: Vec<f64> = series.iter().map(|i| round(*i)).collect::<Option<_>>()?;
                Some((calculation.of)(&values)).filter(|value| value.is_finite())
            }
        }
    }

    /// The series in it.
    pub fn series(&self) -> impl Iterator<Item = usize> {
        let (of, over, arguments) = match self {
            Self::Sum(of) => (of.as_slice(), [].as_slice(), [].as_slice()),
            Self::Ratio(of, over) => (of.as_slice(), over.as_slice(), [].as_slice()),
            Self::Function(series, _) => ([].as_slice(), [].as_slice(), series.as_slice()),
        };
        of.iter().chain(over).map(|(_, series)| *series).chain(arguments.iter().copied())
    }
}

/// A figure to be found.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// Its name in the probe.
    pub figure: &'static str,
    /// How the two CPUs lie to each other, for figures of two.
    pub pair: Option<PairClass>,
    /// The CPUs.
    pub cpus: Vec<CpuId>,
    /// What was varied.
    pub parameters: BTreeMap<String, String>,
    /// Its unit.
    pub unit: CostUnit,
    /// How it follows from the series.
    pub formula: Formula,
    /// The null control: a value that is 0 (or 1 for ratios) if the method is sound.
    pub control: Option<Formula>,
    /// Half the width of an interval that is narrow enough whatever the value, in the unit: a difference near 0 needs no share of itself.
    pub enough: f64,
}

impl Wanted {
    /// Returns a figure without a pair, parameters or control.
    #[must_use]
    pub fn new(figure: &'static str, cpus: &[CpuId], unit: CostUnit, formula: Formula) -> Self {
        let parameters = BTreeMap::new();
        Self { figure, pair: None, cpus: cpus.to_vec(), parameters, unit, formula, control: None, enough: 0.0 }
    }

    /// Sets how the two CPUs lie to each other.
    #[must_use]
    pub fn pair(mut self, class: PairClass) -> Self {
        self.pair = Some(class);
        self
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.parameters.insert(name.to_owned(), value.to_string());
        self
    }

    /// Sets the null control.
    #[must_use]
    pub fn control(mut self, formula: Formula) -> Self {
        self.control = Some(formula);
        self
    }

    /// Sets half the width of an interval that is narrow enough.
    #[must_use]
    pub fn enough(mut self, half_width: f64) -> Self {
        self.enough = half_width;
        self
    }
}

/// Known work that is added to a step to find how far the method is off. It comes back as a difference, and what is then left or missing is
/// the rest: a fixed part, from short work, and a part that grows with the step, from longer work.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// The rest of work of 1 µs (`SHORT_NS`).
    pub short: Formula,
    /// The rest of work of 5 µs (`LONG_NS`).
    pub long: Formula,
}

/// The lengths of the work of a [`Check`], ns.
const SHORT_NS: f64 = 1_000.0;
const LONG_NS: f64 = 5_000.0;

impl Check {
    /// Returns by how much the rests are off: the fixed part in ns, and the part that grows as a share of the step. Each is the end of the rest's
    /// interval that is farther from 0. `None` if a rest has no interval.
    #[must_use]
    pub fn off(&self, estimate: impl Fn(&Formula) -> Option<Estimate>) -> Option<(f64, f64)> {
        let most = |of| estimate(of).map(|of| of.low.abs().max(of.high.abs()));
        Some((most(&self.short)?, most(&self.long)? / LONG_NS))
    }
}

/// Known work on one CPU, with the series that measures it alone.
#[derive(Clone, Copy)]
struct Known {
    delay: Delay,
    alone: usize,
}

/// What a probe will do on a machine.
#[derive(Default)]
pub struct Plan {
    /// The series.
    pub series: Vec<Series>,
    /// The figures, in the order of the output.
    pub figures: Vec<Wanted>,
    /// What this machine cannot show, one sentence each.
    pub left_out: Vec<String>,
    /// What holds for the figures and is not seen from them, one sentence each.
    pub notes: Vec<String>,
    /// How steps were checked, by the number of their series.
    pub checks: BTreeMap<usize, Check>,
    /// By CPU, the system calls without added work.
    calls: BTreeMap<CpuId, usize>,
    /// By CPU and length, ns.
    known: BTreeMap<(CpuId, u64), Known>,
}

impl Plan {
    /// Adds a series whose threads do not wait for each other's CPU. Returns its number.
    pub fn series(
        &mut self,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        self.push(name.into(), CpuUse::Own, Box::new(step))
    }

    /// Adds a series whose threads share a CPU. Returns its number.
    pub fn sharing(
        &mut self,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        self.push(name.into(), CpuUse::Shared, Box::new(step))
    }

    /// Adds a series whose threads the scheduler places, so that no wait of theirs is a disturbance. Returns its number.
    pub fn scheduled(
        &mut self,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        self.push(name.into(), CpuUse::Scheduled, Box::new(step))
    }

    /// Adds a series whose step can have known work added to it. If the setup adds some, a second series has it, and the figure `added` is the
    /// difference of both: it must be the work, which is measured alone in the same rounds. Returns the number of the series without it.
    ///
    /// # Errors
    /// The step cannot be made.
    pub fn steps(
        &mut self,
        setup: &Setup,
        name: &str,
        cpus: &[CpuId],
        shares_cpu: bool,
        make: impl Fn(Option<Delay>) -> io::Result<Step>,
    ) -> io::Result<usize> {
        let plain = self.push(name.to_owned(), CpuUse::of(shares_cpu), make(None)?);
        if let Some(added) = setup.added_ns {
            let (longer, rest) = self.longer(setup, plain, cpus, added, &make)?;
            let found = Wanted::new("added", cpus, CostUnit::Ns, Formula::difference(longer, plain));
            self.figure(found.with("series", name).with("added_ns", added).control(rest));
        }
        Ok(plain)
    }

    /// Adds a series as [`Plan::steps`] does, whose figures say by how much the method may be off ([`Check`]). For short steps.
    ///
    /// # Errors
    /// The step cannot be made.
    pub fn checked_steps(
        &mut self,
        setup: &Setup,
        name: &str,
        cpus: &[CpuId],
        shares_cpu: bool,
        make: impl Fn(Option<Delay>) -> io::Result<Step>,
    ) -> io::Result<usize> {
        let plain = self.steps(setup, name, cpus, shares_cpu, &make)?;
        let mut rest = |ns| Ok::<_, io::Error>(self.longer(setup, plain, cpus, ns, &make)?.1);
        let check = Check { short: rest(SHORT_NS)?, long: rest(LONG_NS)? };
        self.checks.insert(plain, check);
        Ok(plain)
    }

    /// Adds the series of a step with known work. Returns it, and what it is longer by, minus the work as it was in the same round.
    fn longer(
        &mut self,
        setup: &Setup,
        plain: usize,
        cpus: &[CpuId],
        ns: f64,
        make: impl Fn(Option<Delay>) -> io::Result<Step>,
    ) -> io::Result<(usize, Formula)> {
        let (name, cpu_use) = (format!("{} + {ns} ns", self.series[plain].name), self.series[plain].cpu_use);
        let cpu = cpus[0];
        let without = match self.calls.get(&cpu) {
            Some(series) => *series,
            None => self.push(format!("calls on {}", cpu.0), CpuUse::Own, calls(cpu, None)),
        };
        self.calls.insert(cpu, without);
        let known = match self.known.get(&(cpu, ns as u64)) {
            Some(known) => *known,
            None => {
                bind(&[cpu])?;
                let delay = Delay::calibrated(ns);
                bind(&setup.cpus)?;
                Known {
                    delay,
                    alone: self.push(format!("{ns} ns alone on {}", cpu.0), CpuUse::Own, calls(cpu, Some(delay))),
                }
            }
        };
        self.known.insert((cpu, ns as u64), known);
        let longer = self.push(name, cpu_use, make(Some(known.delay))?);
        let rest = vec![(1.0, longer), (-1.0, plain), (-1.0, known.alone), (1.0, without)];
        Ok((longer, Formula::Sum(rest)))
    }

    /// The checks of the steps in a formula, each with the step's factor. None of a ratio, which is off by a part of itself only.
    pub(crate) fn checks_of<'a>(&'a self, formula: &'a Formula) -> impl Iterator<Item = (f64, &'a Check)> {
        let of = if let Formula::Sum(of) = formula { of.as_slice() } else { &[] };
        of.iter().filter_map(|(factor, series)| Some((*factor, self.checks.get(series)?)))
    }

    /// Adds a series that is measured as another one is. Returns its number.
    pub fn like(
        &mut self,
        other: usize,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        let cpu_use = self.series.get(other).map_or(CpuUse::Own, |series| series.cpu_use);
        self.push(name.into(), cpu_use, Box::new(step))
    }

    fn push(&mut self, name: String, cpu_use: CpuUse, step: Step) -> usize {
        self.series.push(Series { name, cpu_use, step });
        self.series.len() - 1
    }

    /// Adds a figure.
    pub fn figure(&mut self, wanted: Wanted) {
        self.figures.push(wanted);
    }
}

/// Short system calls, with or without a delay before each: the delay is their difference.
fn calls(cpu: CpuId, delay: Option<Delay>) -> Step {
    const CALLS: u32 = 40;
    Box::new(move || {
        let work = move || {
            for _ in 0..CALLS {
                if let Some(delay) = delay {
                    delay.spend();
                }
                // SAFETY: no arguments. The system call itself, as the C library may remember the answer.
                unsafe { libc::syscall(libc::SYS_getppid) };
            }
            ((), 0)
        };
        let part: Part<'_, ()> = (vec![cpu], Box::new(work));
        let threads: Vec<Evidence> = together(vec![part])?.into_iter().map(|(_, evidence)| evidence).collect();
        let whole = threads.first().map_or(0, Evidence::len_ns);
        Ok(Repetition { value: whole as f64 / f64::from(CALLS), threads })
    })
}

/// A probe: one file in `probes`, one line in [`crate::PROBES`].
pub trait Probe: Sync {
    /// The name: a subcommand of `corewise bench`, and `probe` in the cost table.
    fn name(&self) -> &'static str;
    /// What it measures, one sentence for the user.
    fn about(&self) -> &'static str;
    /// The figures by name: what each is, with its steps.
    fn figures(&self) -> &'static [(&'static str, &'static str)];
    /// Plans the measurement on a machine.
    ///
    /// # Errors
    /// The machine refuses something that the probe needs.
    fn plan(&self, setup: &Setup) -> io::Result<Plan>;
    /// Returns what the figures show of the machine and of the method, one sentence each: a ranking, a law that is broken, a description that
    /// is wrong.
    fn judge(&self, _setup: &Setup, _costs: &[Cost]) -> Vec<String> {
        Vec::new()
    }
}
