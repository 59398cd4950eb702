//! One read-only model of a machine: CPUs, cores, siblings, caches, core types. Every fact names its source, and sources
//! that disagree are kept side by side.

mod machine;

pub use machine::{Claim, Cpu, Judged, Machine, Source};
