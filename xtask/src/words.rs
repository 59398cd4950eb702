//! Plain words: those of `words.txt` are in nothing that a user reads, and in little of the code.

use crate::Found;
use crate::repo::Repo;
use std::collections::BTreeMap;

const LIST: &str = "xtask/words.txt";

/// What a user reads: pages and everything in quotes. The rest is code: names and comments, and all of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reader {
    User,
    Contributor,
}

const ENDINGS: &[&str] = &[".rs", ".md", ".ts", ".mjs", ".py", ".c", ".h", ".sh", ".html", ".css", ".toml", ".yml"];

/// The glossary names the old words, and so do the pages that map old names to new ones.
const LEFT_OUT: &[&str] = &[
    "docs/glossary.md",
    "docs/renamed.md",
    "crates/model/src/tables/renamed.rs",
    "xtask/src/words.rs",
    "viewer/src/generated/",
    "testdata/",
];

/// A line that reads data under a former name ends with this comment.
const FORMER: &str = "// former name";

/// Names of columns and JSON keys that stay, since the referee prints them too.
const KEPT: &[&str] = &["broken", "unwoken"];

/// 5 % of the 7,379 that were in the code when the list was made (commit 0ea9706; what users read had 1,677).
const LIMIT_IN_CODE: usize = 368;

/// A line of the list.
struct Entry {
    phrases: Vec<Vec<String>>,
    instead: String,
    allowed: Vec<Vec<String>>,
}

pub fn check(repo: &Repo) -> Result<Found, String> {
    let entries = entries(&repo.read(LIST)?)?;
    let mut of_user = Vec::new();
    let mut in_code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for path in repo.ending(ENDINGS).filter(|path| !LEFT_OUT.iter().any(|out| path.starts_with(out))) {
        for Hit { line, phrase, instead, reader } in hits(path, &repo.read(path)?, &entries) {
            match reader {
                Reader::User => of_user.push(format!("{path}:{line}: \"{phrase}\": write {instead}")),
                Reader::Contributor => {
                    count += 1;
                    in_code.entry(phrase).or_default().push(format!("{path}:{line}"));
                }
            }
        }
    }
    let mut wrong = of_user;
    if count > LIMIT_IN_CODE {
        wrong.push(format!("{count} words of {LIST} are in the code, more than {LIMIT_IN_CODE}:"));
        wrong.extend(in_code.iter().map(|(phrase, at)| format!("  \"{phrase}\" {}: {} …", at.len(), first(at))));
    }
    Ok(Found::of(wrong, format!("0 in what users read, {count} in the code (limit {LIMIT_IN_CODE})")))
}

fn first(places: &[String]) -> String {
    places.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
}

fn entries(list: &str) -> Result<Vec<Entry>, String> {
    let lines = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let entry = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [phrases, instead, allowed] = columns[..] else {
            return Err(format!("{LIST}: \"{line}\" has {} columns instead of 3", columns.len()));
        };
        let phrases_of = |column: &str| column.split(',').map(words).filter(|words| !words.is_empty()).collect();
        Ok(Entry { phrases: phrases_of(phrases), instead: instead.to_owned(), allowed: phrases_of(allowed) })
    };
    lines.map(entry).collect()
}

struct Hit {
    line: usize,
    phrase: String,
    instead: String,
    reader: Reader,
}

fn hits(path: &str, text: &str, entries: &[Entry]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (line, reader, piece) in pieces(path, text) {
        let words = words(&piece);
        // The JSON keys and columns that keep these names.
        if reader == Reader::User && matches!(&words[..], [word] if KEPT.contains(&word.as_str())) {
            continue;
        }
        for entry in entries {
            let allowed = entry.allowed.iter().flat_map(|phrase| places(&words, phrase));
            let allowed: Vec<_> = allowed.collect();
            for phrase in &entry.phrases {
                for place in places(&words, phrase) {
                    if !allowed.iter().any(|of| of.start <= place.start && place.end <= of.end) {
                        let (phrase, instead) = (phrase.join(" "), entry.instead.clone());
                        hits.push(Hit { line, phrase, instead, reader });
                    }
                }
            }
        }
    }
    hits
}

fn places<'a>(words: &'a [String], phrase: &'a [String]) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    let at = words.windows(phrase.len()).enumerate().filter(move |(_, window)| *window == phrase);
    at.map(|(at, window)| at..at + window.len())
}

/// Lower-case words; backticks and colons count as words, since some contexts differ only in them.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        } else if matches!(c, '`' | ':') {
            words.push(c.to_string());
        }
        before = c;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The text of a file, line by line, split by its reader.
fn pieces(path: &str, text: &str) -> Vec<(usize, Reader, String)> {
    let is_test = path.contains("/tests/") || path.contains("/test/") || path.ends_with("tests.rs");
    let is_page = path.ends_with(".md") && !matches!(path, "ARCHITECTURE.md" | "CONTRIBUTING.md" | "CHANGELOG.md");
    let has_strings = path.ends_with(".rs") || path.ends_with(".ts");
    let mut in_string = false;
    let mut is_code = is_test;
    let mut pieces = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        is_code |= line.starts_with("#[cfg(test)]");
        if line.ends_with(FORMER) {
            continue;
        }
        let is_help = path.starts_with("crates/cli/src") && line.trim_start().starts_with("///");
        if is_page || (is_help && !is_code) {
            pieces.push((number, Reader::User, line.to_owned()));
        } else if is_code || !has_strings {
            pieces.push((number, Reader::Contributor, line.to_owned()));
        } else {
            let [code, string] = split(line, &mut in_string);
            pieces.push((number, Reader::Contributor, code));
            pieces.push((number, Reader::User, string));
        }
    }
    pieces
}

/// A line's text outside and within double quotes; a string that a line leaves open goes on in the next.
fn split(line: &str, in_string: &mut bool) -> [String; 2] {
    let (mut code, mut string) = (String::new(), String::new());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if *in_string => string.extend(chars.next().filter(|c| *c == '"').map(|_| ' ')),
            '\'' if !*in_string && chars.peek() == Some(&'"') => _ = chars.next(),
            '"' => {
                *in_string = !*in_string;
                string.push(' ');
            }
            '/' if !*in_string && chars.peek() == Some(&'/') => {
                code.extend(chars.by_ref());
            }
            c if *in_string => string.push(c),
            c => code.push(c),
        }
    }
    [code, string]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String, Reader)> {
        let list = "letter, letters | state letter | state letter\nmind : | note: |\ntold | reported |\nbroken | odd | `broken`\n";
        let hits = hits(path, text, &entries(list).unwrap());
        hits.into_iter().map(|hit| (hit.line, hit.phrase, hit.reader)).collect()
    }

    #[test]
    fn names_are_split_into_words() {
        let code = |line, phrase: &str| (line, phrase.to_owned(), Reader::Contributor);
        let text = "fn is_told(x: ToldCpu) {}\nlet stolderr = 1; // the letter\n";
        assert_eq!(found("crates/a/src/lib.rs", text), [code(1, "told"), code(1, "told"), code(2, "letter")]);
    }

    #[test]
    fn strings_are_for_users_even_across_lines() {
        let text = "let a = \"it is \\\n    told\"; // told\n#[cfg(test)]\nassert!(x, \"told\");\n";
        let found = found("crates/a/src/lib.rs", text);
        let readers: Vec<_> = found.into_iter().map(|(line, _, reader)| (line, reader)).collect();
        assert_eq!(readers, [(2, Reader::Contributor), (2, Reader::User), (4, Reader::Contributor)]);
    }

    #[test]
    fn some_contexts_are_allowed() {
        let page = "The state letter S. `broken` counts; a broken link. Mind: a letter.\n";
        let phrases: Vec<_> = found("docs/a.md", page).into_iter().map(|hit| (hit.1, hit.2)).collect();
        let user = |phrase: &str| (phrase.to_owned(), Reader::User);
        assert_eq!(phrases, [user("letter"), user("mind :"), user("broken")]);
    }

    #[test]
    fn help_texts_are_for_users() {
        assert_eq!(found("crates/cli/src/args.rs", "/// What is told\n"), [(1, "told".to_owned(), Reader::User)]);
    }
}
