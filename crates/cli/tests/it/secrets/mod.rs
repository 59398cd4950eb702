//! `--redact`: no output has what is private, wherever it was recorded.

mod decode;
mod drawn;

use crate::support::{Folder, good, run};
use drawn::{SECRETS, Secret};
use engine::Redact;
use std::path::Path;

/// An output: its name, and all that can be unpacked from it, in lower case.
type Output = (String, Vec<Vec<u8>>);

/// All outputs of a level of redaction.
struct Outputs<'a> {
    folder: &'a Folder,
    /// The option; `None`: nothing is redacted.
    redact: Option<&'static str>,
    all: Vec<Output>,
}

impl Outputs<'_> {
    fn words<'w>(&self, words: &[&'w str]) -> Vec<&'w str> {
        words.iter().copied().chain(self.redact).collect()
    }

    fn add(&mut self, name: &str, bytes: &[u8]) {
        self.all.push((name.to_owned(), decode::searchable(bytes)));
    }

    /// What a command prints.
    fn printed(&mut self, name: &str, words: &[&str]) {
        let out = good(self.words(words));
        self.add(name, out.as_bytes());
    }

    /// The file or the files of a folder that a command writes.
    fn written(&mut self, name: &str, words: &[&str]) {
        let to = self.folder.name(&format!("{}-{name}", self.redact.unwrap_or("open")));
        good(self.words(&[words, &["-o", &to]].concat()));
        if Path::new(&to).is_file() {
            return self.add(name, &std::fs::read(&to).unwrap());
        }
        for file in std::fs::read_dir(&to).unwrap().map(|file| file.unwrap().path()) {
            let table = file.file_name().unwrap().to_string_lossy().into_owned();
            self.add(&format!("{name}: {table}"), &std::fs::read(&file).unwrap());
        }
    }

    /// Every output of a recording but the page with the timeline, which needs the viewer.
    fn of_all(
        folder: &Folder,
        redact: Option<&'static str>,
        [run_cw, other, frames, catalogue]: [&str; 4],
    ) -> Vec<Output> {
        let mut of = Outputs { folder, redact, all: Vec::new() };
        let named = ["--frames-of", "Zqmark", "--baseline", other, "--range", "0s..1s", "--process", "Zqthread"];
        let all = ["report", run_cw, "--full"];
        of.printed("report.txt", &all);
        of.printed("report-named.txt", &[&all, &named[..]].concat());
        of.printed("report-marked.txt", &[&all[..], &["--mark", "Zqmark#1"]].concat());
        of.printed("report.json", &[&all[..], &["--format", "json"]].concat());
        of.printed("report.html", &[&all[..], &["--html", "-"], &named[..4]].concat());
        let marks = ["diagnose", run_cw, "--objective", "mark:Zqmark", "--range", "0s..1s", "--format"];
        of.printed("diagnose.txt", &["diagnose", run_cw, "--verbose"]);
        of.printed("diagnose.json", &["diagnose", run_cw, "--format", "json"]);
        of.printed("diagnose-marks.txt", &[&marks[..], &["text"]].concat());
        of.printed("diagnose-marks.json", &[&marks[..], &["json"]].concat());
        of.printed("diagnose.sarif", &["diagnose", run_cw, "--objective", "thread:Zqthread", "--format", "sarif"]);
        for (name, format) in [("frames.txt", "text"), ("frames.json", "json"), ("frames.html", "html")] {
            of.printed(name, &["report", frames, "--full", "--format", format, "--process", "Zqapplication.exe"]);
        }
        of.printed("frames-table.csv", &["table", frames, "frames", "--format", "csv"]);
        of.printed("verify.txt", &["verify", run_cw]);
        for format in ["csv", "xlsx", "parquet", "perfetto", "chrome", "firefox", "folded"] {
            of.written(format, &["export", run_cw, "--to", format]);
        }
        of.printed("table-threads.md", &["table", run_cw, "threads", "--format", "md"]);
        of.printed("table-stacks.text", &["table", run_cw, "folded_stacks", "--format", "text"]);
        of.printed("table-frames.json", &["table", run_cw, "slow_frames", "--frames-of", "Zqmark", "--format", "json"]);
        for format in ["text", "html", "json"] {
            of.printed(&format!("compare.{format}"), &["compare", run_cw, other, "--findings", "--format", format]);
        }
        for format in ["html", "json"] {
            let words = ["fleet", "report", catalogue, "--format", format, "--by", "team"];
            of.printed(&format!("fleet.{format}"), &words[..5]);
            // The values of labels in --by are shown, as names are.
            if redact != Some("--redact") {
                of.printed(&format!("fleet-by.{format}"), &words);
            }
        }
        of.all
    }
}

/// Returns what was found: the place of the secret, and the output.
fn found(outputs: &[Output], secrets: impl Fn(&Secret) -> bool) -> Vec<String> {
    let of = |secret: &'static Secret| {
        let having = outputs.iter().filter(|(_, parts)| decode::has(parts, secret.word));
        having.map(move |(output, _)| format!("{} in {output}", secret.place))
    };
    SECRETS.iter().filter(|secret| secrets(secret)).flat_map(of).collect()
}

/// Returns the secrets that are not in all outputs in which they are expected, if nothing is redacted.
fn unseen(outputs: &[Output], of: &[&str]) -> Vec<String> {
    let mut missing = Vec::new();
    for secret in &SECRETS {
        for begin in secret.seen_in.split(' ').filter(|begin| of.iter().any(|of| begin.starts_with(of))) {
            let is_seen =
                outputs.iter().any(|(name, parts)| name.starts_with(begin) && decode::has(parts, secret.word));
            missing.extend((!is_seen).then(|| format!("{} in {begin}", secret.place)));
        }
    }
    missing
}

/// The recordings, which are written once. Their folder's name is a secret too.
fn recordings(folder: &Folder) -> [String; 2] {
    std::fs::create_dir(folder.path("Zqfolder")).unwrap();
    [("Zqfolder/run.cw", ""), ("Zqfolder/other.cw", "2")].map(|(name, other)| drawn::write(folder, name, other))
}

#[test]
fn no_output_has_a_secret() {
    let folder = Folder::new();
    let [run_cw, other] = recordings(&folder);
    let catalogue = folder.name("Zqfolder/catalogue");
    good(["fleet", "index", &folder.name("Zqfolder"), "--into", &catalogue]);
    let frames = drawn::write_frames(&folder);
    let outputs = |redact| Outputs::of_all(&folder, redact, [&run_cw, &other, &frames, &catalogue]);
    // The search finds each secret in the outputs from which it must be missing.
    let of = [
        "report", "diagnose", "verify", "csv", "xlsx", "parquet", "perfetto", "chrome", "firefox", "folded", "compare",
        "fleet", "frames", "table",
    ];
    assert_eq!(unseen(&outputs(None), &of), [""; 0], "these outputs lack what they had");
    let private = outputs(Some("--redact"));
    assert_eq!(found(&private, |secret| secret.gone_with == Redact::Private), [""; 0]);
    // Names are shown.
    assert!(found(&private, |secret| secret.word == "Zqthread").len() > 40);
    let names = outputs(Some("--redact=names"));
    assert_eq!(found(&names, |_| true), [""; 0]);
    // What stands for them is there, and equal objects stay equal.
    let text = |name: &str| {
        let output = names.iter().find(|(of, _)| of == name);
        String::from_utf8_lossy(&output.unwrap().1[0]).into_owned()
    };
    let shown = [
        ("report.txt", "thread a"),
        ("report.html", "function a"),
        ("diagnose-marks.txt", "mark a"),
        ("folded", "thread "),
        ("csv: marks.csv", "mark a"),
        ("csv: object_waits.csv", "mutex,#"),
        ("csv: object_waits.csv", "socket,#"),
    ];
    for (output, shown) in shown {
        assert!(text(output).contains(shown), "{output}: {}", text(output));
    }
}

/// Queries need DuckDB.
#[test]
fn no_answer_to_a_query_has_a_secret() {
    let folder = Folder::new();
    let [run_cw, other] = recordings(&folder);
    let outputs = |redact: Option<&'static str>| {
        let mut of = Outputs { folder: &folder, redact, all: Vec::new() };
        for query in [
            "FROM traces",
            "FROM threads",
            "FROM thread_state",
            "FROM object_waits",
            "FROM locks",
            "FROM samples",
            "FROM marks",
        ] {
            let ran = run(of.words(&["sql", &run_cw, &other, query, "--format", "csv"]));
            if ran.code == Some(0) {
                of.add(&format!("sql {query}"), ran.out.as_bytes());
            } else {
                assert!(ran.err.contains("duckdb"), "{}", ran.err);
            }
        }
        of.all
    };
    let open = outputs(None);
    if !open.is_empty() {
        assert_eq!(unseen(&open, &["sql"]), [""; 0]);
    }
    assert_eq!(found(&outputs(Some("--redact")), |secret| secret.gone_with == Redact::Private), [""; 0]);
    assert_eq!(found(&outputs(Some("--redact=names")), |_| true), [""; 0]);
}

#[test]
#[ignore = "needs the viewer"]
fn no_page_with_the_timeline_has_a_secret() {
    let folder = Folder::new();
    let [run_cw, _] = recordings(&folder);
    let page = |redact: Option<&'static str>| {
        let mut of = Outputs { folder: &folder, redact, all: Vec::new() };
        of.printed("page", &["view", &run_cw, "--html", "-"]);
        of.all
    };
    assert_eq!(unseen(&page(None), &["page"]), [""; 0]);
    assert_eq!(found(&page(Some("--redact")), |secret| secret.gone_with == Redact::Private), [""; 0]);
    assert_eq!(found(&page(Some("--redact=names")), |_| true), [""; 0]);
}
