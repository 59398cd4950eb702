//! The commands and links of the documentation: each command runs, each link leads to a file and a heading.

use crate::support;
use crate::support::recording::recording;
use crate::support::{Folder, Ran, fixture, good, ran, run};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// The pages whose commands are run, in addition to those of the guide.
const WITH_COMMANDS: &[&str] = &["README.md", "docs/commands.md", "docs/sql.md", "docs/fleet.md"];

/// The folder of the guide, one page a question.
const GUIDE: &str = "docs/guide";

/// The pages whose links are resolved, in addition to all of `docs/`.
const WITH_LINKS: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "acceptance/README.md"];

/// Other programs that the pages show. Lines with any other program than these and corewise fail the test.
const OTHER_PROGRAMS: &[&str] = &["make"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn page(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// Returns the pages of a folder, in order.
fn pages_in(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(repository().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<_> = names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    pages.sort();
    pages
}

/// A line of a page's shell block.
struct Line {
    place: String,
    text: String,
}

/// Returns all lines of the shell blocks of a page.
fn shell_lines(path: &str) -> Vec<Line> {
    let mut language = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(page(path).lines()) {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = if language.is_none() { Some(fence.to_owned()) } else { None };
        } else if language.as_deref() == Some("sh") && !line.trim().is_empty() {
            lines.push(Line { place: format!("{path}:{number}"), text: line.to_owned() });
        }
    }
    assert!(language.is_none(), "{path}: a code block is not closed");
    lines
}

/// The shell lines of all pages that show corewise. Panics if a line shows a program that this test does not know.
fn commands() -> Vec<Line> {
    let with_commands = WITH_COMMANDS.iter().map(|path| (*path).to_owned()).chain(pages_in(GUIDE));
    let lines: Vec<Line> = with_commands.flat_map(|path| shell_lines(&path)).collect();
    let program = |line: &Line| line.text.split_whitespace().next().unwrap_or_default().to_owned();
    for line in &lines {
        let program = program(line);
        let known = program == "corewise" || OTHER_PROGRAMS.contains(&program.as_str());
        assert!(known, "{}: `{}` is not run by any test", line.place, line.text);
    }
    lines.into_iter().filter(|line| program(line) == "corewise").collect()
}

/// A shell in a folder, with corewise first on its path.
fn shell(folder: &Path, script: &str) -> Ran {
    let binary = Path::new(env!("CARGO_BIN_EXE_corewise"));
    let mut path = vec![binary.parent().unwrap().to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder).env("PATH", std::env::join_paths(path).unwrap());
    ran(command.env_remove("NO_COLOR").stdin(Stdio::null()).output().expect("sh runs"))
}

/// Returns the arguments of a line, as the shell splits and unquotes them.
fn arguments(line: &Line) -> Vec<String> {
    let folder = Folder::new();
    std::fs::write(folder.path("run.data"), "").unwrap(); // for lines that redirect their standard input
    let split = shell(&folder.path(""), &format!("corewise() {{ printf '%s\\n' \"$@\"; }}\n{}", line.text));
    assert_eq!(split.code, Some(0), "{}: {}", line.place, split.err);
    split.out.lines().map(ToOwned::to_owned).collect()
}

/// How a command is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// It is run to its end.
    Run,
    /// It is run to its end if the build has the viewer; its options are checked in any case.
    RunWithViewer,
    /// It is run to its end if there is a DuckDB; its options are checked in any case.
    RunWithDuckDb,
    /// Its options are checked: it records, serves until it is stopped, or needs the spool of a killed recorder, a store or a server.
    Parsed,
}

fn how(arguments: &[String]) -> How {
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    match arguments[0].as_str() {
        // They need an object store: stores.rs has one.
        _ if arguments.iter().any(|argument| argument.contains("://")) => How::Parsed,
        // It requests files of a server: crates/stores has one.
        "symbolize" if has("--debuginfod") => How::Parsed,
        "record" | "ab" | "try" | "demo" | "recover" | "power" | "watch" => How::Parsed,
        // The others measure, or need what a measurement stored.
        "bench" if arguments.len() == 1 || has("--machine") => How::Run,
        "bench" => How::Parsed,
        "view" if has("--html") => How::RunWithViewer,
        "sql" => How::RunWithDuckDb,
        "view" => How::Parsed,
        _ => How::Run,
    }
}

/// The exit codes that a documented command may have.
fn expected_codes(arguments: &[String]) -> &'static [i32] {
    let fails_on_findings = arguments.iter().any(|argument| argument == "--fail-on");
    match arguments[0].as_str() {
        "verify" | "check" => &[0, 3],
        "diagnose" if fails_on_findings => &[0, 4],
        // 1: this machine cannot be recorded by the user that runs the test.
        "doctor" => &[0, 1],
        _ => &[0],
    }
}

/// Makes the files that the pages name.
fn prepare(folder: &Folder) {
    let copy = |from: &Path, name: &str| {
        std::fs::copy(from, folder.path(name)).unwrap_or_else(|why| panic!("{}: {why}", from.display()));
    };
    let crates = repository().join("crates");
    copy(Path::new(&fixture("sched.data")), "run.data");
    // Recordings with samples.
    for name in ["profile.data", "before.data"] {
        copy(Path::new(&fixture("profile.data")), name);
    }
    copy(&crates.join("import/fixtures/present_mon/v2.csv"), "frames.csv");
    copy(&crates.join("topology/fixtures/vm.hwloc2.xml"), "board.xml");
    let measured = "[measured]\nat = \"2026-11-26T16:00:00Z\"\ncorewise = \"0.1.0\"\n";
    std::fs::write(folder.path("this.toml"), format!("[[cpus]]\nids = \"0-1\"\n{measured}")).unwrap();
    let counts = |n: u32| {
        format!("4000.00,msec,cpu-clock,4000000000,100.00,2.000,CPUs utilized\n{n},,instructions,4000000000,100.00,,\n")
    };
    for (name, instructions) in [("counts.csv", 100), ("on.csv", 130), ("off.csv", 100)] {
        std::fs::write(folder.path(name), counts(instructions)).unwrap();
    }
    for (name, text) in [
        (
            "totals.csv",
            "run,elapsed_s,cpu_s,instructions,thread_clk,ref_tsc_clk,energy_package_uj_printed\n\
             a,1.0,1.0,1000,1000,1000,9000000\nb,2.0,1.0,1000,1000,1000,8000000\n",
        ),
        ("functions.csv", "function,depth,ref_tsc_clk,energy_package_uj_printed\nwork,0,900,8000000\n"),
        ("battery.csv", "os,battery_life_min\nnew,300\nold,200\n"),
    ] {
        std::fs::write(folder.path(name), text).unwrap();
    }
    for (name, value) in [("measured.toml", 2300), ("other.toml", 1900)] {
        std::fs::write(folder.path(name), support::machine_with_costs(value)).unwrap();
    }
    std::fs::write(folder.path("recording.txt"), recording()).unwrap();
    for name in ["run.cw", "before.cw", "after.cw"] {
        // The frame log's clock starts at 0, that of the text at 10 s.
        good([
            "import",
            &folder.name("recording.txt"),
            &folder.name("frames.csv"),
            "--offset=10s",
            "-o",
            &folder.name(name),
        ]);
    }
    let run = folder.name("run.cw");
    good(["label", &run, "os=old", "plug=no", "team=render", "release=2.0"]);
    copy_folder(Path::new(&run), &folder.path("runs/run.cw"));
    good(["fleet", "index", &folder.name("runs")]);
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of the prepared files. It is used again until a command changes it; on ext4, files take long to make after many were deleted.
struct Files {
    folder: Folder,
    copied: Vec<Stamp>,
}

impl Files {
    fn copied(prepared: &Folder) -> Self {
        let folder = Folder::new();
        copy_folder(&prepared.path(""), &folder.path(""));
        let copied = stamps(&folder.path(""));
        Self { folder, copied }
    }

    fn changed(&self) -> bool {
        stamps(&self.folder.path("")) != self.copied
    }
}

/// What shows that a file was changed: its path, inode, length and time of change.
type Stamp = (PathBuf, u64, u64, (i64, i64));

/// The stamps of all files in a folder, in order, except the tables that a trace folder keeps after their first use.
fn stamps(folder: &Path) -> Vec<Stamp> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let data = entry.metadata().unwrap();
        if !data.is_dir() {
            all.push((entry.path(), data.ino(), data.len(), (data.ctime(), data.ctime_nsec())));
        } else if entry.file_name() != "tables" {
            all.extend(stamps(&entry.path()));
        }
    }
    all.sort();
    all
}

/// The path that `-o` or `--html` names.
fn output(arguments: &[String]) -> Option<&String> {
    arguments.iter().skip_while(|argument| !matches!(argument.as_str(), "-o" | "--html")).nth(1)
}

/// Runs the commands that are tested in one way, one at a time on each CPU. Each starts with the same files, except for kept tables.
fn run_documented(wanted: How) {
    let prepared = Folder::new();
    prepare(&prepared);
    let all: Vec<(Vec<String>, Line)> = commands().into_iter().map(|line| (arguments(&line), line)).collect();
    let left = Mutex::new(all.iter().filter(|(arguments, _)| how(arguments) == wanted));
    let run = || {
        let (mut count, mut failed, mut files) = (0, Vec::new(), Files::copied(&prepared));
        while let Some((arguments, line)) = { left.lock().unwrap().next() } {
            if files.changed() {
                files = Files::copied(&prepared);
            }
            failed.extend(wrong(line, arguments, &files.folder));
            count += 1;
        }
        (count, failed)
    };
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (count, failed) = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..cpus).map(|_| scope.spawn(run)).collect();
        runs.into_iter()
            .map(|run| run.join().unwrap())
            .fold((0, Vec::new()), |(n, all), (m, more)| (n + m, [all, more].concat()))
    });
    assert!(count > 0, "no command was run");
    assert!(failed.is_empty(), "{} of {count} commands failed:\n{}", failed.len(), failed.join("\n"));
}

/// Runs a command in a folder, and returns what is wrong.
fn wrong(line: &Line, arguments: &[String], folder: &Folder) -> Option<String> {
    if let Some(output) = output(arguments) {
        assert!(!folder.path(output).exists(), "{}: `{output}` exists: name a new file", line.place);
    }
    if let Some(page) = arguments.iter().skip_while(|argument| *argument != "--timeline").nth(1) {
        std::fs::write(folder.path(page), "the page that the line before wrote").unwrap();
    }
    let ran = shell(&folder.path(""), &line.text);
    if !ran.code.is_some_and(|code| expected_codes(arguments).contains(&code)) {
        Some(format!("{}: `{}`: exit code {:?}: {}", line.place, line.text, ran.code, ran.err.trim()))
    } else if let Some(output) = output(arguments).filter(|output| !folder.path(output).exists()) {
        Some(format!("{}: `{}` did not write {output}", line.place, line.text))
    } else if output(arguments).is_none() && ran.out.is_empty() && ran.err.is_empty() {
        Some(format!("{}: `{}` printed nothing", line.place, line.text))
    } else {
        None
    }
}

#[test]
fn documented_commands_run() {
    run_documented(How::Run);
}

#[test]
#[ignore = "needs the viewer"]
fn documented_commands_with_the_viewer_run() {
    run_documented(How::RunWithViewer);
}

#[test]
#[ignore = "needs DuckDB"]
fn documented_commands_with_duckdb_run() {
    run_documented(How::RunWithDuckDb);
}

/// `--help` after the options makes the command line be parsed up to there, so that an unknown option or an invalid value is an error.
#[test]
fn options_of_commands_that_are_not_run_exist() {
    let mut count = 0;
    for line in commands() {
        let arguments = arguments(&line);
        if how(&arguments) == How::Run {
            continue; // documented_commands_run
        }
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let own = &arguments[..end];
        let ran = run(own.iter().map(String::as_str).chain(["--help"]));
        assert_eq!(ran.code, Some(0), "{}: `{}`: {}", line.place, line.text, ran.err);
        let words: BTreeSet<&str> = ran.out.split([' ', '\n', ',', '[', ']', '=']).collect();
        for option in own.iter().filter(|argument| argument.starts_with('-')) {
            let option = option.split('=').next().unwrap();
            assert!(words.contains(option), "{}: {option} is not in corewise {} --help", line.place, arguments[0]);
        }
        count += 1;
    }
    assert!(count > 0, "no command was parsed");
}

/// Returns the first words of the lines under a heading of the help.
fn listed(help: &str, heading: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).map(ToOwned::to_owned).collect()
}

#[test]
fn all_commands_and_tables_are_documented() {
    let shown: Vec<Vec<String>> = shell_lines("docs/commands.md").iter().map(arguments).collect();
    let commands = listed(&good(["--help"]), "Commands:");
    assert!(commands.len() > 10, "--help lists {commands:?}");
    for command in commands {
        assert!(shown.iter().any(|words| words[0] == command), "docs/commands.md does not show corewise {command}");
    }
    for table in model::tables::ALL {
        let table = table.name;
        let is_shown = shown.iter().any(|words| words[0] == "table" && words[2] == table);
        assert!(is_shown, "docs/commands.md does not show corewise table run.cw {table}");
    }
}

/// Each page of the guide is short, asks its question in its title, shows commands and a picture, and is listed in the overview. The pictures
/// are small.
#[test]
fn pages_of_the_guide_are_short_and_illustrated() {
    const MAX_LINES: usize = 60;
    const MAX_PICTURES: u64 = 1_000_000;
    let overview = page(&format!("{GUIDE}/README.md"));
    let pages: Vec<String> = pages_in(GUIDE).into_iter().filter(|path| !path.ends_with("README.md")).collect();
    assert!(pages.len() >= 6, "{pages:?}");
    for path in &pages {
        let text = page(path);
        let title = text.lines().next().unwrap().strip_prefix("# ").unwrap_or_default();
        let name = path.rsplit('/').next().unwrap();
        assert!(title.ends_with('?'), "{path}: its title is no question");
        assert!(overview.contains(&format!("| {title} | [{name}]({name}) |")), "the overview lacks {path}");
        assert!(text.lines().count() <= MAX_LINES, "{path} has more than {MAX_LINES} lines");
        assert!(!shell_lines(path).is_empty() && text.contains("\n!["), "{path} shows no command or no picture");
    }
    let files = std::fs::read_dir(repository().join(GUIDE)).unwrap().map(|entry| entry.unwrap());
    let pictures = files.filter(|file| !file.file_name().to_string_lossy().ends_with(".md"));
    let bytes: u64 = pictures.map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < MAX_PICTURES, "the pictures of the guide have {bytes} bytes");
}

#[test]
fn renamed_names_are_documented() {
    use model::tables::renamed::{COLUMNS, EVENT_COLUMNS, TABLES, VALUES};
    let page = page("docs/renamed.md");
    let rows: BTreeSet<&str> = page.lines().collect();
    for (former, current) in [TABLES, COLUMNS, EVENT_COLUMNS, VALUES].into_iter().flatten() {
        assert!(rows.contains(format!("| `{former}` | `{current}` |").as_str()), "docs/renamed.md lacks {former}");
    }
}

/// Returns the lines of a page that are not in code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_block = false;
    let outside = |(_, line): &(usize, &str)| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    };
    (1..).zip(text.lines()).filter(outside).collect()
}

/// Returns the anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = |c: char| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then(|| c.to_ascii_lowercase()),
        };
        let anchor: String = title.trim().chars().filter_map(kept).collect();
        let before = times.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// Returns the targets of a line's Markdown links and images. Code spans are left out.
fn links(line: &str) -> Vec<String> {
    let outside_code: String = line.split('`').step_by(2).collect();
    let targets = outside_code.split("](").skip(1);
    targets.filter_map(|rest| rest.split([')', ' ']).next()).map(ToOwned::to_owned).collect()
}

#[test]
fn links_resolve() {
    let root = repository();
    let mut pages: Vec<String> = WITH_LINKS.iter().map(|path| (*path).to_owned()).collect();
    pages.extend(pages_in("docs").into_iter().chain(pages_in(GUIDE)));
    pages.sort();
    let (mut count, mut wrong) = (0, Vec::new());
    for path in &pages {
        let text = page(path);
        for (number, link) in
            prose(&text).into_iter().flat_map(|(n, line)| links(line).into_iter().map(move |l| (n, l)))
        {
            if link.contains("://") || link.starts_with("mailto:") {
                continue; // not a file of the repository
            }
            count += 1;
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { root.join(path) } else { root.join(path).parent().unwrap().join(file) };
            if !target.exists() {
                wrong.push(format!("{path}:{number}: {link}: no such file"));
            } else if let Some(anchor) = anchor {
                let found = std::fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor));
                if !found {
                    wrong.push(format!("{path}:{number}: {link}: no such heading"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} links:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 20, "only {count} links were found");
}

#[test]
fn links_and_anchors_are_found() {
    assert_eq!(
        links("[a](b.md#c), ![d `e`](f.png) and `[g](h.md)`; [`i`](j.md \"title\")"),
        ["b.md#c", "f.png", "j.md"]
    );
    let page = "# One two\n## `a_b`, c/d (e)\n```sh\n# no heading\n```\n## One two\n#tag\n";
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a_b-cd-e", "one-two", "one-two-1"]);
}
