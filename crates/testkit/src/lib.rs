//! Test support: traces and machines drawn as text, random traces, cases in Markdown, and the referee.
//!
//! - [`trace`] reads a drawing, one column a millisecond; its notation is documented at [`mod@drawing`];
//! - [`machine`] reads a drawing of cores: `cpu0 P0`, `cpu1 P0`, `cpu2 E1`, a line each;
//! - [`Random`] makes traces of a simulated scheduler, the same with missing events, or random events;
//! - [`random_event`] makes an event of a kind;
//! - [`drawn`] configures how many of them a property is tested with;
//! - [`perf_script`] renders events as the text that `testdata/referee/oracle.py` reads, and [`referee`] runs it;
//! - [`figures`] reads printed tables and their expected values;
//! - [`ByName`] reads a table by the names of its columns;
//! - [`cases`] runs the Markdown cases of a folder, and rewrites their expected blocks when `COREWISE_BLESS` is set.
//!
//! Only tests use this crate, so it panics on errors.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod by_name;
pub mod cases;
pub mod corpus;
pub mod drawing;
pub mod figures;
mod machine;
pub mod perf_script;
mod random;
mod random_cells;
pub mod referee;
mod replay;

pub use by_name::ByName;
pub use drawing::{Drawn, trace};
pub use machine::machine;
pub use random::{Mode, Random, Rng};
pub use random_cells::random_event;
pub use replay::Replay;

use model::{CpuId, Ns, Tid};
use proptest::test_runner::{Config, RngSeed};

/// Returns the configuration to test a property with `cases` random inputs: the same ones each time, so that a commit that passed
/// passes again; with `COREWISE_SOAK=N` (`make soak`), N times as many new ones. A failure prints the reduced input, which
/// reproduces it.
#[must_use]
pub fn drawn(cases: u32) -> Config {
    let soak: Option<u32> = std::env::var("COREWISE_SOAK").ok().map(|n| n.parse().expect("COREWISE_SOAK is a number"));
    let rng_seed = soak.map_or(RngSeed::Fixed(0), |_| RngSeed::Random);
    Config { cases: cases * soak.unwrap_or(1), rng_seed, failure_persistence: None, ..Config::default() }
}

/// Returns milliseconds.
#[must_use]
pub fn ms(n: i64) -> Ns {
    Ns(n * 1_000_000)
}

/// Returns the CPU with a number.
#[must_use]
pub fn cpu(n: u32) -> CpuId {
    CpuId(n)
}

/// Returns the TID of a drawn thread: A is 1, B is 2, …
#[must_use]
pub fn tid(name: char) -> Tid {
    let name = name.to_ascii_uppercase();
    assert!(name.is_ascii_uppercase(), "thread names are A to Z, not {name:?}");
    Tid(name as i32 - 'A' as i32 + 1)
}
