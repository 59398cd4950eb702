//! What lies at the addresses of callchains: `places.json` of a spool.

use model::StackFrame;
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use symbols::{SymbolPath, functions};

/// The address space of the kernel; those of programs have the numbers behind it.
pub const KERNEL: u32 = 0;
/// An address space of which nobody knows what was mapped there.
pub const UNKNOWN: u32 = u32::MAX;
/// The file's name in a spool's folder.
const FILE: &str = "places.json";
/// More addresses than this are not named: a bound, for programs that make code without end.
pub const MOST: usize = 1 << 20;

/// What lies at an address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The address space.
    pub space: u32,
    /// The address in it: of callers, that of the last byte before the one to which they return.
    pub address: u64,
    /// The function, by its symbol.
    pub function: Option<String>,
    /// What was mapped there: a path, or a name in brackets.
    pub file: Option<String>,
    /// GNU build id of the file, in hexadecimal.
    pub build_id: Option<String>,
    /// The byte of the file that lay there.
    pub offset: Option<u64>,
}

/// Writes them into a spool's folder.
///
/// # Errors
/// As the file system says.
pub fn store(spool: &Dir, places: &[Place]) -> std::io::Result<()> {
    spool.replace(FILE, &serde_json::to_vec(places)?).map(drop)
}

/// Those of a spool, in order of space and address; none where its recorder kept no callchains.
///
/// # Errors
/// A sentence, where the file is there and cannot be read.
pub fn load(spool: &Dir) -> Result<Vec<Place>, String> {
    let path = spool.path().join(FILE);
    match spool.read(FILE) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(|mut all: Vec<Place>| {
                all.sort_unstable_by_key(|place| (place.space, place.address));
                all
            })
            .map_err(|e| format!("{}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// Names those of the kernel (the first ones, in order of address) by its list of functions.
///
/// # Errors
/// The list cannot be read.
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

/// Names those of files that are there: of the same build id or, where they have none, the `same` as when they were mapped.
pub fn name_files(all: &mut [Place], same: &dyn Fn(&str) -> bool) {
    let mut by_file: HashMap<_, Vec<(u64, usize)>> = HashMap::new();
    for (at, place) in all.iter().enumerate() {
        if let (Some(file), Some(byte)) = (&place.file, place.offset) {
            by_file.entry((file.as_str(), place.build_id.as_deref())).or_default().push((byte, at));
        }
    }
    let path = SymbolPath::of_this_machine();
    let mut named = Vec::new();
    for ((file, id), wanted) in by_file {
        let bytes: Vec<u64> = wanted.iter().map(|(byte, _)| *byte).collect();
        let found = match id {
            Some(id) => path.functions(file, id, &bytes),
            // What is no file might never end.
            None if Path::new(file).is_file() && same(file) => {
                functions::of_file(Path::new(file), None, &bytes).unwrap_or_default()
            }
            None => continue,
        };
        named.extend(wanted.iter().zip(found).map(|((_, at), function)| (*at, function)));
    }
    for (at, function) in named {
        all[at].function = function;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn place(space: u32, address: u64, file: Option<&Path>, build_id: Option<&str>, offset: Option<u64>) -> Place {
        let file = file.map(|path| path.display().to_string());
        Place { space, address, function: None, file, build_id: build_id.map(str::to_owned), offset }
    }

    /// This very function, by where it is mapped: named by its build id, not by another one, and never of what is no file.
    #[test]
    fn files_are_named_by_build_id() {
        let mappings = crate::mappings::of_process(std::process::id().cast_signed()).unwrap();
        let address = files_are_named_by_build_id as *const () as u64;
        let mapping = crate::mappings::at(&mappings, address).unwrap();
        let (path, byte) = (Path::new(&mapping.name), Some(address - mapping.from + mapping.offset));
        let id = symbols::build_id::of_file(path).expect("the linker gives programs build ids");
        let (zero, none) = (Path::new("/dev/zero"), Path::new("/nowhere"));
        let mut all = [
            place(1, 1, Some(path), Some(&id), byte),
            place(1, 2, Some(path), Some("00112233"), byte),
            place(1, 3, Some(path), None, byte),
            place(1, 4, Some(zero), None, byte),
            place(1, 5, Some(none), Some(&id), byte),
            place(1, 6, None, None, None),
        ];
        name_files(&mut all, &|file| file == "/dev/zero");
        let named: Vec<bool> = all.iter().map(|p| p.function.is_some()).collect();
        assert_eq!(named, [true, false, false, false, false, false]);
        assert!(all[0].function.as_ref().unwrap().contains("files_are_named_by_build_id"), "{:?}", all[0]);
        name_files(&mut all, &|_| true);
        assert!(all[2].function.is_some() && all[1].function.is_none());
    }

    #[test]
    fn the_kernel_is_named_by_its_list_and_nothing_else_is() {
        let mut all = [place(KERNEL, 0x1010, None, None, None), place(1, 0x1010, None, None, None)];
        name_kernel(&mut all, &b"0000000000001000 t schedule\n"[..]).unwrap();
        let told = [("schedule", "[kernel]")].map(|(f, m)| (Some(f.to_owned()), Some(m.to_owned())));
        assert_eq!((all[0].function.clone(), all[0].file.clone()), told[0]);
        assert_eq!((&all[1].function, &all[1].file), (&None, &None));
    }

    #[test]
    fn what_is_stored_is_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Dir::open(folder.path()).unwrap();
        assert_eq!(load(&spool).unwrap(), []);
        let all = [place(2, 7, None, None, Some(3)), place(1, 9, None, None, None)];
        store(&spool, &all).unwrap();
        assert_eq!(load(&spool).unwrap(), [all[1].clone(), all[0].clone()]);
        std::fs::write(folder.path().join(FILE), "[{}]").unwrap();
        assert!(load(&spool).unwrap_err().contains(FILE));
    }
}
