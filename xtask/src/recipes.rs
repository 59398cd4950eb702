//! Checks the recipe for a new importer, analysis, export format, report section, kind of printed table or rule: one
//! code file, one line in an ordered list, one readable case. A tracepoint needs the first two: a test reads one of
//! every format. A kind of track needs a test in its file or a row in another; a file for its look in the viewer is
//! optional, but must be in the viewer's list. A command needs a line in the page of commands.

use crate::Found;
use crate::repo::Repo;
use std::collections::BTreeSet;

struct Recipe {
    /// The folder of the code files.
    code: &'static str,
    /// The file with the list, and the list's name.
    list: (&'static str, &'static str),
    /// The folders of cases: `<folder>/<name>.md` or any `<folder>/<name>/*.md` but its README; empty if no case is
    /// required.
    cases: &'static [&'static str],
    /// What else each code file requires.
    also: &'static [Also],
    /// Files in the folder that are part of another one.
    parts: &'static [&'static str],
}

/// Something else that a recipe requires.
enum Also {
    /// A line in another list, if there is a file `<folder><name>.ts` there: the folder, the file of the list and the
    /// list's name; the line has the name in capitals.
    LineOfFile(&'static str, &'static str, &'static str),
    /// A test in the code file, or the name in quotes in a file of tests.
    Test(&'static str),
    /// A line in another list: the file and the list's name; the line has the name in capitals.
    Line(&'static str, &'static str),
    /// A line `corewise <prefix><name>` in a page: the page and the prefix. Commands have hyphens for underscores.
    Example(&'static str, &'static str),
    /// A fuzz target: `fuzz/fuzz_targets/<name>.rs`, which `fuzz/Cargo.toml` names.
    FuzzTarget,
}

impl Recipe {
    const NEW: Self = Self { code: "", list: ("", ""), cases: &[], also: &[], parts: &[] };
}

const RECIPES: &[Recipe] = &[
    Recipe {
        code: "crates/import/src/formats/",
        list: ("crates/import/src/lib.rs", "FORMATS"),
        cases: &["crates/import/fixtures/"],
        also: &[Also::FuzzTarget],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/import/src/tracepoint/events/",
        list: ("crates/import/src/tracepoint/events/mod.rs", "TRACEPOINTS"),
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/analysis/src/tables/",
        list: ("crates/analysis/src/tables/mod.rs", "ANALYSES"),
        cases: &["crates/analysis/cases/"],
        also: &[
            Also::Line("crates/model/src/tables/mod.rs", "ALL"),
            Also::Example("docs/commands.md", "table run.cw "),
        ],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/export/src/formats/",
        list: ("crates/export/src/lib.rs", "EXPORTS"),
        cases: &["crates/export/cases/"],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/report/src/sections/",
        list: ("crates/report/src/sections/mod.rs", "SECTIONS"),
        cases: &["crates/report/cases/"],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/printed/src/kinds/",
        list: ("crates/printed/src/lib.rs", "KINDS"),
        cases: &["crates/printed/cases/"],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/diagnose/src/rules/",
        list: ("crates/diagnose/src/rules/mod.rs", "RULES"),
        cases: &["crates/diagnose/cases/"],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/serve/src/kinds/",
        list: ("crates/serve/src/kinds/mod.rs", "KINDS"),
        also: &[
            Also::LineOfFile("viewer/src/tracks/", "viewer/src/tracks/list.ts", "ALL"),
            Also::Test("crates/serve/tests/it/kinds.rs"),
        ],
        ..Recipe::NEW
    },
    Recipe {
        code: "crates/cli/src/commands/",
        list: ("crates/cli/src/commands/mod.rs", "enum Command"),
        also: &[Also::Example("docs/commands.md", "")],
        parts: &["check_printed"],
        ..Recipe::NEW
    },
];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = Vec::new();
    let mut counts = Vec::new();
    for recipe in RECIPES {
        let mut names = code_files(&repo.files, recipe.code);
        names.retain(|name| !recipe.parts.contains(&name.as_str()));
        let (file, name) = recipe.list;
        if names.is_empty() {
            counts.push(format!("{name} not begun"));
            continue;
        }
        let source = repo.read(file)?;
        match listed(&source, name) {
            None => wrong.push(format!("{file} has no list {name}")),
            Some(list) => wrong.extend(missing(recipe, &names, list, &repo.files)),
        }
        for also in recipe.also {
            let text = repo.read(also.file())?;
            for name in &names {
                let has_test = || repo.files.iter().filter(|f| is_code_of(f, recipe.code, name)).map(|f| repo.read(f));
                let has_test = || has_test().any(|text| text.is_ok_and(|text| text.contains("#[test]")));
                wrong.extend(also.missing(name, &text, &repo.files, &has_test));
            }
        }
        counts.push(format!("{} {}", names.len(), name.trim_start_matches("enum ")));
    }
    Ok(Found::of(wrong, counts.join(", ")))
}

fn missing(recipe: &Recipe, names: &BTreeSet<String>, list: &str, files: &[String]) -> Vec<String> {
    let words: BTreeSet<&str> = list.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut wrong = Vec::new();
    for name in names {
        if !words.contains(name.as_str()) && !words.contains(camel(name).as_str()) {
            wrong.push(format!("{}{name} is not in {} of {}", recipe.code, recipe.list.1, recipe.list.0));
        }
        if !recipe.cases.is_empty() && !recipe.cases.iter().any(|folder| has_case(files, folder, name)) {
            let places: Vec<String> = recipe.cases.iter().map(|folder| format!("{folder}{name}/<case>.md")).collect();
            wrong.push(format!("{}{name} has no case: add {}", recipe.code, places.join(" or ")));
        }
        let readme = format!("crates/import/fixtures/{name}/README.md");
        if recipe.list.1 == "FORMATS" && !files.contains(&readme) {
            wrong.push(format!("{readme} is missing: how the fixtures were made"));
        }
    }
    wrong
}

impl Also {
    /// Returns the file whose text is checked.
    fn file(&self) -> &'static str {
        match self {
            Self::Line(file, _) | Self::LineOfFile(_, file, _) | Self::Test(file) | Self::Example(file, _) => file,
            Self::FuzzTarget => "fuzz/Cargo.toml",
        }
    }

    /// Returns what is missing for a name, by the text of [`Self::file`]; `has_test` says whether its code file has a
    /// test.
    fn missing(&self, name: &str, text: &str, files: &[String], has_test: &dyn Fn() -> bool) -> Option<String> {
        let (is_there, what) = match self {
            Self::Line(file, list) | Self::LineOfFile(_, file, list) => {
                let line = name.to_uppercase();
                let is_required = |folder| files.contains(&format!("{folder}{name}.ts"));
                let is_required = if let Self::LineOfFile(folder, ..) = self { is_required(folder) } else { true };
                let is_there = !is_required || listed(text, list).is_some_and(|list| has_word(list, &line));
                (is_there, format!("{line} is not in {list} of {file}"))
            }
            Self::Test(file) => {
                let is_there = text.contains(&format!("\"{name}\"")) || has_test();
                (is_there, format!("{name} has no test in its file and no row in {file}"))
            }
            Self::Example(file, prefix) => {
                let shown = if prefix.is_empty() { name.replace('_', "-") } else { format!("{prefix}{name}") };
                let shown = format!("corewise {shown}");
                let shows = |line: &str| {
                    let rest = line.find(&shown).map(|at| &line[at + shown.len()..]);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
                };
                (text.lines().any(shows), format!("{file} does not show {shown}"))
            }
            Self::FuzzTarget => {
                let target = format!("fuzz_targets/{name}.rs");
                let is_there = files.contains(&format!("fuzz/{target}")) && text.contains(&format!("\"{target}\""));
                (is_there, format!("{name} has no fuzz target: add fuzz/{target}, and its lines to fuzz/Cargo.toml"))
            }
        };
        (!is_there).then_some(what)
    }
}

fn has_word(list: &str, word: &str) -> bool {
    list.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

fn has_case(files: &[String], folder: &str, name: &str) -> bool {
    files.iter().filter_map(|f| f.strip_prefix(folder)).any(|f| {
        let inside = f.strip_prefix(name).and_then(|rest| rest.strip_prefix('/'));
        f == format!("{name}.md") || inside.is_some_and(|case| case.ends_with(".md") && !case.ends_with("README.md"))
    })
}

/// Returns whether a file is `<folder><name>.rs` or in `<folder><name>/`.
fn is_code_of(file: &str, folder: &str, name: &str) -> bool {
    let rest = file.strip_prefix(folder).and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['.', '/']))
}

/// Returns `perf_data` for `perf_data.rs` and `perf_data/…`.
fn code_files(files: &[String], folder: &str) -> BTreeSet<String> {
    files
        .iter()
        .filter_map(|f| f.strip_prefix(folder))
        .map(|f| f.split(['/', '.']).next().unwrap_or_default().to_owned())
        .filter(|name| name != "mod" && name != "tests")
        .collect()
}

/// Returns the text between the list's `= &[` and its `];`, or between the braces of an enum.
fn listed<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    if name.starts_with("enum ") {
        return source.split(&format!("{name} {{")).nth(1)?.split('}').next();
    }
    let after = source.split(&format!("const {name}:")).nth(1)?;
    after.split_once('=')?.1.split(';').next()
}

/// Converts `perf_data` to `PerfData`.
fn camel(name: &str) -> String {
    name.split('_')
        .flat_map(|part| part.chars().enumerate().map(|(i, c)| if i == 0 { c.to_ascii_uppercase() } else { c }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "pub const FORMATS: &[&dyn Importer] = &[&PerfData, &trace_dat::TraceDat];";

    fn files(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|p| (*p).to_owned()).collect()
    }

    #[test]
    fn complete() {
        let files = files(&[
            "crates/import/src/formats/perf_data/header.rs",
            "crates/import/src/formats/perf_data/mod.rs",
            "crates/import/src/formats/trace_dat.rs",
            "crates/import/src/formats/mod.rs",
            "crates/import/fixtures/perf_data/pipe.md",
            "crates/import/fixtures/perf_data/README.md",
            "crates/import/fixtures/trace_dat/README.md",
            "crates/import/fixtures/trace_dat/recorded.md",
        ]);
        let names = code_files(&files, RECIPES[0].code);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["perf_data", "trace_dat"]);
        assert!(missing(&RECIPES[0], &names, listed(LIST, "FORMATS").unwrap(), &files).is_empty());
    }

    #[test]
    fn a_file_without_line_and_case() {
        let files = files(&["crates/import/src/formats/etl.rs", "crates/import/fixtures/etl/README.md"]);
        let found =
            missing(&RECIPES[0], &code_files(&files, RECIPES[0].code), listed(LIST, "FORMATS").unwrap(), &files);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_format_needs_a_fuzz_target() {
        let files = files(&["fuzz/fuzz_targets/ctf.rs", "fuzz/fuzz_targets/etl.rs"]);
        let of = |name| Also::FuzzTarget.missing(name, "path = \"fuzz_targets/ctf.rs\"", &files, &|| false);
        assert_eq!(of("ctf"), None);
        assert!(of("etl").is_some_and(|what| what.contains("fuzz/Cargo.toml")) && of("perfetto").is_some());
    }

    #[test]
    fn a_tracepoint_needs_its_line_and_no_case() {
        let list = "pub(crate) const TRACEPOINTS: &[&[Tracepoint]] = &[cpu_idle::TRACEPOINTS];";
        let events = RECIPES.iter().find(|r| r.list.1 == "TRACEPOINTS").unwrap();
        let files =
            files(&["cpu_idle.rs", "irq.rs", "mod.rs"].map(|f| format!("{}{f}", events.code)).each_ref().map(|f| &**f));
        let names = code_files(&files, events.code);
        let found = missing(events, &names, listed(list, "TRACEPOINTS").unwrap(), &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("irq is not in"), "{found:?}");
    }

    #[test]
    fn a_track_needs_a_test_and_its_look_a_line() {
        let tracks = RECIPES.iter().find(|r| r.code.ends_with("/kinds/") && !r.also.is_empty()).unwrap();
        let files = files(&["viewer/src/tracks/idle.ts", "viewer/src/tracks/parking.ts"]);
        let of = |name: &str, has_test: bool| -> Vec<String> {
            let text = |also: &Also| match also {
                Also::LineOfFile(..) => "const ALL: readonly KindOfTrack[] = [MARKS, IDLE];",
                _ => "drawn(&client, \"idle\", 1000)",
            };
            tracks.also.iter().filter_map(|also| also.missing(name, text(also), &files, &|| has_test)).collect()
        };
        assert_eq!(of("idle", false), [""; 0]);
        assert_eq!(of("parking", false).len(), 2, "{:?}", of("parking", false));
        // It has no look of its own.
        assert_eq!(of("block", true), [""; 0]);
        assert!(is_code_of("kinds/block.rs", "kinds/", "block") && !is_code_of("kinds/blocks.rs", "kinds/", "block"));
    }

    #[test]
    fn a_command_is_in_the_enum_and_in_the_page() {
        let commands = RECIPES.iter().find(|r| r.list.1 == "enum Command").unwrap();
        let source = "pub enum Command {\n    TopDown(top_down::Args),\n}\n\npub fn run() {}";
        let list = listed(source, commands.list.1).unwrap();
        let names = BTreeSet::from(["top_down".to_owned(), "run".to_owned()]);
        assert_eq!(
            missing(commands, &names, list, &[]),
            ["crates/cli/src/commands/run is not in enum Command of crates/cli/src/commands/mod.rs"]
        );
        let page = "```sh\ncorewise top-down run.cw # shows the top\ncorewise runs\n```";
        assert_eq!(commands.also[0].missing("top_down", page, &[], &|| false), None);
        assert!(
            commands.also[0].missing("run", page, &[], &|| false).is_some_and(|what| what.contains("corewise run"))
        );
    }
}
