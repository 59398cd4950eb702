//! What changes would have done to a recorded run: replays of it as it was, and with them.

use crate::demand::{self, Demand, Of};
use crate::settings::Setting;
use engine::{EngineError, Session};
use simulate::{Eevdf, Endless, Left, Machine, Output, Settings, Until, Why, replay};

/// A replay may differ from the recording by this share; beyond it, nothing is predicted.
const MOST_OFF: f64 = 0.2;
/// The share of the time of the recorded process that may be unknown.
const MOST_UNKNOWN: f64 = 0.05;
/// How many times longer than the recording a replay may take.
const LONGEST: i64 = 20;
/// The shares of CPUs that become idle and look for a thread elsewhere: the kernel's depends on how long they were idle before.
const NEWIDLE: [f64; 3] = [1.0, 0.7, 0.3];

/// What a thread did in a replay, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// When it began and ended, since the begin of the recording; `None`: not in the replay.
    pub began_ns: Option<i64>,
    /// As `began_ns`.
    pub ended_ns: Option<i64>,
    /// On a CPU.
    pub running_ns: i64,
    /// Ready.
    pub ready_ns: i64,
}

/// What the critical path to the end of a replay consists of, ns: the chain of work and waits that decides when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// Work.
    pub running_ns: i64,
    /// A thread that could work is not given a CPU.
    pub ready_ns: i64,
    /// Timers and devices, which take as long as they took in the recording.
    pub fixed_ns: i64,
}

/// What is predicted.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// How long the recorded command took, ns; without one, the recording.
    pub recorded_ns: i64,
    /// The same in the replay without changes: the median.
    pub replayed_ns: i64,
    /// The predicted time, ns: the recorded one times the ratio of the replays with and without the changes.
    pub predicted_ns: i64,
    /// Its range: over all replays, by how much the replay without changes differs from the recording, and down to the time that is left if sleeps which
    /// decide the end only with the changes were shorter then.
    pub range_ns: [i64; 2],
    /// The critical paths without and with the changes.
    pub paths: [Path; 2],
    /// How many threads each change is for.
    pub changed: Vec<usize>,
    /// Each thread with its times without and with the changes.
    pub threads: Vec<(Of, [Times; 2])>,
}

/// Why nothing is predicted.
#[derive(Debug)]
pub enum Refusal {
    /// A sentence without a full stop.
    Why(String),
    /// The recording cannot be read.
    Engine(EngineError),
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Times {
    /// From its begin to its end, ns.
    #[must_use]
    pub fn took_ns(&self) -> Option<i64> {
        Some(self.ended_ns? - self.began_ns?)
    }
}

impl Prediction {
    /// The change as a share of the recorded time: −0.1 is 10 % less.
    #[must_use]
    pub fn change(&self) -> f64 {
        self.predicted_ns as f64 / self.recorded_ns.max(1) as f64 - 1.0
    }
}

/// Predicts what a recording would have been with changes.
///
/// # Errors
/// It cannot be read, or is not enough to predict from.
pub fn predict(session: &Session, changes: &[Setting], seed: u64) -> Result<Prediction, Refusal> {
    let summary = session.summary();
    if !summary.ready_known {
        return Err(Refusal::Why("the recording has no wakeups, so it is unknown what threads waited for".to_owned()));
    }
    let before = demand::demand(session)?;
    let of_focus: i64 = before.main.map_or(0, |main| {
        before.length_ns.max(1) * before.threads.iter().filter(|of| of.pid == before.threads[main].pid).count() as i64
    });
    if of_focus > 0 && before.unknown_ns as f64 > MOST_UNKNOWN * of_focus as f64 {
        return Err(Refusal::Why(format!(
            "what the threads of the recorded program did is unknown for {} ms",
            before.unknown_ns / 1_000_000
        )));
    }
    let mut after = before.clone();
    let changed =
        changes.iter().map(|change| change.apply(&mut after)).collect::<Result<_, _>>().map_err(Refusal::Why)?;
    let recorded_ns = before.recorded_ns();
    let (mut ratios, mut lengths, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for (n, newidle_share) in NEWIDLE.into_iter().enumerate() {
        let settings = Settings { newidle_share, ..Settings::new(before.cpus) };
        let run = |demand: &Demand| {
            replayed(demand, settings, seed.wrapping_add(n as u64)).map_err(|why| Refusal::Why(why.to_string()))
        };
        let [without, with] = [run(&before)?, run(&after)?];
        ratios.push(with.took_ns as f64 / without.took_ns.max(1) as f64);
        lengths.push(without.took_ns);
        pairs.push([without, with]);
    }
    ratios.sort_by(f64::total_cmp);
    lengths.sort_unstable();
    let replayed_ns = lengths[lengths.len() / 2];
    let off = replayed_ns as f64 / recorded_ns.max(1) as f64 - 1.0;
    if off.abs() > MOST_OFF {
        return Err(Refusal::Why(format!(
            "a replay of the recording as it was takes {:.0} ms instead of {:.0} ms, so that what decides its time is not understood",
            replayed_ns as f64 / 1e6,
            recorded_ns as f64 / 1e6
        )));
    }
    let of = |ratio: f64| (recorded_ns as f64 * ratio) as i64;
    let [without, with] = pairs.swap_remove(pairs.len() / 2);
    // Whether a sleep that did not matter before would have been as long is not known.
    let sleeps = (with.path.fixed_ns - without.path.fixed_ns).max(0) as f64 / replayed_ns.max(1) as f64;
    let times = without.times.into_iter().zip(with.times);
    Ok(Prediction {
        recorded_ns,
        replayed_ns,
        predicted_ns: of(ratios[ratios.len() / 2]),
        range_ns: [
            of((ratios[0] * (1.0 - off.abs()) - sleeps).max(0.0)),
            of(ratios[ratios.len() - 1] * (1.0 + off.abs())),
        ],
        paths: [without.path, with.path],
        changed,
        threads: before.threads.into_iter().zip(times.map(|(a, b)| [a, b])).collect(),
    })
}

/// A replay of a program.
struct Replayed {
    took_ns: i64,
    times: Vec<Times>,
    path: Path,
}

fn replayed(demand: &Demand, settings: Settings, seed: u64) -> Result<Replayed, Endless> {
    let program = &demand.program;
    let machine = Machine::uniform(demand.cpus);
    let mut policy = Eevdf::new(&program.threads, &program.groups, demand.cpus, settings, seed);
    let until = Until { at: LONGEST * demand.length_ns, end_of: demand.main };
    let mut sums = Sums { of: vec![Sum::default(); program.threads.len()], last: 0 };
    let end = replay(program, &machine, &mut policy, &mut sums, until)?;
    let path = sums.of[demand.main.unwrap_or(sums.last)].path;
    Ok(Replayed { took_ns: end - demand.begin_ns(), times: sums.of.into_iter().map(|of| of.times).collect(), path })
}

/// Adds up the times of threads, and the critical path to where each is: it goes on from the thread that ended a wait.
struct Sums {
    of: Vec<Sum>,
    /// The thread that left a CPU last.
    last: usize,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    times: Times,
    path: Path,
    /// Since when it runs, is ready or waits.
    since: i64,
    runs: bool,
}

impl Sum {
    /// The path to where a thread is at a time.
    fn path(&self, at: i64) -> Path {
        let running_ns = self.path.running_ns + if self.runs { at - self.since } else { 0 };
        Path { running_ns, ..self.path }
    }
}

impl Output for Sums {
    fn switch(&mut self, at: i64, _cpu: usize, from: Option<(usize, Left)>, to: Option<usize>) {
        if let Some((thread, left)) = from {
            let of = &mut self.of[thread];
            of.path = of.path(at);
            of.times.running_ns += at - of.since;
            (of.since, of.runs) = (at, false);
            if left == Left::Ended {
                of.times.ended_ns = Some(at);
            }
            self.last = thread;
        }
        if let Some(thread) = to {
            let of = &mut self.of[thread];
            of.times.ready_ns += at - of.since;
            of.path.ready_ns += at - of.since;
            (of.since, of.runs) = (at, true);
        }
    }

    fn wake(&mut self, at: i64, _cpu: usize, thread: usize, waker: Option<usize>, _why: Why) {
        let path = waker.map(|waker| self.of[waker].path(at));
        let of = &mut self.of[thread];
        of.path = path.unwrap_or(Path { fixed_ns: of.path.fixed_ns + at - of.since, ..of.path });
        of.since = at;
        of.times.began_ns.get_or_insert(at);
    }
}
