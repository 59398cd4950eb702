//! Debug files from debuginfod servers (debuginfod(8)): `URL/buildid/BUILDID/debuginfo` and `…/executable`.
//!
//! A server gets requests only if the user wants it: a request says which program was recorded. What comes is kept in a folder, as
//! `BUILDID/debuginfo`, which has a limit.

use crate::debug_cache::DebugCache;
use crate::debug_file::DebugFile;
use reqwest::{Client, StatusCode};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use url::Url;

/// A connection must be made in this time, and a server must not be silent for longer.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(60);
/// A file must arrive with at least this rate, bytes per second, after a minute.
const SLOWEST: u64 = 20_000;
/// After so many failures in a row a server gets no more requests: one answer of 500 may be about one file.
const FAILURES: u32 = 3;

/// The servers, and the folder for what they send.
#[derive(Debug)]
pub struct Debuginfod {
    urls: Vec<String>,
    client: Client,
    runtime: Runtime,
    cache: DebugCache,
    /// The largest file that is fetched, bytes.
    largest: u64,
    /// How often each server failed in a row.
    failures: Vec<u32>,
}

impl Debuginfod {
    /// Prepares requests to these servers. `cache`: the folder, of at most so many bytes. `largest`: the largest file that is fetched.
    ///
    /// # Errors
    /// A sentence: a URL is wrong, or the folder cannot be made.
    pub fn new(urls: &[String], cache: &Path, limit: u64, largest: u64) -> Result<Self, String> {
        for url in urls {
            let parsed = Url::parse(url).map_err(|why| format!("DEBUGINFOD_URLS: {url} is not a URL: {why}"))?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err(format!("DEBUGINFOD_URLS: {url}: only http:// and https:// are known"));
            }
        }
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).user_agent("corewise").build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            urls: urls.iter().map(|url| url.trim_end_matches('/').to_owned()).collect(),
            client: client.map_err(|why| format!("requests cannot be made: {why}"))?,
            runtime: runtime.map_err(|why| format!("requests cannot be made: {why}"))?,
            cache: DebugCache::open(cache, limit).map_err(|why| format!("{}: {why}", cache.display()))?,
            largest,
            failures: vec![0; urls.len()],
        })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.cache.path()
    }

    /// Whether no server answers.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.failures.iter().all(|failures| *failures >= FAILURES)
    }

    /// Fetches a file, unless the folder has it. `is_it`: whether a file is of that build id; another one is refused. `progress` is called with
    /// the bytes so far.
    ///
    /// Returns the file, or `None` if no server has it.
    ///
    /// # Errors
    /// A sentence for each server that failed, if none has it.
    pub fn fetch(
        &mut self,
        id: &str,
        what: DebugFile,
        is_it: &dyn Fn(&Path) -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<PathBuf>, Vec<String>> {
        if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) || id.len() < 4 {
            return Ok(None);
        }
        let kept = self.cache.path().join(id).join(what.name());
        if is_it(&kept) {
            self.cache.used(id);
            return Ok(Some(kept));
        }
        let mut failed = Vec::new();
        for at in 0..self.urls.len() {
            if self.failures[at] >= FAILURES {
                continue;
            }
            let url = format!("{}/buildid/{id}/{}", self.urls[at], what.name());
            match self.get(&url, id, what, is_it, progress) {
                Ok(Some(path)) => {
                    self.failures[at] = 0;
                    return Ok(Some(path));
                }
                Ok(None) => self.failures[at] = 0,
                Err(Failed { why, failures }) => {
                    self.failures[at] = self.failures[at].saturating_add(failures);
                    failed.push(format!("{url}: {why}"));
                }
            }
        }
        if failed.is_empty() { Ok(None) } else { Err(failed) }
    }

    fn get(
        &mut self,
        url: &str,
        id: &str,
        what: DebugFile,
        is_it: &dyn Fn(&Path) -> bool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<PathBuf>, Failed> {
        let mut part = self.cache.part().map_err(|why| Failed::storing(&why))?;
        let found = self.runtime.block_on(async {
            let mut answer = self.client.get(url).send().await.map_err(|why| Failed::request(&why))?;
            match answer.status() {
                StatusCode::NOT_FOUND => return Ok(false),
                status if !status.is_success() => {
                    return Err(Failed {
                        why: format!("the server answers {status}"),
                        failures: u32::from(status.is_server_error()),
                    });
                }
                _ => {}
            }
            let too_large = || {
                let why = format!(
                    "the file has more than {} MB, the limit of --max-download: give a larger one to fetch it",
                    self.largest / 1_000_000
                );
                Failed { why, failures: 0 }
            };
            if answer.content_length().is_some_and(|bytes| bytes > self.largest) {
                return Err(too_large());
            }
            let (begin, mut bytes) = (Instant::now(), 0_u64);
            while let Some(more) = answer.chunk().await.map_err(|why| Failed::request(&why))? {
                bytes += more.len() as u64;
                if bytes > self.largest {
                    return Err(too_large());
                }
                let seconds = begin.elapsed().as_secs();
                if seconds > 60 && bytes / seconds < SLOWEST {
                    return Err(Failed { why: "the server sends too slowly".to_owned(), failures: FAILURES });
                }
                part.file.write_all(&more).map_err(|why| Failed::storing(&why))?;
                progress(bytes);
            }
            Ok(true)
        })?;
        if !found {
            return Ok(None);
        }
        part.file.flush().map_err(|why| Failed::storing(&why))?;
        if !is_it(&part.path) {
            let why = "what the server sent is not of this build id: it is not used".to_owned();
            return Err(Failed { why, failures: 0 });
        }
        self.cache.keep(part, id, what.name()).map(Some).map_err(|why| Failed::storing(&why))
    }
}

/// Why a file was not fetched.
struct Failed {
    why: String,
    /// How many failures of the server it counts as.
    failures: u32,
}

impl Failed {
    fn storing(why: &std::io::Error) -> Self {
        Self { why: format!("it cannot be stored: {why}"), failures: 0 }
    }

    fn request(why: &reqwest::Error) -> Self {
        let words = match () {
            () if why.is_timeout() => "the server did not answer in time".to_owned(),
            () if why.is_connect() => "no connection to the server (is this machine online?)".to_owned(),
            () => {
                let mut all = why.to_string();
                let mut source = std::error::Error::source(why);
                while let Some(of) = source {
                    all = format!("{all}: {of}");
                    source = of.source();
                }
                all
            }
        };
        Self { why: words, failures: FAILURES }
    }
}
