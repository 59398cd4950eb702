//! Pages: valid, self-contained, safe for any name, with a picture and a table for each figure.

use super::super::groups::tests::cost;
use super::super::text::tests::outcome;
use super::*;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use engine::{CostUnit, Estimate, PairClass};
use model::CoreType;
use roxmltree::{Node, ParsingOptions};
use sha2::{Digest, Sha256};

/// Figures of all kinds, as of a machine with two core types. The values are invented.
fn sample() -> Outcome {
    let mut all = Vec::new();
    let types = |mut cost: Cost| {
        cost.core_types =
            cost.cpus.iter().map(|cpu| if cpu.0 < 4 { CoreType::Performance } else { CoreType::Efficient }).collect();
        cost
    };
    let with = |mut cost: Cost, parameters: &[(&str, &str)]| {
        cost.parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        cost
    };
    for from in 0..8_u32 {
        for to in from..8 {
            let class = match (from, to) {
                (a, b) if a == b => PairClass::SameCpu,
                (a, b) if a / 2 == b / 2 && b < 4 => PairClass::Sibling,
                (a, b) if (a < 4) == (b < 4) => PairClass::SameL3,
                _ => PairClass::OtherType,
            };
            let value = match class {
                PairClass::SameCpu => 2300.0,
                PairClass::Sibling => 5200.0,
                PairClass::SameL3 => 15_000.0 + f64::from(to) * 100.0,
                _ => 19_000.0 + f64::from(from) * 300.0,
            };
            let cpus = if from == to { vec![from] } else { vec![from, to] };
            let mut pipe = types(cost("switch", "pipe", Some(class), &cpus, CostUnit::Ns, value));
            pipe.control = Some(Estimate { value: 12.0, low: -30.0, high: 41.0 });
            all.push(pipe);
        }
    }
    for (class, cpus, factor) in
        [(PairClass::Sibling, [0, 1], 0.2), (PairClass::SameL3, [0, 2], 1.0), (PairClass::OtherType, [0, 5], 1.8)]
    {
        for bytes in [4096_u64, 32_768, 262_144, 1_048_576, 8_388_608] {
            let refill =
                types(cost("migrate", "refill", Some(class), &cpus, CostUnit::Ns, factor * bytes as f64 / 40.0));
            all.push(with(refill, &[("working_set_bytes", &bytes.to_string())]));
        }
    }
    for (kind, own) in [("integer", 1.1), ("float", 1.25), ("memory", 1.6)] {
        for (neighbour, other) in [("integer", 0.0), ("float", 0.1), ("memory", 0.2), ("spin", -0.3)] {
            let gain = types(cost("smt", "gain", Some(PairClass::Sibling), &[0, 1], CostUnit::Ratio, own + other));
            all.push(with(gain, &[("kind", kind), ("neighbour", neighbour)]));
        }
    }
    for (schedule, at) in [("dynamic", 1.0), ("guided", 1.1)] {
        for chunks in [8, 16, 64, 256, 1024] {
            let value = at * 20e6 * (1.0 + 2.0 / f64::from(chunks) + f64::from(chunks) * 1e-4);
            for (figure, value) in [("makespan", value), ("model", value * 1.02)] {
                let of = cost("chunks", figure, None, &[0, 1, 2, 3, 4, 5], CostUnit::Ns, value);
                all.push(with(of, &[("schedule", schedule), ("chunks", &chunks.to_string())]));
            }
        }
    }
    for kernel in ["integer", "float", "vector", "pointer chase", "streaming"] {
        for (cpu, value) in [(0, 4.1e9), (5, 2.6e9)] {
            let of =
                types(cost("speed", "rate", None, &[cpu], CostUnit::Hertz, value * (1.0 + kernel.len() as f64 / 50.0)));
            all.push(with(of, &[("kernel", kernel)]));
        }
    }
    for asked in [1000, 50_000, 1_000_000, 10_000_000] {
        for slack in [1, 50_000] {
            let of =
                cost("sleep", "late", None, &[0], CostUnit::Ns, 3000.0 + f64::from(slack) + f64::from(asked) * 0.001);
            all.push(with(of, &[("asked_ns", &asked.to_string()), ("slack_ns", &slack.to_string())]));
        }
    }
    outcome(all)
}

/// The pages. If `COREWISE_PAGES` names a folder, they are also written there, to be looked at.
fn pages() -> Vec<(&'static str, String)> {
    let mut hostile = outcome(vec![
        cost("<b>&\"", "<i>\u{1b}[2J", Some(PairClass::OtherCore), &[0, 1], CostUnit::Ns, -5.0),
        cost("<b>&\"", "<i>\u{1b}[2J", Some(PairClass::SameCpu), &[0], CostUnit::Ns, 0.0),
        cost("<b>&\"", "zero", None, &[], CostUnit::Share, 0.0),
    ]);
    hostile.costs.figures[0].parameters.insert("</svg>".to_owned(), "]]>".to_owned());
    hostile.machine.model_name = Some("<script>\u{7}".to_owned());
    hostile.costs.measured.left_out = vec!["a: <b>".to_owned()];
    hostile.costs.measured.conditions.insert("<x>".to_owned(), "</table>".to_owned());
    hostile.warnings = vec!["<b>".to_owned()];
    let sample = sample();
    let mut other = sample.costs.clone();
    other.figures.truncate(20);
    let pages = vec![
        ("bench-sample", html(&sample, Some((&other, "<other>.toml")))),
        ("bench-hostile", html(&hostile, None)),
        ("bench-empty", html(&outcome(Vec::new()), None)),
    ];
    if let Some(folder) = std::env::var_os("COREWISE_PAGES").map(std::path::PathBuf::from) {
        pages.iter().for_each(|(name, page)| std::fs::write(folder.join(format!("{name}.html")), page).unwrap());
    }
    pages
}

fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"))
}

#[test]
fn pages_are_xml_and_self_contained() {
    for (name, page) in pages() {
        let document = parsed(&page);
        for node in document.descendants().filter(Node::is_element) {
            let tag = node.tag_name().name();
            assert!(
                !["script", "link", "img", "iframe", "object", "base", "form", "image", "use"].contains(&tag),
                "{tag}"
            );
            for attribute in node.attributes() {
                let (at, value) = (attribute.name(), attribute.value());
                assert!(!at.starts_with("on") && at != "style" && at != "src", "{name}: {tag} {at}");
                assert!(at != "href" || value.starts_with('#'), "{name}: {tag} {at} {value}");
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {tag} {at} {value}");
            }
        }
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{name}");
        let ids: Vec<&str> = document.descendants().filter_map(|n| n.attribute("id")).collect();
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(ids.len(), distinct.len(), "{name}: {ids:?}");
        let links = document.descendants().filter_map(|n| n.attribute("href")).map(|to| &to[1..]);
        let labels = document.descendants().filter_map(|n| n.attribute("aria-labelledby"));
        for to in links.chain(labels) {
            assert!(ids.contains(&to), "{name}: {to}");
        }
    }
}

#[test]
fn the_policy_allows_the_style() {
    let digest = BASE64_STANDARD.encode(Sha256::digest(STYLE.text.as_bytes()));
    assert_eq!(STYLE.sha256, digest);
}

/// How many elements with a class are in the section of a probe.
fn count(page: &str, probe: &str, class: &str) -> usize {
    let document = parsed(page);
    let is_of = |node: &Node<'_, '_>| {
        node.has_tag_name(("http://www.w3.org/1999/xhtml", "section"))
            && node.descendants().any(|of| of.tag_name().name() == "h2" && of.text() == Some(probe))
    };
    let section = document.descendants().find(is_of).unwrap_or_else(|| panic!("no section {probe}"));
    let has = |node: &Node<'_, '_>| node.attribute("class").is_some_and(|all| all.split(' ').any(|of| of == class));
    section.descendants().filter(has).count()
}

#[test]
fn each_kind_of_figure_has_its_picture() {
    let pages = pages();
    let page = &pages[0].1;
    // Eight CPUs: 8 with themselves, 12 pairs of one type in both directions, 16 of different types as measured.
    assert_eq!(count(page, "switch", "in"), 8 + 2 * 12 + 16);
    assert_eq!(count(page, "switch", "gap"), 16);
    assert_eq!((count(page, "smt", "in"), count(page, "smt", "gap")), (12, 0));
    // A curve for each class, each with its error bars; the legend has the same again.
    assert_eq!((count(page, "migrate", "curve"), count(page, "migrate", "whisker")), (2 * 3, 15));
    // Two schedules, measured and calculated.
    assert_eq!((count(page, "chunks", "curve"), count(page, "chunks", "modelled")), (2 * 4, 2 * 2));
    // Ten bars, each with the three lines of its error bar.
    assert_eq!(count(page, "speed", "whisker"), 30);
    assert_eq!(count(page, "sleep", "curve"), 2 * 2);
}
