//! YAML as a small tree of texts: tags are not obeyed and aliases not followed, so that nothing can multiply; what stands
//! deeper or is more than a description needs is refused.

use super::bad;
use crate::user::BadMachine;
use saphyr_parser::{Event, Parser};

/// How deep values may stand; LISA's platform files, whose energy model refers to itself, stand 20 deep.
const DEEPEST: usize = 128;
/// Values in all; LISA's file of a board of 6 CPUs has 500.
const MOST_NODES: usize = 1 << 18;

/// A value.
#[derive(Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// A value that stands elsewhere in the document.
    Alias,
}

impl Node {
    /// The value of a key.
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
}

/// A list or map that is not yet closed.
enum Open {
    List(Vec<Node>),
    Map(Vec<(Node, Node)>, Option<Node>),
}

impl Open {
    fn push(&mut self, node: Node) {
        match self {
            Self::List(items) => items.push(node),
            Self::Map(entries, key) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
        }
    }

    fn close(self) -> Node {
        match self {
            Self::List(items) => Node::List(items),
            Self::Map(entries, _) => Node::Map(entries),
        }
    }
}

/// The first document of a text.
pub(super) fn read(text: &str) -> Result<Node, BadMachine> {
    let mut open: Vec<Open> = Vec::new();
    for (count, event) in Parser::new_from_str(text).enumerate() {
        let (event, span) = event.map_err(|why| BadMachine {
            line: Some(why.marker().line()),
            what: format!("not YAML as LISA writes it: {}", why.info()),
        })?;
        if count > MOST_NODES || open.len() > DEEPEST {
            return Err(BadMachine { line: Some(span.start.line()), what: "more YAML than a platform needs".into() });
        }
        let node = match event {
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::Scalar(text, ..) => Node::Text(text.into_owned()),
            Event::Alias(_) => Node::Alias,
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => done.close(),
                None => continue,
            },
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.push(node),
            None => return Ok(node),
        }
    }
    Err(bad("a YAML file with nothing in it"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tags_and_aliases_are_no_more_than_text() {
        let tree = read("a: !!python/object:x.Y\n  b: &id [1, 2]\n  c: *id\n0: null\n").unwrap();
        let a = tree.get("a").unwrap();
        assert_eq!(a.get("b").unwrap().items().len(), 2);
        assert_eq!(a.get("c"), Some(&Node::Alias));
        assert_eq!(tree.get("0").unwrap().text(), Some("null"));
    }

    #[test]
    fn towers_and_bombs_are_refused() {
        for tower in ["[".repeat(100_000), "{a: ".repeat(100_000), "- ".repeat(100_000)] {
            let why = read(&tower).unwrap_err().to_string();
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
