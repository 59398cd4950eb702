//! JSON output for streaming.

use std::io::Write as _;

/// Writes a quoted text.
pub(crate) fn text(words: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in words.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let mut bytes = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Writes nanoseconds as exact microseconds.
pub(crate) fn micros(ns: i64, out: &mut Vec<u8>) {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let _ = write!(out, "{sign}{}.{:03}", ns / 1000, ns % 1000);
}

#[cfg(test)]
mod tests {
    #[test]
    fn texts_and_times() {
        let mut out = Vec::new();
        super::text("a\"\\\n\u{1}é", &mut out);
        super::micros(-1_002_003, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"a\\\"\\\\\\u000a\\u0001é\"-1002.003");
    }
}
