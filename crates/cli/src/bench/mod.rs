//! The parts of `corewise bench`: what is checked before, the recorder, and the output.

pub mod before;
pub mod compared;
pub mod data;
pub mod groups;
pub mod page;
pub mod recorder;
pub mod sentences;
pub mod stored;
pub mod text;
pub mod words;

use bench::Verified;
use engine::{Cost, Costs, Machine};

/// All that was measured, or read from a file.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The machine.
    pub machine: Machine,
    /// The figures of all probes.
    pub costs: Costs,
    /// What each probe did; empty if the figures were read from a file.
    pub runs: Vec<ProbeRun>,
    /// What must be known before the figures, one sentence each.
    pub warnings: Vec<String>,
}

/// What one probe did.
#[derive(Clone, Debug)]
pub struct ProbeRun {
    /// The probe.
    pub name: &'static str,
    /// What holds for its figures and is not seen from them, one sentence each.
    pub notes: Vec<String>,
    /// What is missing, one sentence each.
    pub lacks: Vec<String>,
    /// What a recording showed.
    pub verified: Option<Verified>,
    /// The share of repetitions that were disturbed, 0 to 1.
    pub disturbed_share: f64,
    /// How many times as long a step takes while it is recorded: the median over series, the smallest and the largest.
    pub recording_ratio: Option<[f64; 3]>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

impl ProbeRun {
    /// A probe that has done nothing yet.
    pub fn of(name: &'static str) -> Self {
        Self {
            name,
            notes: Vec::new(),
            lacks: Vec::new(),
            verified: None,
            disturbed_share: 0.0,
            recording_ratio: None,
            stopped: false,
        }
    }
}

impl Outcome {
    /// The names of the probes that have figures, in the order of measuring.
    pub fn probes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cost in &self.costs.figures {
            if !names.contains(&cost.probe.as_str()) {
                names.push(&cost.probe);
            }
        }
        names
    }

    /// The figures of a probe.
    pub fn of(&self, probe: &str) -> Vec<&Cost> {
        self.costs.figures.iter().filter(|cost| cost.probe == probe).collect()
    }

    /// Whether the user stopped a probe.
    pub fn stopped(&self) -> bool {
        self.runs.iter().any(|run| run.stopped)
    }
}

/// What a probe measures, one sentence; its name if this version does not know it.
pub fn about(probe: &str) -> &str {
    bench::probe(probe).map_or("", |of| of.about())
}

/// What a figure is, with its steps; empty if this version does not know it.
pub fn described(probe: &str, figure: &str) -> &'static str {
    let figures = bench::probe(probe).map_or(&[] as &[_], |of| of.figures());
    figures.iter().find(|(name, _)| *name == figure).map_or("", |(_, words)| words)
}
