//! How a tracepoint is printed, as one line: words, and what stands between them.
//!
//! | in braces | what stands there |
//! | --- | --- |
//! | `{pid}` | a field: a number (blanks before it do not count), or a text up to the first place where what follows fits |
//! | `{comm*}` | a text up to the last such place |
//! | `{}`, `{*}` | any text, as those; it is left out |
//! | `{#}` | a number that is left out |
//! | `{status=1}` | nothing: the field is this number where the pattern fits |
//!
//! A name may hold anything, ` pid=` too: "fits" is all up to the next text in braces. What was found there stays: a line is read
//! in time that grows with its length, whatever it holds. What stands behind the pattern is left out.

use super::table::{FieldValues, Tracepoint};
use crate::text::scan::{find, find_last, integer};

/// Blanks before a number that the kernel may pad it with; of a line of nothing else, each would be followed to its end.
const WIDEST: usize = 64;

/// A pattern, compiled.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Before the first text.
    head: Vec<Piece>,
    texts: Vec<Text>,
}

/// What has a place of its own.
#[derive(Debug)]
enum Piece {
    Word(&'static [u8]),
    Number(Option<usize>),
    Is(usize, i64),
}

/// A text, and what stands behind it, which tells where it ends.
#[derive(Debug)]
struct Text {
    field: Option<usize>,
    /// It ends at the last place that fits, not at the first.
    longest: bool,
    /// The word that it ends at; empty: it is all that is left.
    word: &'static [u8],
    behind: Vec<Piece>,
}

impl Pattern {
    /// Compiles a pattern of a tracepoint's fields.
    pub(crate) fn compile(printed: &'static str, of: &Tracepoint) -> Result<Self, String> {
        let mut pattern = Self { head: Vec::new(), texts: Vec::new() };
        let mut rest = printed;
        while !rest.is_empty() {
            let (word, behind) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
            if !word.is_empty() {
                pattern.add(Piece::Word(word.as_bytes()));
                rest = behind;
                continue;
            }
            let (inside, behind) =
                rest[1..].split_once('}').ok_or_else(|| format!("{printed}: a brace without end"))?;
            rest = behind;
            let (name, longest) = inside.strip_suffix('*').map_or((inside, false), |name| (name, true));
            let text = |field| Text { field, longest, word: b"", behind: Vec::new() };
            if name.is_empty() {
                pattern.texts.push(text(None));
            } else if name == "#" {
                pattern.add(Piece::Number(None));
            } else if let Some((name, number)) = name.split_once('=') {
                let (Some((true, at)), Ok(number)) = (of.field(name), number.parse()) else {
                    return Err(format!("{printed}: {{{inside}}} is no field with a number"));
                };
                pattern.add(Piece::Is(at, number));
            } else {
                match of.field(name) {
                    Some((true, at)) => pattern.add(Piece::Number(Some(at))),
                    Some((false, at)) => pattern.texts.push(text(Some(at))),
                    None => return Err(format!("{printed}: {{{inside}}} is no field of {}", of.name)),
                }
            }
        }
        let (last, before) = match pattern.texts.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, &[][..]),
        };
        let endless = |text: &Text| text.word.is_empty();
        if before.iter().any(endless) || last.is_some_and(|text| !text.behind.is_empty() && endless(text)) {
            return Err(format!("{printed}: a text must end at a word"));
        }
        let missing = of.numbers.iter().enumerate().find(|(at, f)| !f.optional && !pattern.gives_number(*at));
        if let Some((_, field)) = missing {
            return Err(format!("{printed}: it lacks {}", field.name));
        }
        Ok(pattern)
    }

    fn add(&mut self, piece: Piece) {
        match (self.texts.last_mut(), piece) {
            (Some(text), Piece::Word(word)) if text.word.is_empty() && text.behind.is_empty() => text.word = word,
            (Some(text), piece) => text.behind.push(piece),
            (None, piece) => self.head.push(piece),
        }
    }

    /// Reads what was printed; `false` where the pattern does not fit.
    #[inline]
    pub(crate) fn read<'t>(&self, printed: &'t [u8], values: &mut FieldValues<'t>) -> bool {
        let Some(mut rest) = go_past(&self.head, printed, values) else { return false };
        for text in &self.texts {
            let Some((held, behind)) = text.read(rest, values) else { return false };
            if let Some(field) = text.field {
                values.set_text(field, held);
            }
            rest = behind;
        }
        true
    }

    /// Whether a number of the tracepoint's is known where the pattern fits.
    fn gives_number(&self, number: usize) -> bool {
        let gives = |piece: &Piece| match piece {
            Piece::Number(at) => *at == Some(number),
            Piece::Is(at, _) => *at == number,
            Piece::Word(_) => false,
        };
        self.head.iter().chain(self.texts.iter().flat_map(|t| &t.behind)).any(gives)
    }
}

impl Text {
    /// The text, and what stands behind what follows it.
    #[inline]
    fn read<'t>(&self, rest: &'t [u8], values: &mut FieldValues<'t>) -> Option<(&'t [u8], &'t [u8])> {
        if self.word.is_empty() {
            return Some((rest, &[]));
        }
        let (mut from, mut to) = (0, rest.len());
        loop {
            let at =
                if self.longest { find_last(&rest[..to], self.word)? } else { from + find(&rest[from..], self.word)? };
            if let Some(behind) = go_past(&self.behind, &rest[at + self.word.len()..], values) {
                return Some((&rest[..at], behind));
            }
            (from, to) = (at + 1, at + self.word.len() - 1);
        }
    }
}

/// What stands behind the pieces; `None` where they do not stand here.
#[inline]
fn go_past<'t>(pieces: &[Piece], mut rest: &'t [u8], values: &mut FieldValues<'t>) -> Option<&'t [u8]> {
    for piece in pieces {
        match piece {
            Piece::Word(word) => rest = rest.strip_prefix(*word)?,
            Piece::Number(field) => {
                let padding = rest.iter().take(WIDEST).take_while(|b| **b == b' ').count();
                let (value, behind) = integer(&rest[padding..])?;
                if let Some(field) = field {
                    values.set_number(*field, value);
                }
                rest = behind;
            }
            Piece::Is(field, value) => values.set_number(*field, *value),
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tracepoint::table::field;
    use model::Tid;

    const POINT: Tracepoint = Tracepoint {
        name: "x",
        numbers: &[field("a").optional(), field("b").optional()],
        texts: &[field("s"), field("t")],
        ..Tracepoint::NEW
    };

    fn read(printed: &'static str, line: &str) -> Option<(Option<i64>, Option<i64>, String, String)> {
        let mut v = FieldValues::new(Tid(1));
        let fits = Pattern::compile(printed, &POINT).unwrap().read(line.as_bytes(), &mut v);
        let text = |at| String::from_utf8_lossy(v.text(at)).into_owned();
        fits.then(|| (v.recorded(0), v.recorded(1), text(0), text(1)))
    }

    #[test]
    fn what_stands_between_words() {
        let told = |a, b, s: &str, t: &str| Some((a, b, s.to_owned(), t.to_owned()));
        for (printed, line, wanted) in [
            ("", "anything", told(None, None, "", "")),
            ("a={a} b={b}", "a=1 b=-2 more", told(Some(1), Some(-2), "", "")),
            ("a={a} b={b}", "a=1, b=2", None),
            ("a={a}", "a=  0x10", told(Some(16), None, "", "")),
            ("s={s} a={a}", "s=x a= a=7 a=8", told(Some(7), None, "x a=", "")),
            ("s={s*} a={a}", "s=x a=7 a=8 a=", told(Some(8), None, "x a=7", "")),
            ("{} a={a} {#} {t}", "x a=1 2 the rest", told(Some(1), None, "", "the rest")),
            ("{}a={a}{*}b={b}", "a=x a=1 b=2 b=3 b=", told(Some(1), Some(3), "", "")),
            ("{s} on{b=1}", "cpu on", told(None, Some(1), "cpu", "")),
            ("{s} on{b=1}", "cpu off", None),
        ] {
            assert_eq!(read(printed, line), wanted, "{printed}: {line}");
        }
    }

    #[test]
    fn what_no_pattern_is() {
        const NEEDS: Tracepoint = Tracepoint { numbers: &[field("a"), field("b").optional()], ..POINT };
        assert!(Pattern::compile("b={b}", &NEEDS).is_err() && Pattern::compile("a={a}", &NEEDS).is_ok());
        for printed in ["{a", "{c}", "{s}{t}", "{s}{a}", "{s=1}", "{a=x}", "{} {s}{*}"] {
            assert!(Pattern::compile(printed, &POINT).is_err(), "{printed}");
        }
    }
}
