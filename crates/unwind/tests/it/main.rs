//! Tables of real files against what binutils reads from them, walks through real stacks against those of libgcc, and drawn ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

mod laws;
mod readelf;
#[cfg(target_arch = "x86_64")]
mod stepped;
mod support;
