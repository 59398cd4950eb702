//! Functions and probes whose calls a recording marks (`--mark`): what is asked for, and where it lies in its file.

use object::read::elf::NoteIterator;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SymbolFlags, SymbolKind, elf};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::str::FromStr;

/// A name is cut into every event's table once; longer ones are mistakes.
const LONGEST_NAME: usize = 200;
/// A function or probe lies at this many places at most: inlined probes have some ten.
const MOST_SITES: usize = 256;
/// What stands between a file and its probe.
const USDT: &str = ":usdt:";

/// Calls that become marks of the thread that makes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkPoint {
    /// What the marks are called.
    pub name: String,
    /// The program or library.
    pub file: PathBuf,
    /// What in it.
    pub place: MarkPlace,
}

/// What in a file is marked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MarkPlace {
    /// A function by its symbol: a stretch from its entry to its return. Linux sees the returns of 64 calls within each other at
    /// most; the returns of deeper ones are missing, and their stretches end with those around them.
    Function(String),
    /// A USDT probe: a moment each time it is passed.
    Probe {
        /// Its provider.
        provider: String,
        /// Its name.
        name: String,
    },
}

impl FromStr for MarkPoint {
    type Err = String;

    /// Reads `NAME=FILE:SYMBOL` or `NAME=FILE:usdt:PROVIDER:PROBE`; the error is a sentence.
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "a mark is NAME=FILE:SYMBOL or NAME=FILE:usdt:PROVIDER:PROBE";
        let (name, at) = text.split_once('=').ok_or_else(|| format!("there is no `=`: {form}"))?;
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(format!("its name must have 1 to {LONGEST_NAME} bytes and no control characters: {form}"));
        }
        let (file, place) = if let Some((file, probe)) = at.split_once(USDT) {
            let (provider, name) = probe.split_once(':').ok_or_else(|| format!("the probe has no name: {form}"))?;
            (file, MarkPlace::Probe { provider: provider.into(), name: name.into() })
        } else {
            let (file, symbol) = at.split_once(':').ok_or_else(|| format!("there is no symbol: {form}"))?;
            (file, MarkPlace::Function(symbol.into()))
        };
        let empty = match &place {
            MarkPlace::Function(symbol) => symbol.is_empty(),
            MarkPlace::Probe { provider, name } => provider.is_empty() || name.is_empty(),
        };
        if file.is_empty() || empty {
            return Err(format!("a part of it is empty: {form}"));
        }
        Ok(Self { name: name.into(), file: file.into(), place })
    }
}

/// Where the kernel is to look.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// Byte of the file.
    pub offset: u64,
    /// Byte of the file that counts who watches the probe; 0: it has none.
    pub semaphore: u64,
}

/// A mark point that was found in its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// What the marks are called.
    pub name: String,
    /// The file, without links.
    pub file: PathBuf,
    /// Never empty.
    pub sites: Vec<Site>,
    /// The return is marked too.
    pub stretch: bool,
}

impl Found {
    /// Whether a function's returns, wanted by whoever asks for it, cannot be watched.
    pub fn lacks_returns(&self, point: &MarkPoint) -> bool {
        !self.stretch && matches!(point.place, MarkPlace::Function(_))
    }
}

impl MarkPoint {
    /// Looks it up in its file.
    ///
    /// # Errors
    /// A sentence: no such file, no program, no such symbol (and which are like it).
    pub fn find(&self) -> Result<Found, String> {
        let at = self.file.display();
        let said = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::NotFound => format!("there is no file {at}: give the path of the program or library"),
            _ => format!("{at}: {why}"),
        };
        let path = std::fs::canonicalize(&self.file).map_err(said)?;
        // A pipe or a device would be waited for.
        if !std::fs::metadata(&path).map_err(said)?.is_file() {
            return Err(format!("{at} is no file: give the path of the program or library"));
        }
        let cache = ReadCache::new(BufReader::new(File::open(&path).map_err(said)?));
        let file = object::File::parse(&cache).map_err(|why| format!("{at} is no ELF program or library ({why})"))?;
        let mut sites = match &self.place {
            MarkPlace::Function(symbol) => function(&file, symbol),
            MarkPlace::Probe { provider, name } => probe(&file, provider, name),
        }
        .map_err(|why| format!("{at} {why}"))?;
        sites.sort_unstable();
        sites.dedup();
        if sites.len() > MOST_SITES {
            return Err(format!("{at} has it at {} places: corewise watches {MOST_SITES} at most", sites.len()));
        }
        // A return is seen by an address put on the stack; Go moves its stacks and dies of it.
        let go = [".gopclntab", ".go.buildinfo"].into_iter().any(|name| file.section_by_name(name).is_some());
        let stretch = matches!(self.place, MarkPlace::Function(_)) && !go;
        Ok(Found { name: self.name.clone(), file: path, sites, stretch })
    }
}

/// The byte of the file that is loaded to an address.
fn offset_of<'d>(file: &impl Object<'d>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (begin, length) = segment.file_range();
        let into = address.checked_sub(segment.address()).filter(|into| *into < length)?;
        begin.checked_add(into)
    })
}

/// All functions of that name: a library may keep several versions of one.
fn function<'d>(file: &impl Object<'d>, wanted: &str) -> Result<Vec<Site>, String> {
    let (mut sites, mut like, mut any) = (Vec::new(), Vec::new(), false);
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let Ok(name) = symbol.name() else { continue };
        if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
            continue;
        }
        any = true;
        if name != wanted {
            near(&mut like, name, wanted);
        } else if matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.st_type() == elf::STT_GNU_IFUNC)
        {
            return Err(format!(
                "chooses {wanted} when it is loaded (an indirect function): name the one that is chosen"
            ));
        } else {
            let offset = offset_of(file, symbol.address())
                .ok_or_else(|| format!("has {wanted} at an address that it does not load"))?;
            sites.push(Site { offset, semaphore: 0 });
        }
    }
    let stripped = file.symbols().next().is_none();
    match (sites.is_empty(), stripped) {
        (false, _) => Ok(sites),
        _ if !any => Err(format!("has no function {wanted}: it names no function at all (stripped?)")),
        (_, true) => Err(format!("exports no function {wanted}{}; it is stripped of all other names", told(&like))),
        (_, false) => Err(format!("has no function {wanted}{}", told(&like))),
    }
}

/// Keeps a name if it is among the three that are most like the one wanted: one holds the other, and little else.
fn near(like: &mut Vec<String>, name: &str, wanted: &str) {
    let (a, b) = (name.to_lowercase(), wanted.to_lowercase());
    let place = like.partition_point(|other| (other.len(), other.as_str()) < (name.len(), name));
    let new = like.get(place).is_none_or(|other| other != name);
    if new && !name.is_empty() && (a.contains(&b) || b.contains(&a)) {
        like.insert(place, name.to_owned());
        like.truncate(3);
    }
}

fn told(like: &[String]) -> String {
    if like.is_empty() { String::new() } else { format!(" (there is {})", like.join(", ")) }
}

/// All places of a USDT probe, by the notes that `sys/sdt.h` leaves: its address, that of the section `.stapsdt.base` and that of
/// its semaphore, then provider, name and arguments, each ended by a zero byte.
fn probe<'d>(file: &impl Object<'d>, provider: &str, wanted: &str) -> Result<Vec<Site>, String> {
    const BROKEN: &str = "has a table of probes that cannot be read";
    let section = file.section_by_name(".note.stapsdt").ok_or("has no USDT probes")?;
    let order = if file.is_little_endian() { Endianness::Little } else { Endianness::Big };
    let data = section.data().map_err(|_| BROKEN)?;
    // Whether the program was moved since (prelink).
    let base = file.section_by_name(".stapsdt.base").map(|s| s.address());
    let word = if file.is_64() { 8 } else { 4 };
    let (mut sites, mut like) = (Vec::new(), Vec::new());
    let mut notes = NoteIterator::<elf::FileHeader64<Endianness>>::new(order, 4, data).map_err(|_| BROKEN)?;
    while let Some(note) = notes.next().map_err(|_| BROKEN)? {
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
            number(0).zip(number(1)).zip(number(2)).map(|((a, b), c)| (a, b, c)).ok_or(BROKEN)?;
        let mut texts = note.desc().get(3 * word..).unwrap_or_default().split(|b| *b == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        let (of, name) = (text(), text());
        if (of.as_str(), name.as_str()) != (provider, wanted) {
            near(&mut like, &format!("{of}:{name}"), wanted);
            continue;
        }
        let moved = |address: u64| address.wrapping_add(base.unwrap_or(then).wrapping_sub(then));
        let lies =
            |address| offset_of(file, moved(address)).ok_or("has that probe at an address that it does not load");
        let semaphore = if semaphore == 0 { 0 } else { lies(semaphore)? };
        sites.push(Site { offset: lies(at)?, semaphore });
    }
    if sites.is_empty() { Err(format!("has no probe {provider}:{wanted}{}", told(&like))) } else { Ok(sites) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn points_are_read() {
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
    fn what_is_not_there_is_told() {
        assert!(why("n=/nowhere/at/all:main").contains("there is no file /nowhere/at/all"));
        assert!(why("n=/proc:main").contains("is no file"));
        assert!(why("n=Cargo.toml:main").contains("is no ELF"));
        let me = std::env::current_exe().unwrap();
        let told = why(&format!("n={}:MAIN", me.display()));
        assert!(told.contains("has no function MAIN (there is main"), "{told}");
        assert!(why(&format!("n={}:usdt:a:b", me.display())).contains("no USDT probes"));
    }

    /// A function of this program: what is loaded at its address is what stands at the byte found.
    #[test]
    fn a_function_is_where_it_is_loaded() {
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
        assert!(code, "{site:?} is not among what this program runs:\n{maps}");
    }

    #[test]
    fn three_that_are_most_alike() {
        let mut like = Vec::new();
        for name in ["present_all_of_them", "other", "vkQueuePresentKHR", "present", "Present2", "present"] {
            near(&mut like, name, "PRESENT");
        }
        assert_eq!(like, ["present", "Present2", "vkQueuePresentKHR"]);
    }
}
