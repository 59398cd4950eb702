//! The bearer token, which other hosts need: read from a file, so that no list of processes shows it.

use crate::ExporterError;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The minimum length of a token, in characters: 128 bits as hexadecimal digits have 32, a random one in base64 22.
const MIN_LENGTH: usize = 16;
/// The maximum length, in bytes.
const MAX_LENGTH: usize = 4096;

/// A secret that requests must carry as `Authorization: Bearer TOKEN`.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Reads the token of a file: its only line.
    ///
    /// # Errors
    /// The file cannot be read, other users can read it, or what it has is no token.
    pub fn read(path: &Path) -> Result<Self, ExporterError> {
        let failed = |why: String| ExporterError::Token { path: path.to_owned(), why };
        let unread = |e: std::io::Error| failed(e.to_string());
        let file = std::fs::File::open(path).map_err(unread)?;
        // The open file, which cannot be exchanged before it is read.
        if file.metadata().map_err(unread)?.permissions().mode() & 0o007 != 0 {
            return Err(failed(format!("other users may access it: run `chmod 600 {}`", path.display())));
        }
        let mut text = String::new();
        file.take(MAX_LENGTH as u64 + 2).read_to_string(&mut text).map_err(unread)?;
        Self::new(text.trim_end_matches(['\n', '\r'])).map_err(|why| failed(why.to_owned()))
    }

    fn new(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_LENGTH {
            return Err("the token is longer than 4096 characters");
        }
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("the token must be one line of visible ASCII characters without spaces");
        }
        if text.len() < MIN_LENGTH {
            return Err("the token has fewer than 16 characters: make one with `openssl rand -hex 32`");
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns whether a header `Authorization` has this token. The time depends only on the lengths.
    pub(crate) fn is_in(&self, header: &str) -> bool {
        let Some((scheme, token)) = header.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && web::same_token(token.trim(), &self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_token_is_one_line_that_others_cannot_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str, mode: u32| {
            std::fs::write(file.path(), text).unwrap();
            std::fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            Token::read(file.path()).map_err(|e| e.to_string())
        };
        let token = read("0123456789abcdef\n", 0o600).unwrap();
        assert!(token.is_in("Bearer 0123456789abcdef") && token.is_in("bearer  0123456789abcdef"));
        for wrong in ["", "Bearer", "Bearer ", "Basic 0123456789abcdef", "Bearer 0123456789abcdeF", "0123456789abcdef"]
        {
            assert!(!token.is_in(wrong), "{wrong}");
        }
        for (text, mode, words) in [
            ("0123456789abcdef\n", 0o644, "other users may access it: run `chmod 600"),
            ("short\n", 0o600, "fewer than 16"),
            ("", 0o600, "fewer than 16"),
            ("0123456789abcdef\nsecond line\n", 0o600, "one line"),
            ("0123456789 abcdef", 0o600, "one line"),
            (&"x".repeat(5000), 0o600, "longer than 4096"),
        ] {
            let why = read(text, mode).unwrap_err();
            assert!(why.contains(words) && !why.contains("0123456789abcdef"), "{why}");
        }
        assert!(Token::read(Path::new("/no/token")).unwrap_err().to_string().starts_with("/no/token: "));
    }
}
