//! Code that recorded programs generate while they run: the files in which they write its names.

use crate::kept::{Kept, Root, path_of};
use crate::mappings::Mapping;
use crate::places::Place;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use symbols::generated::{Generated, of_jitdump, of_perf_map};

/// The files of an address space.
struct Files {
    /// Where the map is looked for, until it is there.
    root: Option<Root>,
    map: Option<File>,
    dumps: Vec<File>,
}

/// The files of all address spaces with such code.
#[derive(Default)]
pub struct GeneratedCode {
    spaces: BTreeMap<u32, Files>,
    /// The number of addresses at which several functions were, one after the other.
    pub several: u64,
}

/// Whether a mapping is memory in which a program generates code.
pub fn is_generated(mapping: &Mapping) -> bool {
    let has_no_file = mapping.inode == 0 && !mapping.name.starts_with("[v");
    has_no_file || mapping.name.starts_with("/memfd:") || mapping.name.starts_with("/dev/zero")
}

impl GeneratedCode {
    /// Notes that a process has such code, with its mappings.
    pub fn see(&mut self, space: u32, pid: i32, mappings: &[Mapping], kept: &mut Kept) {
        self.spaces.entry(space).or_insert_with(|| {
            let dumps = mappings.iter().filter(|m| m.name.ends_with(".dump"));
            let dumps = dumps.filter_map(|m| kept.jitdump(pid, &m.name, m.inode)).collect();
            let root = kept.root(pid);
            Files { map: root.as_ref().and_then(|root| kept.perf_map(root)), root, dumps }
        });
    }

    /// Looks again for maps that were not there: a program may write its map later, or when it ends.
    pub fn look_again(&mut self, kept: &mut Kept) {
        for files in self.spaces.values_mut().filter(|files| files.map.is_none()) {
            files.map = files.root.as_ref().and_then(|root| kept.perf_map(root));
        }
    }

    /// Names the places without a function.
    pub fn name(&mut self, all: &mut [Place]) {
        self.several = 0;
        for (space, files) in &self.spaces {
            // The places are in order of space and address.
            let begin = all.partition_point(|place| place.space < *space);
            let end = all.partition_point(|place| place.space <= *space);
            let mut places: Vec<&mut Place> =
                all[begin..end].iter_mut().filter(|place| place.function.is_none()).collect();
            let addresses: Vec<u64> = places.iter().map(|place| place.address).collect();
            let open = |file: &File| File::open(path_of(file)).map(BufReader::new).ok();
            let of_map = files.map.iter().filter_map(|map| of_perf_map(open(map)?, &addresses).ok());
            let of_dumps = files.dumps.iter().filter_map(|dump| of_jitdump(open(dump)?, &addresses).ok());
            for found in of_dumps.chain(of_map) {
                self.several += found.iter().filter(|of| of.several).count() as u64;
                for (place, Generated { function, .. }) in places.iter_mut().zip(found) {
                    if let Some(function) = function.filter(|_| place.function.is_none()) {
                        place.set(vec![function]);
                    }
                }
            }
        }
    }
}
