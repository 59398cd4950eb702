//! Checks that each crate uses only those that `[workspace.metadata.layers]` allows it.

use crate::Found;
use crate::repo::{Repo, list, text};
use std::collections::{BTreeMap, BTreeSet};

/// Crates outside the layers: tools that no other crate may use.
const TOOLS: &[&str] = &["xtask"];

type Layers = BTreeMap<String, BTreeSet<String>>;

/// A dependency of one crate of this workspace on another.
#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    only_for_tests: bool,
}

pub fn check(repo: &Repo) -> Result<Found, String> {
    let declared =
        repo.metadata["metadata"]["layers"].as_object().ok_or("Cargo.toml has no [workspace.metadata.layers]")?;
    let layers: Layers =
        declared.iter().map(|(name, uses)| (name.clone(), list(uses).map(|u| text(u).to_owned()).collect())).collect();
    // A crate is identified by its folder: package names have a prefix.
    let folder = |p: &serde_json::Value| text(&p["manifest_path"]).rsplit('/').nth(1).unwrap_or_default().to_owned();
    let names: BTreeMap<String, String> = repo.members().map(|p| (text(&p["name"]).to_owned(), folder(p))).collect();
    let mut edges = Vec::new();
    for package in repo.members() {
        for dependency in list(&package["dependencies"]) {
            if let Some(to) = names.get(text(&dependency["name"])) {
                edges.push(Edge {
                    from: folder(package),
                    to: to.clone(),
                    only_for_tests: text(&dependency["kind"]) == "dev",
                });
            }
        }
    }
    let crates: BTreeSet<String> = names.into_values().collect();
    let well = format!("{} crates, {} uses", crates.len(), edges.len());
    Ok(Found::of(wrongs(&layers, &crates, &edges), well))
}

fn wrongs(layers: &Layers, crates: &BTreeSet<String>, edges: &[Edge]) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in crates {
        if !layers.contains_key(name) && !TOOLS.contains(&name.as_str()) {
            wrong.push(format!("crate {name} is not in [workspace.metadata.layers]"));
        }
    }
    for (name, uses) in layers {
        if !crates.contains(name) {
            wrong.push(format!("layer {name} has no crate"));
        }
        for used in uses {
            if !layers.contains_key(used) {
                wrong.push(format!("layer {name} may use {used}, which is not a layer"));
            }
        }
    }
    for Edge { from, to, only_for_tests } in edges {
        // Tests may use any layers; built code must respect the order.
        if !only_for_tests && !layers.get(from).is_some_and(|uses| uses.contains(to)) {
            wrong.push(format!("{from} uses {to}, which [workspace.metadata.layers] does not allow"));
        }
    }
    if let Some(name) = in_a_circle(layers) {
        wrong.push(format!("layer {name} may use itself through others"));
    }
    wrong
}

/// Returns a layer that reaches itself, if there is one: removes layers from the bottom until none is left.
fn in_a_circle(layers: &Layers) -> Option<&str> {
    let mut left: BTreeSet<&str> = layers.keys().map(String::as_str).collect();
    loop {
        let before = left.len();
        let bottom: Vec<&str> =
            left.iter().copied().filter(|name| layers[*name].iter().all(|u| !left.contains(u.as_str()))).collect();
        bottom.iter().for_each(|name| {
            left.remove(name);
        });
        if left.is_empty() || left.len() == before {
            return left.first().copied();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(lines: &[(&str, &[&str])]) -> Layers {
        lines.iter().map(|(n, uses)| ((*n).to_owned(), uses.iter().map(|u| (*u).to_owned()).collect())).collect()
    }

    fn crates(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn edge(from: &str, to: &str, only_for_tests: bool) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), only_for_tests }
    }

    #[test]
    fn what_is_allowed_is_well() {
        let l = layers(&[("model", &[]), ("store", &["model"]), ("testkit", &["model"])]);
        let edges = [edge("store", "model", false), edge("store", "testkit", true), edge("model", "testkit", true)];
        assert!(wrongs(&l, &crates(&["model", "store", "testkit", "xtask"]), &edges).is_empty());
    }

    #[test]
    fn a_use_against_the_data_s_way_is_wrong() {
        let l = layers(&[("model", &[]), ("store", &["model"])]);
        let found = wrongs(&l, &crates(&["model", "store"]), &[edge("model", "store", false)]);
        assert_eq!(found, ["model uses store, which [workspace.metadata.layers] does not allow"]);
    }

    #[test]
    fn testkit_is_for_tests_only() {
        let l = layers(&[("model", &[]), ("testkit", &["model"])]);
        assert_eq!(wrongs(&l, &crates(&["model", "testkit"]), &[edge("model", "testkit", false)]).len(), 1);
    }

    #[test]
    fn crates_and_layers_are_the_same_set() {
        let l = layers(&[("model", &[]), ("ghost", &["model"])]);
        let found = wrongs(&l, &crates(&["model", "stray"]), &[]);
        assert_eq!(found, ["crate stray is not in [workspace.metadata.layers]", "layer ghost has no crate"]);
    }

    #[test]
    fn a_circle_is_found() {
        let l = layers(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])]);
        assert_eq!(in_a_circle(&l), Some("a"));
        assert_eq!(in_a_circle(&layers(&[("a", &[]), ("b", &["a"])])), None);
    }
}
