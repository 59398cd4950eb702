//! Replays programs of threads on a machine under a scheduling policy.
//!
//! | module | what it does |
//! | --- | --- |
//! | `program` | what threads do: operations, and the objects that they wait for |
//! | `machine` | CPUs, their speeds, and what switches cost |
//! | `engine` | the replay |
//! | `policy` | which thread runs where: Linux' EEVDF, and one queue for all as a control |
//!
//! No recorded decision of a scheduler is an input: only what threads do, what they wait for, and their settings. Times and work are in ns.

mod engine;
mod machine;
mod objects;
mod policy;
mod program;

pub use engine::{Endless, Left, Output, Until, replay};
pub use machine::{Cpu, Cpus, Machine, Type};
pub use policy::{
    Eevdf, Features, FifoGlobal, Leave, Place, Policy, Preemption, Requests, Settings, Soon, Why, World, weight_of,
};
pub use program::{Class, Group, Object, Op, Program, Thread};
