//! Functions and probes whose calls are recorded as marks (`--mark`): parsing of the option, and lookup in the file.

use object::read::elf::NoteIterator;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SymbolFlags, SymbolKind, elf};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::str::FromStr;

/// Maximum length of a mark's name, bytes; longer ones are mistakes.
const MAX_NAME: usize = 200;
/// Maximum number of locations of a function or probe; inlined probes have some ten.
const MAX_SITES: usize = 256;
/// The separator of a file and its probe.
const USDT: &str = ":usdt:";

/// A function or probe whose calls are recorded as marks of the calling thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkPoint {
    /// The name of the marks.
    pub name: String,
    /// The program or library.
    pub file: PathBuf,
    /// The function or probe in it.
    pub place: MarkPlace,
}

/// A function or probe in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkPlace {
    /// A function by its symbol: a stretch from its entry to its return. Linux reports returns of at most 64 nested calls; stretches
    /// of deeper calls end with those that contain them.
    Function(String),
    /// A USDT probe: an instant each time it is reached.
    Probe {
        /// Its provider.
        provider: String,
        /// Its name.
        name: String,
    },
}

impl FromStr for MarkPoint {
    type Err = String;

    /// Parses `NAME=FILE:SYMBOL` or `NAME=FILE:usdt:PROVIDER:PROBE`; the error is a sentence.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected NAME=FILE:SYMBOL or NAME=FILE:usdt:PROVIDER:PROBE";
        let (name, at) = text.split_once('=').ok_or_else(|| format!("`=` is missing: {form}"))?;
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(format!("the name must have 1 to {MAX_NAME} bytes and no control characters: {form}"));
        }
        let (file, place) = if let Some((file, probe)) = at.split_once(USDT) {
            let (provider, name) =
                probe.split_once(':').ok_or_else(|| format!("the probe's name is missing: {form}"))?;
            (file, MarkPlace::Probe { provider: provider.into(), name: name.into() })
        } else {
            let (file, symbol) = at.split_once(':').ok_or_else(|| format!("the symbol is missing: {form}"))?;
            (file, MarkPlace::Function(symbol.into()))
        };
        let empty = match &place {
            MarkPlace::Function(symbol) => symbol.is_empty(),
            MarkPlace::Probe { provider, name } => provider.is_empty() || name.is_empty(),
        };
        if file.is_empty() || empty {
            return Err(format!("a part of the mark is empty: {form}"));
        }
        Ok(Self { name: name.into(), file: file.into(), place })
    }
}

/// The location of a probe in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// Offset in the file.
    pub offset: u64,
    /// Offset in the file of the probe's reference counter; 0: none.
    pub semaphore: u64,
}

/// A mark point that was found in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The name of the marks.
    pub name: String,
    /// The file, with symbolic links resolved.
    pub file: PathBuf,
    /// The locations; never empty.
    pub sites: Vec<Site>,
    /// Whether the return is recorded too.
    pub stretch: bool,
}

impl Found {
    /// Whether the returns of the requested function cannot be recorded.
    pub fn lacks_returns(&self, point: &MarkPoint) -> bool {
        !self.stretch && matches!(point.place, MarkPlace::Function(_))
    }
}

impl MarkPoint {
    /// Looks it up in its file.
    ///
    /// # Errors
    /// A sentence: the file does not exist, is not a program, or does not contain the symbol (with similar names).
    pub fn find(&self) -> Result<Found, String> {
        let at = self.file.display();
        let said = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::NotFound => format!("{at} does not exist: give the path of the program or library"),
            _ => format!("cannot read {at}: {why}"),
        };
        let path = std::fs::canonicalize(&self.file).map_err(said)?;
        // Reading a pipe or a device could block.
        if !std::fs::metadata(&path).map_err(said)?.is_file() {
            return Err(format!("{at} is not a regular file: give the path of the program or library"));
        }
        let cache = ReadCache::new(BufReader::new(File::open(&path).map_err(said)?));
        let file =
            object::File::parse(&cache).map_err(|why| format!("{at} is not an ELF program or library ({why})"))?;
        let mut sites = match &self.place {
            MarkPlace::Function(symbol) => function(&file, symbol),
            MarkPlace::Probe { provider, name } => probe(&file, provider, name),
        }
        .map_err(|why| format!("{at} {why}"))?;
        sites.sort_unstable();
        sites.dedup();
        if sites.len() > MAX_SITES {
            return Err(format!("{at} contains it at {} locations; the maximum is {MAX_SITES}", sites.len()));
        }
        // A return probe changes the return address on the stack. Go programs move their stacks and crash with it.
        let go = [".gopclntab", ".go.buildinfo"].into_iter().any(|name| file.section_by_name(name).is_some());
        let stretch = matches!(self.place, MarkPlace::Function(_)) && !go;
        Ok(Found { name: self.name.clone(), file: path, sites, stretch })
    }
}

/// Returns the offset in the file of the byte that is loaded to an address.
fn offset_of<'d>(file: &impl Object<'d>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (begin, length) = segment.file_range();
        let into = address.checked_sub(segment.address()).filter(|into| *into < length)?;
        begin.checked_add(into)
    })
}

/// Returns the locations of all functions with that name: a library may contain several versions of one.
fn function<'d>(file: &impl Object<'d>, wanted: &str) -> Result<Vec<Site>, String> {
    let (mut sites, mut like, mut any) = (Vec::new(), Vec::new(), false);
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
            continue;
        }
        any = true;
        if name != wanted {
            add_similar(&mut like, name, wanted);
        } else if matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == elf::STT_GNU_IFUNC)
        {
            return Err(format!(
                "selects {wanted} at load time (an indirect function): name the implementation that it selects"
            ));
        } else {
            let offset = offset_of(file, symbol.address())
                .ok_or_else(|| format!("contains {wanted} at an address outside its loaded segments"))?;
            sites.push(Site { offset, semaphore: 0 });
        }
    }
    let stripped = file.symbols().next().is_none();
    match (sites.is_empty(), stripped) {
        (false, _) => Ok(sites),
        _ if !any => Err(format!("has no function {wanted}: it has no symbols of functions (it may be stripped)")),
        (_, true) => Err(format!(
            "exports no function {wanted}{}; it is stripped, so other functions have no symbols",
            similar_names(&like)
        )),
        (_, false) => Err(format!("has no function {wanted}{}", similar_names(&like))),
    }
}

/// Adds a name to `like` if it is among the three shortest names that contain the wanted name or are contained in it.
fn add_similar(like: &mut Vec<String>, name: &str, wanted: &str) {
    let (a, b) = (name.to_lowercase(), wanted.to_lowercase());
    let place = like.partition_point(|other| (other.len(), other.as_str()) < (name.len(), name));
    let new = like.get(place).is_none_or(|other| other != name);
    if new && !name.is_empty() && (a.contains(&b) || b.contains(&a)) {
        like.insert(place, name.to_owned());
        like.truncate(3);
    }
}

fn similar_names(like: &[String]) -> String {
    if like.is_empty() { String::new() } else { format!(" (similar names: {})", like.join(", ")) }
}

/// Returns the locations of a USDT probe from the notes that `sys/sdt.h` writes: the addresses of the probe, of the section
/// `.stapsdt.base` and of the semaphore, then provider, name and arguments, each terminated by a zero byte.
fn probe<'d>(file: &impl Object<'d>, provider: &str, wanted: &str) -> Result<Vec<Site>, String> {
    const UNREADABLE: &str = "has an invalid table of USDT probes";
    let section = file.section_by_name(".note.stapsdt").ok_or("has no USDT probes")?;
    let order = if file.is_little_endian() { Endianness::Little } else { Endianness::Big };
    let data = section.data().map_err(|_| UNREADABLE)?;
    // Shows whether the program was relocated since (prelink).
    let base = file.section_by_name(".stapsdt.base").map(|s| s.address());
    let word = if file.is_64() { 8 } else { 4 };
    let (mut sites, mut like) = (Vec::new(), Vec::new());
    let mut notes = NoteIterator::<elf::FileHeader64<Endianness>>::new(order, 4, data).map_err(|_| UNREADABLE)?;
    while let Some(note) = notes.next().map_err(|_| UNREADABLE)? {
        if note.name() != b"stapsdt" || note.n_type(order).0 != 3 {
            continue;
        }
        let number = |n: usize| -> Option<u64> {
            let mut bytes = [0; 8];
            let from = note.desc().get(n * word..(n + 1) * word)?;
            match order {
                Endianness::Little => bytes[..word].copy_from_slice(from),
                Endianness::Big => bytes[8 - word..].copy_from_slice(from),
            }
            Some(if file.is_little_endian() { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
        };
        let (at, then, semaphore) =
            number(0).zip(number(1)).zip(number(2)).map(|((a, b), c)| (a, b, c)).ok_or(UNREADABLE)?;
        let mut texts = note.desc().get(3 * word..).unwrap_or_default().split(|b| *b == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        let (of, name) = (text(), text());
        if (of.as_str(), name.as_str()) != (provider, wanted) {
            add_similar(&mut like, &format!("{of}:{name}"), wanted);
            continue;
        }
        let moved = |address: u64| address.wrapping_add(base.unwrap_or(then).wrapping_sub(then));
        let lies = |address| {
            offset_of(file, moved(address)).ok_or("contains that probe at an address outside its loaded segments")
        };
        let semaphore = if semaphore == 0 { 0 } else { lies(semaphore)? };
        sites.push(Site { offset: lies(at)?, semaphore });
    }
    if sites.is_empty() { Err(format!("has no probe {provider}:{wanted}{}", similar_names(&like))) } else { Ok(sites) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parses_mark_points() {
        let point = MarkPoint::from_str("frame=/usr/lib/libvulkan.so.1:vkQueuePresentKHR").unwrap();
        assert_eq!((point.name.as_str(), point.file.to_str()), ("frame", Some("/usr/lib/libvulkan.so.1")));
        assert_eq!(point.place, MarkPlace::Function("vkQueuePresentKHR".into()));
        let point = MarkPoint::from_str("gc begins=./node:usdt:node:gc__start").unwrap();
        assert_eq!(point.place, MarkPlace::Probe { provider: "node".into(), name: "gc__start".into() });
        for bad in
            ["", "x", "=f:s", "n=", "n=f", "n=:s", "n=f:", "n=f:usdt:p", "n=f:usdt::x", "n=f:usdt:p:", "a\nb=f:s"]
        {
            assert!(MarkPoint::from_str(bad).unwrap_err().contains("NAME=FILE:SYMBOL"), "{bad:?}");
        }
    }

    fn why(text: &str) -> String {
        MarkPoint::from_str(text).unwrap().find().unwrap_err()
    }

    #[test]
    fn errors_name_what_is_missing() {
        assert!(why("n=/nowhere/at/all:main").contains("/nowhere/at/all does not exist"));
        assert!(why("n=/proc:main").contains("is not a regular file"));
        assert!(why("n=Cargo.toml:main").contains("is not an ELF"));
        let me = std::env::current_exe().unwrap();
        let error = why(&format!("n={}:MAIN", me.display()));
        assert!(error.contains("has no function MAIN (similar names: main"), "{error}");
        assert!(why(&format!("n={}:usdt:a:b", me.display())).contains("no USDT probes"));
    }

    /// The offset found for a function of this program is in a mapped executable part of its file.
    #[test]
    fn the_offset_of_a_function_is_mapped_as_code() {
        let me = std::env::current_exe().unwrap();
        let found = MarkPoint::from_str(&format!("n={}:main", me.display())).unwrap().find().unwrap();
        assert!(found.stretch);
        let [site] = found.sites[..] else { panic!("{found:?}") };
        let mut maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.retain(|c| c != '\t');
        let path = found.file.to_str().unwrap();
        let code = maps.lines().filter(|l| l.ends_with(path)).any(|line| {
            let mut words = line.split_whitespace();
            let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (from, to) = words.next().unwrap().split_once('-').unwrap();
            let (rights, offset) = (words.next().unwrap(), hex(words.next().unwrap()));
            rights.contains('x') && (offset..offset + hex(to) - hex(from)).contains(&site.offset)
        });
        assert!(code, "{site:?} is not mapped as code:\n{maps}");
    }

    #[test]
    fn keeps_the_three_most_similar_names() {
        let mut like = Vec::new();
        for name in ["present_all_of_them", "other", "vkQueuePresentKHR", "present", "Present2", "present"] {
            add_similar(&mut like, name, "PRESENT");
        }
        assert_eq!(like, ["present", "Present2", "vkQueuePresentKHR"]);
    }
}
