//! Reads YAML as a small tree of texts. Tags are ignored. Only aliases of texts and of plain lists of texts are followed, and they count
//! as if written out, so that nothing can expand. Documents that are deeper or larger than a description needs are refused.

use super::bad;
use crate::user::BadMachine;
use saphyr_parser::{Event, Parser};
use std::collections::HashMap;

/// The maximum depth; LISA's platform files, whose energy model refers to itself, have a depth of 20.
const MAX_DEPTH: usize = 128;
/// The maximum number of values; LISA's file for a board with 6 CPUs has 500.
const MAX_NODES: usize = 1 << 18;
/// The maximum length of a text that aliases may repeat.
const MAX_ALIAS_BYTES: usize = 64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// An alias of a value that is more than a list of texts.
    Alias,
}

impl Node {
    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(k, _)| k.text() == Some(key)).map(|(_, value)| value)
    }

    pub(super) fn entries(&self) -> &[(Self, Self)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    pub(super) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<u32> {
        self.text()?.parse().ok()
    }

    /// Returns the number of values of a short text or a list of short texts.
    fn plain(&self) -> Option<usize> {
        let short = |node: &Self| node.text().is_some_and(|text| text.len() <= MAX_ALIAS_BYTES);
        match self {
            Self::Text(_) if short(self) => Some(1),
            Self::List(items) if items.iter().all(short) => Some(items.len() + 1),
            _ => None,
        }
    }
}

/// A list or map that is still open.
enum Open {
    /// A list, with the number that aliases use for it; 0 for none.
    List(Vec<Node>, usize),
    Map(Vec<(Node, Node)>, Option<Node>),
}

impl Open {
    fn push(&mut self, node: Node) {
        match self {
            Self::List(items, _) => items.push(node),
            Self::Map(entries, key) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
        }
    }

    fn close(self) -> (Node, usize) {
        match self {
            Self::List(items, anchor) => (Node::List(items), anchor),
            Self::Map(entries, _) => (Node::Map(entries), 0),
        }
    }
}

/// Reads the first document of a text.
pub(super) fn read(text: &str) -> Result<Node, BadMachine> {
    let mut open: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut count = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|why| BadMachine {
            line: Some(why.marker().line()),
            what: format!("invalid YAML: {}", why.info()),
        })?;
        count += 1;
        if count > MAX_NODES || open.len() > MAX_DEPTH {
            return Err(BadMachine { line: Some(span.start.line()), what: "too much YAML for a platform file".into() });
        }
        let node = match event {
            Event::SequenceStart(anchor, _) => {
                open.push(Open::List(Vec::new(), anchor));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::Scalar(text, _, anchor, _) => (Node::Text(text.into_owned()), anchor),
            Event::Alias(of) => {
                let node = anchors.get(&of).cloned().unwrap_or(Node::Alias);
                count += node.plain().unwrap_or(0);
                (node, 0)
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => done.close(),
                None => continue,
            },
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        let (node, anchor) = node;
        if let Some(size) = node.plain().filter(|_| anchor != 0) {
            count += size;
            anchors.insert(anchor, node.clone());
        }
        match open.last_mut() {
            Some(parent) => parent.push(node),
            None => return Ok(node),
        }
    }
    Err(bad("an empty YAML file"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tags_are_ignored_and_few_aliases_are_followed() {
        let tree = read("a: &me !!python/object:x.Y\n  b: &id [1, 2]\n  c: *id\n  d: *me\n0: null\n").unwrap();
        let a = tree.get("a").unwrap();
        assert_eq!(a.get("b").unwrap().items().len(), 2);
        assert_eq!(a.get("c"), a.get("b"));
        assert_eq!(a.get("d"), Some(&Node::Alias));
        assert_eq!(tree.get("0").unwrap().text(), Some("null"));
    }

    #[test]
    fn deep_nesting_is_refused_and_aliases_do_not_expand() {
        for deep in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
            let why = read(&deep).unwrap_err().to_string();
            assert!(why.len() > 20, "{why}");
        }
        let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (one, next) in ('a'..='y').zip('b'..='z') {
            let names = vec![format!("*{one}"); 9].join(",");
            bomb.push_str(&format!("{next}: &{next} [{names}]\n"));
        }
        assert_eq!(read(&bomb).unwrap().entries().len(), 26);
    }
}
