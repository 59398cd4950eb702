//! Requests to a store.

use crate::error::StoreError;
use crate::object::{Object, When};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Location;
use object_store::{
    BackoffConfig, ClientConfigKey, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme,
    PutMode, PutOptions, PutPayload, RetryConfig, UpdateVersion, WriteMultipart,
};
use safefs::Dir;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use url::Url;

/// A request that is not answered for so long fails, and may be repeated.
const SILENCE: Duration = Duration::from_secs(30);
/// A connection must be made in this time.
const CONNECT: Duration = Duration::from_secs(10);
/// How often, and how long after the first try, a request is repeated.
const RETRIES: usize = 8;
const RETRY_FOR: Duration = Duration::from_secs(90);
/// Before each try, a random time passes, at most three times that before the last one.
const FIRST_WAIT: Duration = Duration::from_millis(300);
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// An object must arrive with at least this rate, bytes per second, after a minute.
const SLOWEST: u64 = 50_000;
/// Objects that are fetched at the same time by one call.
const AT_ONCE: usize = 8;
/// Files that are larger are sent in parts of this size, bytes, so many at the same time.
const PART: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 4;
/// The largest file that is sent as a whole where it must be, bytes.
const MAX_WHOLE: usize = 1 << 30;
/// What `object_store` says of a server that ignores which part of a file was requested.
const NO_RANGES: &str = "Range request not supported";
/// The largest object that is read into memory, bytes.
const MAX_READ: u64 = 64 << 20;

/// A folder of a store.
#[derive(Debug)]
pub struct Store {
    store: Arc<dyn ObjectStore>,
    prefix: Location,
    url: String,
    runtime: Runtime,
}

/// Which version of an object was read, to replace only this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version(UpdateVersion);

impl Store {
    /// Opens a folder of a store, or one object of it. No request is made. Credentials, and the store's address if it is not the provider's, come
    /// from the environment: the variables that begin with `AWS_`, `GOOGLE_` or `AZURE_`.
    ///
    /// # Errors
    /// It is not the URL of a store, or the environment is contradictory.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let wrong = |why: String| StoreError::Url { url: url.to_owned(), why };
        let parsed = Url::parse(url).map_err(|why| wrong(format!("this is not a URL: {why}")))?;
        if parsed.password().is_some() || parsed.query().is_some() || parsed.fragment().is_some() {
            let why = "a URL with a password, `?` or `#` is not supported: give credentials in the environment";
            return Err(wrong(why.to_owned()));
        }
        let known = "s3://, gs://, az:// (abfss://), https:// and http:// are known";
        let unknown = || wrong(format!("this kind of store is not known: {known}"));
        let (scheme, prefix) = ObjectStoreScheme::parse(&parsed).map_err(|_| unknown())?;
        let store = built(&scheme, &parsed).map_err(|why| wrong(why.to_string()))?.ok_or_else(unknown)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|why| wrong(format!("a thread for its requests cannot be started: {why}")))?;
        Ok(Self { store, prefix, url: url.trim_end_matches('/').to_owned(), runtime })
    }

    /// The URL, without `/` at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of an object.
    #[must_use]
    pub fn url_of(&self, key: &str) -> String {
        if key.is_empty() { self.url.clone() } else { format!("{}/{key}", self.url) }
    }

    fn location(&self, key: &str) -> Result<Location, StoreError> {
        let all = [self.prefix.as_ref(), key].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        Location::parse(all).map_err(|why| StoreError::Url { url: self.url_of(key), why: why.to_string() })
    }

    fn failed(&self, key: &str) -> impl Fn(Error) -> StoreError {
        let url = self.url_of(key);
        move |error| StoreError::of(&url, &error)
    }

    /// Lists all objects in a folder below the URL (`""`: all) and its subfolders, in no order.
    ///
    /// # Errors
    /// The store does not answer, refuses, or has a key that no file can have.
    pub fn list(&self, folder: &str, each: &mut dyn FnMut(Object)) -> Result<(), StoreError> {
        let within = self.location(folder)?;
        self.runtime.block_on(async {
            let mut all = self.store.list(Some(&within).filter(|of| !of.as_ref().is_empty()));
            while let Some(meta) = all.try_next().await.map_err(self.failed(folder))? {
                Object::of(meta, &self.prefix).into_iter().for_each(&mut *each);
            }
            Ok(())
        })
    }

    /// Finds one object; the key `""` is the URL itself.
    ///
    /// # Errors
    /// There is none, or the store does not answer or refuses.
    pub fn find(&self, key: &str) -> Result<Object, StoreError> {
        let location = self.location(key)?;
        let meta = self.runtime.block_on(self.store.head(&location)).map_err(self.failed(key))?;
        let etag = meta.e_tag;
        let modified_ns = meta.last_modified.timestamp_nanos_opt().unwrap_or(0);
        Ok(Object { key: key.to_owned(), bytes: meta.size, modified_ns, location, etag })
    }

    /// Reads an object of at most 64 MiB, and its version; `None` if there is none.
    ///
    /// # Errors
    /// It is larger, or the store does not answer or refuses.
    pub fn read(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, StoreError> {
        let location = self.location(key)?;
        let read = async {
            let got = self.store.get_opts(&location, GetOptions::default()).await?;
            let version = UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
            if got.meta.size > MAX_READ {
                let why = format!("it has {} bytes, more than expected", got.meta.size);
                return Err(Error::Generic { store: "store", source: why.into() });
            }
            let (limit, bytes) = (limit(got.meta.size), got.bytes());
            let bytes = tokio::time::timeout(limit, bytes).await.unwrap_or_else(|_| Err(too_slow()))?;
            Ok((bytes.to_vec(), Version(version)))
        };
        match self.runtime.block_on(read) {
            Ok(read) => Ok(Some(read)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(why) => Err(self.failed(key)(why)),
        }
    }

    /// Reads the first bytes of an object, at most as many as are wanted.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    pub fn head(&self, object: &Object, wanted: u64) -> Result<Vec<u8>, StoreError> {
        if object.bytes == 0 {
            return Ok(Vec::new());
        }
        let wanted = wanted.min(object.bytes);
        let options = |range| GetOptions { range, if_match: object.etag.clone(), ..GetOptions::default() };
        let read = async {
            let get = |range| self.store.get_opts(&object.location, options(range));
            let got = match get(Some(GetRange::Bounded(0..wanted))).await {
                // A web server that only sends all of a file: the rest is not waited for.
                Err(why) if why.to_string().contains(NO_RANGES) => get(None).await?,
                got => got?,
            };
            let (mut head, mut parts) = (Vec::new(), got.into_stream());
            while (head.len() as u64) < wanted
                && let Some(part) = parts.try_next().await?
            {
                head.extend_from_slice(&part);
            }
            head.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
            Ok(head)
        };
        self.runtime.block_on(read).map_err(self.failed(&object.key))
    }

    /// Fetches objects into a folder, each into the file that its key names after `folder/`; of one that has the name `folder`, into a file with its
    /// last name. An object without content that stands for a folder is left out.
    ///
    /// # Errors
    /// An object has changed since it was listed, or arrives too slowly; the store does not answer or refuses; a file cannot be written.
    pub fn fetch(&self, objects: &[Object], folder: &str, into: &Dir) -> Result<(), StoreError> {
        let is_folder = |object: &Object| {
            let within = format!("{}/", object.key);
            object.bytes == 0 && objects.iter().any(|other| other.key.starts_with(&within))
        };
        let fetched = objects.iter().filter(|object| !is_folder(object)).map(|object| {
            let below = object.key.strip_prefix(folder).and_then(|key| key.strip_prefix('/'));
            let name = below.filter(|_| !folder.is_empty()).unwrap_or_else(|| match folder {
                "" => &object.key,
                _ => object.name(),
            });
            self.fetch_one(object, name, into)
        });
        let all = futures_util::stream::iter(fetched).buffer_unordered(AT_ONCE);
        self.runtime.block_on(all.try_collect::<()>())
    }

    async fn fetch_one(&self, object: &Object, name: &str, into: &Dir) -> Result<(), StoreError> {
        let local = |why: std::io::Error| StoreError::Local {
            url: self.url_of(&object.key),
            why: format!("its copy cannot be written: {why}"),
        };
        let mut file = create(into, name).map_err(local)?;
        let options = GetOptions { if_match: object.etag.clone(), ..GetOptions::default() };
        let mut written = 0;
        let copy = async {
            let mut parts =
                self.store.get_opts(&object.location, options).await.map_err(self.failed(&object.key))?.into_stream();
            while let Some(part) = parts.try_next().await.map_err(self.failed(&object.key))? {
                written += part.len() as u64;
                file.write_all(&part).map_err(local)?;
            }
            Ok(())
        };
        let slow = |_| Err(self.failed(&object.key)(too_slow()));
        tokio::time::timeout(limit(object.bytes), copy).await.unwrap_or_else(slow)?;
        if written != object.bytes {
            return Err(StoreError::Changed(self.url_of(&object.key)));
        }
        Ok(())
    }

    /// Writes an object. Returns its version.
    ///
    /// # Errors
    /// There is one already ([`When::New`]), or another version ([`When::Same`]); the store does not answer or refuses.
    pub fn put(&self, key: &str, bytes: Vec<u8>, when: When) -> Result<Version, StoreError> {
        let location = self.location(key)?;
        let mode = match when {
            When::Always => PutMode::Overwrite,
            When::New => PutMode::Create,
            When::Same(version) => PutMode::Update(version.0),
        };
        let payload = PutPayload::from(bytes);
        let put = |mode: PutMode| {
            let options = PutOptions { mode, ..PutOptions::default() };
            self.runtime.block_on(self.store.put_opts(&location, payload.clone(), options))
        };
        let result = match put(mode) {
            // A store without conditions, such as WebDAV.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => put(PutMode::Overwrite),
            result => result,
        };
        Ok(Version(result.map_err(self.failed(key))?.into()))
    }

    /// Writes an object with the content of a file, a large one in parts.
    ///
    /// # Errors
    /// The file cannot be read; the store does not answer or refuses.
    pub fn put_file(&self, key: &str, mut file: File) -> Result<(), StoreError> {
        let local =
            |why: std::io::Error| StoreError::Local { url: self.url_of(key), why: format!("reading the file: {why}") };
        let mut next = move || {
            let mut part = Vec::new();
            (&mut file).take(PART as u64).read_to_end(&mut part).map_err(local)?;
            Ok::<_, StoreError>(part)
        };
        let first = next()?;
        if first.len() < PART {
            return self.put(key, first, When::Always).map(|_| ());
        }
        let location = self.location(key)?;
        self.runtime.block_on(async {
            let upload = match self.store.put_multipart(&location).await {
                // A store without parts, such as WebDAV.
                Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {
                    let mut whole = first;
                    loop {
                        let part = next()?;
                        if part.is_empty() {
                            break;
                        }
                        whole.extend_from_slice(&part);
                        if whole.len() > MAX_WHOLE {
                            let why = "this store takes no file of more than 1 GiB".to_owned();
                            return Err(StoreError::Local { url: self.url_of(key), why });
                        }
                    }
                    let put = self.store.put(&location, whole.into()).await;
                    return put.map(|_| ()).map_err(self.failed(key));
                }
                upload => upload.map_err(self.failed(key))?,
            };
            let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
            let sent = async {
                let mut part = first;
                while !part.is_empty() {
                    writer.wait_for_capacity(PARTS_AT_ONCE).await.map_err(self.failed(key))?;
                    writer.put(part.into());
                    part = next()?;
                }
                Ok(())
            };
            match sent.await {
                Ok(()) => writer.finish().await.map(|_| ()).map_err(self.failed(key)),
                Err(why) => {
                    // Parts that were sent would stay in the store, and cost money, without being listed.
                    let _ = writer.abort().await;
                    Err(why)
                }
            }
        })
    }

    /// Removes objects, in no order. One that is not there is no error.
    ///
    /// # Errors
    /// The store does not answer or refuses.
    pub fn remove(&self, keys: &[String]) -> Result<(), StoreError> {
        let locations = keys.iter().map(|key| self.location(key)).collect::<Result<Vec<_>, _>>()?;
        let locations = futures_util::stream::iter(locations.into_iter().map(Ok)).boxed();
        self.runtime.block_on(async {
            let mut removed = self.store.delete_stream(locations);
            while let Some(result) = removed.next().await {
                match result {
                    Ok(_) | Err(Error::NotFound { .. }) => {}
                    Err(why) => return Err(self.failed(keys.first().map_or("", String::as_str))(why)),
                }
            }
            Ok(())
        })
    }
}

/// How long an object of this size may take.
fn limit(bytes: u64) -> Duration {
    RETRY_FOR + Duration::from_secs(bytes / SLOWEST)
}

fn too_slow() -> Error {
    Error::Generic { store: "store", source: "it answers too slowly".into() }
}

/// Makes a file, and the folders above it.
fn create(into: &Dir, name: &str) -> std::io::Result<File> {
    match name.split_once('/') {
        Some((folder, rest)) => create(&into.open_or_make(folder)?, rest),
        None => into.create(name),
    }
}

/// The client of a store; `None` for a kind of store that is none of those.
fn built(scheme: &ObjectStoreScheme, url: &Url) -> Result<Option<Arc<dyn ObjectStore>>, Error> {
    // Fails if there is one already, which is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let retry = || RetryConfig {
        backoff: BackoffConfig { init_backoff: FIRST_WAIT, max_backoff: LONGEST_WAIT, base: 3.0 },
        max_retries: RETRIES,
        retry_timeout: RETRY_FOR,
    };
    let seconds = |of: Duration| format!("{} s", of.as_secs());
    // The limit of a whole request is `limit`.
    let clients = [
        (ClientConfigKey::ReadTimeout, seconds(SILENCE)),
        (ClientConfigKey::ConnectTimeout, seconds(CONNECT)),
        (ClientConfigKey::Timeout, "1 day".to_owned()),
    ];
    Ok(Some(match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = AmazonS3Builder::from_env().with_url(url.as_str()).with_retry(retry());
            let with =
                |builder: AmazonS3Builder, (key, value)| builder.with_config(AmazonS3ConfigKey::Client(key), value);
            Arc::new(clients.into_iter().fold(builder, with).build()?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str()).with_retry(retry());
            let with = |builder: GoogleCloudStorageBuilder, (key, value)| {
                builder.with_config(GoogleConfigKey::Client(key), value)
            };
            Arc::new(clients.into_iter().fold(builder, with).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str()).with_retry(retry());
            let with =
                |builder: MicrosoftAzureBuilder, (key, value)| builder.with_config(AzureConfigKey::Client(key), value);
            Arc::new(clients.into_iter().fold(builder, with).build()?)
        }
        ObjectStoreScheme::Http => {
            let builder = HttpBuilder::new().with_url(&url[..url::Position::BeforePath]).with_retry(retry());
            let allowed = (ClientConfigKey::AllowHttp, (url.scheme() == "http").to_string());
            let with = |builder: HttpBuilder, (key, value): (_, String)| builder.with_config(key, value);
            Arc::new(clients.into_iter().chain([allowed]).fold(builder, with).build()?)
        }
        _ => return Ok(None),
    }))
}
