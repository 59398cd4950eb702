//! Each row of real files is what `readelf` reads there.

use crate::support::{mappings, run};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use unwind::{Kind, Machine, Row, Table};

/// A row that readelf printed: the CFA, the frame pointer, the return address.
#[derive(Clone, Debug, Default)]
struct Printed {
    cfa: String,
    fp: String,
    ra: String,
}

/// A function that readelf printed: its end, and its rows by address.
type Functions = BTreeMap<u64, (u64, BTreeMap<u64, Printed>)>;

/// Reads what `readelf -wF` prints: of each function the rows with their columns; one without rows has that of its common entry.
fn functions(text: &str, fp: &str) -> Functions {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let mut functions = Functions::new();
    let mut common: BTreeMap<u64, Printed> = BTreeMap::new();
    let (mut columns, mut entry): (Vec<String>, Option<Result<u64, u64>>) = (Vec::new(), None);
    for line in text.lines() {
        // A register in another one is printed as `r9 (r9)`.
        let words: Vec<&str> = line.split_ascii_whitespace().filter(|word| !word.starts_with('(')).collect();
        if words.get(3) == Some(&"CIE") {
            let at = number(words[0]).unwrap();
            common.insert(at, Printed { cfa: "rsp+8".into(), fp: "u".into(), ra: "u".into() });
            entry = Some(Err(at));
        } else if words.get(3) == Some(&"FDE") {
            let of = number(words[4].trim_start_matches("cie=")).unwrap();
            let (from, to) = words[5].trim_start_matches("pc=").split_once("..").unwrap();
            let (from, to) = (number(from).unwrap(), number(to).unwrap());
            functions.insert(from, (to, BTreeMap::from([(from, common[&of].clone())])));
            entry = Some(Ok(from));
        } else if words.first() == Some(&"LOC") {
            columns = words.iter().map(|word| (*word).to_owned()).collect();
        } else if let (Some(at), Some(entry)) = (words.first().and_then(|word| number(word)), entry)
            && words.len() == columns.len()
            && words[1] != "ZERO"
        {
            let column = |name: &str| columns.iter().position(|c| c == name).map_or("u", |at| words[at]).to_owned();
            let row = Printed { cfa: column("CFA"), fp: column(fp), ra: column("ra") };
            match entry {
                Ok(from) => drop(functions.get_mut(&from).unwrap().1.insert(at, row)),
                Err(of) => drop(common.insert(of, row)),
            }
        }
    }
    functions
}

/// Returns the rule that a row has for what readelf printed; `None`: readelf does not print the expression.
fn rule(machine: Machine, printed: &Printed) -> Option<u32> {
    let none = Some(Row::plain(0, Kind::None).rule());
    let (sp, fp) = match machine {
        Machine::X86_64 => ("rsp", "rbp"),
        Machine::Arm64 => ("sp", "x29"),
    };
    if printed.ra == "u" && machine == Machine::X86_64 {
        return Some(Row::plain(0, Kind::End).rule());
    }
    let (register, offset) = printed.cfa.split_once('+')?;
    let kind = match register {
        _ if register == sp => Kind::Sp,
        _ if register == fp => Kind::Fp,
        _ => return none,
    };
    let offset: i64 = offset.parse().unwrap();
    let saved = |text: &str| match text {
        "u" | "s" => Some(0),
        "exp" if kind == Kind::Sp && offset == 8 => Some(0),
        _ => text.strip_prefix("c-").and_then(|n| n.parse::<u64>().ok()).filter(|n| n % 8 == 0).map(|n| n / 8),
    };
    let row = saved(&printed.fp).zip(saved(&printed.ra)).and_then(|(fp, ra)| Row::new(0, kind, offset, fp, ra));
    row.map_or(none, |row| Some(row.rule()))
}

/// Returns what readelf reads. It fails where it warns.
fn read(path: &str) -> String {
    let done = Command::new("readelf").args(["-wF", path]).output().expect("readelf");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Compares a file, and returns how many rows were compared and how many have no rule.
fn compare(path: &str) -> (usize, usize) {
    let table = Table::of_file(Path::new(path)).unwrap();
    let fp = if table.machine == Machine::X86_64 { "rbp" } else { "x29" };
    let functions = functions(&read(path), fp);
    let relative = |address: u64| u32::try_from(address - table.base).unwrap();
    let (mut compared, mut without, mut expressions) = (0, 0, 0);
    for (n, (from, (to, rows))) in functions.iter().enumerate() {
        let next = functions.range(from + 1..).next().map_or(u64::MAX, |(next, _)| *next);
        let mut ends = rows.keys().skip(1).chain([to]);
        for (at, printed) in rows {
            let end = (*ends.next().unwrap()).min(next);
            let Some(last) = end.checked_sub(1).filter(|last| last >= at) else { continue };
            compared += 1;
            // At its first and its last byte.
            for place in [*at, last] {
                let found = table.find(relative(place));
                match rule(table.machine, printed) {
                    Some(expected) => {
                        let found = found.map_or(Row::plain(0, Kind::None).rule(), Row::rule);
                        assert_eq!(found, expected, "{path}, function {n} from {from:x}, at {place:x}: {printed:?}");
                    }
                    None => {
                        let kind = found.map(Row::kind);
                        let known = [Kind::FpDeref, Kind::Plt, Kind::Signal, Kind::SpDeref];
                        assert!(kind.is_none_or(|kind| known.contains(&kind)), "{path} at {place:x}: {printed:?}");
                    }
                }
            }
            without += usize::from(table.find(relative(*at)).is_none());
            expressions += usize::from(rule(table.machine, printed).is_none());
        }
        if *to < next {
            // The entry of the dynamic linker has no call frame information, and no caller.
            let found = table.find(relative(*to)).filter(|row| row.kind() != Kind::End);
            assert_eq!(found, None, "{path}: after the function from {from:x} to {to:x}");
        }
    }
    println!("{path}: {compared} rows, {expressions} by expressions, {without} without a rule");
    assert!(compared > 0, "{path}");
    (compared, without)
}

/// The libraries of this program.
#[test]
fn rows_of_libraries_are_those_that_readelf_reads() {
    let mapped = mappings(&std::fs::read_to_string("/proc/self/maps").unwrap());
    let mut paths: Vec<String> = mapped.into_iter().map(|m| m.path).filter(|path| path.contains(".so")).collect();
    paths.extend(["libstdc++.so.6", "libcrypto.so.3"].iter().flat_map(|name| {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
        folders.iter().map(move |folder| format!("{folder}/{name}")).find(|path| Path::new(path).exists())
    }));
    paths.push("/usr/bin/python3".into());
    paths.retain(|path| Path::new(path).exists());
    paths.sort_unstable();
    paths.dedup();
    for path in &paths {
        let (compared, without) = compare(path);
        assert!(without * 50 < compared, "{path}: {without} of {compared} rows have no rule");
    }
}

/// A library for arm64, with signed return addresses and without.
#[test]
fn rows_of_arm64_are_those_that_readelf_reads() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("chain.c"), include_str!("../programs/chain.c")).unwrap();
    std::fs::write(here.join("library.c"), include_str!("../programs/library.c")).unwrap();
    let sysroot = run("rustc", &["--print", "sysroot"], here);
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let linker = format!("{}/lib/rustlib/{host}/bin/rust-lld", sysroot.trim());
    for options in [&["-O2", "-fomit-frame-pointer"][..], &["-O0"], &["-O2", "-mbranch-protection=standard"]] {
        for name in ["chain", "library"] {
            let (source, object) = (format!("{name}.c"), format!("{name}.o"));
            let words = ["--target=aarch64-linux-gnu", "-fPIC", "-c", "-o", &object, &source];
            run("clang", &[&words[..], options].concat(), here);
        }
        run(&linker, &["-flavor", "gnu", "-shared", "-o", "all.so", "chain.o", "library.o"], here);
        let path = here.join("all.so");
        assert_eq!(Table::of_file(&path).unwrap().machine, Machine::Arm64);
        let (compared, without) = compare(path.to_str().unwrap());
        assert!(compared > 30 && without == 0, "{options:?}: {without} of {compared}");
    }
}
