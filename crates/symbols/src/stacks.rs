//! Function names for callchains whose source has code locations but no names.

use crate::demangle::demangled;
use crate::lines::Function;
use crate::path::LINES_FOR;
use crate::{NoLines, SymbolPath, Why, functions, package};
use model::{NameId, StackFrame, Stacks};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};
use std::time::Instant;

/// The page size; modules are loaded on pages of their own.
const PAGE: u64 = 4096;

/// The most files that are listed with the reason why their code has no names.
const MAX_LISTED: usize = 8;

/// The number of distinct frames without a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Nameless {
    /// Frames of the kernel and its modules: all, and those without a name.
    pub kernel: [u64; 2],
    /// Frames of programs and libraries: all, and those without a name.
    pub programs: [u64; 2],
    /// Whether the source says where the kernel was loaded, so that its addresses are places in its code.
    pub kernel_placed: bool,
    /// Whether the source has the kernel's build id.
    pub kernel_known: bool,
    /// Whether a list of the kernel's functions was found.
    pub kernel_listed: bool,
    /// The frames of programs without a name by file and reason, the most first. The file is empty if the memory belongs to none.
    pub files: Vec<(String, Why, u64)>,
    /// The files whose debug information has no lines for some code, with the reason.
    pub without_lines: Vec<(String, NoLines)>,
}

impl Nameless {
    /// Returns messages for the user, a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let [all, without] = self.kernel;
        if without > 0 {
            let why = match () {
                // A source that names other kernel frames itself, without their places, had such a list.
                () if self.kernel_listed || !self.kernel_placed && without < all => {
                    "they are not in its list of functions (for example code generated at run time)"
                }
                () if !self.kernel_placed => {
                    "the recording does not say where the kernel was loaded, so their addresses are those of no function (perf record \
                     leaves it out where kernel.kptr_restrict hides the kernel's addresses from its user)"
                }
                () if self.kernel_known => {
                    "no list of the functions of that kernel was found: read the recording as root while that kernel is running, or \
                     copy ~/.debug from the machine that made it (perf archive)"
                }
                () => {
                    "they are code generated at run time, or the recording lacks the kernel's build id (perf record -B omits it)"
                }
            };
            sentences.push(format!("Kernel frames without a name: {without} of {all}; {why}."));
        }
        let [all, without] = self.programs;
        if without > 0 {
            sentences.push(format!("Program frames without a name: {without} of {all}."));
        }
        let listed = &self.files[..self.files.len().min(MAX_LISTED)];
        let stripped = listed.iter().filter(|(_, why, _)| *why == Why::Stripped).map(|(file, ..)| &**file);
        let packages = package::with_symbols(&stripped.collect::<Vec<_>>());
        for (file, why, frames) in listed {
            let why = match packages.get(file) {
                Some(package) => format!("{}; the package is {package}", why.sentence()),
                None => why.sentence().to_owned(),
            };
            let of = if file.is_empty() { "code of no file" } else { file };
            sentences.push(format!(
                "Without a name: {frames} {} of {of}: {why}.",
                if *frames == 1 { "frame" } else { "frames" }
            ));
        }
        if let Some(more) = self.files.get(MAX_LISTED..).filter(|more| !more.is_empty()) {
            let frames: u64 = more.iter().map(|(.., frames)| frames).sum();
            sentences.push(format!("Without a name, in other files ({}): {frames} frames.", more.len()));
        }
        for (file, why) in self.without_lines.iter().take(MAX_LISTED) {
            sentences.push(format!("Without source lines and inlined functions: {file}: {}.", why.sentence()));
        }
        sentences
    }
}

/// The code location of a frame; for callers, the last byte before the return address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Code {
    in_kernel: bool,
    file: NameId,
    build_id: NameId,
    byte: u64,
    /// The address in memory, for kernel modules, whose list has addresses.
    address: u64,
}

impl Code {
    fn of(frame: &StackFrame, at: Position) -> Self {
        let back = u64::from(!at.innermost);
        let in_kernel = frame.in_kernel() && !at.in_program;
        Self {
            in_kernel,
            file: frame.file,
            build_id: frame.build_id,
            byte: if frame.offset == u64::MAX { u64::MAX } else { frame.offset.saturating_sub(back) },
            // Programs are loaded at varying addresses.
            address: if in_kernel || frame.offset == u64::MAX { frame.address.saturating_sub(back) } else { 0 },
        }
    }
}

/// The position of a frame in a callchain.
#[derive(Clone, Copy)]
struct Position {
    /// The innermost frame of the kernel or the program.
    innermost: bool,
    /// After the marker of user addresses.
    in_program: bool,
}

/// Returns each frame of a chain with its code location; none for perf's markers.
fn each(chain: &[StackFrame]) -> impl Iterator<Item = (&StackFrame, Option<Code>)> {
    let mut next = Position { innermost: true, in_program: false };
    chain.iter().map(move |frame| {
        let at = next;
        let is_marker = frame.address >= StackFrame::CONTEXT_MARKERS;
        // A frame that says what the next one does: it has a name and no place.
        let is_comment = at.innermost && frame.offset == u64::MAX && frame.function != NameId::NONE;
        // An inlined function and the function that contains it are one place in the code.
        next.innermost = is_marker || is_comment || (at.innermost && frame.inlined);
        if is_marker {
            next.in_program = frame.address == StackFrame::CONTEXT_USER;
        }
        (frame, (!is_marker).then(|| Code::of(frame, at)))
    })
}

/// Names the frames whose source has their place in a file, but no function, no line or no inlined functions. Returns what remains without a
/// name.
#[must_use]
pub fn name(stacks: &mut Stacks, path: &SymbolPath) -> Nameless {
    name_with(stacks, path, false)
}

/// As [`name`], also for frames that have names already: debug files that are found now may have better ones. What is not found now remains.
#[must_use]
pub fn name_again(stacks: &mut Stacks, path: &SymbolPath) -> Nameless {
    name_with(stacks, path, true)
}

/// What the chains have about a code location.
#[derive(Clone, Copy, Default)]
struct Known {
    function: Option<NameId>,
    /// It has a line or inlined functions.
    has_lines: bool,
}

/// The functions at a code location that was looked up, innermost first.
type FoundFunctions = HashMap<Code, Vec<(NameId, NameId, u32)>>;

fn name_with(stacks: &mut Stacks, path: &SymbolPath, again: bool) -> Nameless {
    let mut codes: BTreeMap<Code, Known> = BTreeMap::new();
    let mut nameless = Nameless::default();
    for chain in &stacks.chains {
        for (frame, code) in each(chain) {
            let Some(code) = code else { continue };
            let known = codes.entry(code).or_default();
            known.has_lines |= frame.inlined || frame.line != 0;
            if frame.function != NameId::NONE && !frame.inlined {
                known.function = Some(frame.function);
            }
        }
    }
    let found = of_programs(stacks, path, &codes, again, &mut nameless);
    nameless.kernel_placed = codes.keys().any(|code| code.in_kernel && code.byte != u64::MAX);
    nameless.kernel_known = kernel_id(stacks, &codes).is_some();
    let of_kernel = of_kernel(stacks, path, &codes);
    nameless.kernel_listed = of_kernel.is_some();
    let of_kernel = of_kernel.into_iter().flatten().map(|(code, name)| {
        let function = Function { name: Some(name), ..Function::default() };
        (code, vec![function])
    });
    let mut ids: HashMap<String, NameId> = HashMap::new();
    let mut looked = FoundFunctions::new();
    for (code, functions) in found.into_iter().chain(of_kernel) {
        let mut id = |text: Option<String>| match text {
            None => NameId::NONE,
            Some(text) => *ids.entry(text).or_insert_with_key(|text| {
                stacks.names.push(text.as_str().into());
                NameId(u32::try_from(stacks.names.len()).unwrap_or(0))
            }),
        };
        let named = functions.into_iter().map(|of| (id(of.name), id(of.source), of.line)).collect();
        looked.insert(code, named);
    }
    for code in codes.keys() {
        let is_named = codes[code].function.is_some()
            || looked.get(code).and_then(|of| of.last()).is_some_and(|(name, ..)| *name != NameId::NONE);
        let [all, without] = if code.in_kernel { &mut nameless.kernel } else { &mut nameless.programs };
        *all += 1;
        *without += u64::from(!is_named);
    }
    for chain in &mut stacks.chains {
        if let Some(new) = with_names(chain, &codes, &looked, again) {
            *chain = new;
        }
    }
    mark_waiting(stacks, path);
    demangle(stacks);
    nameless
}

/// Returns a chain with what was found; `None` if it stays as it is.
fn with_names(
    chain: &[StackFrame],
    codes: &BTreeMap<Code, Known>,
    looked: &FoundFunctions,
    again: bool,
) -> Option<Box<[StackFrame]>> {
    let mut new: Vec<StackFrame> = Vec::with_capacity(chain.len());
    let mut inlined = 0;
    for (frame, code) in each(chain) {
        if frame.inlined {
            new.push(*frame);
            inlined += 1;
            continue;
        }
        let mut frame = *frame;
        let known = code.and_then(|code| codes.get(&code).copied()).unwrap_or_default();
        match code.and_then(|code| looked.get(&code)).and_then(|functions| functions.split_last()) {
            // What is known now may be more than what was known before, never less.
            Some((last, inner)) if last.2 != 0 || !inner.is_empty() || !known.has_lines => {
                new.truncate(new.len() - inlined);
                let function =
                    |(function, source, line): (NameId, NameId, u32)| StackFrame { function, source, line, ..frame };
                new.extend(inner.iter().map(|of| StackFrame { inlined: true, ..function(*of) }));
                let mut last = function(*last);
                let keeps = !again || last.function == NameId::NONE;
                if frame.function != NameId::NONE && keeps {
                    last.function = frame.function;
                }
                frame = last;
            }
            _ => {}
        }
        // A frame without a place is not that of another one with the same name.
        let has_place = !matches!(frame.address, 0 | StackFrame::UNKNOWN_KERNEL_ADDRESS) || frame.offset != u64::MAX;
        if frame.function == NameId::NONE
            && has_place
            && let Some(function) = known.function
        {
            frame.function = function;
        }
        new.push(frame);
        inlined = 0;
    }
    (*new != *chain).then(|| new.into())
}

/// Puts a frame [`StackFrame::SPIN_WAIT`] before the innermost frame of each chain that ends in code which only waits for another thread.
fn mark_waiting(stacks: &mut Stacks, path: &SymbolPath) {
    let innermost = |chain: &[StackFrame]| {
        let first = chain.first().filter(|frame| frame.address < StackFrame::CONTEXT_MARKERS);
        // A chain of the program alone may begin with its marker.
        let second = || (chain.first()?.address == StackFrame::CONTEXT_USER).then(|| chain.get(1)).flatten();
        first.or_else(second).copied().filter(|frame| !frame.in_kernel() && frame.offset != u64::MAX)
    };
    let mut files: BTreeMap<(NameId, NameId), Vec<u64>> = BTreeMap::new();
    for frame in stacks.chains.iter().filter_map(|chain| innermost(chain)) {
        files.entry((frame.file, frame.build_id)).or_default().push(frame.offset);
    }
    let mut waiting = BTreeSet::new();
    for ((file, id), mut offsets) in files {
        offsets.sort_unstable();
        offsets.dedup();
        let (Some(name), Some(build_id)) = (stacks.name(file), stacks.name(id)) else { continue };
        let found = path.waits(name, build_id, &offsets);
        waiting.extend(offsets.into_iter().zip(found).filter(|(_, waits)| *waits).map(|(at, _)| (file, id, at)));
    }
    if waiting.is_empty() {
        return;
    }
    stacks.names.push(StackFrame::SPIN_WAIT.into());
    let function = NameId(u32::try_from(stacks.names.len()).unwrap_or(0));
    for chain in &mut stacks.chains {
        let frame = innermost(chain).filter(|frame| waiting.contains(&(frame.file, frame.build_id, frame.offset)));
        if let Some(frame) = frame {
            let wait = StackFrame {
                function,
                build_id: NameId::NONE,
                offset: u64::MAX,
                source: NameId::NONE,
                line: 0,
                inlined: false,
                ..frame
            };
            *chain = [wait].into_iter().chain(chain.iter().copied()).collect();
        }
    }
}

/// Replaces symbols of C++ and Rust by the names that they stand for.
fn demangle(stacks: &mut Stacks) {
    let mut names: HashMap<NameId, NameId> = HashMap::new();
    let Stacks { chains, names: texts } = stacks;
    for frame in chains.iter_mut().flat_map(|chain| chain.iter_mut()).filter(|f| f.function != NameId::NONE) {
        let id = frame.function;
        frame.function = *names.entry(id).or_insert_with(|| {
            let symbol = texts.get((id.0 as usize).wrapping_sub(1));
            let Some(name) = symbol.and_then(|symbol| demangled(symbol)) else { return id };
            texts.push(name.into());
            NameId(u32::try_from(texts.len()).unwrap_or(0))
        });
    }
}

/// Returns the build id of the kernel.
fn kernel_id<'a>(stacks: &'a Stacks, codes: &BTreeMap<Code, Known>) -> Option<&'a str> {
    let of_kernel = |code: &&Code| code.in_kernel && stacks.name(code.file) == Some(StackFrame::KERNEL);
    codes.keys().filter(of_kernel).find_map(|code| stacks.name(code.build_id))
}

/// Returns what was found of programs and libraries; notes what has no name.
fn of_programs(
    stacks: &Stacks,
    path: &SymbolPath,
    codes: &BTreeMap<Code, Known>,
    again: bool,
    nameless: &mut Nameless,
) -> Vec<(Code, Vec<Function>)> {
    let mut files: BTreeMap<(NameId, NameId), Vec<(Code, Known)>> = BTreeMap::new();
    let mut without: BTreeMap<(&str, Why), u64> = BTreeMap::new();
    for (code, known) in codes.iter().filter(|(code, _)| !code.in_kernel) {
        if code.byte == u64::MAX || code.file == NameId::NONE || code.build_id == NameId::NONE {
            if known.function.is_none() {
                let file = stacks.name(code.file).unwrap_or_default();
                *without.entry((file, why_unplaced(file, code))).or_default() += 1;
            }
        } else if again || known.function.is_none() || !known.has_lines {
            files.entry((code.file, code.build_id)).or_default().push((*code, *known));
        }
    }
    let until = Instant::now() + LINES_FOR;
    let mut found = Vec::new();
    for ((file, id), codes) in files {
        let (Some(file), Some(id)) = (stacks.name(file), stacks.name(id)) else { continue };
        let bytes: Vec<u64> = codes.iter().map(|(code, _)| code.byte).collect();
        let named = path.functions(file, id, &bytes, until);
        if let Some(why) = named.no_lines {
            nameless.without_lines.push((file.to_owned(), why));
        }
        for ((code, known), functions) in codes.into_iter().zip(named.functions) {
            let is_named = functions.last().is_some_and(|function| function.name.is_some());
            if !is_named && known.function.is_none() {
                *without.entry((file, named.why.unwrap_or(Why::NoSymbol))).or_default() += 1;
            }
            if !functions.is_empty() {
                found.push((code, functions));
            }
        }
    }
    nameless.files = without.into_iter().map(|((file, why), frames)| (file.to_owned(), why, frames)).collect();
    nameless.files.sort_by_key(|(.., frames)| std::cmp::Reverse(*frames));
    found
}

/// Returns why code without a place in a file of known build id has no name.
fn why_unplaced(file: &str, code: &Code) -> Why {
    match file {
        "" => Why::Unmapped,
        StackFrame::GENERATED | "[anon]" | "[heap]" | "[stack]" => Why::Generated,
        _ if file.starts_with("[anon:") || file.starts_with("//anon") => Why::Generated,
        _ if file.starts_with('[') => Why::OfKernel,
        _ if file.ends_with(" (deleted)") => Why::Deleted,
        _ if code.build_id == NameId::NONE => Why::NoBuildId,
        _ => Why::NotFound,
    }
}

/// Returns the functions of the kernel; `None` if no list of that kernel is found.
fn of_kernel(stacks: &Stacks, path: &SymbolPath, codes: &BTreeMap<Code, Known>) -> Option<Vec<(Code, String)>> {
    let is_wanted =
        |(code, known): &(&Code, &Known)| code.in_kernel && code.byte != u64::MAX && known.function.is_none();
    let wanted: Vec<Code> = codes.iter().filter(is_wanted).map(|(code, _)| *code).collect();
    if wanted.is_empty() {
        return None;
    }
    path.kernel_lists(kernel_id(stacks, codes)?).into_iter().find_map(|list| {
        let list = File::open(list).map(|file| BufReader::with_capacity(1 << 16, file)).ok()?;
        by_list(stacks, list, &wanted).ok()?
    })
}

/// Returns the functions of the kernel from a list; `None` if the list has no addresses (kernel.kptr_restrict). The kernel may be at
/// another address than in the recording; functions of a module are named only if the module is at the same address.
fn by_list(
    stacks: &Stacks,
    mut list: impl BufRead + Seek,
    codes: &[Code],
) -> std::io::Result<Option<Vec<(Code, String)>>> {
    let layout = functions::layout(&mut list)?;
    let Some(text) = layout.text else { return Ok(None) };
    let mut wanted: Vec<(u64, Code, Option<String>)> = Vec::new();
    for code in codes {
        let file = stacks.name(code.file).unwrap_or_default();
        if file == StackFrame::KERNEL {
            wanted.push((text.wrapping_add(code.byte), *code, None));
        } else {
            let module = module(file);
            let begin = code.address.wrapping_sub(code.byte);
            if layout.modules.get(&module).is_some_and(|first| first / PAGE == begin / PAGE) {
                wanted.push((code.address, *code, Some(module)));
            }
        }
    }
    wanted.sort_unstable();
    let addresses: Vec<u64> = wanted.iter().map(|(address, ..)| *address).collect();
    list.rewind()?;
    let names = functions::of_kernel(list, &addresses)?;
    let named = wanted.into_iter().zip(names).filter_map(|((_, code, module), function)| {
        let (function, of) = function?;
        (of == module).then_some((code, function))
    });
    Ok(Some(named.collect()))
}

/// Returns the name of a file's module in the kernel's list: `[nf_tables]` for `/lib/modules/6.1/kernel/net/netfilter/nf-tables.ko.xz`.
fn module(file: &str) -> String {
    if file.starts_with('[') {
        return file.to_owned();
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("[{}]", name.split('.').next().unwrap_or(name).replace('-', "_"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ID: &str = "4a5a9b0affb66c437abcd455d2738af879985fa9";
    const TEXT: u64 = 0xffff_ffff_8100_0000;

    /// Returns the paths of a machine whose perf cache has this list of kernel functions, and whose running kernel is unknown.
    fn machine(folder: &std::path::Path, list: &str) -> SymbolPath {
        let cached = folder.join(".build-id").join(&ID[..2]).join(&ID[2..]);
        std::fs::create_dir_all(&cached).unwrap();
        std::fs::write(cached.join("kallsyms"), list).unwrap();
        let nowhere = folder.join("nowhere");
        SymbolPath { cache: Some(folder.to_owned()), folders: Vec::new(), notes: nowhere.clone(), list: nowhere }
    }

    /// Returns frames of the kernel, of a module that begins at 0xffff_ffff_c000_0000, of an unknown location, and of a program, the last
    /// of which looks like a kernel frame.
    fn stacks(id: &str) -> Stacks {
        let names: Vec<Box<str>> =
            [StackFrame::KERNEL, id, "/lib/modules/6.1/kernel/fs/my-fs.ko.xz"].map(Into::into).into();
        let of = |address: u64, offset: u64, file: u32, build_id: u32| StackFrame {
            file: NameId(file),
            build_id: if id.is_empty() { NameId::NONE } else { NameId(build_id) },
            offset,
            ..StackFrame::at(address)
        };
        let chain = [
            StackFrame::at((-128_i64).cast_unsigned()),
            of(TEXT + 0x100, 0x100, 1, 2),
            of(TEXT + 0x200, 0x200, 1, 2),
            of(0xffff_ffff_c000_0024, 0x24, 3, 0),
            StackFrame::at(0xffff_ffff_d000_0000),
            StackFrame::at(StackFrame::CONTEXT_USER),
            StackFrame::at(0x40_0000),
            StackFrame::at(0xf2f2_f2f2_f2f2_f2f2),
        ];
        Stacks { chains: vec![chain.into()], names }
    }

    fn functions_of(stacks: &Stacks) -> Vec<&str> {
        stacks.chains[0].iter().map(|frame| stacks.name(frame.function).unwrap_or("-")).collect()
    }

    /// The list is from another boot of the same kernel, which was a MiB higher. The innermost frame is at the first byte of a
    /// function; its caller returns to the first byte of the next function, and is still in the one before.
    #[test]
    fn the_kernel_is_named_at_any_address_and_a_module_only_at_the_same_address() {
        let list = "ffffffff81100000 T _text\nffffffff81100100 T first\nffffffff81100200 t second\n\
                    ffffffffc0000010 t of_module\t[my_fs]\n";
        let folder = tempfile::tempdir().unwrap();
        let path = machine(folder.path(), list);
        let mut all = stacks(ID);
        let nameless = name(&mut all, &path);
        assert_eq!(functions_of(&all), ["-", "first", "first", "of_module", "-", "-", "-", "-"]);
        assert_eq!((nameless.kernel, nameless.programs, nameless.kernel_known), ([4, 1], [2, 2], true));
        let files = [(String::new(), Why::Unmapped, 2)];
        assert_eq!((nameless.sentences().len(), &nameless.files[..]), (3, &files[..]));
        std::fs::write(path.kernel_lists(ID).first().unwrap(), list.replace("ffffffffc0000010", "ffffffffc0001010"))
            .unwrap();
        let mut all = stacks(ID);
        assert_eq!(name(&mut all, &path).kernel, [4, 2]);
        assert_eq!(functions_of(&all)[3], "-");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_chain_that_ends_in_a_loop_with_a_spin_wait_hint_says_so() {
        let program = std::env::current_exe().unwrap();
        let Some(id) = crate::build_id::of_file(&program) else { return };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let place = |address: u64| {
            let line = maps.lines().find_map(|line| {
                let words: Vec<&str> = line.split_ascii_whitespace().collect();
                let (from, to) = words[0].split_once('-')?;
                let inside = (hexadecimal(from)..hexadecimal(to)).contains(&address);
                inside.then(|| address - hexadecimal(from) + hexadecimal(words[2]))
            });
            StackFrame { file: NameId(1), build_id: NameId(2), offset: line.unwrap(), ..StackFrame::at(address) }
        };
        // Its code in this program is the hint and a few instructions.
        let of_loop = std::arch::x86_64::_mm_pause as *const () as u64;
        let waits = (of_loop..of_loop + 4).map(place).collect::<Vec<_>>();
        let mut all = Stacks {
            chains: waits.iter().map(|frame| [*frame, place(of_loop)].into()).collect(),
            names: [program.to_str().unwrap(), &id].map(Into::into).into(),
        };
        all.chains.push([place(name as *const () as u64), waits[0]].into());
        let path = SymbolPath { cache: None, ..SymbolPath::of_this_machine() };
        let _ = name(&mut all, &path);
        let longest = all.chains.iter().max_by_key(|chain| chain.len()).unwrap();
        assert_eq!((longest.len(), all.name(longest[0].function)), (3, Some(StackFrame::SPIN_WAIT)));
        let (last, _) = all.chains.split_last().unwrap();
        assert_eq!(last.len(), 2, "a caller in such a loop does not wait: it called another function");
        let before = all.clone();
        let _ = name(&mut all, &path);
        assert_eq!(all.chains, before.chains, "naming a second time adds nothing");
    }

    #[test]
    fn other_kernels_and_lists_without_addresses_name_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = machine(folder.path(), "ffffffff81000000 T _text\nffffffff81000100 T first\n");
        for id in ["0011223344556677", "", "../../etc"] {
            let mut all = stacks(id);
            let nameless = name(&mut all, &path);
            let result = (nameless.kernel, nameless.kernel_known, nameless.kernel_listed);
            assert_eq!(result, ([4, 4], !id.is_empty(), false), "{id:?}");
            assert!(nameless.kernel_placed);
        }
        let path = machine(folder.path(), "0000000000000000 T _text\n0000000000000000 T first\n");
        assert_eq!(name(&mut stacks(ID), &path).kernel, [4, 4]);
    }

    #[test]
    fn the_reason_for_kernel_frames_without_names_is_that_of_the_recording() {
        let why = |kernel_placed, kernel_known, kernel_listed| {
            let nameless =
                Nameless { kernel: [4, 4], kernel_placed, kernel_known, kernel_listed, ..Nameless::default() };
            nameless.sentences().concat()
        };
        assert!(why(false, true, false).contains("where the kernel was loaded"));
        assert!(why(true, false, false).contains("lacks the kernel's build id"));
        assert!(why(true, true, false).contains("no list of the functions"));
        let by_recorder = Nameless { kernel: [139, 10], ..Nameless::default() };
        assert!(by_recorder.sentences().concat().contains("not in its list of functions"));
    }
}
