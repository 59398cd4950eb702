//! Errors of the crate `object_store`, as those of this crate.

use crate::error::StoreError;

/// The longest part of a store's own message that is shown.
const LONGEST: usize = 240;
/// Where Amazon's machines have their credentials: a request there means that there were none elsewhere.
const NO_CREDENTIALS: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "metadata/identity"];

impl StoreError {
    pub(crate) fn of(url: &str, error: &object_store::Error) -> Self {
        use object_store::Error;
        let url = url.to_owned();
        match error {
            Error::NotFound { .. } => Self::NotFound(url),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Self::Denied { url, why: why(error) },
            Error::AlreadyExists { .. } | Error::Precondition { .. } => Self::Changed(url),
            _ if NO_CREDENTIALS.iter().any(|place| error.to_string().contains(place)) => {
                let why = "no credentials were found".to_owned();
                Self::Denied { url, why }
            }
            // Lists have no errors of their own.
            _ => match why(error) {
                why if ["code: 401", "code: 403"].iter().any(|code| why.contains(code)) => Self::Denied { url, why },
                why if why.contains("code: 404") => Self::NotFound(url),
                why => Self::Unreachable { url, why },
            },
        }
    }
}

/// The innermost message, as one line.
fn why(error: &object_store::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    // The outer ones have the request; only one of a single layer says it all.
    let text = inner.to_string();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_and_say_what_to_do() {
        let of = |text: &str| object_store::Error::Generic { store: "S3", source: text.to_owned().into() };
        let error = StoreError::of("s3://b/x", &of("503\n  Slow Down"));
        assert_eq!(error.to_string(), "s3://b/x: the request failed: 503 Slow Down");
        let refused = StoreError::of("s3://b/x", &of("Server returned non-2xx status code: 403 Forbidden: no"));
        assert!(matches!(&refused, StoreError::Denied { .. }), "{refused}");
        let none = StoreError::of("s3://b/x", &of("PUT http://169.254.169.254/latest/api/token: timed out"));
        assert!(matches!(&none, StoreError::Denied { .. }), "{none}");
        assert!(none.to_string().contains("check the credentials"), "{none}");
    }
}
