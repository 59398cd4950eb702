//! The functions and files at the addresses of callchains: `places.json` of a spool.

use model::StackFrame;
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Instant;
use symbols::{Function, SymbolPath, functions};

/// The number of the kernel's address space. Those of processes have higher numbers.
pub const KERNEL: u32 = 0;
/// The number of an address space with unknown mappings.
pub const UNKNOWN: u32 = u32::MAX;
/// The file's name in a spool's folder.
const FILE: &str = "places.json";
/// Maximum number of addresses that are named: a limit for programs that generate code continuously.
pub const MAX_PLACES: usize = 1 << 20;

/// A function that is inlined at an address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Inlined {
    /// The function, by its symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The line in it; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

/// The function and file at an address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// The address space.
    pub space: u32,
    /// The address in it. Of a caller: the last byte before the return address.
    pub address: u64,
    /// The function, by its symbol.
    pub function: Option<String>,
    /// The mapped file: a path, or a name in brackets.
    pub file: Option<String>,
    /// GNU build id of the file, in hexadecimal.
    pub build_id: Option<String>,
    /// The offset in the file.
    pub offset: Option<u64>,
    /// The source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The line in it; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// The functions that are inlined there, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined: Vec<Inlined>,
}

/// Writes the places to a spool's folder.
///
/// # Errors
/// If the file cannot be written.
pub fn store(spool: &Dir, places: &[Place]) -> std::io::Result<()> {
    spool.replace(FILE, &serde_json::to_vec(places)?).map(drop)
}

/// Reads the places of a spool, in order of space and address; none if no callchains were recorded.
///
/// # Errors
/// A sentence, if the file exists and cannot be read.
pub fn load(spool: &Dir) -> Result<Vec<Place>, String> {
    let path = spool.path().join(FILE);
    match spool.read(FILE) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(|mut all: Vec<Place>| {
                all.sort_unstable_by_key(|place| (place.space, place.address));
                all
            })
            .map_err(|e| format!("cannot parse {}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("cannot read {}: {e}", path.display())),
    }
}

/// Names the kernel's places (the first ones, in order of address) with its list of functions.
///
/// # Errors
/// If the list cannot be read.
pub fn name_kernel(all: &mut [Place], list: impl BufRead) -> std::io::Result<()> {
    let end = all.partition_point(|place| place.space == KERNEL);
    let addresses: Vec<u64> = all[..end].iter().map(|place| place.address).collect();
    for (place, found) in all.iter_mut().zip(functions::of_kernel(list, &addresses)?) {
        if let Some((function, module)) = found {
            place.function = Some(function);
            place.file = Some(module.unwrap_or_else(|| StackFrame::KERNEL.to_owned()));
        }
    }
    Ok(())
}

/// A file with code.
pub struct CodeFile {
    /// Its path when it was mapped.
    pub name: String,
    /// GNU build id, in hexadecimal.
    pub build_id: Option<String>,
    /// Where it can be read: it is the same file.
    pub at: Option<PathBuf>,
}

/// Names the places in files: in those that can still be read and, by build id, in any other copy. `of`: the file of each place, as an index
/// into `files`.
pub fn name_files(all: &mut [Place], of: &[Option<usize>], files: &[CodeFile]) {
    let mut by_file: BTreeMap<usize, Vec<(u64, usize)>> = BTreeMap::new();
    for (at, (place, file)) in all.iter().zip(of).enumerate() {
        if let (Some(file), Some(byte)) = (file, place.offset) {
            by_file.entry(*file).or_default().push((byte, at));
        }
    }
    let path = SymbolPath::of_this_machine();
    let until = Instant::now() + symbols::LINES_FOR;
    for (file, wanted) in by_file {
        let Some(CodeFile { name, build_id, at }) = files.get(file) else { continue };
        let bytes: Vec<u64> = wanted.iter().map(|(byte, _)| *byte).collect();
        let id = build_id.as_deref();
        let found = match (at, id) {
            (Some(at), _) => path.functions_in(at, Path::new(name), id, &bytes, until),
            (None, Some(id)) => path.functions(name, id, &bytes, until),
            (None, None) => continue,
        };
        for ((_, at), functions) in wanted.into_iter().zip(found.functions) {
            all[at].set(functions);
        }
    }
}

/// Names the places in files with build ids, in any copy of these.
pub fn name_by_build_id(all: &mut [Place]) {
    let key = |place: &Place| Some((place.file.clone()?, Some(place.build_id.clone()?)));
    let files: BTreeSet<(String, Option<String>)> = all.iter().filter_map(key).collect();
    let numbers: BTreeMap<_, usize> = files.iter().enumerate().map(|(number, file)| (file, number)).collect();
    let of: Vec<Option<usize>> = all.iter().map(|place| numbers.get(&key(place)?).copied()).collect();
    let code = |(name, build_id): &(String, Option<String>)| CodeFile {
        name: name.clone(),
        build_id: build_id.clone(),
        at: None,
    };
    name_files(all, &of, &files.iter().map(code).collect::<Vec<_>>());
}

impl Place {
    /// Sets the functions at the place, innermost first; the others are inlined into the last one.
    pub fn set(&mut self, mut functions: Vec<Function>) {
        let Some(last) = functions.pop() else { return };
        (self.function, self.source, self.line) = (last.name, last.source, last.line);
        self.inlined =
            functions.into_iter().map(|f| Inlined { function: f.name, source: f.source, line: f.line }).collect();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn place(space: u32, address: u64, offset: Option<u64>) -> Place {
        Place { space, address, offset, ..Place::default() }
    }

    /// The address of this test function is named with its file's build id, not with another build id, and never in anything that is not
    /// a regular file.
    #[test]
    fn files_are_named_by_build_id() {
        let mappings = crate::mappings::of_process(std::process::id().cast_signed()).unwrap();
        let address = files_are_named_by_build_id as *const () as u64;
        let mapping = crate::mappings::at(&mappings, address).unwrap();
        let byte = Some(address - mapping.from + mapping.offset);
        let id = symbols::build_id::of_file(Path::new(&mapping.name)).expect("the linker gives programs build ids");
        let file = |name: &str, id: Option<&str>, at: Option<&str>| CodeFile {
            name: name.to_owned(),
            build_id: id.map(str::to_owned),
            at: at.map(PathBuf::from),
        };
        let files = [
            file(&mapping.name, Some(&id), None),
            file(&mapping.name, Some("00112233"), None),
            file(&mapping.name, None, None),
            file("/dev/zero", None, Some("/dev/zero")),
            file("/nowhere", Some(&id), None),
            // Of a container that is gone, with a descriptor that is still open.
            file("/inside/program", None, Some(&mapping.name)),
        ];
        let mut all: Vec<Place> = (1..=7).map(|at| place(1, at, byte)).collect();
        all.push(place(1, 8, None));
        let of = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(0)];
        name_files(&mut all, &of, &files);
        let named: Vec<u64> = all.iter().filter(|p| p.function.is_some()).map(|p| p.address).collect();
        assert_eq!(named, [1, 6]);
        assert!(all[0].function.as_ref().unwrap().contains("files_are_named_by_build_id"), "{:?}", all[0]);
        assert!(all[0].source.as_ref().unwrap().ends_with("places.rs") && all[0].line > 0, "{:?}", all[0]);
    }

    #[test]
    fn only_kernel_places_are_named_by_the_kernels_list() {
        let mut all = [place(KERNEL, 0x1010, None), place(1, 0x1010, None)];
        name_kernel(&mut all, &b"0000000000001000 t schedule\n"[..]).unwrap();
        let named = (Some("schedule".to_owned()), Some("[kernel]".to_owned()));
        assert_eq!((all[0].function.clone(), all[0].file.clone()), named);
        assert_eq!((&all[1].function, &all[1].file), (&None, &None));
    }

    #[test]
    fn stored_places_are_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Dir::open(folder.path()).unwrap();
        assert_eq!(load(&spool).unwrap(), []);
        let mut all = [place(2, 7, Some(3)), place(1, 9, None)];
        let inner = Function { name: Some("inner".into()), source: Some("a.c".into()), line: 3 };
        all[0].set(vec![inner, Function { name: Some("outer".into()), ..Function::default() }]);
        store(&spool, &all).unwrap();
        assert_eq!(load(&spool).unwrap(), [all[1].clone(), all[0].clone()]);
        std::fs::write(folder.path().join(FILE), "[{}]").unwrap();
        assert!(load(&spool).unwrap_err().contains(FILE));
    }
}
