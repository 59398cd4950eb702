//! One file or folder a format.

pub mod perf_data;
pub mod perfetto;
