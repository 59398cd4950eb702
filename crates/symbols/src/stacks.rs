//! The names of callchains whose source kept where their code lies, but not what it is called.

use crate::{SymbolPath, functions};
use model::{NameId, StackFrame, Stacks};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Seek};

/// Modules are loaded at pages of their own.
const PAGE: u64 = 4096;

/// How many different frames have no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nameless {
    /// Of the kernel and its modules: all, and those without a name.
    pub kernel: [u64; 2],
    /// Of programs and libraries, likewise.
    pub programs: [u64; 2],
    /// Whether the source told the kernel's build id.
    pub kernel_known: bool,
    /// Whether a list of its functions was found.
    pub kernel_listed: bool,
}

impl Nameless {
    /// What a user should know of it, a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut told = Vec::new();
        let [all, without] = self.kernel;
        if without > 0 {
            let why = match (self.kernel_known, self.kernel_listed) {
                (_, true) => "they are not in its list of functions, as code that it made while it ran is not",
                (true, false) => {
                    "no list of the functions of that very kernel is here: read the recording while that kernel runs, as root, or \
                     bring ~/.debug from the machine that made it (perf archive)"
                }
                (false, false) => "the recording does not tell the kernel's build id (perf record -B leaves it out)",
            };
            told.push(format!("Frames of callchains in the kernel that have no name: {without} of {all}; {why}."));
        }
        let [all, without] = self.programs;
        if without > 0 {
            told.push(format!(
                "Frames of callchains in programs that have no name: {without} of {all}; names need build ids in the recording \
                 (perf record --buildid-mmap) and here the same files, with their symbols."
            ));
        }
        told
    }
}

/// The byte of code that a frame is at: of callers, the last one before that to which they return.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Code {
    in_kernel: bool,
    file: NameId,
    build_id: NameId,
    byte: u64,
    /// Where it lay: of the kernel's modules, whose list has addresses.
    address: u64,
}

impl Code {
    fn of(frame: &StackFrame, at: At) -> Self {
        let back = u64::from(!at.innermost);
        let in_kernel = frame.in_kernel() && !at.of_program;
        Self {
            in_kernel,
            file: frame.file,
            build_id: frame.build_id,
            byte: if frame.offset == u64::MAX { u64::MAX } else { frame.offset.saturating_sub(back) },
            // Programs are loaded anywhere.
            address: if in_kernel || frame.offset == u64::MAX { frame.address.saturating_sub(back) } else { 0 },
        }
    }
}

/// Where in a callchain a frame stands.
#[derive(Clone, Copy)]
struct At {
    /// Of the kernel or the program.
    innermost: bool,
    /// Behind the mark of the program's.
    of_program: bool,
}

/// Each frame of a chain, but for perf's marks.
fn each(chain: &mut [StackFrame]) -> impl Iterator<Item = (&mut StackFrame, At)> {
    let mut next = At { innermost: true, of_program: false };
    chain.iter_mut().filter_map(move |frame| {
        let at = next;
        next.innermost = frame.address >= StackFrame::CONTEXTS;
        if next.innermost {
            next.of_program = frame.address == StackFrame::OF_PROGRAM;
            return None;
        }
        Some((frame, at))
    })
}

/// Names the frames that have a place in code but no function. Gives how many stay without; none where the sources named all
/// that they could themselves.
#[must_use]
pub fn name(stacks: &mut Stacks, path: &SymbolPath) -> Nameless {
    let mut codes: BTreeMap<Code, Option<NameId>> = BTreeMap::new();
    let mut nameless = Nameless::default();
    for chain in &mut stacks.chains {
        for (frame, at) in each(chain) {
            codes.insert(Code::of(frame, at), Some(frame.function).filter(|f| *f != NameId::NONE));
        }
    }
    let found = of_programs(stacks, path, &codes).into_iter();
    nameless.kernel_known = kernel_id(stacks, &codes).is_some();
    let of_kernel = of_kernel(stacks, path, &codes);
    nameless.kernel_listed = of_kernel.is_some();
    let mut ids: HashMap<String, NameId> = HashMap::new();
    for (code, function) in found.chain(of_kernel.into_iter().flatten()) {
        let id = *ids.entry(function).or_insert_with_key(|function| {
            stacks.names.push(function.as_str().into());
            NameId(u32::try_from(stacks.names.len()).unwrap_or(0))
        });
        codes.insert(code, Some(id));
    }
    for (code, function) in &codes {
        let [all, without] = if code.in_kernel { &mut nameless.kernel } else { &mut nameless.programs };
        *all += 1;
        *without += u64::from(function.is_none());
    }
    for chain in &mut stacks.chains {
        for (frame, at) in each(chain).filter(|(frame, _)| frame.function == NameId::NONE) {
            frame.function = codes.get(&Code::of(frame, at)).copied().flatten().unwrap_or_default();
        }
    }
    nameless
}

/// The build id of the kernel.
fn kernel_id<'a>(stacks: &'a Stacks, codes: &BTreeMap<Code, Option<NameId>>) -> Option<&'a str> {
    let of_kernel = |code: &&Code| code.in_kernel && stacks.name(code.file) == Some(StackFrame::KERNEL);
    codes.keys().filter(of_kernel).find_map(|code| stacks.name(code.build_id))
}

/// Those of programs, or of the kernel, that have no function but a place in a file.
fn asked(codes: &BTreeMap<Code, Option<NameId>>, in_kernel: bool) -> impl Iterator<Item = Code> {
    let asked = move |(code, function): &(&Code, &Option<NameId>)| {
        function.is_none() && code.byte != u64::MAX && code.in_kernel == in_kernel
    };
    codes.iter().filter(asked).map(|(code, _)| *code)
}

/// The functions of programs and libraries.
fn of_programs(stacks: &Stacks, path: &SymbolPath, codes: &BTreeMap<Code, Option<NameId>>) -> Vec<(Code, String)> {
    let mut files: BTreeMap<(NameId, NameId), Vec<Code>> = BTreeMap::new();
    asked(codes, false).for_each(|code| files.entry((code.file, code.build_id)).or_default().push(code));
    let mut found = Vec::new();
    for ((file, id), codes) in files {
        let (Some(file), Some(id)) = (stacks.name(file), stacks.name(id)) else { continue };
        let bytes: Vec<u64> = codes.iter().map(|code| code.byte).collect();
        let names = path.functions(file, id, &bytes);
        found.extend(codes.into_iter().zip(names).filter_map(|(code, function)| Some((code, function?))));
    }
    found
}

/// The functions of the kernel; `None` where no list of that kernel's is to be found.
fn of_kernel(
    stacks: &Stacks,
    path: &SymbolPath,
    codes: &BTreeMap<Code, Option<NameId>>,
) -> Option<Vec<(Code, String)>> {
    let asked: Vec<Code> = asked(codes, true).collect();
    if asked.is_empty() {
        return None;
    }
    path.kernel_lists(kernel_id(stacks, codes)?).into_iter().find_map(|list| {
        let list = File::open(list).map(|file| BufReader::with_capacity(1 << 16, file)).ok()?;
        by_list(stacks, list, &asked).ok()?
    })
}

/// The functions of the kernel by a list; `None` where it does not tell where the kernel is (kernel.kptr_restrict). The kernel
/// may lie elsewhere now than when it was recorded; its modules are named only where they lie as they did.
fn by_list(
    stacks: &Stacks,
    mut list: impl BufRead + Seek,
    codes: &[Code],
) -> std::io::Result<Option<Vec<(Code, String)>>> {
    let layout = functions::layout(&mut list)?;
    let Some(text) = layout.text else { return Ok(None) };
    let mut asked: Vec<(u64, Code, Option<String>)> = Vec::new();
    for code in codes {
        let file = stacks.name(code.file).unwrap_or_default();
        if file == StackFrame::KERNEL {
            asked.push((text.wrapping_add(code.byte), *code, None));
        } else {
            let module = module(file);
            let begin = code.address.wrapping_sub(code.byte);
            if layout.modules.get(&module).is_some_and(|first| first / PAGE == begin / PAGE) {
                asked.push((code.address, *code, Some(module)));
            }
        }
    }
    asked.sort_unstable();
    let addresses: Vec<u64> = asked.iter().map(|(address, ..)| *address).collect();
    list.rewind()?;
    let names = functions::of_kernel(list, &addresses)?;
    let named = asked.into_iter().zip(names).filter_map(|((_, code, module), function)| {
        let (function, of) = function?;
        (of == module).then_some((code, function))
    });
    Ok(Some(named.collect()))
}

/// What the kernel's list calls the module of a file: `[nf_tables]` of `/lib/modules/6.1/kernel/net/netfilter/nf-tables.ko.xz`.
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

    /// A machine whose perf kept this list of the kernel's functions, and that runs none of these kernels itself.
    fn machine(folder: &std::path::Path, list: &str) -> SymbolPath {
        let kept = folder.join(".build-id").join(&ID[..2]).join(&ID[2..]);
        std::fs::create_dir_all(&kept).unwrap();
        std::fs::write(kept.join("kallsyms"), list).unwrap();
        let nowhere = folder.join("nowhere");
        SymbolPath { cache: Some(folder.to_owned()), debug: nowhere.clone(), notes: nowhere.clone(), list: nowhere }
    }

    /// Frames of the kernel, of a module that begins at 0xffff_ffff_c000_0000, of what nobody knows, and of a program, whose last
    /// one looks like one of the kernel's.
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
            StackFrame::at(StackFrame::OF_PROGRAM),
            StackFrame::at(0x40_0000),
            StackFrame::at(0xf2f2_f2f2_f2f2_f2f2),
        ];
        Stacks { chains: vec![chain.into()], names }
    }

    fn told(stacks: &Stacks) -> Vec<&str> {
        stacks.chains[0].iter().map(|frame| stacks.name(frame.function).unwrap_or("-")).collect()
    }

    /// The list is of another start of the same kernel, which lay a MiB higher then. The innermost frame is at a function's
    /// first byte; its caller returns to the first byte of the next function, and is still in the one before.
    #[test]
    fn the_kernel_is_named_wherever_it_lies_and_a_module_only_where_it_lay() {
        let list = "ffffffff81100000 T _text\nffffffff81100100 T first\nffffffff81100200 t second\n\
                    ffffffffc0000010 t of_module\t[my_fs]\n";
        let folder = tempfile::tempdir().unwrap();
        let path = machine(folder.path(), list);
        let mut all = stacks(ID);
        let nameless = name(&mut all, &path);
        assert_eq!(told(&all), ["-", "first", "first", "of_module", "-", "-", "-", "-"]);
        assert_eq!((nameless.kernel, nameless.programs, nameless.kernel_known), ([4, 1], [2, 2], true));
        assert_eq!(nameless.sentences().len(), 2);
        std::fs::write(path.kernel_lists(ID).first().unwrap(), list.replace("ffffffffc0000010", "ffffffffc0001010"))
            .unwrap();
        let mut all = stacks(ID);
        assert_eq!(name(&mut all, &path).kernel, [4, 2]);
        assert_eq!(told(&all)[3], "-");
    }

    #[test]
    fn another_kernel_and_a_list_without_addresses_name_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = machine(folder.path(), "ffffffff81000000 T _text\nffffffff81000100 T first\n");
        for id in ["0011223344556677", "", "../../etc"] {
            let mut all = stacks(id);
            let nameless = name(&mut all, &path);
            let told = (nameless.kernel, nameless.kernel_known, nameless.kernel_listed);
            assert_eq!(told, ([4, 4], !id.is_empty(), false), "{id:?}");
        }
        let path = machine(folder.path(), "0000000000000000 T _text\n0000000000000000 T first\n");
        assert_eq!(name(&mut stacks(ID), &path).kernel, [4, 4]);
    }
}
