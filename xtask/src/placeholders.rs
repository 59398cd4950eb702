//! Checks that unfinished work is an issue, not a comment.

use crate::Found;
use crate::repo::Repo;

const LOOKED_AT: &[&str] = &[".rs", ".ts", ".py", ".c", ".h", ".md", ".toml", ".sh", "Makefile", ".ci/run"];

/// Split in two, so that this file does not match itself.
const WORDS: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("T", "BD"), concat!("HA", "CK")];
const MACROS: &[&str] = &[concat!("to", "do!"), concat!("unimple", "mented!")];

pub fn check(repo: &Repo) -> Result<Found, String> {
    let mut wrong = Vec::new();
    let mut looked_at = 0;
    for path in repo.ending(LOOKED_AT) {
        looked_at += 1;
        let page = path.ends_with(".md");
        for (number, line) in repo.read(path)?.lines().enumerate() {
            if let Some(what) = placeholder(line, page) {
                wrong.push(format!("{path}:{}: {what}", number + 1));
            }
        }
    }
    Ok(Found::of(wrong, format!("none in {looked_at} files")))
}

/// Words count within comments (and in pages, which are all text), macros anywhere.
fn placeholder(line: &str, page: bool) -> Option<&'static str> {
    let comment = ["//", "/*", "#", " * ", "<!--"].iter().filter_map(|mark| line.find(mark)).min();
    let comment = if page { Some(0) } else { comment };
    let said = split(comment.map_or("", |at| &line[at..])).find_map(|word| WORDS.iter().find(|w| **w == word));
    said.or_else(|| split(line).find_map(|word| MACROS.iter().find(|m| **m == word))).copied()
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '!')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_of_comments() {
        assert_eq!(placeholder(concat!("    a(); // TO", "DO: later"), false), Some(WORDS[0]));
        assert_eq!(placeholder(concat!("TO", "DO: say how"), true), Some(WORDS[0]));
        assert_eq!(placeholder(concat!("const TO", "DO: &str = HOW;"), false), None);
        assert_eq!(placeholder("mkstemp(\"/tmp/aXXXXXX\") // a to-do list", false), None);
    }

    #[test]
    fn macros_anywhere() {
        assert_eq!(placeholder(concat!("    to", "do!()"), false), Some(MACROS[0]));
        assert_eq!(placeholder("a mastodon!", true), None);
    }
}
