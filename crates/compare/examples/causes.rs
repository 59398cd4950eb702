//! Judges the causes that `compare` names on drawn pairs of runs that differ by one injected cause:
//! `causes [--set training|reported] [--pairs 40] [--from 0] [--pieces] [--assumed]`.
//!
//! Prints for each pair the injected change of the mean frame, how much of it is in the right pieces (`tests/it/drawn/mod.rs` says which are), how much
//! is unknown, and whether the pieces sum to it. `--pieces` also prints the largest pieces.
#![allow(clippy::print_stdout)]

#[path = "../tests/it/drawn/mod.rs"]
mod drawn;

use drawn::CASES;
use faults::Set;
use std::collections::BTreeMap;
use std::error::Error;

/// The causes in the order in which pairs take turns. With `--assumed`, only core types whose speed is not recorded.
const INJECTED: [&str; 6] = ["frequency", "core_type", "sibling", "ready", "work", "lock"];
const ASSUMED: [&str; 1] = ["assumed"];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut set, mut pairs, mut from, mut shows_pieces, mut causes) = (Set::Training, 40, 0, false, &INJECTED[..]);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--set" => set = if value()? == "reported" { Set::Reported } else { Set::Training },
            "--pairs" => pairs = value()?.parse()?,
            "--from" => from = value()?.parse()?,
            "--assumed" => causes = &ASSUMED,
            "--pieces" => shows_pieces = true,
            _ => return Err(format!("{arg}: unknown option").into()),
        }
    }
    println!("pair  cause      injected by             injected ms  right ms   share  unknown  exact");
    let (mut right, mut exact) = (BTreeMap::<&str, [u32; 3]>::new(), 0);
    for pair in 0..pairs {
        let injected = causes[pair % causes.len()];
        let cases: Vec<_> = CASES.iter().filter(|case| case.injected == injected).collect();
        let case = cases[pair / causes.len() % cases.len()];
        let folder = tempfile::tempdir()?;
        let of = case.judge(set, from + pair as u64, folder.path())?;
        let counts = right.entry(injected).or_default();
        *counts = [counts[0] + 1, counts[1] + u32::from(of.is_right()), counts[2] + u32::from(of.is_close())];
        exact += u32::from(of.is_exact());
        println!(
            "{pair:4}  {injected:9}  {:22}  {:11.4}  {:8.4}  {:5.1}%  {:6.2}%  {}{}",
            case.how,
            of.injected_ns / 1e6,
            of.right_ns / 1e6,
            of.share() * 100.0,
            of.unknown_ns / of.injected_ns * 100.0,
            if of.is_exact() { "yes" } else { "NO" },
            if of.is_right() { "" } else { "  WRONG" },
        );
        if shows_pieces || !of.is_right() || !of.is_exact() {
            println!("        {}", of.why.line.as_deref().unwrap_or("(no main cause)"));
            println!(
                "        remainder {:.3} ns; by marks and by pieces {:.1} ns apart",
                of.remainder_ns,
                of.change_ns - of.injected_ns
            );
            for piece in of.why.pieces.iter().take(6) {
                println!("        {:+10.4} ms  {}: {}", piece.ns / 1e6, piece.cause, piece.title);
            }
        }
    }
    let all = right.values().fold([0; 3], |sum, of| [0, 1, 2].map(|at| sum[at] + of[at]));
    println!("cause      pairs  >= 90 %  90 to 110 %");
    for (injected, [pairs, right, close]) in right.into_iter().chain([("all", all)]) {
        println!("{injected:9}  {pairs:5}  {right:7}  {close:11}");
    }
    println!("the pieces sum to the change exactly in {exact} of {}", all[0]);
    Ok(())
}
