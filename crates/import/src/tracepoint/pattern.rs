//! The printed form of a tracepoint, written as one line: literal words, and placeholders in braces between them.
//!
//! | placeholder | matches |
//! | --- | --- |
//! | `{pid}` | a field: a number (leading blanks are skipped), or a text up to the first place where the rest matches |
//! | `{comm*}` | a text up to the last such place |
//! | `{}`, `{*}` | any text, as above; it is discarded |
//! | `{#}` | a number that is discarded |
//! | `{status=1}` | nothing: sets the field to this number if the pattern matches |
//!
//! A name may contain anything, including ` pid=`. "The rest" is the part up to the next text placeholder. A match is
//! never revised, so that a line is read in time proportional to its length, whatever it contains. Text after the end
//! of the pattern is ignored.

use super::table::{FieldValues, Tracepoint};
use crate::text::scan::{find, find_last, integer};

/// The maximum number of blanks with which the kernel pads a number. Without a limit, a line of blanks takes quadratic time.
const MAX_PADDING: usize = 64;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The pieces before the first text.
    head: Vec<Piece>,
    texts: Vec<Text>,
}

/// A part of a pattern that matches at a fixed place.
#[derive(Debug)]
enum Piece {
    Word(&'static [u8]),
    Number(Option<usize>),
    Is(usize, i64),
}

/// A text placeholder, and the pieces after it, which determine where it ends.
#[derive(Debug)]
struct Text {
    field: Option<usize>,
    /// Whether the text ends at the last place that matches instead of the first.
    greedy: bool,
    /// The literal that ends the text; empty if the text extends to the end of the line.
    word: &'static [u8],
    after: Vec<Piece>,
}

impl Pattern {
    /// Compiles a pattern for a tracepoint's fields.
    pub(crate) fn compile(printed: &'static str, of: &Tracepoint) -> Result<Self, String> {
        let mut pattern = Self { head: Vec::new(), texts: Vec::new() };
        let mut rest = printed;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
            if !word.is_empty() {
                pattern.add(Piece::Word(word.as_bytes()));
                rest = after;
                continue;
            }
            let (inside, after) = rest[1..]
                .split_once('}')
                .ok_or_else(|| format!("{printed}: an opening brace without a closing one"))?;
            rest = after;
            let (name, greedy) = inside.strip_suffix('*').map_or((inside, false), |name| (name, true));
            let text = |field| Text { field, greedy, word: b"", after: Vec::new() };
            if name.is_empty() {
                pattern.texts.push(text(None));
            } else if name == "#" {
                pattern.add(Piece::Number(None));
            } else if let Some((name, number)) = name.split_once('=') {
                let (Some((true, at)), Ok(number)) = (of.field(name), number.parse()) else {
                    return Err(format!("{printed}: {{{inside}}} is not a numeric field with a number"));
                };
                pattern.add(Piece::Is(at, number));
            } else {
                match of.field(name) {
                    Some((true, at)) => pattern.add(Piece::Number(Some(at))),
                    Some((false, at)) => pattern.texts.push(text(Some(at))),
                    None => return Err(format!("{printed}: {{{inside}}} is not a field of {}", of.name)),
                }
            }
        }
        let (last, before) = match pattern.texts.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, &[][..]),
        };
        let unbounded = |text: &Text| text.word.is_empty();
        if before.iter().any(unbounded) || last.is_some_and(|text| !text.after.is_empty() && unbounded(text)) {
            return Err(format!("{printed}: a text placeholder must be followed by a literal"));
        }
        let missing = of.numbers.iter().enumerate().find(|(at, f)| !f.optional && !pattern.provides_number(*at));
        if let Some((_, field)) = missing {
            return Err(format!("{printed}: the required field {} is missing", field.name));
        }
        Ok(pattern)
    }

    fn add(&mut self, piece: Piece) {
        match (self.texts.last_mut(), piece) {
            (Some(text), Piece::Word(word)) if text.word.is_empty() && text.after.is_empty() => text.word = word,
            (Some(text), piece) => text.after.push(piece),
            (None, piece) => self.head.push(piece),
        }
    }

    /// Matches a printed text and stores its fields; `false` if the pattern does not match.
    #[inline]
    pub(crate) fn read<'t>(&self, printed: &'t [u8], values: &mut FieldValues<'t>) -> bool {
        let Some(mut rest) = match_pieces(&self.head, printed, values) else { return false };
        for text in &self.texts {
            let Some((held, after)) = text.read(rest, values) else { return false };
            if let Some(field) = text.field {
                values.set_text(field, held);
            }
            rest = after;
        }
        true
    }

    /// Whether a text that does not match has a literal of the pattern, so that it is probably of the same form.
    pub(crate) fn shares_word(&self, printed: &[u8]) -> bool {
        let words = self.head.iter().chain(self.texts.iter().flat_map(|t| &t.after)).filter_map(|piece| match piece {
            Piece::Word(word) => Some(*word),
            Piece::Number(_) | Piece::Is(..) => None,
        });
        let mut words = words.chain(self.texts.iter().map(|t| t.word)).map(<[u8]>::trim_ascii);
        words.any(|word| word.ends_with(b"=") && find(printed, word).is_some())
    }

    /// Whether a match provides this number of the tracepoint.
    fn provides_number(&self, number: usize) -> bool {
        let provides = |piece: &Piece| match piece {
            Piece::Number(at) => *at == Some(number),
            Piece::Is(at, _) => *at == number,
            Piece::Word(_) => false,
        };
        self.head.iter().chain(self.texts.iter().flat_map(|t| &t.after)).any(provides)
    }
}

impl Text {
    /// Returns the text, and the rest after the pieces that follow it.
    #[inline]
    fn read<'t>(&self, rest: &'t [u8], values: &mut FieldValues<'t>) -> Option<(&'t [u8], &'t [u8])> {
        if self.word.is_empty() {
            return Some((rest, &[]));
        }
        let (mut from, mut to) = (0, rest.len());
        loop {
            let at =
                if self.greedy { find_last(&rest[..to], self.word)? } else { from + find(&rest[from..], self.word)? };
            if let Some(after) = match_pieces(&self.after, &rest[at + self.word.len()..], values) {
                return Some((&rest[..at], after));
            }
            (from, to) = (at + 1, at + self.word.len() - 1);
        }
    }
}

/// Matches the pieces and returns the rest; `None` if they do not match.
#[inline]
fn match_pieces<'t>(pieces: &[Piece], mut rest: &'t [u8], values: &mut FieldValues<'t>) -> Option<&'t [u8]> {
    for piece in pieces {
        match piece {
            Piece::Word(word) => rest = rest.strip_prefix(*word)?,
            Piece::Number(field) => {
                let padding = rest.iter().take(MAX_PADDING).take_while(|b| **b == b' ').count();
                let (value, after) = integer(&rest[padding..])?;
                if let Some(field) = field {
                    values.set_number(*field, value);
                }
                rest = after;
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
    fn placeholders_match_between_words() {
        let fields = |a, b, s: &str, t: &str| Some((a, b, s.to_owned(), t.to_owned()));
        for (printed, line, wanted) in [
            ("", "anything", fields(None, None, "", "")),
            ("a={a} b={b}", "a=1 b=-2 more", fields(Some(1), Some(-2), "", "")),
            ("a={a} b={b}", "a=1, b=2", None),
            ("a={a}", "a=  0x10", fields(Some(16), None, "", "")),
            ("s={s} a={a}", "s=x a= a=7 a=8", fields(Some(7), None, "x a=", "")),
            ("s={s*} a={a}", "s=x a=7 a=8 a=", fields(Some(8), None, "x a=7", "")),
            ("{} a={a} {#} {t}", "x a=1 2 the rest", fields(Some(1), None, "", "the rest")),
            ("{}a={a}{*}b={b}", "a=x a=1 b=2 b=3 b=", fields(Some(1), Some(3), "", "")),
            ("{s} on{b=1}", "cpu on", fields(None, Some(1), "cpu", "")),
            ("{s} on{b=1}", "cpu off", None),
        ] {
            assert_eq!(read(printed, line), wanted, "{printed}: {line}");
        }
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        const NEEDS: Tracepoint = Tracepoint { numbers: &[field("a"), field("b").optional()], ..POINT };
        assert!(Pattern::compile("b={b}", &NEEDS).is_err() && Pattern::compile("a={a}", &NEEDS).is_ok());
        for printed in ["{a", "{c}", "{s}{t}", "{s}{a}", "{s=1}", "{a=x}", "{} {s}{*}"] {
            assert!(Pattern::compile(printed, &POINT).is_err(), "{printed}");
        }
    }
}
