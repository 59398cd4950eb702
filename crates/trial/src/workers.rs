//! How the number of workers is set from outside of a program: variables of run-time libraries, and options of well-known programs.

use std::path::Path;

/// The variables that set the number of threads of a run-time library or the default of a program, and what comes before the number. Each is
/// read by its library or program only: OpenMP 6.0 (4.2), rayon, Go (package runtime), tokio, OpenBLAS, oneMKL, Julia, make(1), xz(1), zstd(1), pigz(1), cargo
/// and cmake document theirs.
const VARIABLES: [(&str, &str); 13] = [
    ("OMP_NUM_THREADS", ""),
    ("RAYON_NUM_THREADS", ""),
    ("GOMAXPROCS", ""),
    ("TOKIO_WORKER_THREADS", ""),
    ("OPENBLAS_NUM_THREADS", ""),
    ("MKL_NUM_THREADS", ""),
    ("JULIA_NUM_THREADS", ""),
    ("MAKEFLAGS", "-j"),
    ("XZ_DEFAULTS", "-T"),
    ("ZSTD_NBTHREADS", ""),
    ("PIGZ", "-p"),
    ("CARGO_BUILD_JOBS", ""),
    ("CMAKE_BUILD_PARALLEL_LEVEL", ""),
];

/// The variables for this number of workers.
pub(crate) fn variables(workers: u32) -> impl Iterator<Item = (&'static str, String)> {
    VARIABLES.iter().map(move |(name, before)| (*name, format!("{before}{workers}")))
}

/// How an option takes its value.
#[derive(Clone, Copy)]
enum Form {
    /// `-j4`, or `-j 4`.
    Short(&'static str),
    /// `--threads=4`, or `--threads 4`.
    Long(&'static str),
    /// `-threads 4` only.
    Apart(&'static str),
    /// `-mmt4` or `-mmt=4`; what stands there is replaced.
    Joined(&'static str),
}

use Form::{Apart, Joined, Long, Short};

/// Programs and their options for the number of workers; the first one is added where none is given. From their manuals.
const PROGRAMS: [(&[&str], &[Form]); 15] = [
    (&["make", "gmake", "ninja", "scons", "ctest", "cargo"], &[Short("-j"), Long("--jobs")]),
    (&["xz", "unxz", "xzcat"], &[Short("-T"), Long("--threads")]),
    (&["zstd", "unzstd"], &[Short("-T"), Long("--threads")]),
    (&["pigz", "pbzip2", "pzstd"], &[Short("-p"), Long("--processes")]),
    (&["lbzip2"], &[Short("-n")]),
    (&["7z", "7za", "7zr", "7zz"], &[Joined("-mmt")]),
    (&["ffmpeg"], &[Apart("-threads")]),
    (&["x264", "flac"], &[Long("--threads"), Short("-j")]),
    (&["x265"], &[Long("--pools")]),
    (&["sort"], &[Long("--parallel")]),
    (&["rg", "fd"], &[Short("-j"), Long("--threads")]),
    (&["xargs"], &[Short("-P"), Long("--max-procs")]),
    (&["parallel"], &[Short("-j"), Long("--jobs")]),
    (&["bwa", "minimap2", "blender", "memcached"], &[Short("-t"), Long("--threads")]),
    (&["samtools"], &[Short("-@"), Long("--threads")]),
];

/// The name of a program, without its folder.
pub(crate) fn base_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns a command with another number of workers; `None` if it is not one of the programs.
pub(crate) fn with_workers(command: &[String], workers: u32) -> Option<Vec<String>> {
    let name = base_name(command.first()?);
    let (_, forms) = PROGRAMS.iter().find(|(names, _)| names.contains(&name))?;
    let mut changed = command.to_vec();
    for form in *forms {
        if replace(&mut changed, *form, workers) {
            return Some(changed);
        }
    }
    let added = match forms.first()? {
        Short(option) | Joined(option) => vec![format!("{option}{workers}")],
        Long(option) => vec![format!("{option}={workers}")],
        Apart(option) => vec![(*option).to_owned(), workers.to_string()],
    };
    // The first argument of these is a subcommand, and options come after it.
    let at = 1 + usize::from(["7z", "7za", "7zr", "7zz", "cargo", "samtools", "bwa"].contains(&name));
    changed.splice(at.min(changed.len())..at.min(changed.len()), added);
    Some(changed)
}

/// Replaces the value of an option, where it is given.
fn replace(command: &mut [String], form: Form, workers: u32) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    for at in 1..command.len() {
        let next_is_value = command.get(at + 1).is_some_and(|next| is_number(next));
        let word = &command[at];
        let (option, joint) = match form {
            Short(option) => (option, ""),
            Long(option) => (option, "="),
            Apart(option) | Joined(option) => (option, ""),
        };
        if word == option && next_is_value && !matches!(form, Joined(_)) {
            command[at + 1] = workers.to_string();
            return true;
        }
        let Some(rest) = word.strip_prefix(option) else { continue };
        let fits = match form {
            Short(_) => is_number(rest),
            Long(_) => rest.strip_prefix('=').is_some_and(is_number),
            Apart(_) => false,
            Joined(_) => true,
        };
        if fits {
            command[at] = format!("{option}{joint}{workers}");
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        with_workers(&words, 2).map(|words| words.join(" "))
    }

    #[test]
    fn options_are_replaced_or_added() {
        for (line, with_two) in [
            ("make -j8 all", "make -j2 all"),
            ("/usr/bin/make -j 8 all", "/usr/bin/make -j 2 all"),
            ("make --jobs=8", "make --jobs=2"),
            ("xz -k f", "xz -T2 -k f"),
            ("7z a -mmt=on x.7z f", "7z a -mmt2 x.7z f"),
            ("7z a x.7z f", "7z a -mmt2 x.7z f"),
            ("ffmpeg -threads 8 -i f o", "ffmpeg -threads 2 -i f o"),
            ("x265 --pools 1 f -o g", "x265 --pools 2 f -o g"),
            ("cargo build", "cargo build -j2"),
            ("sort f", "sort --parallel=2 f"),
        ] {
            assert_eq!(changed(line).as_deref(), Some(with_two), "{line}");
        }
        assert_eq!(changed("./game -j8"), None);
    }
}
