//! One file or folder a format.

pub mod ftrace_text;
pub mod perf_data;
pub mod perf_script;
