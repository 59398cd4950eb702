//! The pages that are part of the binary, found by comparing whole paths: no text of a request reaches the file system.

/// The viewer's pages.
pub static VIEWER: Pages = Pages(include!(concat!(env!("OUT_DIR"), "/dist.rs")));
/// The page of `corewise watch`.
pub static WATCH: Pages = Pages(include!(concat!(env!("OUT_DIR"), "/dist-watch.rs")));

const INDEX: &str = "/index.html";

/// Paths of requests and their contents.
#[derive(Debug)]
pub struct Pages(&'static [(&'static str, &'static [u8])]);

impl Pages {
    /// Returns whether the pages were built before the binary.
    #[must_use]
    pub fn are_built(&self) -> bool {
        self.page(INDEX).is_some()
    }

    /// Returns the type and contents of a page by the whole path of a request.
    #[must_use]
    pub fn page(&self, path: &str) -> Option<(&'static str, &'static [u8])> {
        let path = if path == "/" { INDEX } else { path };
        let (name, bytes) = self.0.iter().find(|page| page.0 == path)?;
        let kind = match name.rsplit_once('.')?.1 {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => "application/octet-stream",
        };
        Some((kind, bytes))
    }
}
