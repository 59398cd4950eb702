//! A new importer, analysis, export format, section of the report, kind of printed table or rule is one code file, one line
//! in an ordered list, one readable case: none of the three is missing. A tracepoint is the first two: a test reads one of every
//! format.

use crate::Found;
use crate::repo::Repo;
use std::collections::BTreeSet;

struct Recipe {
    /// Where the code files stand.
    code: &'static str,
    /// The file with the list, and the list's name.
    list: (&'static str, &'static str),
    /// Folders of cases: `<folder>/<name>.md` or any `<folder>/<name>/*.md` but its README; none where no case is asked for.
    cases: &'static [&'static str],
}

const RECIPES: &[Recipe] = &[
    Recipe {
        code: "crates/import/src/formats/",
        list: ("crates/import/src/lib.rs", "FORMATS"),
        cases: &["crates/import/fixtures/", "crates/import/cases/"],
    },
    Recipe {
        code: "crates/import/src/tracepoint/events/",
        list: ("crates/import/src/tracepoint/events/mod.rs", "TRACEPOINTS"),
        cases: &[],
    },
    Recipe {
        code: "crates/analysis/src/tables/",
        list: ("crates/analysis/src/tables/mod.rs", "ANALYSES"),
        cases: &["crates/analysis/cases/"],
    },
    Recipe {
        code: "crates/export/src/formats/",
        list: ("crates/export/src/lib.rs", "EXPORTS"),
        cases: &["crates/export/cases/"],
    },
    Recipe {
        code: "crates/report/src/sections/",
        list: ("crates/report/src/sections/mod.rs", "SECTIONS"),
        cases: &["crates/report/cases/"],
    },
    Recipe {
        code: "crates/printed/src/kinds/",
        list: ("crates/printed/src/lib.rs", "KINDS"),
        cases: &["crates/printed/cases/"],
    },
    Recipe {
        code: "crates/diagnose/src/rules/",
        list: ("crates/diagnose/src/rules/mod.rs", "RULES"),
        cases: &["crates/diagnose/cases/"],
    },
];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = Vec::new();
    let mut counts = Vec::new();
    for recipe in RECIPES {
        let names = code_files(&repo.files, recipe.code);
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
        counts.push(format!("{} {name}", names.len()));
    }
    Ok(Found::of(wrong, counts.join(", ")))
}

fn missing(recipe: &Recipe, names: &BTreeSet<String>, list: &str, files: &[String]) -> Vec<String> {
    let words: BTreeSet<&str> = list.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut wrong = Vec::new();
    for name in names {
        if !words.contains(name.as_str()) && !words.contains(camel(name).as_str()) {
            wrong.push(format!("{}{name} is not in {}", recipe.code, recipe.list.1));
        }
        if !recipe.cases.is_empty() && !recipe.cases.iter().any(|folder| has_case(files, folder, name)) {
            wrong.push(format!("{}{name} has no case in {}", recipe.code, recipe.cases.join(" or ")));
        }
    }
    wrong
}

fn has_case(files: &[String], folder: &str, name: &str) -> bool {
    files.iter().filter_map(|f| f.strip_prefix(folder)).any(|f| {
        let inside = f.strip_prefix(name).and_then(|rest| rest.strip_prefix('/'));
        f == format!("{name}.md") || inside.is_some_and(|case| case.ends_with(".md") && !case.ends_with("README.md"))
    })
}

/// `perf_data` of `perf_data.rs` and of `perf_data/…`.
fn code_files(files: &[String], folder: &str) -> BTreeSet<String> {
    files
        .iter()
        .filter_map(|f| f.strip_prefix(folder))
        .map(|f| f.split(['/', '.']).next().unwrap_or_default().to_owned())
        .filter(|name| name != "mod" && name != "tests")
        .collect()
}

/// The text between the list's `= &[` and its `];`.
fn listed<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let after = source.split(&format!("const {name}:")).nth(1)?;
    after.split_once('=')?.1.split(';').next()
}

/// `perf_data` to `PerfData`.
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
            "crates/import/cases/trace_dat.md",
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
}
