//! Simulates comparisons with a known change and prints, as JSON, how many of their intervals contain it.
//!
//! `coverage [COMPARISONS] [SEED]`: so many comparisons over all distributions, 2 to 10 runs a side, unpaired and paired, a true ratio from 0.8
//! to 1.25. Paired runs share a factor of the pair (the machine's state at the time). A line each: distribution, method, runs a side, comparisons
//! with an interval, and of these how many contain the true ratio (95 %, 90 %).

use fastrand::Rng;
use serde_json::json;
use stats::{Method, Scale, of_runs};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The distributions of runs. Each is multiplied by the change, so the ratio is known, whatever the middle.
const DISTRIBUTIONS: [&str; 5] = ["normal", "lognormal", "spikes", "quantised", "coarse"];

fn main() -> io::Result<()> {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let comparisons = arguments.first().copied().unwrap_or(10_000);
    let mut random = Rng::with_seed(arguments.get(1).copied().unwrap_or(1));
    let mut counts: BTreeMap<(&str, String, usize), [u64; 4]> = BTreeMap::new();
    for at in 0..comparisons {
        let distribution = DISTRIBUTIONS[(at % 5) as usize];
        let paired = (at / 5) % 2 == 1;
        let sizes = if paired { [random.usize(2..=10); 2] } else { [random.usize(2..=10), random.usize(2..=10)] };
        let ratio = 0.8 * (1.25f64 / 0.8).powf(random.f64());
        let spread = 0.005 * 20f64.powf(random.f64());
        // The state of the machine during each pair.
        let states: Vec<f64> =
            (0..sizes[0]).map(|_| if paired { (2.0 * spread * normal(&mut random)).exp() } else { 1.0 }).collect();
        let mut side = |size: usize, change: f64| -> Vec<f64> {
            (0..size)
                .map(|i| {
                    let state = states.get(i).copied().unwrap_or(1.0);
                    let exact = 100.0 * change * state * one(distribution, spread, &mut random);
                    match distribution {
                        // Steps of half a deviation, and of one and a half.
                        "quantised" => rounded(exact, 50.0 * spread),
                        "coarse" => rounded(exact, 150.0 * spread),
                        _ => exact,
                    }
                })
                .collect()
        };
        let (a, b) = (side(sizes[0], 1.0), side(sizes[1], ratio));
        let Some(effect) = of_runs(&a, &b, paired, Scale::Ratio) else { continue };
        let method = match effect.method {
            Method::RankSum => "rank_sum",
            Method::SignedRank => "signed_rank",
            Method::Student => "student",
            _ => "none",
        };
        let name = if paired { format!("{method}, paired runs") } else { method.to_owned() };
        let count = counts.entry((distribution, name, sizes[0].min(sizes[1]))).or_default();
        count[0] += 1;
        if let (Some(interval), Some(narrow)) = (effect.interval, effect.narrow) {
            let contains = |[low, high]: [f64; 2]| u64::from(low <= ratio && ratio <= high);
            count[1] += 1;
            count[2] += contains(interval);
            count[3] += contains(narrow);
        }
    }
    let mut out = io::stdout().lock();
    for ((distribution, method, runs), [all, with, wide, narrow]) in counts {
        writeln!(
            out,
            "{}",
            json!({"distribution": distribution, "method": method, "runs": runs, "comparisons": all, "with_interval": with,
                "contain_95": wide, "contain_90": narrow})
        )?;
    }
    Ok(())
}

/// One run without a change, about 1.
fn one(distribution: &str, spread: f64, random: &mut Rng) -> f64 {
    match distribution {
        "lognormal" => (3.0 * spread * normal(random)).exp(),
        "spikes" => {
            // An exponential tail, and in one run of ten a spike, as if the hypervisor took the CPU.
            let tail = -spread * random.f64().max(1e-12).ln();
            let spike = if random.f64() < 0.1 { -10.0 * spread * random.f64().max(1e-12).ln() } else { 0.0 };
            1.0 + tail + spike
        }
        _ => 1.0 + spread * normal(random),
    }
}

fn rounded(value: f64, step: f64) -> f64 {
    (value / step).round().max(1.0) * step
}

/// A normally distributed number (Box & Muller 1958).
fn normal(random: &mut Rng) -> f64 {
    (-2.0 * random.f64().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}
