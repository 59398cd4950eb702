//! Measures a run: reads a trace's tables.

pub mod threads;
