//! Embeds the pages that `make` built into the binary: the viewer (`viewer/dist`) and the page of `corewise watch`
//! (`viewer/dist-watch`); none if they were not built.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // output for cargo; a build script may panic

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() {
    let viewer = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../viewer");
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap());
    for name in ["dist", "dist-watch"] {
        let dist = viewer.join(name);
        println!("cargo::rerun-if-changed={}", dist.display());
        let mut files = Vec::new();
        collect(&dist, &mut files);
        files.sort();
        let mut list = String::from("&[\n");
        for (number, file) in files.iter().enumerate() {
            // Embed a copy, since the pages may be built again before the compiler reads the file.
            let copy = out.join(format!("{name}-{number}"));
            std::fs::copy(file, &copy).unwrap();
            let path = file.strip_prefix(&dist).unwrap().to_str().unwrap();
            writeln!(list, "    ({:?}, include_bytes!({:?})),", format!("/{path}"), copy).unwrap();
        }
        list.push(']');
        std::fs::write(out.join(format!("{name}.rs")), list).unwrap();
    }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = dir.read_dir() else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
