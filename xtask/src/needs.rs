//! The requirements of some tests. Such a test has `#[ignore = "needs A, B"]`, with names from this list. `cargo xtask
//! test` runs it if all of them are met; if it cannot run then, that is a failure.

use crate::repo::Repo;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A requirement.
#[derive(Debug)]
pub struct Need {
    /// Its name in the attribute.
    pub name: &'static str,
    /// How to meet it.
    pub how: &'static str,
    met: fn(&Machine<'_>) -> bool,
}

/// In the order in which they are printed. Those for rights and the kernel are reported by `corewise doctor`. It does
/// not test whether recording works, which is what the tests are for.
pub const NEEDS: &[Need] = &[
    Need { name: "root", how: "run as root", met: |_| is_root() },
    Need {
        name: "BPF rights",
        how: "see the lines kernel, BTF and permission of `corewise doctor`",
        met: |m| ["kernel", "kernel type information (BTF)", "permission"].iter().all(|name| m.doctor_says(name)),
    },
    Need {
        name: "perf events",
        how: "see the lines tracefs and perf events of `corewise doctor`",
        met: |m| ["tracefs", "system-wide perf events"].iter().all(|name| m.doctor_says(name)),
    },
    Need {
        name: "uprobes",
        how: "a kernel built with CONFIG_UPROBE_EVENTS",
        met: |m| m.doctor_says("marked calls (--mark)"),
    },
    Need {
        name: "trace_marker",
        how: "root, and sudo mount -t tracefs nodev /sys/kernel/tracing",
        met: |_| is_root() && Path::new("/sys/kernel/tracing/instances").is_dir(),
    },
    Need {
        name: "kernel locks",
        how: "Linux 6.16 or later, built with CONFIG_DETECT_HUNG_TASK_BLOCKER",
        met: |m| m.doctor_says("locks of the kernel for which threads wait"),
    },
    Need { name: "CPU quotas", how: "root, and a cgroup hierarchy with the CPU controller", met: |_| has_quotas() },
    Need {
        name: "Linux 6.18",
        how: "it holds single threads for a CPU quota",
        met: |m| m.doctor_says("threads throttled by a CPU quota"),
    },
    Need { name: "kernel symbols", how: "sudo sysctl kernel.kptr_restrict=1", met: |_| names_functions() },
    Need {
        name: "uclamp",
        how: "a kernel built with CONFIG_UCLAMP_TASK, and uclampset (util-linux)",
        met: |_| runs(&["uclampset", "-m", "100", "true"]),
    },
    Need {
        name: "two CPUs",
        how: "a machine that has them",
        met: |_| std::thread::available_parallelism().is_ok_and(|n| n.get() > 1),
    },
    Need { name: "corpus", how: "scripts/corpus (large recordings of other projects)", met: |m| m.has_corpus() },
    Need {
        name: "../shared",
        how: "recordings without a public source, next to the repository",
        met: |m| m.has_shared(),
    },
    Need { name: "perf", how: "scripts/setup test (linux-perf)", met: |_| there("perf") },
    Need {
        name: "perf that converts to CTF",
        how: "a perf that is built with libbabeltrace",
        met: |m| converts_to_ctf(m.root),
    },
    Need { name: "xz", how: "install xz-utils", met: |_| there("xz") },
    Need { name: "trace-cmd", how: "scripts/setup test", met: |_| there("trace-cmd") },
    Need { name: "babeltrace2", how: "scripts/setup test", met: |_| there("babeltrace2") },
    Need { name: "chromium", how: "scripts/setup test", met: |_| there("chromium") },
    Need { name: "prometheus", how: "scripts/setup test", met: |_| there("prometheus") },
    Need { name: "promtool", how: "scripts/setup test (prometheus)", met: |_| there("promtool") },
    Need { name: "systemd-analyze", how: "a machine with systemd", met: |_| there("systemd-analyze") },
    Need { name: "lstopo", how: "apt-get install hwloc-nox", met: |_| there("lstopo-no-graphics") },
    Need { name: "python3", how: "apt-get install python3", met: |_| there("python3") },
    Need {
        name: "python3 with pyarrow",
        how: "pip install pyarrow",
        met: |_| runs(&["python3", "-c", "import pyarrow.parquet"]),
    },
    Need {
        name: "DuckDB",
        how: "scripts/venv, or COREWISE_DUCKDB names a DuckDB command line or a Python that has its package",
        met: |_| {
            std::env::var_os("COREWISE_DUCKDB").is_some()
                || there("duckdb")
                || runs(&["python3", "-c", "import duckdb"])
        },
    },
    Need {
        name: "python3 with perfetto",
        how: "pip install perfetto protobuf, or PERFETTO_PYTHON names one that has them",
        met: |_| {
            let python = std::env::var("PERFETTO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
            runs(&[&python, "-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"])
        },
    },
    Need {
        name: "python3 with numpy and pandas",
        how: "pip install numpy pandas, or NUMPY_PYTHON names one that has them",
        met: |_| {
            let python = std::env::var("NUMPY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
            runs(&[&python, "-c", "import numpy, pandas"])
        },
    },
    Need { name: "the viewer", how: "make viewer (Node.js 20)", met: |m| m.has_viewer() },
    Need { name: "a build without the viewer", how: "where Node.js is not there", met: |m| !m.has_viewer() },
    Need {
        name: "COREWISE_TRACE",
        how: "it names a trace to be tried",
        met: |_| std::env::var_os("COREWISE_TRACE").is_some(),
    },
    Need {
        name: "COREWISE_CTF",
        how: "it names a long CTF trace, whose reading is timed",
        met: |_| std::env::var_os("COREWISE_CTF").is_some(),
    },
    Need {
        name: "COREWISE_TEST_OFFLINE",
        how: "set, CPU 1 may be taken offline for 0.3 s",
        met: |_| std::env::var_os("COREWISE_TEST_OFFLINE").is_some(),
    },
];

/// The requirements that are the live kernel's: what a test with one of them finds depends on what else runs.
const LIVE: &[&str] = &[
    "BPF rights",
    "perf events",
    "uprobes",
    "trace_marker",
    "CPU quotas",
    "Linux 6.18",
    "kernel symbols",
    "uclamp",
    "COREWISE_TEST_OFFLINE",
];

impl Need {
    /// Whether it is the live kernel's.
    pub fn is_live(&self) -> bool {
        LIVE.contains(&self.name)
    }
}

/// Returns the requirements that a reason of `#[ignore]` names; `Err`: a name that is not on the list.
pub fn named(reason: &str) -> Result<Vec<&'static Need>, String> {
    let names = reason.strip_prefix("needs ").ok_or_else(|| format!("{reason:?} does not begin with \"needs \""))?;
    let find = |name: &str| NEEDS.iter().find(|need| need.name == name).ok_or_else(|| format!("{name:?} is no need"));
    names.split(", ").map(find).collect()
}

/// The machine as far as the requirements need it.
struct Machine<'a> {
    root: &'a Path,
    /// The lines that `corewise doctor` answers with yes.
    good: Vec<String>,
}

impl Machine<'_> {
    fn doctor_says(&self, name: &str) -> bool {
        self.good.iter().any(|good| good == name)
    }

    /// Whether everything on the list of `scripts/corpus` is there.
    fn has_corpus(&self) -> bool {
        let list = text(&self.root.join("testdata/corpus.tsv").to_string_lossy());
        let mut names = list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('\t').next());
        let is_there =
            |name: &str| ["corpus", "../shared/traces"].iter().any(|at| self.root.join(at).join(name).exists());
        !list.is_empty() && names.all(is_there)
    }

    fn has_shared(&self) -> bool {
        self.root.join("../shared/traces/guests").is_dir()
    }

    fn has_viewer(&self) -> bool {
        self.root.join("viewer/dist").is_dir()
    }
}

/// Returns which requirements are met, according to `corewise doctor` of this binary.
pub fn met(repo: &Repo, corewise: &Path) -> Result<BTreeMap<&'static str, bool>, String> {
    let output =
        Command::new(corewise).arg("doctor").output().map_err(|why| format!("{}: {why}", corewise.display()))?;
    let good = good_lines(&String::from_utf8_lossy(&output.stdout));
    if good.is_empty() {
        return Err(format!(
            "{} doctor printed nothing: {}",
            corewise.display(),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let machine = Machine { root: &repo.root, good };
    Ok(NEEDS.iter().map(|need| (need.name, (need.met)(&machine))).collect())
}

/// Returns the names in lines like `yes   kernel        Linux 6.18`.
fn good_lines(output: &str) -> Vec<String> {
    let names = output.lines().filter_map(|line| line.strip_prefix("yes   ")?.split("  ").next());
    names.map(|name| name.trim().to_owned()).collect()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn is_root() -> bool {
    // real, effective, saved, file system
    let ids = text("/proc/self/status");
    ids.lines().find_map(|line| line.strip_prefix("Uid:")).and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

/// Version 2 below its root, or version 1 in a hierarchy of its own.
fn has_quotas() -> bool {
    let mounts = text("/proc/self/mounts");
    let has = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            [_, at, "cgroup2", ..] => {
                text(&format!("{at}/cgroup.subtree_control")).split_whitespace().any(|c| c == "cpu")
            }
            [_, _, "cgroup", options, ..] => options.split(',').any(|o| o == "cpu"),
            _ => false,
        }
    };
    is_root() && mounts.lines().any(has)
}

fn names_functions() -> bool {
    text("/proc/kallsyms").lines().any(|line| !line.starts_with("0000000000000000") && line.ends_with(" schedule"))
}

/// Whether a program is installed.
fn there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn runs(words: &[&str]) -> bool {
    let (program, words) = (words.first().unwrap_or(&""), words.get(1..).unwrap_or_default());
    let ran = Command::new(program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.is_ok_and(|status| status.success())
}

fn converts_to_ctf(root: &Path) -> bool {
    let to = std::env::temp_dir().join(format!("corewise-needs-{}", std::process::id()));
    let from = root.join("crates/import/fixtures/perf_data/sched.data");
    let (from, into) = (from.to_string_lossy(), to.to_string_lossy());
    let done = runs(&["perf", "data", "convert", "-i", &from, "--to-ctf", &into]);
    let _ = std::fs::remove_dir_all(&to);
    done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reasons_name_what_is_on_the_list() {
        let names = |reason| named(reason).map(|all| all.iter().map(|n| n.name).collect::<Vec<_>>());
        assert_eq!(names("needs BPF rights, two CPUs").unwrap(), ["BPF rights", "two CPUs"]);
        assert!(names("needs luck").unwrap_err().contains("luck"));
        assert!(names("slow").unwrap_err().contains("slow"));
    }

    #[test]
    fn the_doctor_is_read() {
        let output = "yes   kernel                         Linux 6.18\nNO    permission   missing\n      -> sudo\n\
                    part  tracefs      not mounted\nyes   kernel type information (BTF)  /sys\n";
        assert_eq!(good_lines(output), ["kernel", "kernel type information (BTF)"]);
    }
}
