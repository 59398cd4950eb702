//! Escapes text of a trace for a page, as programs can set thread names to anything.

use std::fmt;

/// Escapes text for use between tags or in a quoted attribute.
#[must_use]
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// Text that is escaped when it is written, see [`escaped`].
pub struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '&' => f.write_str("&amp;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            c if is_unfit(c) => f.write_str("\u{fffd}"),
            c => fmt::Write::write_char(f, c),
        })
    }
}

/// Characters that XML does not allow, or that change the direction of the surrounding text.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{fffe}' | '\u{ffff}')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_control_characters_are_escaped() {
        let of = |text| escaped(text).to_string();
        assert_eq!(of("<script>alert('1')</script>"), "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;");
        assert_eq!(of("a\" onload=\"x&y"), "a&quot; onload=&quot;x&amp;y");
        assert_eq!(of("\u{0}\u{1b}\u{202e}\u{ffff}kworker/0:1"), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}kworker/0:1");
        assert_eq!(of("Größe 1\u{a0}000"), "Größe 1\u{a0}000");
    }
}
