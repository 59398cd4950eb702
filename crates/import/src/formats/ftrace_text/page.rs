//! Finds the lines of the trace in a page or text.
//!
//! systrace writes a page with a viewer and the trace in it: between `<script class="trace-data" …>` and `</script>`,
//! or, in its first versions, as a string of JavaScript, `var linuxPerfData = "\`, in which each line ends with `\n\`.

use std::borrow::Cow;

/// Which lines belong to the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Page {
    /// All lines.
    Text,
    /// None at this place.
    Outside,
    /// The lines of this block.
    Script,
    /// The lines of this string.
    JavaScript,
}

/// The number of bytes of a line in which the start or end of a block is searched.
const MAX_SEARCHED: usize = 4096;

impl Page {
    /// Returns a page, if the text starts like one that contains a trace; `None` for plain text.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let start = head.trim_ascii_start();
        let begins = |word: &[u8]| start.get(..word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word));
        (begins(b"<!doctype html") || begins(b"<html")).then_some(Self::Outside)
    }

    /// Returns the line as it is in the trace, if it belongs to the trace.
    #[inline]
    pub(super) fn line<'l>(&mut self, line: &'l [u8]) -> Option<Cow<'l, [u8]>> {
        match self {
            Self::Text => return Some(Cow::Borrowed(line)),
            Self::Outside => {
                let searched = &line[..line.len().min(MAX_SEARCHED)];
                let holds = |word: &[u8]| memchr::memmem::find(searched, word).is_some();
                if holds(b"<script") && holds(b"trace-data") {
                    *self = Self::Script;
                } else if holds(b"var linuxPerfData = \"") {
                    *self = Self::JavaScript;
                }
            }
            Self::Script => {
                if !line.trim_ascii_start().starts_with(b"</script") {
                    return Some(Cow::Borrowed(line));
                }
                *self = Self::Outside;
            }
            Self::JavaScript => {
                let ended = line.ends_with(b"\";");
                if ended {
                    *self = Self::Outside;
                }
                let line = if ended { &line[..line.len() - 2] } else { line.strip_suffix(b"\\").unwrap_or(line) };
                return Some(unescaped(line.strip_suffix(b"\\n").unwrap_or(line)));
            }
        }
        None
    }
}

/// Decodes a JavaScript string: a backslash makes the next character literal, except `\n` and `\t`.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b'n' | b't') => b' ',
                Some(other) => *other,
                None => break,
            },
            other => *other,
        });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let mut page = Page::of(text.as_bytes()).unwrap_or(Page::Text);
        let lines = text.lines().filter_map(|l| Some(String::from_utf8_lossy(&page.line(l.as_bytes())?).into_owned()));
        lines.collect()
    }

    #[test]
    fn only_lines_of_the_trace_are_returned() {
        assert_eq!(lines("a\nb"), ["a", "b"]);
        let scripts = "<!DOCTYPE html>\n<script>x</script>\n  <script class=\"trace-data\" type=\"application/text\">\na\nb\n\
            </script>\nno\n<script class=\"trace-data\">\nc\n  </script>\n";
        assert_eq!(lines(scripts), ["a", "b", "c"]);
        let string = "<html>\nx\n  var linuxPerfData = \"\\\na \\\"b\\\" \\\\c\\n\\\nd\\n\";\nno";
        assert_eq!(lines(string), ["a \"b\" \\c", "d"]);
    }
}
