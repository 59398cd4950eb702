//! One read-only model of a machine: CPUs, cores, siblings, caches, core types. Every fact names its source, and sources
//! that disagree are kept side by side.
//!
//! A [`Machine`] comes from the kernel's files ([`Machine::from_sysfs`], [`live()`]), from what a recording tool stored with
//! its trace ([`Machine::from_trace_header`]), from the user ([`Machine::from_user`], [`machine_file`]), from another tool's
//! description such as hwloc's XML or `lscpu`'s output ([`Machine::from_text`]), or, where only CPU numbers are known, from
//! those ([`Machine::of_cpus`]). [`Machine::overlay`] lays one over another, [`draw()`] shows it.
//!
//! Which cores are fast and which are slow is judged from all sources (the rules stand at the head of `judge.rs`), and never
//! from the numbers of the CPUs: where nothing tells, there is one class, `uniform`.

mod cpuinfo;
pub mod cpulist;
mod described;
mod draw;
mod files;
mod header;
mod judge;
mod live;
mod machine;
mod overlay;
mod sysfs;
mod user;

pub use described::is_description;
pub use draw::draw;
pub use files::Files;
pub use header::{HeaderCache, HeaderCpu, HeaderTopology};
pub use live::{Root, is_machine, live, machine_file};
pub use machine::{Claim, Cpu, Fact, IdleState, Judged, Machine, Source};
pub use user::BadMachine;
