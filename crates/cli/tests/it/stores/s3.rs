//! A small S3 store in this process, which fails on request. It counts requests, and checks no signatures.

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};

/// Keys that one answer to a list has, so that lists have several pages.
const PAGE: usize = 20;

#[derive(Default)]
pub struct State {
    /// Objects by key, with a number that changes with each write.
    pub objects: BTreeMap<String, (Vec<u8>, u64)>,
    writes: u64,
    /// Requests as `GET key`.
    pub requests: Vec<String>,
    /// Requests that begin so fail with a status, so many times.
    pub failing: Vec<(String, u16, usize)>,
    /// Keys of which half of the content arrives.
    pub truncated: Vec<String>,
    /// Whether it sends whole objects, whatever part is requested.
    pub ignores_ranges: bool,
    /// Keys that someone else writes as soon as they were read.
    pub contended: Vec<String>,
}

/// The store, with one bucket named `bucket`.
pub struct Store {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Store {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let of = state.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
                    let of = of.clone();
                    async move { of.lock().unwrap().answer(&method, &uri, &headers, &body) }
                };
                let app = axum::Router::new().fallback(answer).layer(axum::extract::DefaultBodyLimit::disable());
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await.unwrap();
            });
        });
        Self { state, port }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The environment of a client.
    pub fn environment(&self) -> [(&'static str, String); 6] {
        [
            ("AWS_ACCESS_KEY_ID", "a".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "b".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
        ]
    }
}

fn tag(number: u64) -> String {
    format!("\"{number}\"")
}

impl State {
    pub fn put(&mut self, key: &str, content: &[u8]) -> u64 {
        self.writes += 1;
        self.objects.insert(key.to_owned(), (content.to_vec(), self.writes));
        self.writes
    }

    pub fn keys(&self, prefix: &str) -> Vec<&str> {
        self.objects.keys().map(String::as_str).filter(|key| key.starts_with(prefix)).collect()
    }

    fn answer(&mut self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &Bytes) -> Response {
        let key = uri.path().trim_start_matches("/bucket").trim_start_matches('/');
        let key = decoded(key);
        self.requests.push(format!("{method} {key}"));
        let request = format!("{method} {key}");
        if let Some(of) = self.failing.iter_mut().find(|(of, _, left)| request.starts_with(of.as_str()) && *left > 0) {
            of.2 -= 1;
            return (StatusCode::from_u16(of.1).unwrap(), "<Error>on request</Error>").into_response();
        }
        let query = uri.query().unwrap_or_default();
        match *method {
            Method::GET if key.is_empty() => self.list(query).into_response(),
            Method::GET | Method::HEAD => self.get(&key, headers),
            Method::PUT => self.write(&key, headers, body),
            Method::POST => {
                let text = String::from_utf8_lossy(body);
                let keys = text.split("<Key>").skip(1).filter_map(|part| part.split("</Key>").next());
                let mut out = String::from("<DeleteResult>");
                for key in keys {
                    self.objects.remove(key);
                    let _ = write!(out, "<Deleted><Key>{key}</Key></Deleted>");
                }
                (out + "</DeleteResult>").into_response()
            }
            _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        }
    }

    fn list(&self, query: &str) -> String {
        let of = |name: &str| {
            let values = query.split('&').filter_map(|part| part.split_once('='));
            let value = values.into_iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value);
            decoded(value)
        };
        let (prefix, after) = (of("prefix"), of("continuation-token"));
        let mut page = self.objects.iter().filter(|(key, _)| key.starts_with(&prefix) && **key > after).peekable();
        let mut out = String::from("<ListBucketResult>");
        let mut last = String::new();
        for (key, (content, number)) in page.by_ref().take(PAGE) {
            let _ = write!(
                out,
                "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                time(*number),
                tag(*number),
                content.len()
            );
            last.clone_from(key);
        }
        if page.peek().is_some() {
            let _ = write!(out, "<NextContinuationToken>{last}</NextContinuationToken>");
        }
        out + "</ListBucketResult>"
    }

    fn get(&mut self, key: &str, headers: &HeaderMap) -> Response {
        let Some((content, number)) = self.objects.get(key).cloned() else {
            return (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response();
        };
        if headers.get("if-match").is_some_and(|wanted| wanted.to_str().ok() != Some(tag(number).as_str())) {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        if self.contended.iter().any(|of| of == key) {
            self.put(key, &content);
        }
        let same = [("etag", tag(number)), ("last-modified", "Fri, 27 Nov 2026 06:00:00 GMT".to_owned())];
        let range = headers.get("range").and_then(|range| range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-'));
        if let Some((from, to)) = range.filter(|_| !self.ignores_ranges) {
            let (from, end) = (from.parse().unwrap(), to.parse::<usize>().unwrap().min(content.len() - 1) + 1);
            let within = ("content-range", format!("bytes {from}-{}/{}", end - 1, content.len()));
            return (StatusCode::PARTIAL_CONTENT, same, [within], content[from..end].to_vec()).into_response();
        }
        let half = if self.truncated.iter().any(|of| of == key) { content.len() / 2 } else { content.len() };
        (same, content[..half].to_vec()).into_response()
    }

    fn write(&mut self, key: &str, headers: &HeaderMap, body: &Bytes) -> Response {
        let now = self.objects.get(key).map(|(_, number)| tag(*number));
        let matches = headers.get("if-match").map(|wanted| wanted.to_str().ok() == now.as_deref());
        if matches == Some(false) || headers.contains_key("if-none-match") && now.is_some() {
            return StatusCode::PRECONDITION_FAILED.into_response();
        }
        let number = self.put(key, body);
        ([("etag", tag(number))], "").into_response()
    }
}

/// Decodes `%2F` and the like.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

/// A time that moves with each write.
fn time(number: u64) -> String {
    format!("2026-11-27T{:02}:{:02}:{:02}.000Z", 6 + number / 3600, number / 60 % 60, number % 60)
}
