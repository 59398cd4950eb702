//! The one door: open a trace of any kind, plan, run
