//! The data of a page: blocks of characters, as many as the limit allows.

use crate::ServeError;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;

/// Where the page has its data.
const PLACE: &str = "<!-- data -->";
/// The alphabet of https://www.rfc-editor.org/rfc/rfc4648#section-4
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Blocks, in the order in which they came.
pub(super) struct Blocks {
    html: String,
    limit: usize,
    left: usize,
}

impl Blocks {
    /// None yet, and so many characters at most.
    pub(super) fn new(limit: usize) -> Self {
        Self { html: String::new(), limit, left: limit }
    }

    /// Characters that still fit.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Adds what no page can be without.
    pub(super) fn must(&mut self, name: &str, plain: &[u8]) -> Result<(), ServeError> {
        match self.offer(name, plain, self.left)? {
            true => Ok(()),
            false => Err(self.too_small()),
        }
    }

    /// Adds what takes no more than so many characters; tells whether it did.
    pub(super) fn offer(&mut self, name: &str, plain: &[u8], most: usize) -> Result<bool, ServeError> {
        let characters = packed(plain).map_err(super::unwritten)?;
        let fits = characters.len() <= most;
        if fits {
            self.add(name, &characters);
        }
        Ok(fits)
    }

    /// Adds characters of which it is known that they fit.
    pub(super) fn add(&mut self, name: &str, characters: &str) {
        self.left = self.left.saturating_sub(characters.len());
        // A string takes all that is written to it.
        let _ = writeln!(self.html, "<script type=\"text/plain\" id=\"data-{name}\">{characters}</script>");
    }

    /// That what is needed takes more than the limit.
    pub(super) fn too_small(&self) -> ServeError {
        ServeError::Limit { limit: self.limit }
    }

    /// The page with all blocks, and what is said of them in the words of JSON.
    pub(super) fn within(mut self, page: &str, held: &str) -> Result<String, ServeError> {
        self.add("held", held);
        let (before, after) = page.split_once(PLACE).ok_or_else(|| super::unwritten("it has no place for data"))?;
        Ok([before, &self.html, after].concat())
    }
}

/// What packs bytes as they come.
pub(super) fn packer() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::default())
}

/// Packed, as characters.
pub(super) fn packed(plain: &[u8]) -> std::io::Result<String> {
    let mut packer = packer();
    packer.write_all(plain)?;
    Ok(base64(&packer.finish()?))
}

/// How many characters so many bytes are.
pub(super) fn characters(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// Bytes as characters: three are four.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(characters(bytes.len()));
    for three in bytes.chunks(3) {
        let all = three.iter().chain([0, 0].iter()).take(3).fold(0, |all: u32, byte| all << 8 | u32::from(*byte));
        for at in 0..4 {
            let six = all >> (18 - 6 * at) & 63;
            out.push(if at > three.len() { '=' } else { char::from(BASE64[six as usize]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_the_rfc_has_it() {
        // https://www.rfc-editor.org/rfc/rfc4648#section-10
        let told = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|plain| base64(plain.as_bytes()));
        assert_eq!(told, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }
}
