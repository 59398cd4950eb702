//! A program with inlined functions, compiled here.

use object::{Object, ObjectSegment, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use symbols::{Named, SymbolPath, build_id};

/// `inner` is inlined into `middle`, and that into `outer`.
const SOURCE: &str = r#"static inline __attribute__((always_inline)) int inner(volatile int *place) {
    return *place * *place;
}
static inline __attribute__((always_inline)) int middle(volatile int *place) {
    return inner(place) + 1;
}
__attribute__((noinline)) static int outer(volatile int *place) {
    return middle(place);
}
int main(int count, char **words) {
    return outer(&count);
}
"#;

/// Runs a tool; panics with what it printed if it fails.
pub fn run(tool: &str, words: &[&str], folder: &Path) {
    let done = Command::new(tool).args(words).current_dir(folder).output().expect(tool);
    assert!(done.status.success(), "{tool} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A compiled program.
pub struct Program {
    pub folder: tempfile::TempDir,
    pub id: String,
    /// The places in the file of all bytes of `outer`.
    pub outer: Vec<u64>,
}

impl Program {
    /// Compiles it, with debug information.
    pub fn new(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("program.c"), SOURCE).unwrap();
        let words = ["-g", "-O1", "-Wl,--build-id", "-o", "program", "program.c"];
        run("clang", &[&words[..], options].concat(), folder.path());
        let path = folder.path().join("program");
        let bytes = std::fs::read(&path).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok("outer")).unwrap();
        let segment = |address: u64| {
            file.segments().find_map(|segment| {
                let inside = address.checked_sub(segment.address()).filter(|inside| *inside < segment.size())?;
                Some(segment.file_range().0 + inside)
            })
        };
        let outer = (symbol.address()..symbol.address() + symbol.size()).map(|at| segment(at).unwrap()).collect();
        Self { id: build_id::of_file(&path).unwrap(), outer, folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// Moves the debug information and the symbols to a file of its own.
    pub fn split(&self, debug: &str) {
        let here = self.folder.path();
        run("objcopy", &["--only-keep-debug", "program", debug], here);
        run("objcopy", &["--strip-all", "program"], here);
    }

    /// Returns what is known with these folders.
    pub fn known(&self, folders: &[&Path]) -> Named {
        let folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
        let path = SymbolPath { cache: None, folders, notes: "/nowhere".into(), list: "/nowhere".into() };
        path.functions(self.path().to_str().unwrap(), &self.id, &self.outer, Instant::now() + Duration::from_secs(600))
    }

    /// Returns the chain of functions, lines and source files in the innermost function.
    pub fn chain(&self, folders: &[&Path]) -> Vec<String> {
        let known = self.known(folders);
        let longest = known.functions.iter().max_by_key(|of| of.len()).unwrap();
        let text = |of: &symbols::Function| {
            let source = of.source.as_deref().unwrap_or("-").rsplit('/').next().unwrap();
            format!("{} {source}:{}", of.name.as_deref().unwrap_or("-"), of.line)
        };
        longest.iter().map(text).collect()
    }
}
