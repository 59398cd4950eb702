//! The data of a page: blocks of characters, as many as the limit allows.

use crate::ServeError;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;

/// Where the page has its data.
const PLACE: &str = "<!-- data -->";

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
    Ok(BASE64_STANDARD.encode(packer.finish()?))
}

/// How many characters of base64 so many bytes are.
pub(super) fn characters(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
