//! The cases of `cases/<format>/`: a drawn trace and the contents of its export.

use crate::support::{exported, pftrace, session_with};
use export::{EXPORTS, Exporter, Job, Options, Place, Shape};
use model::{Ns, Span};
use serde_json::Value as Json;
use std::io::Read as _;
use std::path::Path;

/// Exports a drawn trace; a line `range FROM TO` (ms) limits it to a part.
fn export_of(exporter: &dyn Exporter, block: &str, shown: impl Fn(&Path) -> String) -> String {
    let (range, drawn): (Vec<&str>, Vec<&str>) = block.lines().partition(|l| l.starts_with("range "));
    let ms: Vec<i64> = range.iter().flat_map(|l| l.split(' ').skip(1)).map(|w| w.parse().expect("ms")).collect();
    let span = (ms.len() == 2).then(|| Span::new(Ns(ms[0] * 1_000_000), Ns(ms[1] * 1_000_000)));
    let drawn = drawn.join("\n");
    let trace = testkit::trace(&drawn);
    let facts = engine::Facts { clock: "CLOCK_MONOTONIC".into(), whole_machine: true, ..trace.facts };
    let machine = engine::PassOptions { machine: Some(testkit::machine(&drawn)), ..engine::PassOptions::default() };
    let mut session = session_with(facts, trace.batch, machine);
    // Paths differ from machine to machine.
    session.redact(engine::Redact::Private);
    let tables = if exporter.shape() == Shape::Folder || exporter.id() == "xlsx" {
        ["cpus", "thread_state"].map(str::to_owned).to_vec()
    } else {
        Vec::new()
    };
    let options = Options { tables, span, names: true };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out");
    let mut job = Job { session: &session, options: &options, progress: &mut |_| () };
    export::write(exporter, &mut job, Place::Named(&path, false)).expect("an export");
    // A pipe gets the same bytes, except for a workbook, which contains its creation time.
    if exporter.shape() == Shape::File && exporter.id() != "xlsx" {
        assert_eq!(exported(exporter, &session, &options), std::fs::read(&path).expect("a file"));
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "only the export is left: {left:?}");
    shown(&path)
}

fn run(id: &str, shown: impl Fn(&Path) -> String) {
    let exporter = export::named(id).expect("a format");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(id);
    testkit::cases::run(&folder, |block| export_of(exporter, block, &shown));
}

#[test]
fn every_format_is_listed_and_has_a_case() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(root.join("src/formats")).expect("the formats");
    let names = files.map(|f| f.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|n| n != "mod").collect();
    let mut listed: Vec<&str> = EXPORTS.iter().map(|e| e.id()).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(names, listed, "each file of src/formats/ must be in EXPORTS, with the file's name as its id");
    for exporter in EXPORTS {
        assert!(root.join("cases").join(exporter.id()).is_dir(), "{} has no case", exporter.id());
        assert!(exporter.suffix().starts_with('.') && !exporter.about().is_empty());
        let offer = exporter.offer();
        assert!(!offer.carries.is_empty() && !offer.cannot.is_empty() && !offer.read_by.is_empty());
    }
}

/// The formats that a test below reads.
const READ: [&str; 7] = ["perfetto", "chrome", "folded", "csv", "parquet", "firefox", "xlsx"];

/// All others are texts.
#[test]
fn texts() {
    for exporter in EXPORTS.iter().filter(|exporter| !READ.contains(&exporter.id())) {
        run(exporter.id(), |path| std::fs::read_to_string(path).expect("a text"));
    }
}

#[test]
fn perfetto() {
    run("perfetto", |path| pftrace::show(&std::fs::read(path).expect("a file")));
}

#[test]
fn chrome() {
    run("chrome", |path| {
        let text = std::fs::read_to_string(path).expect("a text");
        let _: Json = serde_json::from_str(&text).expect("JSON");
        text
    });
}

#[test]
fn folded() {
    run("folded", |path| {
        let text = std::fs::read_to_string(path).expect("a text");
        let count = |line: &str| line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok());
        assert!(text.lines().all(|line| count(line).is_some()), "{text}");
        text
    });
}

#[test]
fn csv() {
    run("csv", |path| {
        let table = |name: &str| std::fs::read_to_string(path.join(name)).expect("a table").replace('\r', "");
        ["cpus.csv", "thread_state.csv"].map(|name| format!("{name}\n{}", table(name))).join("\n")
    });
}

#[test]
fn parquet() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    run("parquet", |path| {
        let table = |name: &str| {
            let file = std::fs::File::open(path.join(name)).expect("a file");
            let file = SerializedFileReader::new(file).expect("Parquet");
            let about = file.metadata().file_metadata().key_value_metadata().expect("metadata");
            let trace = about.iter().find(|entry| entry.key == "corewise.trace").expect("the trace's id");
            let head = format!("{name}, corewise.trace {}\n", trace.value.as_ref().expect("a number"));
            let rows = file.into_iter().map(|row| format!("{}\n", row.expect("a row")));
            std::iter::once(head).chain(rows).collect::<String>()
        };
        ["cpus.parquet", "thread_state.parquet"].map(table).join("\n")
    });
}

#[test]
fn firefox() {
    run("firefox", |path| {
        let profile: Json = serde_json::from_reader(std::fs::File::open(path).expect("a file")).expect("JSON");
        let categories = &profile["meta"]["categories"];
        let mut text = String::new();
        for thread in profile["threads"].as_array().expect("threads") {
            let string =
                |id: &Json| thread["stringArray"][id.as_u64().expect("an id") as usize].as_str().expect("a text");
            text += &format!("{} / {}, tid {}\n", thread["processName"], thread["name"], thread["tid"]);
            let markers = &thread["markers"];
            for i in 0..markers["length"].as_u64().expect("a length") as usize {
                let fields = markers["data"][i].as_object().expect("fields").iter().filter(|(name, _)| *name != "type");
                let fields: Vec<String> =
                    fields.filter(|(_, v)| !string(v).is_empty()).map(|(n, v)| format!("{n}={}", string(v))).collect();
                let category = &categories[markers["category"][i].as_u64().expect("an id") as usize]["name"];
                let (from, to) = (&markers["startTime"][i], &markers["endTime"][i]);
                text += &format!("  {from}–{to} {} {category} {}\n", string(&markers["name"][i]), fields.join(" "));
            }
            text += &format!("  cpu time of the samples [µs]: {}\n", thread["samples"]["threadCPUDelta"]);
        }
        text
    });
}

#[test]
fn xlsx() {
    run("xlsx", |path| {
        let mut archive = zip::ZipArchive::new(std::fs::File::open(path).expect("a file")).expect("an archive");
        let mut part = |name: &str| {
            let mut text = String::new();
            archive.by_name(name).expect("a part").read_to_string(&mut text).expect("a text");
            text
        };
        let shared: Vec<String> = between(&part("xl/sharedStrings.xml"), "<t", "</t>");
        let sheets = between(&part("xl/workbook.xml"), "<sheet ", "/>");
        let mut text = String::new();
        for (i, sheet) in sheets.iter().enumerate() {
            text += &format!("{}\n", sheet.split('"').nth(1).expect("a name"));
            let body = part(&format!("xl/worksheets/sheet{}.xml", i + 1));
            for row in between(&body, "<row ", "</row>") {
                let cells: Vec<String> = between(&row, "<c ", "</c>").iter().map(|c| cell(c, &shared)).collect();
                text += &format!("  {}\n", cells.join(" | "));
            }
        }
        text
    });
}

/// Formats a cell with its position, as nulls have no cell.
fn cell(cell: &str, shared: &[String]) -> String {
    let place = cell.split('"').nth(1).expect("a place");
    let value = between(cell, "<v", "</v>").pop().unwrap_or_default();
    match () {
        () if cell.contains("t=\"s\"") => format!("{place} {:?}", shared[value.parse::<usize>().expect("an id")]),
        () if cell.contains("t=\"inlineStr\"") => {
            format!("{place} {:?}", between(cell, "<t", "</t>").pop().unwrap_or_default())
        }
        () => format!("{place} {value}"),
    }
}

/// Returns the texts between two marks, without the end of the first mark's tag.
fn between(text: &str, from: &str, to: &str) -> Vec<String> {
    let inner = |part: &str| {
        Some(part.split_once('>').filter(|_| !from.ends_with(' ')).map_or(part, |p| p.1).split(to).next()?.to_owned())
    };
    text.split(from).skip(1).filter_map(inner).collect()
}
