//! Functions at addresses: of the kernel from its list of functions, of files from their symbol tables.

use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A function of the kernel, and its module.
pub type KernelFunction = (String, Option<String>);

/// Returns the kernel's functions at some addresses (in ascending order), from a list in the format of /proc/kallsyms: the last
/// function that begins at or before each address. `None`: no function begins there, or the list has no addresses
/// (kernel.kptr_restrict).
///
/// # Errors
/// The list cannot be read.
pub fn of_kernel(mut list: impl BufRead, addresses: &[u64]) -> std::io::Result<Vec<Option<KernelFunction>>> {
    let mut best: Vec<(u64, Option<KernelFunction>)> = vec![(0, None); addresses.len()];
    let mut line = Vec::new();
    while list.read_until(b'\n', &mut line)? > 0 {
        if let Some((begin, name, module)) = kernel_line(&line) {
            // The first address that the function may contain; later ones belong to a later function, or inherit this one below.
            let first = addresses.partition_point(|a| *a < begin);
            if let Some(best) = best.get_mut(first).filter(|b| begin > b.0) {
                *best = (begin, Some((name.to_owned(), module.map(str::to_owned))));
            }
        }
        line.clear();
    }
    let mut last = None;
    Ok(best
        .into_iter()
        .map(|(_, found)| {
            last = found.or_else(|| last.take());
            last.clone()
        })
        .collect())
}

/// The location of the kernel and its modules in a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The address of `_text`, where the kernel's code begins.
    pub text: Option<u64>,
    /// Each module's first function.
    pub modules: HashMap<String, u64>,
}

/// Returns the location of the kernel and its modules in a list in the format of /proc/kallsyms.
///
/// # Errors
/// The list cannot be read.
pub fn layout(mut list: impl BufRead) -> std::io::Result<Layout> {
    let mut layout = Layout::default();
    let mut line = Vec::new();
    while list.read_until(b'\n', &mut line)? > 0 {
        match kernel_line(&line) {
            Some((begin, _, Some(module))) => {
                let first = layout.modules.entry(module.to_owned()).or_insert(begin);
                *first = begin.min(*first);
            }
            Some((begin, "_text", None)) => layout.text = Some(begin),
            _ => {}
        }
        line.clear();
    }
    Ok(layout)
}

/// Parses a line of a code symbol: `ffffffff81000000 t name\t[module]`.
fn kernel_line(line: &[u8]) -> Option<(u64, &str, Option<&str>)> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let begin = u64::from_str_radix(words.next()?, 16).ok().filter(|begin| *begin > 0)?;
    let kind = words.next()?;
    let name = words.next()?;
    matches!(kind, "t" | "T" | "w" | "W").then_some((begin, name, words.next()))
}

/// Returns the functions of a program or library at some offsets; `symbols`: another file that has its symbols.
///
/// # Errors
/// A message, if one of them is not an ELF file.
pub fn of_file(path: &Path, symbols: Option<&Path>, offsets: &[u64]) -> Result<Vec<Option<String>>, &'static str> {
    const NO_ELF: &str = "is not a readable ELF file";
    let open = |path: &Path| File::open(path).map(|file| ReadCache::new(BufReader::new(file)));
    let data = open(path).map_err(|_| "cannot be opened")?;
    let file = object::File::parse(&data).map_err(|_| NO_ELF)?;
    // The load addresses, in ascending order.
    let mut wanted: Vec<(u64, usize)> =
        offsets.iter().enumerate().filter_map(|(at, offset)| Some((address_of(&file, *offset)?, at))).collect();
    wanted.sort_unstable();
    let mut found = Found { wanted, names: vec![None; offsets.len()] };
    match symbols {
        Some(other) => {
            let data = open(other).map_err(|_| "cannot be opened")?;
            found.search(&object::File::parse(&data).map_err(|_| NO_ELF)?);
        }
        None => found.search(&file),
    }
    Ok(found.names.into_iter().map(|name| name.map(|(_, name)| name)).collect())
}

/// Returns the load address of an offset in a file.
fn address_of<'d>(file: &impl Object<'d>, offset: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (from, size) = segment.file_range();
        let inside = offset.checked_sub(from).filter(|inside| *inside < size)?;
        segment.address().checked_add(inside)
    })
}

struct Found {
    /// The address, and the index of the requested offset.
    wanted: Vec<(u64, usize)>,
    /// The begin of the function, and its name.
    names: Vec<Option<(u64, String)>>,
}

impl Found {
    fn search<'d>(&mut self, file: &impl Object<'d>) {
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let (begin, end) = (symbol.address(), symbol.address().saturating_add(symbol.size()));
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() || begin == end {
                continue;
            }
            let first = self.wanted.partition_point(|(address, _)| *address < begin);
            for (_, at) in self.wanted[first..].iter().take_while(|(address, _)| *address < end) {
                // A symbol version of a library follows `@`.
                let Ok(name) = symbol.name().map(|n| n.split_once('@').map_or(n, |(name, _)| name)) else { continue };
                let place = &mut self.names[*at];
                let better =
                    |old: &(u64, String)| begin > old.0 || (begin == old.0 && simplicity(name) < simplicity(&old.1));
                if !name.is_empty() && place.as_ref().is_none_or(better) {
                    *place = Some((begin, name.to_owned()));
                }
            }
        }
    }
}

/// The sort key of several names of a function, the simplest first: `read` before `__libc_read`.
fn simplicity(name: &str) -> (usize, usize, &str) {
    (name.len() - name.trim_start_matches('_').len(), name.len(), name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_kernel_function_extends_to_the_next() {
        let list = "0000000000000000 A fixed_percpu_data\n\
                    ffffffff81000300 T third\n\
                    ffffffff81000100 T first\n\
                    ffffffff81000180 D data\n\
                    ffffffff81000200 t second.isra.0\n\
                    ffffffffc0000000 t of_module\t[ext4]\n\
                    nonsense\n";
        let addresses = [0xffff_ffff_8100_00ff, 0xffff_ffff_8100_0100, 0xffff_ffff_8100_01ff, 0xffff_ffff_8100_0200];
        let more = [0xffff_ffff_8100_0210, 0xffff_ffff_c000_0001];
        let all: Vec<u64> = addresses.into_iter().chain(more).collect();
        let names = of_kernel(list.as_bytes(), &all).unwrap();
        let found: Vec<String> = names
            .into_iter()
            .map(|n| n.map_or("-".into(), |(name, module)| format!("{name} {}", module.unwrap_or_default())))
            .collect();
        assert_eq!(found, ["-", "first ", "first ", "second.isra.0 ", "second.isra.0 ", "of_module [ext4]"]);
        let hidden = "0000000000000000 T first\n0000000000000000 T second\n";
        assert_eq!(of_kernel(hidden.as_bytes(), &addresses).unwrap(), vec![None; 4]);
    }

    #[test]
    fn the_layout_is_read_from_a_list() {
        let list = "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\nffffffff81000000 T _text\n\
                    ffffffffc0000010 t second\t[ext4]\nffffffffc0000000 t first\t[ext4]\n";
        let found = layout(list.as_bytes()).unwrap();
        assert_eq!(found.text, Some(0xffff_ffff_8100_0000));
        assert_eq!(found.modules, HashMap::from([("[ext4]".to_owned(), 0xffff_ffff_c000_0000)]));
    }

    /// Uses the code of this program, which is mapped from its file.
    #[test]
    fn a_function_of_this_program_is_found_by_its_offset() {
        let address = kernel_line as *const () as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (from, offset, name) = maps
            .lines()
            .find_map(|line| {
                let words: Vec<&str> = line.split_ascii_whitespace().collect();
                let (from, to) = words[0].split_once('-')?;
                let inside = (hexadecimal(from)..hexadecimal(to)).contains(&address);
                inside.then(|| (hexadecimal(from), hexadecimal(words[2]), words[5].to_owned()))
            })
            .unwrap();
        let offset = address - from + offset;
        let names = of_file(Path::new(&name), None, &[offset, u64::MAX, offset + 1]).unwrap();
        assert!(names[0].as_ref().unwrap().contains("kernel_line"), "{names:?}");
        assert_eq!((&names[1], &names[2]), (&None, &names[0]));
    }

    #[test]
    fn other_files_have_no_functions() {
        assert!(of_file(Path::new("Cargo.toml"), None, &[0]).is_err());
        assert!(of_file(Path::new("/nowhere"), None, &[0]).is_err());
    }
}
