//! The formats, one module each.

pub mod cap_frame_x;
pub mod ctf;
pub mod firefox;
pub mod ftrace_text;
pub mod mango_hud;
pub mod perf_data;
pub mod perf_script;
pub mod perfetto;
pub mod present_mon;
pub mod schedviz;
pub mod trace_dat;
