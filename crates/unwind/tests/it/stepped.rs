//! Programs that stop after each instruction of a chain of 30 calls and write their stack and libgcc's own chain
//! (`tests/programs/step.c`). The walk through the stack finds the same chain at each instruction.

use crate::support::{Mapping, mappings, run};
use std::collections::HashMap;
use std::path::Path;
use unwind::{Code, Ended, Kind, Machine, Memory, Registers, Table, Walk, walk};

const STEP: &str = include_str!("../programs/step.c");
const CHAIN: &str = include_str!("../programs/chain.c");
const LIBRARY: &str = include_str!("../programs/library.c");
const RUST: &str = include_str!("../programs/chain.rs");

/// A place where the program stopped.
struct Stop {
    registers: Registers,
    /// libgcc's chain from there.
    expected: Vec<u64>,
    stacks: Vec<(u64, Vec<u8>)>,
}

impl Memory for &Stop {
    fn word(&mut self, at: u64) -> Option<u64> {
        self.stacks.iter().find_map(|(from, bytes)| {
            let inside = usize::try_from(at.checked_sub(*from)?).ok()?;
            Some(u64::from_le_bytes(bytes.get(inside..inside.checked_add(8)?)?.try_into().unwrap()))
        })
    }
}

fn stops(mut bytes: &[u8]) -> Vec<Stop> {
    fn take<'b>(bytes: &mut &'b [u8], size: u64) -> &'b [u8] {
        let (part, rest) = bytes.split_at(size as usize);
        *bytes = rest;
        part
    }
    let word = |bytes: &mut &[u8]| u64::from_le_bytes(take(bytes, 8).try_into().unwrap());
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let b = &mut bytes;
        let registers = Registers { pc: word(b), sp: word(b), fp: word(b), lr: 0 };
        let expected = (0..word(b)).map(|_| word(b)).collect();
        let mut stacks = Vec::new();
        for _ in 0..word(b) {
            let (from, size) = (word(b), word(b));
            stacks.push((from, take(b, size).to_vec()));
        }
        all.push(Stop { registers, expected, stacks });
    }
    all
}

/// The process: what was mapped, and the tables of its files.
struct Process {
    mappings: Vec<Mapping>,
    tables: HashMap<String, Table>,
}

impl Process {
    fn of(folder: &Path) -> Self {
        let mappings = mappings(&std::fs::read_to_string(folder.join("maps")).unwrap());
        let files = mappings.iter().filter(|m| m.path.starts_with('/'));
        let tables = files.map(|m| (m.path.clone(), Table::of_file(Path::new(&m.path)).unwrap())).collect();
        Self { mappings, tables }
    }

    fn code(&self, pc: u64) -> Code<'_> {
        let Some(mapping) = self.mappings.iter().find(|m| (m.from..m.to).contains(&pc)) else { return Code::Nothing };
        let Some(table) = self.tables.get(&mapping.path) else { return Code::NoTable };
        table.relative(pc - mapping.from + mapping.offset).map_or(Code::Nothing, |at| Code::Table(table, at))
    }

    fn path(&self, pc: u64) -> &str {
        self.mappings.iter().find(|m| (m.from..m.to).contains(&pc)).map_or("", |m| &m.path)
    }

    /// Returns a byte of code.
    fn byte(&self, pc: u64) -> u8 {
        let mapping = self.mappings.iter().find(|m| (m.from..m.to).contains(&pc)).unwrap();
        std::fs::read(&mapping.path).unwrap()[(pc - mapping.from + mapping.offset) as usize]
    }

    fn walk(&self, stop: &Stop, depth: usize) -> Walk {
        walk(Machine::X86_64, stop.registers, &mut &*stop, &mut |pc| self.code(pc), depth)
    }
}

/// Runs a program in a folder and compares all its stops. Returns the process and the longest chain.
fn compare(folder: &Path, name: &str) -> (Process, usize) {
    run(&format!("./{name}"), &[], folder);
    let process = Process::of(folder);
    let stops = stops(&std::fs::read(folder.join("steps")).unwrap());
    assert!(stops.len() > 100, "{name} stopped {} times", stops.len());
    let (mut longest, mut whole, mut linker) = (0, 0, 0);
    for stop in &stops {
        let walk = process.walk(stop, 64);
        longest = longest.max(walk.addresses.len());
        let innermost = process.path(stop.registers.pc);
        if walk.ended == Ended::NoTable && walk.addresses.len() < stop.expected.len() {
            // The CFA is in a register that is not followed: in the first instructions of a function that aligns the stack, and in the
            // dynamic linker's call from the procedure linkage table.
            assert!(stop.expected.starts_with(&walk.addresses), "{name}: {:x?} {walk:x?}", stop.expected);
            linker += usize::from(process.path(*walk.addresses.last().unwrap()).contains("/ld-linux"));
            continue;
        }
        let place = format!("{name} in {innermost}, {:x?}: {walk:x?}", stop.registers);
        if walk.addresses != stop.expected {
            // Where gcc aligned the stack, its rule for the frame pointer is wrong at the return, and libgcc leaves out a caller.
            assert_eq!(process.byte(stop.registers.pc), 0xc3, "{place}");
            let mut ours = walk.addresses.iter();
            assert!(stop.expected.iter().all(|address| ours.any(|a| a == address)), "{place} {:x?}", stop.expected);
        }
        if walk.ended == Ended::NoTable {
            continue; // libgcc has no rule there either.
        }
        assert_eq!(walk.ended, Ended::Root, "{place}");
        if walk.addresses.len() > 5 {
            let cut = process.walk(stop, 5);
            assert_eq!((&cut.addresses[..], cut.ended), (&walk.addresses[..5], Ended::Depth));
        }
        whole += 1;
    }
    println!("{name}: of {} stops, {linker} in the dynamic linker, {whole} whole; up to {longest}", stops.len());
    let cut = stops.len() - linker - whole;
    assert!(cut <= 40, "{name}: {cut} of {} stops are cut", stops.len());
    (process, longest)
}

/// Compiles the chain in C and compares it.
fn in_c(compiler: &str, options: &[&str]) -> Process {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (name, source) in [("step.c", STEP), ("chain.c", CHAIN), ("library.c", LIBRARY)] {
        std::fs::write(here.join(name), source).unwrap();
    }
    if options.contains(&"-static") {
        run(compiler, &[options, &["-o", "chain", "chain.c", "library.c", "step.c"]].concat(), here);
    } else {
        run(compiler, &[options, &["-shared", "-fPIC", "-o", "library.so", "library.c"]].concat(), here);
        let link = ["-Wl,-z,lazy", "-Wl,-rpath,$ORIGIN", "-o", "chain", "chain.c", "step.c", "./library.so"];
        run(compiler, &[options, &link].concat(), here);
    }
    let (process, longest) = compare(here, "chain");
    assert!(longest > 30, "{compiler} {options:?}: {longest}");
    process
}

#[test]
fn chains_of_gcc_are_whole_at_each_instruction() {
    let has = |process: &Process, kind: Kind| {
        process.tables.iter().any(|(path, t)| path.ends_with("/chain") && t.rows.iter().any(|row| row.kind() == kind))
    };
    for options in [
        &["-O0"][..],
        &["-O2", "-fomit-frame-pointer"],
        &["-O2", "-fomit-frame-pointer", "-fcf-protection=full", "-Wl,-z,ibtplt"],
        &["-O2", "-fomit-frame-pointer", "-fcf-protection=none", "-no-pie"],
    ] {
        let process = in_c("cc", options);
        assert!(has(&process, Kind::Plt) && has(&process, Kind::FpDeref), "{options:?}");
    }
    in_c("cc", &["-O3", "-fomit-frame-pointer", "-fno-plt"]);
    in_c("cc", &["-O2", "-fomit-frame-pointer", "-static"]);
}

#[test]
fn chains_of_clang_are_whole_at_each_instruction() {
    for options in [&["-O0"][..], &["-O2", "-fomit-frame-pointer"], &["-Os", "-fomit-frame-pointer", "-fPIE", "-pie"]] {
        in_c("clang", options);
    }
}

#[test]
fn chains_of_rust_are_whole_at_each_instruction() {
    for options in [&["-O"][..], &["-C", "opt-level=0"], &["-O", "-C", "relocation-model=static"]] {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::write(here.join("step.c"), STEP).unwrap();
        std::fs::write(here.join("chain.rs"), RUST).unwrap();
        run("cc", &["-O2", "-c", "-o", "step.o", "step.c"], here);
        run(
            "rustc",
            &[options, &["--edition=2024", "-C", "link-arg=step.o", "-o", "chain", "chain.rs"]].concat(),
            here,
        );
        let (_, longest) = compare(here, "chain");
        assert!(longest > 30, "{options:?}: {longest}");
    }
}

/// A program without section headers has the segment that the runtime uses.
#[test]
fn a_file_without_section_headers_has_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("library.c"), LIBRARY).unwrap();
    run("cc", &["-O2", "-shared", "-fPIC", "-o", "library.so", "library.c"], here);
    let mut bytes = std::fs::read(here.join("library.so")).unwrap();
    let whole = Table::of_bytes(&bytes).unwrap();
    bytes[0x28..0x30].fill(0); // e_shoff
    bytes[0x3c..0x40].fill(0); // e_shnum, e_shstrndx
    assert_eq!(Table::of_bytes(&bytes).unwrap(), whole);
}
