//! Levels of detail: found in the trace folder or the user's cache, or made there.

use crate::kinds::{KINDS, Shown};
use crate::making::{CPUS, KEPT, Kept, PART, THREADS, file_of, make, part};
use crate::{ServeError, Tracks};
use engine::Session;
use levels::{Detail, Reader, States, Values};
use safefs::Dir;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Their folder in a trace folder.
const LEVELS: &str = "levels";
/// Counts up when the order of tracks, or what a slice holds, changes.
const LAYOUT: u32 = 3;

/// The levels of detail of a trace.
pub struct Prepared {
    pub(crate) threads: Reader<States>,
    pub(crate) cpus: Reader<States>,
    pub(crate) kinds: Vec<(Shown, Levels)>,
    /// Whether they were made now.
    pub made: bool,
}

/// Of one kind.
pub(crate) enum Levels {
    States(Reader<States>),
    Values(Reader<Values>),
}

/// Opens the levels of detail of a trace folder; makes them first where there are none, or none of this trace, in
/// `run.cw/levels/`, or in the user's cache where that cannot be written. `progress` is told of the stretches read so far.
///
/// # Errors
/// It is no trace folder, is damaged, or there is no place to write.
pub fn prepare(session: &Session, tracks: &Tracks, progress: &mut dyn FnMut(u64)) -> Result<Prepared, ServeError> {
    let stamp = format!("layout {LAYOUT} trace {}", session.states_stamp()?);
    let places = [Some(session.path().join(LEVELS)), cache(&stamp)];
    for place in places.iter().flatten() {
        if let Some(found) = open(place, &stamp) {
            return Ok(found);
        }
    }
    let mut refused = None;
    for place in places.iter().flatten() {
        // What cannot be made here may be made in the next place.
        let made = match writable(session, place) {
            Ok(made) => made,
            Err(why) => {
                refused = Some(ServeError::NoPlace { path: place.clone(), why });
                continue;
            }
        };
        clear(&made);
        make(session, tracks, &made, &stamp, progress)?;
        let unread =
            || ServeError::Start(format!("{}: levels of detail that were just made cannot be read", place.display()));
        return Ok(Prepared { made: true, ..open(place, &stamp).ok_or_else(unread)? });
    }
    Err(refused.unwrap_or_else(|| ServeError::Start("there is no place for levels of detail".into())))
}

/// Those of another trace, of another version or damaged are as none.
fn open(place: &Path, stamp: &str) -> Option<Prepared> {
    let kept: Kept =
        serde_json::from_reader(std::io::BufReader::new(File::open(place.join(KEPT)).ok()?.take(MOST_KEPT))).ok()?;
    let kinds = kept.kinds.into_iter().map(|shown| {
        // Names of files are ours, not the cache's.
        let listed = KINDS.iter().find(|listed| listed.name == shown.kind)?;
        let path = place.join(file_of(listed.name));
        let levels = match listed.values {
            true => Levels::Values(of(&path, stamp)?),
            false => Levels::States(of(&path, stamp)?),
        };
        Some((shown, levels))
    });
    let kinds = kinds.collect::<Option<_>>()?;
    let open = |name| of(&place.join(name), stamp);
    (kept.of == stamp).then_some(Prepared { threads: open(THREADS)?, cpus: open(CPUS)?, kinds, made: false })
}

/// What is kept of kinds is some hundred bytes a track, and tracks are bounded.
const MOST_KEPT: u64 = 1 << 26;

fn of<D: Detail>(path: &Path, stamp: &str) -> Option<Reader<D>> {
    Reader::open(path).ok().filter(|r| r.of() == stamp)
}

/// The user's cache, a folder for each trace.
fn cache(stamp: &str) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    let name: String = stamp.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(cache.join("corewise").join("levels").join(name))
}

/// The folder, if a file can be made there: its mode does not tell that a file system is read-only. In a trace folder it is as open as
/// that, in the cache it is the user's alone.
fn writable(session: &Session, place: &Path) -> std::io::Result<Dir> {
    let folder = match place == session.path().join(LEVELS) {
        true => Dir::open_for_writing(session.path())?.open_or_make(LEVELS)?,
        false => Dir::make_all(place)?,
    };
    let probe = part("probe");
    let _ = folder.remove(&probe);
    folder.create(&probe)?;
    folder.remove(&probe).map(|()| folder)
}

/// Removes what processes left that were ended while they made levels.
fn clear(place: &Dir) {
    for name in place.names().unwrap_or_default() {
        let name = name.into_string().unwrap_or_default();
        let left_by = name.split_once(PART).and_then(|(_, process)| process.parse::<u32>().ok());
        if left_by.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // One that stays costs room, nothing else.
            let _ = place.remove(&name);
        }
    }
}
