//! `corewise formats`: which files of other tools are read, and what each tells; which printed tables are checked. `docs/formats.md` is its output.

use crate::failure::{Failure, OK};
use crate::output::print;
use engine::{Offer, Tells, formats};
use std::fmt::Write;

const AFTER: &str = "\
Examples:
  corewise formats
  corewise formats --format md > docs/formats.md";

/// List the formats of other tools that are read, and what can be told from each
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// text, or md for the page of the documentation
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Form {
    Text,
    Md,
}

/// So many things a format tells, or does not.
const FACETS: usize = 18;

/// What an offer tells, in the order of the page.
fn facets(offer: &Offer) -> [(&'static str, Tells); FACETS] {
    [
        ("switches", offer.switches),
        ("waking", offer.waking),
        ("wakeup", offer.wakeup),
        ("processes", offer.processes),
        ("priority", offer.priority),
        ("settings", offer.settings),
        ("ideal CPU", offer.ideal_cpu),
        ("idle", offer.idle),
        ("frequency", offer.frequency),
        ("parking", offer.parking),
        ("interrupts", offer.irq),
        ("charges", offer.charges),
        ("marks", offer.marks),
        ("frames", offer.frames),
        ("stacks", offer.stacks),
        ("yields", offer.yields),
        ("losses", offer.losses),
        ("topology", offer.topology),
    ]
}

/// Lists.
///
/// # Errors
/// Standard output is closed.
pub fn run(args: &Args) -> Result<u8, Failure> {
    print(&if args.format == Form::Md { page() } else { list() })?;
    Ok(OK)
}

fn list() -> String {
    let mut out = String::new();
    for format in formats() {
        let offer = format.offer();
        let _ = writeln!(out, "{}: {}", format.id(), offer.made_by);
        let named = |wanted: fn(Tells) -> bool| {
            let names = facets(&offer).into_iter().filter(|(_, t)| wanted(*t)).map(|(name, _)| name);
            names.collect::<Vec<_>>().join(", ")
        };
        let always = named(|t| t == Tells::Yes);
        let sometimes = named(|t| matches!(t, Tells::If(_)));
        for (what, names) in [("always", always), ("if recorded", sometimes)] {
            if !names.is_empty() {
                let _ = writeln!(out, "  {what}: {names}");
            }
        }
        if !offer.cannot.is_empty() {
            let _ = writeln!(out, "  cannot be told: {}", offer.cannot.join("; "));
        }
    }
    out.push_str(
        "\nAll of them also packed: gzip, zstd, zip, tar. corewise's own trace folders stand wherever these do.\n\n\
         Tables that other tools printed, as text or CSV, which `corewise check` holds to the rules of their kind:\n",
    );
    for kind in printed::KINDS {
        let _ = writeln!(out, "{}: {}", kind.id(), kind.doc());
    }
    out
}

fn page() -> String {
    let mut out = String::from(
        "# Formats\n\nWritten by `corewise formats --format md`; a test holds it against the list of importers.\n\n\
         Every format is known by its content, never by its name, and may be packed (gzip, zstd, zip, tar). **yes**: every\n\
         recording tells it; **if**: those that were made so, see below; –: none does.\n\n",
    );
    let offers: Vec<(&str, Offer)> = formats().iter().map(|f| (f.id(), f.offer())).collect();
    let ids: Vec<&str> = offers.iter().map(|(id, _)| *id).collect();
    let _ = writeln!(out, "| | {} |", ids.join(" | "));
    let _ = writeln!(out, "| --- |{}", " --- |".repeat(ids.len()));
    for at in 0..FACETS {
        let cells = offers.iter().map(|(_, offer)| match facets(offer)[at].1 {
            Tells::Yes => "yes",
            Tells::If(_) => "if",
            Tells::No => "–",
        });
        let name = offers.first().map_or("", |(_, offer)| facets(offer)[at].0);
        let _ = writeln!(out, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    for (id, offer) in &offers {
        let _ = writeln!(out, "\n## {id}\n\n{}.", offer.made_by);
        let ifs: Vec<_> = facets(offer)
            .into_iter()
            .filter_map(|(name, tells)| match tells {
                Tells::If(how) => Some((name, how)),
                _ => None,
            })
            .collect();
        if !ifs.is_empty() {
            out.push_str("\nIf recorded so:\n\n");
            for (name, how) in ifs {
                let _ = writeln!(out, "- {name}: {how}");
            }
        }
        if !offer.cannot.is_empty() {
            out.push_str("\ncorewise therefore cannot tell:\n\n");
            for what in offer.cannot {
                let _ = writeln!(out, "- {what}");
            }
        }
    }
    out.push_str(
        "\n## Printed tables\n\nThese are no recordings: `corewise check` holds them to the rules of their kind. They are text, or CSV \
         parted by\ncommas, semicolons or tabs, and each is known by its columns.\n\n",
    );
    for kind in printed::KINDS {
        let _ = writeln!(out, "- {}: {}", kind.id(), kind.doc());
    }
    out
}

#[cfg(test)]
mod tests {
    /// The page is what the list says. `COREWISE_BLESS=1` writes it anew.
    #[test]
    fn the_page_is_of_the_list() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
        if std::env::var_os("COREWISE_BLESS").is_some() {
            std::fs::write(path, super::page()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), super::page(), "run `cargo xtask bless`");
    }
}
