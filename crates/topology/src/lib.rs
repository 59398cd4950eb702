//! A read-only model of a machine: CPUs, cores, siblings, caches, core types. Every fact has its source, and the claims of sources
//! that disagree are all kept.
//!
//! A [`Machine`] is created from the kernel's files ([`Machine::from_sysfs`], [`live()`]), from the topology that a recording tool
//! stored with its trace ([`Machine::from_trace_header`]), from the user ([`Machine::from_user`], [`machine_file`]), from another
//! tool's description such as hwloc's XML or `lscpu`'s output ([`Machine::from_text`]), or from CPU numbers alone
//! ([`Machine::of_cpus`]). [`Machine::overlay`] merges two descriptions, [`draw()`] prints one.
//!
//! The core classes, slow to fast, are determined from all sources (the rules are at the top of `judge.rs`), and never from CPU
//! numbers. If no source distinguishes the cores, there is one class, `uniform`.

mod choice;
mod costs;
mod cpuinfo;
pub mod cpulist;
mod described;
mod draw;
mod files;
mod header;
mod judge;
mod live;
mod machine;
mod machine_text;
mod overlay;
mod pair;
mod sysfs;
mod typical_costs;
mod user;
mod user_costs;

pub use choice::{Chosen, CpuChoice, NoCpus, named as named_cpus};
pub use costs::{Cost, CostUnit, Costs, Estimate, MAX_FIGURES, Measured};
pub use described::is_description;
pub use draw::draw;
pub use files::Files;
pub use header::{HeaderCache, HeaderCpu, HeaderTopology};
pub use judge::core_type_of_pmu;
pub use live::{Root, is_machine, live, machine_file};
pub use machine::{Claim, Cpu, Fact, IdleState, Judged, Machine, Source};
pub use machine_text::machine_text;
pub use pair::PairClass;
pub use typical_costs::TypicalCost;
pub use user::BadMachine;
