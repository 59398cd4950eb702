//! What a probe measures: series of repetitions, and the figures that follow from them.

use crate::clock::Delay;
use crate::setup::Setup;
use crate::thread::{Evidence, Part, bind, together};
use model::CpuId;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use topology::{Cost, CostUnit, PairClass};

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

/// Repetitions of one measurement.
pub struct Series {
    /// A name that is unique within the plan; the recording's verification and errors use it.
    pub name: String,
    /// Whether its threads wait for a CPU because of each other, so that ready time is no sign of a disturbance.
    pub shares_cpu: bool,
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
}

impl Plan {
    /// Adds a series whose threads do not wait for each other's CPU. Returns its number.
    pub fn series(
        &mut self,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        self.push(name.into(), false, Box::new(step))
    }

    /// Adds a series whose threads share a CPU. Returns its number.
    pub fn sharing(
        &mut self,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        self.push(name.into(), true, Box::new(step))
    }

    /// Adds a series whose step can have a delay added to it. If the setup adds one, a second series has it, and the figure `added` is the
    /// difference of both: it must be the delay, which is measured alone in the same rounds. Returns the number of the series without a delay.
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
        let plain = self.push(name.to_owned(), shares_cpu, make(None)?);
        if let Some(added) = setup.added_ns {
            bind(&cpus[..1])?;
            let delay = Delay::calibrated(added);
            bind(&setup.cpus)?;
            let longer = self.push(format!("{name} + {added} ns"), shares_cpu, make(Some(delay))?);
            let alone = self.push(format!("{added} ns alone, for {name}"), false, calls(cpus[0], Some(delay)));
            let calls = self.push(format!("calls, for {name}"), false, calls(cpus[0], None));
            let found = Wanted::new("added", cpus, CostUnit::Ns, Formula::difference(longer, plain));
            // What came back, minus the delay as it was in the same rounds.
            let rest = Formula::Sum(vec![(1.0, longer), (-1.0, plain), (-1.0, alone), (1.0, calls)]);
            self.figure(found.with("series", name).with("added_ns", added).control(rest));
        }
        Ok(plain)
    }

    /// Adds a series that is measured as another one is. Returns its number.
    pub fn like(
        &mut self,
        other: usize,
        name: impl Into<String>,
        step: impl FnMut() -> io::Result<Repetition> + Send + 'static,
    ) -> usize {
        let shares_cpu = self.series.get(other).is_some_and(|series| series.shares_cpu);
        self.push(name.into(), shares_cpu, Box::new(step))
    }

    fn push(&mut self, name: String, shares_cpu: bool, step: Step) -> usize {
        self.series.push(Series { name, shares_cpu, step });
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
            for turn in 0..CALLS {
                if let Some(delay) = delay {
                    delay.spend(turn);
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
