//! The folder of two commands that were recorded in turn, with its list of runs, `ab.json`.

use super::{Limits, Order, Side, Stop};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// The name of the list of runs.
pub const FILE: &str = "ab.json";

/// The version of the list of runs. A reader refuses a later one.
pub const VERSION: u32 = 1;

/// The largest size of a list that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// One of the two commands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SideOf {
    /// Its name for users.
    pub name: String,
    /// The shell command line.
    pub command: String,
    /// The CPUs of this side (`corewise ab --cores`); `None` if the sides do not differ in them.
    #[serde(default)]
    pub cores: Option<Cores>,
}

/// The CPUs of a side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cores {
    /// As the user chose them: `P`, `E`, `no-siblings`, `all`, or a list.
    pub choice: String,
    /// The CPUs, as a list such as `0-3,8`.
    pub cpus: String,
    /// Whether the command is bound to them; otherwise it may use all CPUs, which these are.
    pub is_bound: bool,
}

/// Why there are no more runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All pairs were recorded, or the interval is narrow enough.
    Complete,
    /// The largest number of pairs was recorded, and the interval is wider than requested.
    TooWide,
    /// The user stopped it.
    Interrupted,
    /// A command failed, or could not be recorded.
    Failed,
    /// More runs follow, or `corewise ab` was killed.
    Running,
}

/// What a run is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is compared, if the other side of its pair is too.
    Compared,
    /// A warm-up.
    WarmUp,
    /// Its pair was disturbed and recorded again.
    Repeated,
    /// The user stopped it.
    Interrupted,
    /// Its command failed.
    Failed,
}

/// One run of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeasuredRun {
    /// The trace folder, by its name in the folder; `None` if it was removed (`--keep compared`).
    pub folder: Option<String>,
    /// The file with the output of the command and of the recorder, by its name in the folder; `None` if the output was shown.
    pub log: Option<String>,
    /// The side.
    pub side: Side,
    /// The number of its pair, from 1; of warm-ups too.
    pub pair: usize,
    /// How often this pair was recorded until then, from 1.
    pub attempt: usize,
    /// Its place in the order of all runs, from 1.
    pub order: usize,
    /// What it is used for.
    pub status: Status,
    /// When it was started, in ns since 1970.
    pub start_unix_ns: i64,
    /// How long the command took, from the recording, ns; `None` if its exit was not recorded.
    pub wall_ns: Option<i64>,
    /// The exit code of the command; 128 + the number of a signal that ended it.
    pub exit_code: i32,
    /// The share of the time of all CPUs that the hypervisor gave to others, 0 to 1; `None` if unknown.
    pub steal_share: Option<f64>,
    /// The share of the time of all CPUs in which programs ran that are neither the command nor the recorder, 0 to 1; `None` if unknown.
    pub other_share: Option<f64>,
    /// The process with the most of `other_share`; empty if unknown.
    pub most_of_other: String,
    /// The mean of the CPUs' frequencies, read each second, kHz; `None` if the machine does not report them.
    pub frequency_khz: Option<f64>,
    /// How often the machine reported thermal throttling of cores and packages; `None` if it does not count them.
    pub throttled: Option<u64>,
    /// The share of the run in which some thread waited for a CPU (PSI, `cpu some`), 0 to 1; `None` if unknown.
    pub cpu_pressure: Option<f64>,
    /// The load average of one minute at the start; `None` if unknown.
    pub load_average: Option<f64>,
    /// Of a command that was bound to CPUs: the share of its running time on other CPUs, 0 to 1, from the recording; `None` if it was not
    /// bound or did not run.
    #[serde(default)]
    pub elsewhere_share: Option<f64>,
    /// Whether it was disturbed.
    pub disturbed: bool,
    /// Why it counts as disturbed, a sentence without its full stop; `None` if it was not.
    pub reason: Option<String>,
}

/// The list of runs, `ab.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this list: [`VERSION`].
    pub version: u32,
    /// The version of corewise that wrote it.
    pub corewise: String,
    /// The two commands, A and B.
    pub sides: [SideOf; 2],
    /// The seed of [`Order`].
    pub seed: u32,
    /// When there are enough pairs.
    pub stop: Stop,
    /// The number of warm-ups of each side.
    pub warm_up: usize,
    /// The largest shares with which a run is not disturbed.
    pub limits: Limits,
    /// How many disturbed pairs may be recorded again.
    pub max_repeats: usize,
    /// Further arguments of `corewise record`.
    pub record_arguments: Vec<String>,
    /// Why there are no more runs.
    pub ended: Ended,
    /// The half-width of the 95 % interval after the last pair, as a share of the estimate; `None` if there are too few pairs.
    pub half_width: Option<f64>,
    /// All runs, in the order in which they were recorded.
    pub runs: Vec<MeasuredRun>,
}

/// A complete pair that is compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The runs of A and B.
    pub runs: [&'a MeasuredRun; 2],
}

impl Pair<'_> {
    /// Whether one of its runs was disturbed: no repeats were left.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.runs.iter().any(|run| run.disturbed)
    }

    /// How long the commands took, ns; `None` if an exit was not recorded.
    #[must_use]
    pub fn wall_ns(&self) -> Option<[i64; 2]> {
        Some([self.runs[0].wall_ns?, self.runs[1].wall_ns?])
    }
}

impl Manifest {
    /// Returns the complete pairs that are compared, in the order of their numbers.
    #[must_use]
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let mut sides: BTreeMap<usize, [Option<&MeasuredRun>; 2]> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.status == Status::Compared) {
            sides.entry(run.pair).or_default()[run.side.index()] = Some(run);
        }
        let complete = sides.into_iter().filter_map(|(number, [a, b])| Some(Pair { number, runs: [a?, b?] }));
        complete.collect()
    }

    /// Returns how long the commands of the complete pairs took, ns, in the order of their numbers; pairs without a recorded exit are left
    /// out.
    #[must_use]
    pub fn wall_ns(&self) -> [Vec<f64>; 2] {
        self.pairs()
            .iter()
            .filter_map(Pair::wall_ns)
            .map(|[a, b]| (a as f64, b as f64))
            .unzip::<_, _, Vec<_>, Vec<_>>()
            .into()
    }

    /// Returns what each pair begins with.
    #[must_use]
    pub fn order(&self) -> Order {
        Order::new(self.seed)
    }
}

/// Why a folder is not read.
#[derive(Debug, thiserror::Error)]
pub enum AbError {
    /// The list cannot be read.
    #[error("{}: {why}", path.display())]
    Io {
        /// The list.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The list is not one.
    #[error("{}: it is not a list of runs of `corewise ab`: {why}", path.display())]
    Damaged {
        /// The list.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The list is of a later version.
    #[error("{}: version {version} is newer than this corewise, which reads up to version {VERSION}", path.display())]
    Newer {
        /// The list.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

/// A folder that `corewise ab` made.
#[derive(Clone, PartialEq, Debug)]
pub struct AbFolder {
    /// Its path.
    pub path: PathBuf,
    /// The list of runs.
    pub manifest: Manifest,
}

impl AbFolder {
    /// Whether a path is such a folder.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        path.join(FILE).is_file()
    }

    /// Reads the list of runs. The recordings are not opened.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or is of a later version.
    pub fn read(path: &Path) -> Result<Self, AbError> {
        let list = path.join(FILE);
        let io = |why| AbError::Io { path: list.clone(), why };
        let damaged = |why: String| AbError::Damaged { path: list.clone(), why };
        let mut text = String::new();
        let size = File::open(&list).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(io)?;
        if size as u64 > MAX_BYTES {
            return Err(io(ErrorKind::FileTooLarge.into()));
        }
        // A later version may have other fields.
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|why| damaged(why.to_string()))?;
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        let version = version.ok_or_else(|| damaged("it has no version".to_owned()))?;
        match u32::try_from(version).unwrap_or(u32::MAX) {
            version if version > VERSION => return Err(AbError::Newer { path: list, version }),
            _ => {}
        }
        let manifest: Manifest = serde_json::from_value(value).map_err(|why| damaged(why.to_string()))?;
        if let Some(name) = manifest.runs.iter().filter_map(|run| run.folder.as_deref()).find(|name| !is_plain(name)) {
            return Err(damaged(format!("{} is not a name in this folder", name.escape_debug())));
        }
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// Returns the recordings of the complete pairs that are compared, those of A and those of B, both in the order of pairs. Recordings
    /// of disturbed pairs that were recorded again are not among them.
    #[must_use]
    pub fn recordings(&self) -> [Vec<PathBuf>; 2] {
        let pairs = self.manifest.pairs();
        Side::BOTH.map(|side| {
            let names = pairs.iter().filter_map(|pair| pair.runs[side.index()].folder.as_ref());
            names.map(|name| self.path.join(name)).collect()
        })
    }
}

/// Whether this is the name of something in a folder, not a path.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(side: Side, pair: usize, status: Status) -> MeasuredRun {
        let folder = format!("{}-{pair:02}.cw", side.word());
        MeasuredRun {
            folder: Some(if status == Status::Compared { folder } else { format!("not-{folder}") }),
            log: None,
            side,
            pair,
            attempt: 1,
            order: 1,
            status,
            start_unix_ns: 1,
            wall_ns: Some(pair as i64 * 10 + side.index() as i64),
            exit_code: 0,
            steal_share: Some(0.0),
            other_share: Some(0.25),
            most_of_other: "yes".to_owned(),
            frequency_khz: None,
            throttled: None,
            cpu_pressure: None,
            load_average: Some(0.5),
            elsewhere_share: None,
            disturbed: false,
            reason: None,
        }
    }

    /// Warm-ups, a pair, a pair that was repeated, and a pair that was interrupted.
    fn manifest() -> Manifest {
        let side = |name: &str| SideOf { name: name.to_owned(), command: format!("./{name}"), cores: None };
        let runs = vec![
            run(Side::B, 1, Status::WarmUp),
            run(Side::A, 1, Status::WarmUp),
            run(Side::B, 1, Status::Compared),
            run(Side::A, 1, Status::Compared),
            run(Side::A, 2, Status::Repeated),
            run(Side::B, 2, Status::Repeated),
            run(Side::A, 2, Status::Compared),
            MeasuredRun { disturbed: true, ..run(Side::B, 2, Status::Compared) },
            run(Side::A, 3, Status::Compared),
            run(Side::B, 3, Status::Interrupted),
        ];
        Manifest {
            version: VERSION,
            corewise: "0.1.0".to_owned(),
            sides: [side("old"), side("new")],
            seed: 7,
            stop: Stop::Until { half_width: 0.01, max_runs: 50 },
            warm_up: 1,
            limits: Limits { max_steal_share: 0.05, max_other_share: 0.1 },
            max_repeats: 10,
            record_arguments: vec!["--stacks".to_owned()],
            ended: Ended::Interrupted,
            half_width: None,
            runs,
        }
    }

    fn written(text: &str) -> (tempfile::TempDir, Result<AbFolder, AbError>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        let read = AbFolder::read(folder.path());
        (folder, read)
    }

    #[test]
    fn complete_pairs_are_read_in_their_order() {
        let manifest = manifest();
        let (folder, read) = written(&serde_json::to_string(&manifest).unwrap());
        let read = read.unwrap();
        assert!(AbFolder::is_one(folder.path()) && read.manifest == manifest);
        let names = read.recordings().map(|paths| {
            let names = paths.iter().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string());
            names.collect::<Vec<_>>()
        });
        assert_eq!(names, [["a-01.cw", "a-02.cw"], ["b-01.cw", "b-02.cw"]]);
        assert_eq!(manifest.wall_ns(), [[10.0, 20.0], [11.0, 21.0]]);
        let disturbed: Vec<_> = manifest.pairs().iter().map(|pair| (pair.number, pair.is_disturbed())).collect();
        assert_eq!(disturbed, [(1, false), (2, true)]);
    }

    #[test]
    fn what_is_not_a_list_is_refused() {
        let error = |text: &str| written(text).1.unwrap_err().to_string();
        assert!(error("[]").contains("it has no version"));
        assert!(error("{").contains("not a list of runs"));
        assert!(error(r#"{"version": 2, "sides": 3}"#).contains("version 2 is newer"));
        assert!(error(r#"{"version": 1}"#).contains("missing field"));
        assert!(
            AbFolder::read(Path::new("/no/such/folder")).unwrap_err().to_string().contains("/no/such/folder/ab.json")
        );
    }

    #[test]
    fn recordings_outside_the_folder_are_refused() {
        for name in ["../a-01.cw", "/tmp/a-01.cw", "a/b", "..", ".", "", "a-01.cw/"] {
            let mut manifest = manifest();
            manifest.runs[2].folder = Some(name.to_owned());
            let why = written(&serde_json::to_string(&manifest).unwrap()).1.unwrap_err().to_string();
            assert!(why.contains("is not a name in this folder"), "{name}: {why}");
        }
    }
}
