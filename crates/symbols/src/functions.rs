//! Functions at addresses: of the kernel from its list of functions, of files from their symbol tables.

use crate::lines::{self, Function};
use crate::{NoLines, Why, debug_files};
use model::StackFrame;
use object::read::ReadRef;
use object::{File, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Instant;

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

/// What is known of some code of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Named {
    /// Of each place, the functions, innermost first: the last one has the symbol, the others were inlined into it. Empty if nothing is
    /// known.
    pub functions: Vec<Vec<Function>>,
    /// Why the symbols of the file name nothing, or not everything.
    pub why: Option<Why>,
    /// Why lines and inlined functions are missing, although there is debug information.
    pub no_lines: Option<NoLines>,
}

impl Named {
    /// Nothing is known of so many places.
    #[must_use]
    pub fn nothing(places: usize, why: Why) -> Self {
        Self { functions: vec![Vec::new(); places], why: Some(why), no_lines: None }
    }
}

/// A program or library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    /// Where it is read.
    pub(crate) path: &'a Path,
    /// Its path when it was recorded, near which its debug file may be.
    pub(crate) named: &'a Path,
    /// Its build id.
    pub(crate) id: Option<&'a str>,
}

/// Returns the functions of a program or library at some offsets. `folders`: where debug files are; `until`: lines and inlined functions are
/// searched until then.
pub(crate) fn of_program(of: Program<'_>, folders: &[PathBuf], offsets: &[u64], until: Instant) -> Named {
    let unreadable = || Named::nothing(offsets.len(), Why::Unreadable);
    let Some(data) = debug_files::open(of.path) else { return unreadable() };
    let Ok(file) = File::parse(&data) else { return unreadable() };
    // The load addresses, in ascending order.
    let mut wanted: Vec<(u64, usize)> =
        offsets.iter().enumerate().filter_map(|(at, offset)| Some((address_of(&file, *offset)?, at))).collect();
    wanted.sort_unstable();
    let mut found = Found { wanted, names: vec![None; offsets.len()] };
    let (has_symbols, has_lines) = (file.symbols().next().is_some(), lines::has_lines(&file));
    let separate = if has_symbols && has_lines { None } else { debug_files::find(&file, of.named, of.id, folders) };
    found.search(&file);
    if !has_symbols && let Some(mini) = debug_files::mini(&file) {
        // Separate symbols may have more functions; a function that both have is the same.
        let _ = File::parse(&*mini).map(|file| found.search(&file));
    }
    let mut no_lines = None;
    let mut lines = Vec::new();
    if has_lines {
        // What it shares with others is found from where it was: the path at which it is read may be that of a descriptor.
        (lines, no_lines) = found.lines(&file, of.named, folders, until);
    }
    let mut has_separate = false;
    if let Some(path) = &separate
        && let Some(data) = debug_files::open(path)
        && let Ok(debug) = File::parse(&data)
    {
        has_separate = true;
        if !has_symbols {
            found.search(&debug);
        }
        if !has_lines && lines::has_lines(&debug) {
            (lines, no_lines) = found.lines(&debug, path, folders, until);
        }
    }
    let functions = found.with_lines(lines);
    let lacks_some = functions.iter().any(|of| of.last().is_none_or(|function| function.name.is_none()));
    let why = if has_symbols || has_separate { Why::NoSymbol } else { Why::Stripped };
    Named { functions, why: lacks_some.then_some(why), no_lines }
}

/// Returns the functions of a program at some offsets, which lies in memory: its own symbols and debug information. `None` if it is no ELF
/// file.
#[must_use]
pub fn of_image(image: &[u8], offsets: &[u64], until: Instant) -> Option<Named> {
    let file = File::parse(image).ok()?;
    let wanted = offsets.iter().enumerate().filter_map(|(at, offset)| Some((address_of(&file, *offset)?, at)));
    let mut wanted: Vec<(u64, usize)> = wanted.collect();
    wanted.sort_unstable();
    let mut found = Found { wanted, names: vec![None; offsets.len()] };
    found.search(&file);
    if let Some(mini) = debug_files::mini(&file) {
        let _ = File::parse(&*mini).map(|file| found.search(&file));
    }
    let (lines, no_lines) = found.lines(&file, Path::new(""), &[], until);
    Some(Named { functions: found.with_lines(lines), why: None, no_lines })
}

/// Returns the functions of a program at some offsets from its debug file alone. Nothing if that does not have the program's segments.
pub(crate) fn of_debug_file(path: &Path, folders: &[PathBuf], offsets: &[u64], until: Instant) -> Option<Named> {
    let data = debug_files::open(path)?;
    let file = File::parse(&data).ok()?;
    let wanted: Option<Vec<(u64, usize)>> =
        offsets.iter().enumerate().map(|(at, offset)| Some((address_of(&file, *offset)?, at))).collect();
    let mut wanted = wanted?;
    wanted.sort_unstable();
    let mut found = Found { wanted, names: vec![None; offsets.len()] };
    found.search(&file);
    let (lines, no_lines) = found.lines(&file, path, folders, until);
    let functions = found.with_lines(lines);
    let lacks_some = functions.iter().any(|of| of.last().is_none_or(|function| function.name.is_none()));
    Some(Named { functions, why: lacks_some.then_some(Why::NoSymbol), no_lines })
}

/// Returns the load address of an offset in a file, or of one relative to the file's lowest address ([`StackFrame::FROM_BASE`]).
fn address_of<'d>(file: &impl Object<'d>, offset: u64) -> Option<u64> {
    if offset & StackFrame::FROM_BASE != 0 && offset != u64::MAX {
        // Segments are in ascending order of address.
        return file.segments().next()?.address().checked_add(offset & !StackFrame::FROM_BASE);
    }
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

    /// Returns the functions with lines of each wanted address, in their order.
    fn lines<'d, R: ReadRef<'d>>(
        &self,
        file: &File<'d, R>,
        path: &Path,
        folders: &[PathBuf],
        until: Instant,
    ) -> (Vec<Vec<Function>>, Option<NoLines>) {
        let addresses: Vec<u64> = self.wanted.iter().map(|(address, _)| *address).collect();
        let common = debug_files::common(file, path, folders).and_then(|path| debug_files::open(&path));
        let parsed = common.as_ref().and_then(|data| File::parse(data).ok());
        lines::functions(file, parsed.as_ref(), &addresses, until)
    }

    /// Returns what is known of each requested offset. `lines`: of each wanted address, or none.
    fn with_lines(self, lines: Vec<Vec<Function>>) -> Vec<Vec<Function>> {
        let mut all: Vec<Vec<Function>> = vec![Vec::new(); self.names.len()];
        for ((_, at), functions) in self.wanted.iter().zip(lines) {
            all[*at] = functions;
        }
        for (functions, name) in all.iter_mut().zip(self.names) {
            let Some((_, name)) = name else { continue };
            match functions.last_mut() {
                Some(last) => last.name = Some(name),
                None => functions.push(Function { name: Some(name), ..Function::default() }),
            }
        }
        all
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
        let named = of(Path::new(&name), &[offset, u64::MAX, offset + 1]);
        let names: Vec<_> = named.functions.iter().map(|of| of.last().and_then(|last| last.name.clone())).collect();
        assert!(names[0].as_ref().unwrap().contains("kernel_line"), "{names:?}");
        assert_eq!((&names[1], &names[2]), (&None, &names[0]));
        let source = named.functions[0].last().unwrap().source.as_ref().unwrap();
        assert!(source.ends_with("src/functions.rs"), "{source}");
    }

    /// The code of this test is at a known distance from the lowest address of the program.
    #[test]
    fn a_function_is_found_by_its_distance_from_the_lowest_address() {
        let address = kernel_line as *const () as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let exe = std::env::current_exe().unwrap();
        let base = maps.lines().find(|line| line.ends_with(exe.to_str().unwrap())).unwrap();
        let base = u64::from_str_radix(base.split_once('-').unwrap().0, 16).unwrap();
        let named = of(&exe, &[StackFrame::FROM_BASE | (address - base)]);
        let name = named.functions[0].last().and_then(|last| last.name.clone()).unwrap();
        assert!(name.contains("kernel_line"), "{name}");
    }

    fn of(path: &Path, offsets: &[u64]) -> Named {
        let program = Program { path, named: path, id: None };
        of_program(program, &[], offsets, Instant::now() + std::time::Duration::from_secs(60))
    }

    #[test]
    fn other_files_have_no_functions() {
        for path in ["Cargo.toml", "/nowhere", "/dev/zero", "/tmp"] {
            assert_eq!(of(Path::new(path), &[0]), Named::nothing(1, Why::Unreadable), "{path}");
        }
    }
}
