//! Levels of detail: found in the trace folder or the user's cache, or made there.

use crate::{ServeError, Tracks};
use engine::Session;
use levels::{Reader, Stretch, Writer};
use std::path::{Path, PathBuf};

/// What a chapter holds at least ([`Writer::create`]). Threads' tracks are many, and few of them are on a screen: larger
/// chapters are fewer places to look; a level's take 7 MB. CPUs' are few.
const THREADS_CHAPTER: usize = 1 << 17;
const CPUS_CHAPTER: usize = 1 << 15;

/// Counts up when the order of tracks, or what a slice holds, changes.
const LAYOUT: u32 = 1;

/// The levels of detail of a trace.
pub struct Prepared {
    pub(crate) threads: Reader,
    pub(crate) cpus: Reader,
    /// Whether they were made now.
    pub made: bool,
}

/// Opens the levels of detail of a trace folder; makes them first where there are none, or none of this trace, in
/// `run.cw/levels/`, or in the user's cache where that cannot be written. `progress` is told of the stretches read so far.
///
/// # Errors
/// It is no trace folder, is damaged, or there is no place to write.
pub fn prepare(session: &Session, tracks: &Tracks, progress: &mut dyn FnMut(u64)) -> Result<Prepared, ServeError> {
    let stamp = format!("layout {LAYOUT} trace {}", session.states_stamp()?);
    let places = [Some(session.path().join("levels")), cache(&stamp)];
    for place in places.iter().flatten() {
        if let Some(found) = open(place, &stamp) {
            return Ok(found);
        }
    }
    let mut refused = None;
    for place in places.iter().flatten() {
        // What cannot be made here may be made in the next place.
        if let Err(why) = std::fs::create_dir_all(place).and_then(|()| writable(place)) {
            refused = Some(ServeError::NoPlace { path: place.clone(), why });
            continue;
        }
        clear(place);
        make(session, tracks, place, &stamp, progress)?;
        let open = |name| Reader::open(&place.join(name));
        return Ok(Prepared { threads: open(THREADS)?, cpus: open(CPUS)?, made: true });
    }
    Err(refused.unwrap_or_else(|| ServeError::Start("there is no place for levels of detail".into())))
}

const THREADS: &str = "thread.levels";
const CPUS: &str = "cpu.levels";

/// Those of another trace, of another version or damaged are as none.
fn open(place: &Path, stamp: &str) -> Option<Prepared> {
    let open = |name| Reader::open(&place.join(name)).ok().filter(|r| r.of() == stamp);
    Some(Prepared { threads: open(THREADS)?, cpus: open(CPUS)?, made: false })
}

/// The user's cache, a folder for each trace.
fn cache(stamp: &str) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    let name: String = stamp.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(cache.join("corewise").join("levels").join(name))
}

/// Whether a file can be made in a folder: its mode does not tell that a file system is read-only.
fn writable(place: &Path) -> std::io::Result<()> {
    let probe = part(place, "probe");
    std::fs::File::create(&probe)?;
    std::fs::remove_file(&probe)
}

/// The name of a file while it is not whole.
fn part(place: &Path, name: &str) -> PathBuf {
    place.join(format!("{name}{PART}{}", std::process::id()))
}

const PART: &str = ".part-";

/// Removes what processes left that were ended while they made levels.
fn clear(place: &Path) {
    for entry in place.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let left_by = name.split_once(PART).and_then(|(_, process)| process.parse::<u32>().ok());
        if left_by.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists()) {
            // One that stays costs room, nothing else.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn make(
    session: &Session,
    tracks: &Tracks,
    place: &Path,
    stamp: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ServeError> {
    let summary = session.summary();
    // About the time between a CPU's switches: below it, there is little to put together.
    let first = summary.span_ns.saturating_mul(summary.cpus.max(1) as i64) / (summary.switches.max(1) as i64);
    let first = first.clamp(256, 1 << 40).unsigned_abs().next_power_of_two() as i64;
    let mut read = 0;
    let mut write = |name: &str, chapter, each: &mut dyn FnMut(&mut Made<'_>) -> Result<(), ServeError>| {
        let path = part(place, name);
        let mut made = Made {
            writer: Writer::create(&path, stamp, first, summary.span_ns, chapter)?,
            failed: None,
            read: &mut read,
            progress: &mut *progress,
        };
        let done = each(&mut made);
        let Made { writer, failed, .. } = made;
        let done = done.and_then(|()| failed.map_or(Ok(()), Err).map_err(ServeError::from));
        let done = done.and_then(|()| Ok(writer.finish()?));
        let done = done.and_then(|()| {
            std::fs::rename(&path, place.join(name)).map_err(|why| ServeError::NoPlace { path: path.clone(), why })
        });
        if done.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        done
    };
    write(THREADS, THREADS_CHAPTER, &mut |made| {
        Ok(session.thread_stretches(|threads| {
            made.all(threads.iter().filter_map(|s| {
                let what = s.cpu.map_or(-1, |cpu| i64::from(cpu.0));
                let track = tracks.of_thread(s.thread.0)?;
                Some(Stretch { track, start: s.span.start.0, end: s.span.end.0, state: s.state as u8, what })
            }));
        })?)
    })?;
    write(CPUS, CPUS_CHAPTER, &mut |made| {
        Ok(session.cpu_stretches(|cpus| {
            made.all(cpus.iter().map(|s| Stretch {
                track: s.cpu.0,
                start: s.span.start.0,
                end: s.span.end.0,
                state: s.state as u8,
                what: s.thread.0,
            }));
        })?)
    })
}

/// A file being made.
struct Made<'a> {
    writer: Writer,
    failed: Option<levels::Error>,
    read: &'a mut u64,
    progress: &'a mut dyn FnMut(u64),
}

impl Made<'_> {
    fn all(&mut self, stretches: impl Iterator<Item = Stretch>) {
        for stretch in stretches {
            *self.read += 1;
            if self.failed.is_none() {
                self.failed = self.writer.push(&stretch).err();
            }
        }
        (self.progress)(*self.read);
    }
}
