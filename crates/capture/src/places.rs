//! The functions and files at the addresses of callchains: `places.json` of a spool.

use model::StackFrame;
use safefs::Dir;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use symbols::{SymbolPath, functions};

/// The number of the kernel's address space. Those of processes have higher numbers.
pub const KERNEL: u32 = 0;
/// The number of an address space with unknown mappings.
pub const UNKNOWN: u32 = u32::MAX;
/// The file's name in a spool's folder.
const FILE: &str = "places.json";
/// Maximum number of addresses that are named: a limit for programs that generate code continuously.
pub const MAX_PLACES: usize = 1 << 20;

/// The function and file at an address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

/// Names the places in files that still exist: with the same build id or, without one, if `same` confirms that the file is unchanged.
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
            // Reading something other than a regular file might never end.
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

    /// The address of this test function is named with its file's build id, not with another build id, and never in anything that is not
    /// a regular file.
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
    fn only_kernel_places_are_named_by_the_kernels_list() {
        let mut all = [place(KERNEL, 0x1010, None, None, None), place(1, 0x1010, None, None, None)];
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
        let all = [place(2, 7, None, None, Some(3)), place(1, 9, None, None, None)];
        store(&spool, &all).unwrap();
        assert_eq!(load(&spool).unwrap(), [all[1].clone(), all[0].clone()]);
        std::fs::write(folder.path().join(FILE), "[{}]").unwrap();
        assert!(load(&spool).unwrap_err().contains(FILE));
    }
}
