//! Plain words: those of `words.txt` are in nothing that a user reads, and in little of the code. No type or function has a name of
//! `names.txt`.

use crate::Found;
use crate::repo::Repo;
use std::collections::BTreeMap;

const LIST: &str = "xtask/words.txt";
const NAMES: &str = "xtask/names.txt";

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
    "testdata/traces/",
    "testdata/referee/",
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
    let names = names(&repo.read(NAMES)?)?;
    let mut wrong = Vec::new();
    let mut of_user = Vec::new();
    let mut in_code: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for path in repo.ending(ENDINGS).filter(|path| !LEFT_OUT.iter().any(|out| path.starts_with(out))) {
        let text = repo.read(path)?;
        let found =
            declared(path, &text).filter_map(|(line, name)| Some((line, names.iter().find(|n| n.name == name)?)));
        let found = found.filter(|(_, name)| name.allowed != path);
        wrong.extend(found.map(|(line, n)| format!("{path}:{line}: the name \"{}\": write {}", n.name, n.instead)));
        for Hit { line, phrase, instead, reader } in hits(path, &text, &entries) {
            match reader {
                Reader::User => of_user.push(format!("{path}:{line}: \"{phrase}\": write {instead}")),
                Reader::Contributor => {
                    count += 1;
                    in_code.entry(phrase).or_default().push(format!("{path}:{line}"));
                }
            }
        }
    }
    wrong.extend(of_user);
    if count > LIMIT_IN_CODE {
        wrong.push(format!("{count} words of {LIST} are in the code, more than {LIMIT_IN_CODE}:"));
        wrong.extend(in_code.iter().map(|(phrase, at)| format!("  \"{phrase}\" {}: {} …", at.len(), first(at))));
    }
    Ok(Found::of(wrong, format!("0 in what users read, {count} in the code (limit {LIMIT_IN_CODE})")))
}

fn first(places: &[String]) -> String {
    places.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
}

/// The lines of a list, in three columns.
fn rows<'a>(file: &'a str, list: &'a str) -> impl Iterator<Item = Result<[&'a str; 3], String>> {
    let lines = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(move |line| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        columns[..].try_into().map_err(|_| format!("{file}: \"{line}\" has {} columns instead of 3", columns.len()))
    })
}

fn entries(list: &str) -> Result<Vec<Entry>, String> {
    let phrases = |column: &str| column.split(';').map(words).filter(|words| !words.is_empty()).collect();
    let entry = |[of, instead, allowed]: [&str; 3]| Entry {
        phrases: phrases(of),
        instead: instead.to_owned(),
        allowed: phrases(allowed),
    };
    rows(LIST, list).map(|row| row.map(entry)).collect()
}

/// A name of the list of names.
struct Name {
    name: String,
    instead: String,
    /// The file in which it is right; empty for none.
    allowed: String,
}

fn names(list: &str) -> Result<Vec<Name>, String> {
    let name = |[name, instead, allowed]: [&str; 3]| [name, instead, allowed].map(str::to_owned);
    let name = |row| {
        let [name, instead, allowed] = name(row);
        Name { name, instead, allowed }
    };
    rows(NAMES, list).map(|row| row.map(name)).collect()
}

/// What a name is declared after, in Rust or TypeScript.
const DECLARES: &[&str] = &["struct", "enum", "union", "trait", "fn", "type", "class", "interface", "function"];

/// The names of types and functions that a file declares, and of the variants of its enums, which are alone on a line or begin it.
fn declared<'a>(path: &str, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_code = path.ends_with(".rs") || path.ends_with(".ts");
    let lines = (1..).zip(text.lines().map(str::trim)).filter(move |_| is_code);
    let lines = lines.filter(|(_, line)| !line.starts_with("//") && !line.starts_with('*'));
    lines.flat_map(|(number, line)| {
        let names: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
        let after = names.windows(2).filter(|pair| DECLARES.contains(&pair[0])).map(|pair| pair[1]).collect::<Vec<_>>();
        let first = names.first().copied().filter(|name| begins_variant(line, name));
        after.into_iter().chain(first).map(move |name| (number, name))
    })
}

/// Whether a line is an enum's variant (or a method of TypeScript) of this name.
fn begins_variant(line: &str, name: &str) -> bool {
    let Some(rest) = line.strip_prefix(name) else { return false };
    let is_type = name.starts_with(char::is_uppercase);
    (is_type && (matches!(rest, "" | "," | " {") || (rest.starts_with('(') && rest.ends_with("),"))))
        || (!is_type && rest.starts_with('(') && rest.ends_with('{'))
}

struct Hit {
    line: usize,
    phrase: String,
    instead: String,
    reader: Reader,
}

fn hits(path: &str, text: &str, entries: &[Entry]) -> Vec<Hit> {
    let pieces = pieces(path, text);
    let words: Vec<Vec<String>> = pieces.iter().map(|piece| words(&piece.text)).collect();
    let mut hits = Vec::new();
    for (at, &Piece { line, reader, continues, .. }) in pieces.iter().enumerate() {
        let own = words[at].len();
        let mut words_here = words[at].clone();
        // A phrase may end in the next line.
        let next = (at + 1..pieces.len()).find(|next| pieces[*next].reader == reader).filter(|_| continues);
        words_here.extend(next.into_iter().flat_map(|next| words[next].iter().cloned()));
        // The JSON keys and columns that keep these names.
        if reader == Reader::User && matches!(&words_here[..], [word] if KEPT.contains(&word.as_str())) {
            continue;
        }
        for entry in entries {
            let allowed = entry.allowed.iter().flat_map(|phrase| places(&words_here, phrase));
            let allowed: Vec<_> = allowed.collect();
            let phrases = entry.phrases.iter().filter(|phrase| reader == Reader::User || phrase[0] != ",");
            for phrase in phrases {
                for place in places(&words_here, phrase).filter(|place| place.start < own) {
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
    let at = words.windows(phrase.len()).enumerate().filter(move |(_, window)| is_like(window, phrase));
    at.map(|(at, window)| at..at + window.len())
}

/// Whether words are those of a phrase, in which "#" is any number.
fn is_like(words: &[String], phrase: &[String]) -> bool {
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    words.iter().zip(phrase).all(|(word, wanted)| word == wanted || (wanted == "#" && is_number(word)))
}

/// Lower-case words; some punctuation counts as words, since some contexts differ only in it.
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
        } else if matches!(c, '`' | ':' | ',' | '=' | '{' | '#') {
            words.push(c.to_string());
        }
        before = c;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The part of a line that one kind of reader reads.
struct Piece {
    line: usize,
    reader: Reader,
    text: String,
    /// Whether a sentence may go on in the next piece for this reader.
    continues: bool,
}

/// The text of a file, line by line, split by its reader.
fn pieces(path: &str, text: &str) -> Vec<Piece> {
    let is_test = path.contains("/tests/") || path.contains("/test/") || path.ends_with("tests.rs");
    let is_page = path.ends_with(".md") && !matches!(path, "ARCHITECTURE.md" | "CONTRIBUTING.md");
    let is_page = is_page || path == "viewer/index.html";
    let mut quotes = match path.rsplit('.').next() {
        Some("rs") => Some(Quotes { open: Vec::new(), is_script: false }),
        Some("ts") => Some(Quotes { open: Vec::new(), is_script: true }),
        _ => None,
    };
    let mut is_code = is_test;
    let mut pieces = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        is_code |= line.starts_with("#[cfg(test)]");
        if line.ends_with(FORMER) {
            continue;
        }
        let mut push = |reader, text: String, continues| pieces.push(Piece { line: number, reader, text, continues });
        let is_help = path.starts_with("crates/cli/src") && line.trim_start().starts_with("///");
        if is_page || (is_help && !is_code) {
            // The next line of a table or after a heading is another sentence.
            push(Reader::User, line.to_owned(), !line.starts_with(['|', '#']) && !line.is_empty());
        } else if let Some(quotes) = quotes.as_mut().filter(|_| !is_code) {
            let [code, string] = quotes.split(line);
            push(Reader::Contributor, code, false);
            push(Reader::User, string, quotes.in_string());
        } else {
            push(Reader::Contributor, line.to_owned(), false);
        }
    }
    pieces
}

/// What a line leaves open for the next one.
#[derive(PartialEq, Eq)]
enum Open {
    /// A string, ended by this quote.
    String(char),
    /// Code within a template literal, with the number of its open braces.
    Code(usize),
    /// A comment of TypeScript.
    Comment,
}

/// Separates strings from code.
struct Quotes {
    open: Vec<Open>,
    /// TypeScript, which has template literals too.
    is_script: bool,
}

impl Quotes {
    fn in_string(&self) -> bool {
        matches!(self.open.last(), Some(Open::String(_)))
    }

    /// A line's text outside and within quotes; a string that a line leaves open goes on in the next.
    fn split(&mut self, line: &str) -> [String; 2] {
        let (mut code, mut string) = (String::new(), String::new());
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            match self.open.last_mut() {
                Some(Open::Comment) => {
                    if c == '*' && next == Some('/') {
                        self.open.pop();
                    }
                    code.push(c);
                }
                Some(Open::String(quote)) => {
                    if c == '\\' {
                        string.extend(chars.next().filter(|c| *c == '"').map(|_| ' '));
                    } else if c == *quote {
                        self.open.pop();
                        string.push(' ');
                    } else if c == '$' && *quote == '`' && next == Some('{') {
                        chars.next();
                        self.open.push(Open::Code(0));
                        string.push(' ');
                    } else {
                        string.push(c);
                    }
                }
                _ if c == '/' && next == Some('/') => code.extend(chars.by_ref()),
                _ if self.is_script && c == '/' && next == Some('*') => self.open.push(Open::Comment),
                _ if c == '"' || (self.is_script && matches!(c, '`' | '\'')) => {
                    self.open.push(Open::String(c));
                    string.push(' ');
                }
                // The character '"' of Rust.
                _ if c == '\'' && next == Some('"') => _ = chars.next(),
                Some(Open::Code(0)) if c == '}' => _ = self.open.pop(),
                braces => {
                    if let Some(Open::Code(braces)) = braces {
                        *braces = *braces + usize::from(c == '{') - usize::from(c == '}');
                    }
                    code.push(c);
                }
            }
        }
        // Only template literals go on in TypeScript's next line.
        while self.is_script && matches!(self.open.last(), Some(Open::String('"' | '\''))) {
            self.open.pop();
        }
        [code, string]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String, Reader)> {
        let list = "letter; letters | state letter | state letter\nmind : | note: |\ntold | reported |\nbroken | odd | `broken`\n\
                    could be recovered | potential saving |\n, number {; , number # | TID | group # , number #\n";
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

    #[test]
    fn template_literals_are_for_users_but_not_the_code_in_them() {
        let text = "const a = `is ${told(`letter ${b}`)} told`; // a `quote\n/* an open ` */ const told = 'x'; `told\ntold`;\n";
        let found = found("viewer/src/a.ts", text);
        let user: Vec<_> = found.iter().filter(|f| f.2 == Reader::User).map(|f| (f.0, f.1.as_str())).collect();
        assert_eq!(user, [(1, "letter"), (1, "told"), (2, "told"), (3, "told")]);
        assert_eq!(found.len() - user.len(), 2);
    }

    #[test]
    fn a_phrase_may_go_on_in_the_next_line() {
        let phrases = |path, text| found(path, text).into_iter().map(|hit| (hit.0, hit.1)).collect::<Vec<_>>();
        let wanted = [(1, "could be recovered".to_owned())];
        assert_eq!(phrases("docs/a.md", "It could\nbe recovered.\n"), wanted);
        assert_eq!(phrases("CHANGELOG.md", "# It could\nbe recovered.\n"), []);
        assert_eq!(phrases("crates/a/src/lib.rs", "let a = \"it could \\\n    be recovered\";\n"), wanted);
        assert_eq!(
            phrases("docs/a.md", "render, number 7, group 0, number 8, number of, number=9\n"),
            [(1, ", number #".to_owned())]
        );
    }

    #[test]
    fn names_of_types_functions_and_variants_are_declared() {
        let text = "pub enum A {\n    Seen,\n    Shown(u8),\n    Told {\n// fn odd()\nlet x = Given::new();\nfn near(a: What) {\n";
        let names: Vec<_> = declared("a.rs", text).collect();
        assert_eq!(names, [(1, "A"), (2, "Seen"), (3, "Shown"), (4, "Told"), (7, "near")]);
        let names: Vec<_> = declared("a.ts", "export interface Steps {\n  here(a: number): void {\n").collect();
        assert_eq!(names, [(1, "Steps"), (2, "here")]);
    }
}
