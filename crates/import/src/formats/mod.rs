//! One file or folder a format.

pub mod ctf;
pub mod perf_data;
pub mod schedviz;
pub mod trace_dat;
