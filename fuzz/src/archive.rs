//! A folder of files as one input.

use ingest::{Folder, ReadSeek};
use std::collections::BTreeMap;
use std::io::{Cursor, Error, ErrorKind};

/// What precedes the name of each file, which ends with its line. There are neither lengths nor checksums, so that most
/// mutations of an archive change the content of a file or where it ends, and no archive is invalid.
const SEPARATOR: &[u8] = b"\n=== ";
/// The maximum number of files.
const MAX_FILES: usize = 64;

/// The files of a folder, by name.
#[derive(Clone)]
pub(crate) struct Archive<'a>(BTreeMap<String, &'a [u8]>);

impl<'a> Archive<'a> {
    /// Reads `=== NAME`, a line end and the content of each file.
    ///
    /// ```text
    ///   === metadata
    ///   /* CTF 1.8 */ …
    ///   === channel0_0
    ///   …
    /// ```
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let mut rest = bytes.strip_prefix(&SEPARATOR[1..]);
        let mut files = BTreeMap::new();
        while let Some(file) = rest.filter(|_| files.len() < MAX_FILES) {
            let (file, next) = split(file, SEPARATOR);
            let (name, content) = split(file, b"\n");
            files.insert(String::from_utf8_lossy(name).into_owned(), content.unwrap_or_default());
            rest = next;
        }
        Self(files)
    }

    /// Returns the content of a file as text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|content| String::from_utf8_lossy(content).into_owned())
    }

    /// Returns all files as texts, by name.
    pub(crate) fn texts(&self) -> BTreeMap<&str, String> {
        self.0.iter().map(|(name, content)| (name.as_str(), String::from_utf8_lossy(content).into_owned())).collect()
    }
}

/// Splits bytes at the first separator.
fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> (&'a [u8], Option<&'a [u8]>) {
    match memchr::memmem::find(bytes, separator) {
        Some(at) => (&bytes[..at], Some(&bytes[at + separator.len()..])),
        None => (bytes, None),
    }
}

/// The files of an archive, for as long as the streams are read.
impl Folder for Archive<'_> {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn open(&self, name: &str) -> std::io::Result<Box<dyn ReadSeek + Send>> {
        let content = self.0.get(name).ok_or_else(|| Error::from(ErrorKind::NotFound))?;
        Ok(Box::new(Cursor::new(content.to_vec())))
    }
}
