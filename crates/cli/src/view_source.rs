//! What `corewise view` shows: a trace folder, or any recording of another tool, which is first imported into the user's cache.

use crate::args::Global;
use crate::failure::Failure;
use crate::output::say;
use crate::progress::Line;
use crate::store_copies;
use engine::{Infer, PassOptions, Session, Target, open_source};
use serve::{Cache, CacheEntry, Preparation, ServeError};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The interval between updates of the page.
const INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of files of a folder that is recognised when it is viewed again.
const MAX_FILES: usize = 100_000;

/// Shows what is being done: on the terminal, and on the page if there is a server.
pub struct Progress<'a> {
    line: Line,
    page: Option<&'a Preparation>,
    last: Option<Instant>,
}

impl<'a> Progress<'a> {
    /// Creates a progress without text.
    pub fn new(page: Option<&'a Preparation>) -> Self {
        Self { line: Line::new(), page, last: None }
    }

    /// Shows a text; often called.
    pub fn show(&mut self, text: impl Fn() -> String) {
        self.show_share(None, text);
    }

    /// Shows a text and how much is done, 0 to 1, if that is known; often called.
    pub fn show_share(&mut self, share: Option<f64>, text: impl Fn() -> String) {
        self.line.show(&text);
        let Some(page) = self.page.filter(|_| self.last.is_none_or(|last| last.elapsed() >= INTERVAL)) else { return };
        page.show(text(), share);
        self.last = Some(Instant::now());
    }
}

/// A trace folder to view.
pub struct Source {
    /// The folder.
    pub folder: PathBuf,
    /// Its place in the cache, if it is there. It is not removed from the cache while this exists.
    pub cached: Option<CacheEntry>,
}

/// Returns whether this is a trace folder, complete or not. The engine says what to do about one that is incomplete.
fn is_trace_folder(path: &Path) -> bool {
    path.join("manifest.json").exists() || path.join("spool").is_dir()
}

/// Returns the trace folder of what the user named, after an import if it is a recording of another tool.
///
/// # Errors
/// It cannot be read, or the cache cannot be written.
pub fn folder(path: &Path, global: &Global, progress: &mut Progress<'_>) -> Result<Source, Failure> {
    let local = store_copies::local(path)?;
    let path = &*local;
    if is_trace_folder(path) {
        return Ok(Source { folder: path.to_owned(), cached: None });
    }
    let options = global.pass_options()?;
    let source = open_source(path)?;
    let nowhere = || {
        Failure::new(format!(
            "{} must be imported to be viewed, but there is no cache: set XDG_CACHE_HOME or HOME to an absolute path",
            path.display()
        ))
    };
    let cache = Cache::of_user().ok_or_else(nowhere)?;
    let name = name(path);
    let shown = name.to_string_lossy();
    let began = Instant::now();
    let (entry, made) = cache.trace(&key(path, &options), name, |to| {
        let accounted = engine::import(source.as_ref(), Target::New(to), &options, &mut |done| {
            let share = source.read_share().filter(|_| !done.stretches);
            progress.show_share(share, || match (done.stretches, share) {
                (true, _) => format!("Writing the stretches of {shown}: {} events read", done.events),
                (false, Some(share)) => format!("Reading {shown}: {:.0} %, {} events", share * 100.0, done.events),
                (false, None) => format!("Reading {shown}: {} events", done.events),
            });
        })?;
        if let Some(stopped) = &accounted.ingested.ending.stopped {
            say(&format!(
                "corewise: {}: reading stopped early: {stopped}; everything before that is shown",
                path.display()
            ));
        }
        Ok::<_, ImportFailure>(())
    })?;
    if made {
        say(&format!("Imported {} in {:.1} s", path.display(), began.elapsed().as_secs_f64()));
    }
    Ok(Source { folder: entry.path().join(name), cached: Some(entry) })
}

/// Opens a trace folder that [`folder`] returned.
///
/// # Errors
/// It cannot be read.
pub fn open(source: &Source, global: &Global) -> Result<Session, Failure> {
    let options = global.pass_options()?;
    // An import has taken losses into account as requested.
    let strict_loss = options.strict_loss && source.cached.is_none();
    Ok(Session::open(&source.folder, PassOptions { strict_loss, ..options })?)
}

/// Why a recording cannot be imported: it cannot be read, or the cache cannot be written.
struct ImportFailure(Failure);

impl From<engine::EngineError> for ImportFailure {
    fn from(why: engine::EngineError) -> Self {
        Self(why.into())
    }
}

impl From<ServeError> for ImportFailure {
    fn from(why: ServeError) -> Self {
        Self(why.into())
    }
}

impl From<ImportFailure> for Failure {
    fn from(why: ImportFailure) -> Self {
        why.0
    }
}

/// The name of the recording, as the viewer shows it.
fn name(path: &Path) -> &OsStr {
    match path.file_name() {
        _ if path == Path::new("-") => OsStr::new("standard input"),
        // The name of a file that contains the key.
        Some(name) if name != "used" => name,
        _ => OsStr::new("recording"),
    }
}

/// Returns a text that differs if the import would: the files with their sizes and times, the options, and this program. A pipe can be read
/// only once, so its text is always another one.
fn key(path: &Path, options: &PassOptions) -> String {
    let mut key = format!(
        "corewise {} {}\n",
        env!("CARGO_PKG_VERSION"),
        identity(std::fs::metadata("/proc/self/exe").ok().as_ref())
    );
    let PassOptions { strict_loss, hide_marks, machine, infer, .. } = options;
    let _ = writeln!(key, "{strict_loss} {hide_marks} {} {machine:?}", matches!(infer, Infer::Within));
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => add(&mut key, path, &about),
        Ok(about) if about.is_dir() && add_folder(&mut key, path, &about).is_some() => {}
        _ => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let _ = writeln!(key, "once {} {}", std::process::id(), now.as_nanos());
        }
    }
    key
}

fn add(key: &mut String, path: &Path, about: &Metadata) {
    let whole = path.canonicalize();
    let _ = writeln!(key, "{:?} {}", whole.as_deref().unwrap_or(path), identity(Some(about)));
}

/// Adds a folder with everything in it; `None` if it has too many files or one that cannot be examined.
fn add_folder(key: &mut String, path: &Path, about: &Metadata) -> Option<()> {
    add(key, path, about);
    let mut folders = vec![path.to_owned()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).ok()?.map(|entry| Some(entry.ok()?.path()));
        let mut paths = entries.collect::<Option<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            count += 1;
            // A link may lead to a folder above: what it leads to is not searched.
            let about = std::fs::symlink_metadata(&path).ok().filter(|_| count <= MAX_FILES)?;
            let _ = writeln!(
                key,
                "{path:?} {} {}",
                identity(Some(&about)),
                identity(std::fs::metadata(&path).ok().as_ref())
            );
            if about.is_dir() {
                folders.push(path);
            }
        }
    }
    Some(())
}

/// Returns what changes if the content of a file does. The time of the last change of its metadata cannot be set by a program.
fn identity(about: Option<&Metadata>) -> String {
    about.map_or_else(String::new, |of| {
        format!(
            "{} {} {} {}.{:09} {}.{:09}",
            of.dev(),
            of.ino(),
            of.size(),
            of.mtime(),
            of.mtime_nsec(),
            of.ctime(),
            of.ctime_nsec()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_changes_with_the_content_the_options_and_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.data");
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        let options = PassOptions::default();
        write("a");
        let first = key(&path, &options);
        assert_eq!(key(&path, &options), first);
        assert_ne!(key(&path, &PassOptions { strict_loss: true, ..options.clone() }), first);
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        // The same length, and a time of modification that a program has set back.
        write("b");
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        assert_ne!(key(&path, &options), first);
        let other = folder.path().join("other.data");
        std::fs::copy(&path, &other).unwrap();
        assert_ne!(key(&other, &options), key(&path, &options));
    }

    #[test]
    fn the_key_of_a_folder_changes_with_any_file_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("stream"), "1").unwrap();
        // A link to a folder above does not end the program.
        std::os::unix::fs::symlink(folder.path(), inner.join("up")).unwrap();
        let options = PassOptions::default();
        let first = key(folder.path(), &options);
        assert_eq!(key(folder.path(), &options), first);
        std::fs::write(inner.join("stream"), "12").unwrap();
        let second = key(folder.path(), &options);
        assert_ne!(second, first);
        std::fs::write(inner.join("more"), "").unwrap();
        assert_ne!(key(folder.path(), &options), second);
    }

    #[test]
    fn what_can_be_read_only_once_has_a_new_key_each_time() {
        let options = PassOptions::default();
        for path in ["-", "/dev/null"] {
            let first = key(Path::new(path), &options);
            std::thread::sleep(Duration::from_millis(1));
            assert_ne!(key(Path::new(path), &options), first, "{path}");
        }
    }

    #[test]
    fn names_are_those_of_the_files() {
        for (path, expected) in
            [("a/run.data", "run.data"), ("-", "standard input"), ("/", "recording"), ("x/used", "recording")]
        {
            assert_eq!(name(Path::new(path)), expected);
        }
    }
}
