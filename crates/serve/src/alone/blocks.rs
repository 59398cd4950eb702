//! The data of a page: base64 blocks, up to a size limit.

use crate::ServeError;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::Write as _;

/// The placeholder for the data in the page.
const PLACE: &str = "<!-- data -->";

/// Blocks in the order in which they were added.
pub(super) struct Blocks {
    html: String,
    limit: usize,
    left: usize,
}

impl Blocks {
    /// Creates an empty list with a limit in characters.
    pub(super) fn new(limit: usize) -> Self {
        Self { html: String::new(), limit, left: limit }
    }

    /// The number of characters that still fit.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Adds a block that every page needs.
    pub(super) fn must(&mut self, name: &str, plain: &[u8]) -> Result<(), ServeError> {
        match self.offer(name, plain, self.left)? {
            true => Ok(()),
            false => Err(self.too_small()),
        }
    }

    /// Adds a block if it takes at most `most` characters; returns whether it was added.
    pub(super) fn offer(&mut self, name: &str, plain: &[u8], most: usize) -> Result<bool, ServeError> {
        let characters = packed(plain).map_err(super::unwritten)?;
        let fits = characters.len() <= most;
        if fits {
            self.add(name, &characters);
        }
        Ok(fits)
    }

    /// Adds a block that is known to fit.
    pub(super) fn add(&mut self, name: &str, characters: &str) {
        self.left = self.left.saturating_sub(characters.len());
        // Writing to a string cannot fail.
        let _ = writeln!(self.html, "<script type=\"text/plain\" id=\"data-{name}\">{characters}</script>");
    }

    /// Returns the error for a limit that is too small.
    pub(super) fn too_small(&self) -> ServeError {
        ServeError::Limit { limit: self.limit }
    }

    /// Returns the page with all blocks, and their description in JSON.
    pub(super) fn within(mut self, page: &str, held: &str) -> Result<String, ServeError> {
        self.add("held", held);
        let (before, after) =
            page.split_once(PLACE).ok_or_else(|| super::unwritten("the page has no placeholder for data"))?;
        Ok([before, &self.html, after].concat())
    }
}

/// Returns a gzip encoder.
pub(super) fn packer() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::default())
}

/// Compresses and encodes data as base64.
pub(super) fn packed(plain: &[u8]) -> std::io::Result<String> {
    let mut packer = packer();
    packer.write_all(plain)?;
    Ok(BASE64_STANDARD.encode(packer.finish()?))
}

/// Returns the number of base64 characters for a number of bytes.
pub(super) fn characters(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}
