//! Compiles the BPF programs with clang; the objects are embedded in the library.
// Build scripts print their instructions to cargo.
#![allow(clippy::print_stdout, clippy::print_stderr)]

include!("bpf_build.rs");

fn main() -> std::process::ExitCode {
    compile_bpf(&["record", "probe"], &[])
}
