//! Traces and machines drawn as text, random traces, cases in Markdown and the referee: what tests are made of.
//!
//! - [`trace`] reads a drawing, one column a millisecond; its notation is documented at [`mod@drawing`];
//! - [`machine`] reads a drawing of cores: `cpu0 P0`, `cpu1 P0`, `cpu2 E1`, a line each;
//! - [`Random`] makes traces of a simulated scheduler, damages them, or makes events that make no sense at all;
//! - [`drawn`] says how many of them a law is tried on;
//! - [`perf_script`] renders events as the text that `shared/bin/oracle.py` reads, and [`referee`] asks it;
//! - [`figures`] are printed tables, and what is expected of them;
//! - [`ByName`] reads a table by the names of its columns;
//! - [`cases`] runs the Markdown cases of a folder, and rewrites their expected blocks when `COREWISE_BLESS` is set.
//!
//! Only tests use this crate, so it panics where a test would.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod by_name;
pub mod cases;
pub mod drawing;
pub mod figures;
mod machine;
pub mod perf_script;
mod random;
pub mod referee;
mod replay;

pub use by_name::ByName;
pub use drawing::{Drawn, trace};
pub use machine::machine;
pub use random::{Mode, Random, Rng};
pub use replay::Replay;

use model::{CpuId, Ns, Tid};
use proptest::test_runner::{Config, RngSeed};

/// How a law is tried on `cases` drawn inputs: on the same ones each time, so that a commit which passed passes again; with
/// `COREWISE_SOAK=N` (`make soak`) on N times as many new ones. What a failure prints, the shrunken input, draws it again.
#[must_use]
pub fn drawn(cases: u32) -> Config {
    let soak: Option<u32> = std::env::var("COREWISE_SOAK").ok().map(|n| n.parse().expect("COREWISE_SOAK is a number"));
    let rng_seed = soak.map_or(RngSeed::Fixed(0), |_| RngSeed::Random);
    Config { cases: cases * soak.unwrap_or(1), rng_seed, failure_persistence: None, ..Config::default() }
}

/// Milliseconds.
#[must_use]
pub fn ms(n: i64) -> Ns {
    Ns(n * 1_000_000)
}

/// The CPU of a number.
#[must_use]
pub fn cpu(n: u32) -> CpuId {
    CpuId(n)
}

/// The number of a drawn thread: A is 1, B is 2, …
#[must_use]
pub fn tid(letter: char) -> Tid {
    let letter = letter.to_ascii_uppercase();
    assert!(letter.is_ascii_uppercase(), "threads are letters, not {letter:?}");
    Tid(letter as i32 - 'A' as i32 + 1)
}
