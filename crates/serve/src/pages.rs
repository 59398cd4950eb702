//! The viewer's pages, embedded when the binary was built.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use web::VIEWER;

/// The page that needs no server; it is not served.
const ALONE: &str = "/alone.html";

/// Returns whether the binary contains the viewer.
#[must_use]
pub fn are_built() -> bool {
    VIEWER.are_built()
}

/// Returns the page that needs no server, without data, if the viewer was built.
pub(crate) fn alone() -> Option<&'static str> {
    VIEWER.page(ALONE).and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
}

/// Returns the type and contents of a page by the whole path of a request.
pub(crate) fn page(path: &str) -> Option<(&'static str, &'static [u8])> {
    VIEWER.page(path).filter(|_| path != ALONE)
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
