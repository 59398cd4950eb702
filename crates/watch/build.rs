//! Compiles the BPF programs with clang; the object is embedded in the library.
// Build scripts print their instructions to cargo.
#![allow(clippy::print_stdout, clippy::print_stderr)]

include!("../capture/bpf_build.rs");

fn main() -> std::process::ExitCode {
    compile_bpf(&["watch"], &["../capture/src/bpf"])
}
