//! Runs made of frame logs (PresentMon, CapFrameX, OCAT, MangoHud), and the metrics of frames that reviewers use.
//!
//! All metrics come from frame times. The names `1 % low` and `0.1 % low` have three definitions in use, so each has its own id:
//!
//! | id | definition | as in |
//! | --- | --- | --- |
//! | `fps.low1`, `fps.low01` | 1 / the 99th (99.9th) percentile of the frame times: `P1`, `P0.1` | CapFrameX's "1 % percentile"; MangoHud's `fps_metrics` (`src/fps_metrics.h`) up to one frame |
//! | `fps.low1_average`, `fps.low01_average` | 1 / the mean of the slowest 1 % (0.1 %) of the frame times | CapFrameX's "1 % low average" (`GetPercentageHighAverageSequence`); MangoHud's summary takes the mean of their fps instead |
//! | `fps.low1_integral`, `fps.low01_integral` | 1 / the frame time above which frames make up 1 % (0.1 %) of the time | MSI Afterburner; CapFrameX's "1 % low integral" (`GetPercentageHighIntegralSequence`) |
//!
//! Average fps is frames / time, never the mean of each frame's fps (CapFrameX's `EMetric.Average`); that mean is larger, since it
//! gives a short frame as much weight as a long one.
//!
//! Sources: CapFrameX `FrametimeStatisticProvider.cs` of github.com/CXWorld/CapFrameX, and "Explanation of different performance
//! metrics", capframex.com/blog; MangoHud `src/logging.cpp` and `src/fps_metrics.h` of github.com/flightlessmango/MangoHud.

use crate::{Run, Series};
use engine::{EngineError, Session};
use model::tables::{self, frames};
use model::{Ns, Row, Span};
use std::collections::BTreeMap;

/// A frame that takes longer than this many times the moving average is a stutter (CapFrameX's default `StutteringFactor`).
const STUTTER: f64 = 2.5;
/// Frames below this rate that are not stutters are low fps, per second (CapFrameX's default `StutteringThreshold`).
const LOW_FPS: f64 = 25.0;
/// The program that presents what other programs have drawn, on Windows.
const COMPOSITOR: &str = "dwm.exe";

/// Calculates the metrics of frames from their times in ns, in order of time. Times that are not above 0 are skipped.
///
/// Frame times are in ns, rates per second, shares from 0 to 1. Percentiles are by the nearest rank, as in corewise's tables and in
/// CapFrameX's description: the 99th of 1,000 frames is the 990th. A percentile or low of the slowest 1 % needs 100 frames, of the
/// slowest 0.1 % 1,000; with fewer it would be the longest frame under another name, and is left out.
#[must_use]
pub fn frame_metrics(frame_ns: &[f64]) -> BTreeMap<String, f64> {
    let times: Vec<f64> = frame_ns.iter().copied().filter(|ns| ns.is_finite() && *ns > 0.0).collect();
    let mut out = BTreeMap::new();
    let (Some(max), count) = (times.iter().copied().max_by(f64::total_cmp), times.len()) else { return out };
    let mut put = |id: &str, value: f64| out.insert(id.to_owned(), value);
    let sum: f64 = times.iter().sum();
    let mut slowest = times.clone();
    slowest.sort_unstable_by(|a, b| b.total_cmp(a));
    put("frames", count as f64);
    put("frame.mean", sum / count as f64);
    put("fps.average", count as f64 * 1e9 / sum);
    put("frame.max", max);
    put("frame.p50", longer_than_all_but(&slowest, 2));
    for (id, one_of) in [("frame.p95", 20), ("frame.p99", 100), ("frame.p999", 1000)] {
        if count >= one_of {
            put(id, longer_than_all_but(&slowest, one_of));
        }
    }
    for (id, one_of) in [("fps.low1", 100), ("fps.low01", 1000)] {
        if count >= one_of {
            put(id, 1e9 / longer_than_all_but(&slowest, one_of));
            put(&format!("{id}_average"), 1e9 / mean_of_slowest(&slowest, one_of));
            put(&format!("{id}_integral"), 1e9 / longest_in_time(&slowest, sum / one_of as f64));
        }
    }
    let (stutter, low) = stutter_and_low(&times);
    put("frame.stutter", stutter / sum);
    put("frame.low_fps", low / sum);
    out
}

/// The nearest rank of all but one of so many: the smallest time that at least that share of the times does not exceed. `slowest`:
/// the longest first.
fn longer_than_all_but(slowest: &[f64], one_of: usize) -> f64 {
    slowest.get(slowest.len() / one_of).or(slowest.last()).copied().unwrap_or(0.0)
}

/// The mean of the slowest frames, one of so many, rounded up.
fn mean_of_slowest(slowest: &[f64], one_of: usize) -> f64 {
    let count = slowest.len().div_ceil(one_of);
    slowest.iter().take(count).sum::<f64>() / count as f64
}

/// The time of the frame with which the slowest frames, added up, reach a share of the time.
fn longest_in_time(slowest: &[f64], share_ns: f64) -> f64 {
    let mut so_far = 0.0;
    let reached = slowest.iter().find(|ns| {
        so_far += **ns;
        so_far >= share_ns
    });
    reached.or(slowest.last()).copied().unwrap_or(0.0)
}

/// The time in stutters and in other frames of low fps, ns (CapFrameX's `GetStutteringTimePercentage` and `GetLowFPSTimePercentage`).
///
/// The moving average is that of the frame and those before it, `10 × √(mean frame time in ms)` of them (CapFrameX's
/// `GetMovingAverage`), rounded half to even.
fn stutter_and_low(times: &[f64]) -> (f64, f64) {
    let mean_ms = times.iter().sum::<f64>() / times.len() as f64 / 1e6;
    let window = (10.0 * mean_ms.sqrt()).round_ties_even().max(1.0) as usize;
    let (mut stutter, mut low) = (0.0, 0.0);
    for (at, ns) in times.iter().enumerate() {
        let recent = &times[(at + 1).saturating_sub(window)..=at];
        let average = recent.iter().sum::<f64>() / recent.len() as f64;
        if *ns > STUTTER * average {
            stutter += ns;
        } else if *ns > 1e9 / LOW_FPS {
            low += ns;
        }
    }
    (stutter, low)
}

/// Program, PID and swap chain.
type ChainKey = (Option<String>, Option<i64>, Option<String>);

/// The frames of one swap chain.
#[derive(Default)]
struct Chain {
    spans: Vec<Span>,
    ns: Vec<f64>,
    frames: u64,
    /// Frames of which it is known whether they were displayed, and those that were not.
    known_displayed: u64,
    dropped: u64,
    gpu_bound: u64,
    cpu_bound: u64,
    gpu_busy: Vec<f64>,
}

impl Chain {
    fn push(&mut self, row: Row<'_, frames::Table>) {
        self.frames += 1;
        if let Some(ns) = row.get(frames::FRAME_NS).filter(|ns| *ns > Ns::ZERO) {
            let start = row.get(frames::START_NS);
            self.spans.push(Span::new(start, start + ns));
            self.ns.push(ns.as_f64());
        }
        self.known_displayed += u64::from(row.get(frames::DISPLAYED).is_some());
        self.dropped += u64::from(row.get(frames::DISPLAYED) == Some(false));
        self.gpu_bound += u64::from(row.get(frames::BOUND) == "gpu");
        self.cpu_bound += u64::from(row.get(frames::BOUND) == "cpu");
        self.gpu_busy.extend(row.get(frames::GPU_BUSY_NS).map(Ns::as_f64));
    }

    fn values(&self) -> BTreeMap<String, f64> {
        let mut out = frame_metrics(&self.ns);
        let mut share = |id: &str, part: u64, of: u64| {
            if of > 0 {
                out.insert(id.to_owned(), part as f64 / of as f64);
            }
        };
        share("frame.dropped", self.dropped, self.known_displayed);
        if self.gpu_bound + self.cpu_bound > 0 {
            share("frame.gpu_bound", self.gpu_bound, self.frames);
            share("frame.cpu_bound", self.cpu_bound, self.frames);
        }
        if !self.gpu_busy.is_empty() {
            out.insert("frame.gpu_busy".to_owned(), self.gpu_busy.iter().sum::<f64>() / self.gpu_busy.len() as f64);
        }
        out
    }
}

/// Makes a run of a frame log: of the swap chain with the most frames, of a process if one is named (by name or PID). The desktop
/// compositor counts only if there is nothing else. Other swap chains are listed in [`Run::lacks`].
///
/// # Errors
/// The log cannot be read, or has no frames of the process.
pub fn of_frames(session: &Session, process: Option<&str>) -> Result<Run, EngineError> {
    let mut chains = BTreeMap::<ChainKey, Chain>::new();
    session.rows(tables::FRAMES.name, &mut |rows| {
        for row in rows.iter().map(|row| Row::<frames::Table>::new(row)) {
            let key = (
                row.get(frames::APPLICATION).map(str::to_owned),
                row.get(frames::PID),
                row.get(frames::SWAP_CHAIN).map(str::to_owned),
            );
            chains.entry(key).or_default().push(row);
        }
        Ok(())
    })?;
    let mut chains: Vec<(ChainKey, Chain)> = chains.into_iter().collect();
    chains.sort_by_key(|((application, ..), chain)| {
        (application.as_deref() == Some(COMPOSITOR), std::cmp::Reverse(chain.ns.len()))
    });
    let is_wanted = |((application, pid, _), _): &(ChainKey, Chain)| {
        process.is_none_or(|name| application.as_deref() == Some(name) || pid.is_some() && name.parse().ok() == *pid)
    };
    let Some(at) = chains.iter().position(is_wanted) else {
        let path = session.path().display();
        let of = process.map(|name| format!(" of a process named {name}")).unwrap_or_default();
        return Err(EngineError::NotFound(format!("{path}: no frames{of}; `corewise report {path}` shows all frames")));
    };
    let (key, chain) = chains.remove(at);
    let mut run = of_log(session);
    run.values = chain.values();
    for (of, others) in [(100, "frame.p99, fps.low1"), (1000, "frame.p999, fps.low01")] {
        if chain.ns.len() < of {
            run.lacks.push(format!("{} frames do not suffice for {others}: at least {of} do", chain.ns.len()));
        }
    }
    if !chains.is_empty() {
        let others = chains.iter().map(|(key, chain)| format!("{} ({} frames)", name(key), chain.frames));
        let some: Vec<String> = others.take(3).collect();
        let more = chains.len() - some.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        run.lacks.push(format!("only {} was compared, not {}{more}", name(&key), some.join(", ")));
    }
    let title = match &key.0 {
        Some(application) => format!("frame time of {application}"),
        None => "frame time".to_owned(),
    };
    run.series = vec![Series {
        name: "frame".to_owned(),
        title,
        threads: vec![None; chain.ns.len()],
        spans: chain.spans,
        ns: chain.ns,
    }];
    Ok(run)
}

fn name((application, pid, swap_chain): &ChainKey) -> String {
    let pid = pid.map(|pid| format!("PID {pid}"));
    let parts: Vec<&str> = [application, &pid, swap_chain].into_iter().filter_map(|p| p.as_deref()).collect();
    if parts.is_empty() { "the log's program".to_owned() } else { parts.join(" ") }
}

/// What the log shows of its machine, by the names in logs of CapFrameX, OCAT and MangoHud.
const MACHINE: &[(&str, &str)] = &[
    ("Processor", "processor"),
    ("cpu", "processor"),
    ("GPU", "gpu"),
    ("gpu", "gpu"),
    ("System RAM", "ram"),
    ("ram", "ram"),
];

/// What the log shows of the conditions.
const CONDITIONS: &[(&str, &str)] = &[
    ("written_by", "frame_log_written_by"),
    ("OS", "os"),
    ("os", "os"),
    ("kernel", "kernel_release"),
    ("driver", "gpu_driver"),
    ("Base Driver Version", "gpu_driver"),
    // MangoHud writes the governor under this name.
    ("cpuscheduler", "governor"),
];

/// A run with everything but the frames.
fn of_log(session: &Session) -> Run {
    let (facts, summary) = (session.facts(), session.summary());
    let of = |names: &'static [(&str, &str)]| {
        let known = |name: &String| names.iter().find(|(there, _)| there == name).map(|(_, here)| (*here).to_owned());
        let about = facts.about.iter().filter(|(_, value)| !value.is_empty());
        about.filter_map(move |(name, value)| Some((known(name)?, value.clone())))
    };
    let anomalies = summary.anomalies.iter().map(|a| format!("{} (count: {})", a.what, a.count));
    Run {
        path: session.path().display().to_string(),
        format: facts.format.clone(),
        span_ns: summary.span_ns,
        conditions: of(CONDITIONS).map(|(name, value)| (name, [Some(value.clone()), Some(value)])).collect(),
        machine: of(MACHINE).collect(),
        defects: anomalies.chain(summary.stopped.clone()).collect(),
        lacks: facts.lacks.clone(),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    fn metric(times_ms: &[f64], id: &str) -> Option<f64> {
        let ns: Vec<f64> = times_ms.iter().map(|ms| ms * MS).collect();
        frame_metrics(&ns).get(id).copied()
    }

    #[track_caller]
    fn is(times_ms: &[f64], id: &str, wanted: f64) {
        let value = metric(times_ms, id).unwrap_or(f64::NAN);
        assert!((value - wanted).abs() <= 1e-9 * wanted.abs(), "{id}: {value}, not {wanted}");
    }

    /// 1,000 frames: the last ten take 20, 30, … 110 ms, the others 10 ms.
    fn thousand() -> Vec<f64> {
        let slow = (2..=11).map(|n| f64::from(n) * 10.0);
        std::iter::repeat_n(10.0, 990).chain(slow).collect()
    }

    #[test]
    fn averages_weigh_by_time() {
        // 10 + 30 ms: two frames in 40 ms are 50 fps. The mean of 100 and 33.3 fps would be 66.7.
        is(&[10.0, 30.0], "fps.average", 50.0);
        is(&[10.0, 30.0], "frame.mean", 20.0 * MS);
        is(&[10.0, 30.0], "frame.max", 30.0 * MS);
        is(&[10.0, 30.0], "frames", 2.0);
        assert!(frame_metrics(&[]).is_empty() && frame_metrics(&[f64::NAN, 0.0, -1.0]).is_empty());
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        // Of 1 to 100 ms, 99 frames take at most 99 ms, 95 at most 95, 50 at most 50.
        is(&hundred, "frame.p99", 99.0 * MS);
        is(&hundred, "frame.p95", 95.0 * MS);
        is(&hundred, "frame.p50", 50.0 * MS);
        is(&hundred, "fps.low1", 1000.0 / 99.0);
        assert_eq!(metric(&hundred, "frame.p999"), None);
        assert_eq!(metric(&hundred[1..], "frame.p99"), None);
        assert_eq!(metric(&hundred[1..], "fps.low1_average"), None);
    }

    #[test]
    fn three_definitions_of_one_percent_low() {
        let times = thousand();
        // The 990th of 1,000 is the last of 10 ms.
        is(&times, "fps.low1", 100.0);
        // The slowest ten: (20 + 30 + … + 110) / 10 = 65 ms.
        is(&times, "fps.low1_average", 1000.0 / 65.0);
        // The time is 9900 + 650 = 10550 ms, 1 % is 105.5: the frame of 110 ms alone is more.
        is(&times, "fps.low1_integral", 1000.0 / 110.0);
        // 0.1 %: the 999th takes 100 ms; the slowest one 110 ms.
        is(&times, "fps.low01", 10.0);
        is(&times, "fps.low01_average", 1000.0 / 110.0);
        is(&times, "frame.p999", 100.0 * MS);
        // Twenty frames of 20 ms among 1,980 of 10 ms: 1 % of 20,200 ms are 202 ms, which eleven of them exceed.
        let times: Vec<f64> = std::iter::repeat_n(20.0, 20).chain(std::iter::repeat_n(10.0, 1980)).collect();
        is(&times, "fps.low1_integral", 50.0);
        is(&times, "fps.low1", 100.0);
        // 30 + 20 ms are exactly 1 % of 5,000 ms.
        let times: Vec<f64> = [30.0, 20.0].into_iter().chain(std::iter::repeat_n(5.0, 990)).collect();
        is(&times, "fps.low1_integral", 50.0);
    }

    #[test]
    fn a_stutter_exceeds_the_moving_average() {
        // The mean is 13.9 ms, so the window is 10 × √13.9 = 37 frames. The frame of 400 ms stands among 36 of 10 ms: its average is
        // 20.5 ms, and 400 > 2.5 × 20.5. It is 400 of 1390 ms. The same frames without it have none.
        let mut times = vec![10.0; 99];
        times.insert(50, 400.0);
        is(&times, "frame.stutter", 400.0 / 1390.0);
        is(&times, "frame.low_fps", 0.0);
        is(&[10.0; 99], "frame.stutter", 0.0);
        // 50 ms are 20 fps, below 25, all the time: low, but no stutter.
        is(&[50.0; 99], "frame.low_fps", 1.0);
        is(&[50.0; 99], "frame.stutter", 0.0);
        // 40 ms are exactly 25 fps, which is not below.
        is(&[40.0; 99], "frame.low_fps", 0.0);
    }

    /// The mean is 1.024 ms, so the window is 10 × √1.024 = 10 frames. A frame of 4 ms among 1 ms is a stutter, unless one of 10 ms is
    /// among the nine before it: the first pair is nine apart, the second ten.
    #[test]
    fn the_moving_average_has_ten_frames_at_one_ms() {
        let mut times = vec![1.0; 1000];
        for (at, ms) in [(100, 10.0), (109, 4.0), (200, 10.0), (210, 4.0)] {
            times[at] = ms;
        }
        is(&times, "frame.stutter", (10.0 + 10.0 + 4.0) / 1024.0);
    }

    #[test]
    fn order_matters_only_for_stutter() {
        let (mut times, mut reversed) = (thousand(), thousand());
        reversed.reverse();
        for id in ["fps.average", "frame.p99", "fps.low1_average", "fps.low1_integral", "frame.max"] {
            is(&reversed, id, metric(&times, id).unwrap());
        }
        times.rotate_left(5);
        assert!(metric(&times, "frame.stutter").unwrap() > metric(&reversed, "frame.stutter").unwrap());
    }
}
