//! The format of an answer, by the request's header `Accept`.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use mediatype::{MediaType, MediaTypeList, Name, ReadParams};

/// A format in which metrics are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Prometheus' classic text, version 0.0.4: the default.
    Text,
    /// OpenMetrics' text, version 1.0.0.
    OpenMetrics,
    /// Prometheus' protobuf, each family with its length before it: classic and native histograms.
    Protobuf,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Text, Self::OpenMetrics, Self::Protobuf];

    /// Returns the header `Content-Type` of an answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// Chooses the format with the highest quality; of equal ones the first in the header, as Prometheus orders them. Classic text if
    /// the header has none of them or is missing: a metric in another format than wanted is better than none.
    #[must_use]
    pub fn accepted(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut best = (0.0, Self::Text);
        for one in values.flat_map(|value| MediaTypeList::new(value).filter_map(Result::ok)) {
            let quality = param(&one, "q").map_or(Some(1.0), |q| q.parse().ok());
            match (named(&one), quality) {
                (Some(format), Some(quality)) if quality > best.0 => best = (quality, format),
                _ => {}
            }
        }
        best.1
    }
}

/// Returns the format that a media type names; a range such as `*/*` is the default.
fn named(media: &MediaType<'_>) -> Option<Format> {
    let is = |name, value: &str| param(media, name).is_some_and(|v| v.eq_ignore_ascii_case(value));
    let version = |of: &str| param(media, "version").is_none_or(|v| v == of);
    match media.essence().to_string().to_ascii_lowercase().as_str() {
        "application/openmetrics-text" if version("1.0.0") => Some(Format::OpenMetrics),
        "text/plain" if version("0.0.4") => Some(Format::Text),
        "*/*" | "text/*" => Some(Format::Text),
        "application/vnd.google.protobuf"
            if is("proto", "io.prometheus.client.MetricFamily") && is("encoding", "delimited") =>
        {
            Some(Format::Protobuf)
        }
        _ => None,
    }
}

/// Returns a parameter of a media type, without quotes.
fn param(media: &MediaType<'_>, name: &'static str) -> Option<String> {
    media.get_param(Name::new(name)?).map(|value| value.unquoted_str().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn accepted(header: &'static str) -> Format {
        Format::accepted(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(header))]))
    }

    #[test]
    fn prometheus_gets_its_first_choice() {
        // As Debian's Prometheus 2.42 sends it, without and with native histograms.
        let plain = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                     text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(accepted(plain), Format::OpenMetrics);
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                      application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,\
                      text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(accepted(native), Format::Protobuf);
        let third =
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.6";
        assert_eq!(accepted(third), Format::Text);
    }

    #[test]
    fn everything_else_gets_classic_text() {
        assert_eq!(Format::accepted(&HeaderMap::new()), Format::Text);
        for header in [
            "",
            "*/*",
            "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
            "application/vnd.google.protobuf",
            "application/openmetrics-text;version=2.0.0",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=many",
            ";;;,,,q=1",
        ] {
            assert_eq!(accepted(header), Format::Text, "{header}");
        }
    }
}
