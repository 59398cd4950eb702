// Part of the build scripts of the crates with BPF programs, which include it.

/// Compiles `src/bpf/NAME.bpf.c` with clang to `OUT_DIR/NAME.bpf.o`. `headers`: folders of headers.
fn compile_bpf(names: &[&str], headers: &[&str]) -> std::process::ExitCode {
    use std::path::PathBuf;
    use std::process::{Command, ExitCode};
    let sources = PathBuf::from("src/bpf");
    println!("cargo:rerun-if-changed=src/bpf");
    for folder in headers {
        println!("cargo:rerun-if-changed={folder}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let Some(out) = std::env::var_os("OUT_DIR") else {
        eprintln!("OUT_DIR is not set: build with cargo");
        return ExitCode::FAILURE;
    };
    // The byte order of BPF is that of the machine it runs on.
    let target = match std::env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => "bpfeb",
        _ => "bpfel",
    };
    for name in names {
        let source = sources.join(format!("{name}.bpf.c"));
        let done = Command::new(&clang)
            .args(["-target", target, "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror", "-c"])
            .args(headers.iter().map(|folder| format!("-I{folder}")))
            .arg(&source)
            .arg("-o")
            .arg(PathBuf::from(&out).join(format!("{name}.bpf.o")))
            .status();
        match done {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("{clang} could not compile {} ({status})", source.display());
                return ExitCode::FAILURE;
            }
            Err(why) => {
                eprintln!(
                    "{clang} cannot be run ({why}): install it with `apt-get install clang llvm`, or set CLANG to its path"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
