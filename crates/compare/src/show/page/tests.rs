//! Pages: valid, self-contained, safe for any name.

use super::*;
use crate::show::samples;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use roxmltree::{Node, ParsingOptions};
use sha2::{Digest, Sha256};

/// The pages of all samples. If `COREWISE_PAGES` names a folder, they are also written there, to be looked at.
fn pages() -> Vec<(&'static str, String)> {
    let both = samples::timelines();
    let page = |(name, of): (&'static str, Comparison)| {
        let has_timelines = ["regression", "hostile"].contains(&name);
        (name, html(&of, has_timelines.then_some(&both)))
    };
    let pages: Vec<_> = samples::all().into_iter().map(page).collect();
    if let Some(folder) = std::env::var_os("COREWISE_PAGES").map(std::path::PathBuf::from) {
        pages.iter().for_each(|(name, page)| std::fs::write(folder.join(format!("{name}.html")), page).unwrap());
    }
    pages
}

fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"))
}

fn words(of: &Node<'_, '_>) -> String {
    of.descendants().filter_map(|n| n.text().filter(|_| n.is_text())).collect()
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
                assert!(!value.contains("NaN") && !value.contains("inf%"), "{name}: {tag} {at} {value}");
            }
        }
        let rest = page.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xhtml", "");
        assert!(name == "hostile" || !rest.contains("://") && !rest.contains("@import"), "{name}: an external address");
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{name}");
    }
}

#[test]
fn ids_are_unique_and_links_have_targets() {
    for (name, page) in pages() {
        let document = parsed(&page);
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
fn pictures_have_a_text_alternative() {
    for (name, page) in pages() {
        for svg in parsed(&page).descendants().filter(|n| n.tag_name().name() == "svg") {
            let is_hidden = svg.ancestors().any(|n| n.attribute("aria-hidden") == Some("true"));
            let is_part = svg.ancestors().skip(1).any(|n| n.attribute("role") == Some("img"));
            let has = |tag: &str| svg.children().any(|n| n.tag_name().name() == tag && !words(&n).is_empty());
            assert!(is_hidden || is_part || has("title") && has("desc"), "{name}: {svg:?}");
        }
    }
}

#[test]
fn only_the_pages_own_styles_are_allowed() {
    let page = html(&samples::same(), None);
    let document = parsed(&page);
    let policy = document.descendants().find(|n| n.attribute("http-equiv") == Some("Content-Security-Policy")).unwrap();
    let policy = policy.attribute("content").unwrap();
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    let styles: Vec<&str> = page.split("<style>").skip(1).map(|rest| rest.split_once("</style>").unwrap().0).collect();
    let hash = |style: &&str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(style.as_bytes())));
    let hashes: Vec<String> = styles.iter().map(hash).collect();
    assert_eq!(hashes.len(), 2);
    assert!(
        policy.contains(&format!("style-src {};", hashes.join(" "))),
        "the hash of show/page/page.css must be {}",
        hashes[1]
    );
}

#[test]
fn each_metric_has_a_row_with_its_verdict_in_words() {
    let of = samples::regression();
    let page = html(&of, None);
    let document = parsed(&page);
    let rows = document.descendants().filter(|n| n.attribute("class") == Some("answer-word"));
    let mut words: Vec<String> = rows.map(|n| words(&n)).collect();
    assert_eq!(words.len(), of.metrics.len());
    let mut expected: Vec<&str> = of.metrics.iter().map(|o| Sense::of(o).word()).collect();
    words.sort_by_key(|word| word.split([' ', ':']).nth(1).map(str::to_owned));
    expected.sort_unstable();
    for (word, expected) in words.iter().zip(expected) {
        assert!(word.contains(expected), "{word}, not {expected}");
    }
}
