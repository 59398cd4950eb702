//! Splits TSDL into words, numbers, texts and signs, one token ahead, so that hostile metadata is never held as tokens.

use ingest::Fatal;

/// A token of TSDL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'t> {
    Word(&'t str),
    Number(i128),
    Text(String),
    Sign(&'static str),
    End,
}

/// Longer signs first: `...` before `.`, `:=` before `:`.
const SIGNS: &[&str] =
    &["...", ":=", "->", "{", "}", "[", "]", "<", ">", "(", ")", ";", ",", "=", ":", ".", "+", "-", "*"];

/// The maximum length of a name in bytes: it is repeated for each field inside the named one.
const MAX_NAME: usize = 256;

pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    ahead: Token<'t>,
    /// The offset of `ahead`.
    ahead_at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, Fatal> {
        let mut lexer = Self { text, at: 0, ahead: Token::End, ahead_at: 0 };
        lexer.take()?;
        Ok(lexer)
    }

    /// Returns the next token without consuming it.
    pub(super) fn peek(&self) -> &Token<'t> {
        &self.ahead
    }

    /// Whether the next token is this sign.
    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.ahead, Token::Sign(s) if s == sign)
    }

    /// Returns the next token if it is a word.
    pub(super) fn word_ahead(&self) -> Option<&'t str> {
        match self.ahead {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Returns an error at the next token.
    pub(super) fn error(&self, what: &str) -> Fatal {
        Fatal::new(format!("metadata: {what}"), self.ahead_at as u64)
    }

    /// Consumes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'t>, Fatal> {
        self.skip_space();
        self.ahead_at = self.at;
        let next = self.lex()?;
        Ok(std::mem::replace(&mut self.ahead, next))
    }

    /// Consumes a sign if it is next, and returns whether it was.
    pub(super) fn eat(&mut self, sign: &str) -> Result<bool, Fatal> {
        let is = self.is(sign);
        if is {
            self.take()?;
        }
        Ok(is)
    }

    /// Consumes this sign, or fails if it is not next.
    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), Fatal> {
        if self.eat(sign)? { Ok(()) } else { Err(self.error(&format!("expected `{sign}`"))) }
    }

    /// Consumes a word, or fails if none is next.
    pub(super) fn word(&mut self) -> Result<&'t str, Fatal> {
        match self.word_ahead() {
            Some(word) => {
                self.take()?;
                Ok(word)
            }
            None => Err(self.error("expected a name")),
        }
    }

    /// Consumes a number, optionally with a sign, or fails if none is next.
    pub(super) fn number(&mut self) -> Result<i128, Fatal> {
        let minus = self.eat("-")?;
        if !minus {
            self.eat("+")?;
        }
        match *self.peek() {
            Token::Number(n) => {
                self.take()?;
                Ok(if minus { -n } else { n })
            }
            _ => Err(self.error("expected a number")),
        }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\0');
            self.at += rest.len() - trimmed.len();
            let skip = if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else {
                return;
            };
            self.at += skip;
        }
    }

    fn lex(&mut self) -> Result<Token<'t>, Fatal> {
        let rest = self.rest();
        let Some(first) = rest.bytes().next() else { return Ok(Token::End) };
        if first == b'"' || first == b'\'' {
            return self.text(first);
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.at += end;
            return if end <= MAX_NAME {
                Ok(Token::Word(&rest[..end]))
            } else {
                Err(self.wrong("a name is longer than 256 bytes"))
            };
        }
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            self.at += end;
            let number = number(&rest[..end]);
            return number.map(Token::Number).ok_or_else(|| self.wrong("a number cannot be read"));
        }
        let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) else {
            return Err(self.wrong("a character is not part of TSDL"));
        };
        self.at += sign.len();
        Ok(Token::Sign(sign))
    }

    fn wrong(&self, what: &str) -> Fatal {
        Fatal::new(format!("metadata: {what}"), self.ahead_at as u64)
    }

    /// Reads a text in quotes.
    fn text(&mut self, quote: u8) -> Result<Token<'t>, Fatal> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c if c == char::from(quote) => {
                    self.at += at + 1;
                    return Ok(Token::Text(text));
                }
                c => text.push(c),
            }
        }
        Err(self.wrong("a text has no closing quote"))
    }
}

/// Parses a number in C notation.
fn number(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, base) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    // No number in a trace is wider than 64 bits, so sums of two never overflow.
    i128::from_str_radix(digits, base).ok().filter(|n| *n <= i128::from(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_split() {
        let mut lexer = Lexer::new("/* c */ a_1 := 0x1F ... -010 \"q\\\"\" // x\n .}").unwrap();
        let mut tokens = Vec::new();
        while *lexer.peek() != Token::End {
            tokens.push(lexer.take().unwrap());
        }
        use Token::{Number, Sign, Text, Word};
        let text = Text("q\"".to_owned());
        let (dots, minus) = (Sign("..."), Sign("-"));
        let all = [Word("a_1"), Sign(":="), Number(31), dots, minus, Number(8), text, Sign("."), Sign("}")];
        assert_eq!(tokens, all);
        assert!(Lexer::new("\"open").is_err());
        assert!(Lexer::new("99999999999999999999999").is_err());
    }
}
