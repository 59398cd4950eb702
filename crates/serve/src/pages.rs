//! The viewer's pages, embedded when the binary was built.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// The paths of requests and their contents.
static PAGES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

const INDEX: &str = "/index.html";
/// The page that needs no server; it is not served.
const ALONE: &str = "/alone.html";

/// Returns whether the binary contains the viewer.
#[must_use]
pub fn are_built() -> bool {
    PAGES.iter().any(|page| page.0 == INDEX)
}

/// Returns the page that needs no server, without data, if the viewer was built.
pub(crate) fn alone() -> Option<&'static str> {
    PAGES.iter().find(|page| page.0 == ALONE).and_then(|page| std::str::from_utf8(page.1).ok())
}

/// Returns the type and contents of a page by the whole path of a request.
pub(crate) fn page(path: &str) -> Option<(&'static str, &'static [u8])> {
    let path = if path == "/" { INDEX } else { path };
    let (name, bytes) = PAGES.iter().find(|page| page.0 == path && path != ALONE)?;
    let kind = match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    Some((kind, bytes))
}

/// Answers a request for a page.
pub(crate) fn answer(path: &str) -> Response {
    match page(path) {
        Some((kind, bytes)) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
        None if path == "/" => (StatusCode::NOT_FOUND, NOT_BUILT).into_response(),
        None => (StatusCode::NOT_FOUND, "page not found\n").into_response(),
    }
}

const NOT_BUILT: &str = "this build of corewise has no viewer: run `make` in its source folder, with npm installed\n";
