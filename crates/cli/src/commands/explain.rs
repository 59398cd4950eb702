//! `corewise explain`: which rules there are, and the page of each. `docs/rules.md` is its output.

use crate::failure::{Failure, OK};
use crate::output::{print, width};
use clap::builder::PossibleValuesParser;
use diagnose::{RULES, SEVERITY, Threshold};
use std::fmt::Write;

const AFTER: &str = "\
Examples:
  corewise explain
  corewise explain serialised-on-one-cpu
  corewise explain --format md > docs/rules.md";

/// List the rules of `corewise diagnose`, or tell of one: what it finds, how sure it is, what to do
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Which
    #[arg(value_parser = PossibleValuesParser::new(RULES.iter().map(|rule| rule.id)), hide_possible_values = true)]
    rule: Option<String>,
    /// text, or md for the page of the documentation, which tells of all
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Form {
    Text,
    Md,
}

/// Explains.
///
/// # Errors
/// Standard output is closed.
pub fn run(args: &Args) -> Result<u8, Failure> {
    let rule = RULES.iter().find(|r| Some(r.id) == args.rule.as_deref()).copied();
    print(&if args.format == Form::Md { page() } else { diagnose::explain(rule, width()) })?;
    Ok(OK)
}

fn page() -> String {
    let mut out = String::from(
        "# Rules\n\nWritten by `corewise explain --format md`; a test holds it against the list of rules.\n\n\
         `corewise diagnose` asks each of these. Every threshold can be set: `--set RULE.NAME=VALUE`.\n\n## Severity\n\n\
         By the part of the time looked at that the thread with most to gain could get back (`--set severity.NAME=VALUE`);\n\
         what is of low confidence counts by the lower end of its range:\n\n",
    );
    thresholds(&mut out, SEVERITY);
    for rule in RULES {
        let page = &rule.page;
        let _ = writeln!(out, "\n## {}\n\n{}.\n", rule.id, capital(rule.about));
        let parts = [
            ("What it finds", page.finds),
            ("Why it matters", page.matters),
            ("How sure it is", page.sure),
            ("What to do", page.mend),
            ("Example", page.example),
        ];
        for (head, words) in parts {
            let _ = writeln!(out, "- **{head}**: {words}");
        }
        if !rule.explains.is_empty() {
            let _ = writeln!(out, "- **Stand under it**: {}", rule.explains.join(", "));
        }
        let tables: Vec<&str> = rule.tables.iter().map(|def| def.name).collect();
        let _ = writeln!(out, "- **Tables**: {}\n", tables.join(", "));
        thresholds(&mut out, rule.thresholds);
    }
    out
}

fn thresholds(out: &mut String, all: &[&Threshold]) {
    out.push_str("| threshold | value | why |\n| --- | --- | --- |\n");
    for t in all {
        let _ =
            writeln!(out, "| `{}` | {} | {} |", t.name, format!("{} {}", t.value, t.unit.as_str()).trim(), t.reason);
    }
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    /// The page is what the list says. `COREWISE_BLESS=1` writes it anew.
    #[test]
    fn the_page_is_of_the_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
        if std::env::var_os("COREWISE_BLESS").is_some() {
            std::fs::write(path, super::page()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), super::page(), "run `cargo xtask bless`");
    }
}
