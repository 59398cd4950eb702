//! Names, lines and inlined functions of stripped programs.

use crate::support::{Program, run};
use symbols::{NoLines, Why};

const WHOLE: [&str; 3] = ["inner program.c:2", "middle program.c:5", "outer program.c:8"];
const NAME_ONLY: [&str; 1] = ["outer -:0"];

#[test]
fn inlined_functions_have_names_and_lines() {
    for options in [&[][..], &["-gdwarf-4"], &["-gz=zlib"], &["-fdebug-types-section"], &["-no-pie"]] {
        let program = Program::new(options);
        assert_eq!(program.chain(&[]), WHOLE, "{options:?}");
        let known = program.known(&[]);
        assert_eq!((known.why, known.no_lines), (None, None));
        assert!(known.functions.iter().all(|of| of.last().unwrap().name.as_deref() == Some("outer")));
    }
}

#[test]
fn a_debug_file_is_found_by_build_id() {
    let (program, other) = (Program::new(&[]), Program::new(&["-O2"]));
    program.split("kept");
    other.split("kept");
    let (first, rest) = program.id.split_at(2);
    let debug = program.folder.path().join("debug");
    let without = program.known(&[&debug]);
    assert_eq!(without.why, Some(Why::Stripped));
    assert!(without.functions.iter().all(Vec::is_empty));
    for place in [
        format!(".build-id/{first}/{rest}.debug"),
        format!("{first}/{rest}.debug"),
        format!("{}/debuginfo", program.id),
        format!(".build-id/{first}/{rest}/debug"),
    ] {
        let path = debug.join(&place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(program.folder.path().join("kept"), &path).unwrap();
        assert_eq!(program.chain(&[&debug]), WHOLE, "{place}");
        // Another program's debug file is never used.
        std::fs::copy(other.folder.path().join("kept"), &path).unwrap();
        assert_eq!(program.known(&[&debug]).why, Some(Why::Stripped), "{place}");
        std::fs::remove_dir_all(&debug).unwrap();
    }
}

#[test]
fn a_debug_file_is_found_by_the_link_in_the_program() {
    let named = |place: &str, change: bool| {
        let program = Program::new(&[]);
        let here = program.folder.path();
        program.split("program.debug");
        run("objcopy", &["--add-gnu-debuglink=program.debug", "program"], here);
        let inside = here.strip_prefix("/").unwrap().to_str().unwrap();
        let path = here.join(place.replace("HERE", inside));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if here.join("program.debug") != path {
            std::fs::rename(here.join("program.debug"), &path).unwrap();
        }
        if change {
            std::fs::write(&path, [&std::fs::read(&path).unwrap()[..], b"x"].concat()).unwrap();
        }
        program.chain(&[&here.join("debug")])
    };
    for place in ["program.debug", ".debug/program.debug", "debug/HERE/program.debug", "debug/program.debug"] {
        assert_eq!(named(place, false), WHOLE, "{place}");
        assert_eq!(named(place, true), [""; 0], "{place}: another checksum");
    }
    assert_eq!(named("elsewhere/program.debug", false), [""; 0]);
}

#[test]
fn a_link_never_leads_to_another_folder() {
    let program = Program::new(&[]);
    let here = program.folder.path();
    program.split("program.debug");
    std::fs::create_dir(here.join("sub")).unwrap();
    std::fs::rename(here.join("program.debug"), here.join("sub/program.debug")).unwrap();
    run("objcopy", &["--add-gnu-debuglink=sub/program.debug", "program"], here);
    // objcopy writes the last part only; a hostile file has all of it.
    let bytes = std::fs::read(program.path()).unwrap();
    let at = bytes.windows(13).position(|w| w == b"program.debug").unwrap();
    let changed = [&bytes[..at], b"sub/ogram.dbg", &bytes[at + 13..]].concat();
    std::fs::write(program.path(), changed).unwrap();
    std::fs::rename(here.join("sub/program.debug"), here.join("sub/ogram.dbg")).unwrap();
    assert_eq!(program.known(&[]).why, Some(Why::Stripped));
}

#[test]
fn symbols_within_a_stripped_program_are_read() {
    let program = Program::new(&[]);
    let here = program.folder.path();
    run("objcopy", &["--only-keep-debug", "program", "kept"], here);
    run("objcopy", &["-S", "--remove-section", ".comment", "--keep-symbol=outer", "kept", "mini"], here);
    run("objcopy", &["--strip-all", "program"], here);
    assert_eq!(program.known(&[]).why, Some(Why::Stripped));
    run("xz", &["mini"], here);
    run("objcopy", &["--add-section", ".gnu_debugdata=mini.xz", "program"], here);
    assert_eq!(program.chain(&[]), NAME_ONLY);
    // Damaged: nothing is found, and nothing fails.
    let bytes = std::fs::read(here.join("mini.xz")).unwrap();
    assert!(symbols::decompressed(&bytes).is_some());
    for cut in (0..bytes.len()).step_by(7) {
        assert_eq!(symbols::decompressed(&bytes[..cut]), None);
    }
}

/// Distributions share debug information of the programs of a package by dwz. Without dwz, only the link to a file that is not there is tested.
#[test]
fn what_several_debug_files_share_is_read_too() {
    let (program, other) = (Program::new(&["-gdwarf-4"]), Program::new(&["-gdwarf-4", "-O2"]));
    let here = program.folder.path();
    program.split("kept");
    other.split("kept");
    let (first, rest) = program.id.split_at(2);
    let debug = here.join("debug").join(first);
    std::fs::create_dir_all(&debug).unwrap();
    let path = debug.join(format!("{rest}.debug"));
    std::fs::copy(here.join("kept"), &path).unwrap();
    if std::process::Command::new("dwz").arg("--version").output().is_ok() {
        std::fs::copy(other.folder.path().join("kept"), debug.join("other")).unwrap();
        run("dwz", &["-l", "0", "-L", "0", "-m", "common", "-M", "common", path.to_str().unwrap(), "other"], &debug);
        let link = std::fs::read(&path).unwrap();
        assert!(link.windows(16).any(|bytes| bytes == b".gnu_debugaltlin"), "dwz shares something");
        assert_eq!(program.chain(&[&here.join("debug")]), WHOLE);
        std::fs::copy(here.join("kept"), &path).unwrap();
        std::fs::remove_file(debug.join("common")).unwrap();
    }
    std::fs::write(here.join("link"), [b"common\0".as_slice(), &[7; 20]].concat()).unwrap();
    run("objcopy", &["--add-section", ".gnu_debugaltlink=link", path.to_str().unwrap()], here);
    std::fs::copy(other.folder.path().join("kept"), debug.join("common")).unwrap();
    assert_eq!(program.chain(&[&here.join("debug")]), WHOLE, "a file with another build id is not used");
}

#[test]
fn debug_information_in_files_of_its_own_is_counted() {
    let program = Program::new(&["-gsplit-dwarf"]);
    let known = program.known(&[]);
    assert_eq!((known.why, known.no_lines), (None, Some(NoLines::Split)));
    assert_eq!(known.functions[0].last().unwrap().name.as_deref(), Some("outer"));
}

#[test]
fn a_program_is_found_in_a_folder() {
    let program = Program::new(&[]);
    let (first, rest) = program.id.split_at(2);
    let debug = program.folder.path().join("debug");
    let inside = program.path().strip_prefix("/").unwrap().to_str().unwrap().to_owned();
    let [id, path] = [format!(".build-id/{first}/{rest}"), format!("{}/executable", program.id)];
    let kept = std::fs::read(program.path()).unwrap();
    std::fs::remove_file(program.path()).unwrap();
    for place in [&id, &path, &inside, "program"] {
        let path = debug.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &kept).unwrap();
        assert_eq!(program.chain(&[&debug]), WHOLE, "{place}");
        std::fs::remove_dir_all(&debug).unwrap();
    }
    assert_eq!(program.known(&[&debug]).why, Some(Why::NotFound));
    std::fs::write(program.path(), b"another file").unwrap();
    assert_eq!(program.known(&[&debug]).why, Some(Why::OtherBuild));
}

/// Debug files lack the segments' places in the program, so that alone they name nothing, rather than something wrong.
#[test]
fn a_debug_file_alone_never_gives_another_name() {
    let program = Program::new(&[]);
    program.split("kept");
    let (first, rest) = program.id.split_at(2);
    let folder = program.folder.path().join("debug").join(first);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::rename(program.folder.path().join("kept"), folder.join(format!("{rest}.debug"))).unwrap();
    std::fs::remove_file(program.path()).unwrap();
    let chain = program.chain(&[&program.folder.path().join("debug")]);
    assert!(chain.is_empty() || chain == WHOLE, "{chain:?}");
}

#[test]
fn damaged_debug_information_makes_no_name_up() {
    let program = Program::new(&["-gz=none"]);
    let whole = std::fs::read(program.path()).unwrap();
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(program.path(), &bytes).unwrap();
        let known = program.known(&[]);
        assert_eq!(known.functions.len(), program.outer.len());
        let in_file = |name: &String| bytes.windows(name.len().max(1)).any(|place| place == name.as_bytes());
        for name in known.functions.iter().flatten().filter_map(|of| of.name.as_ref()) {
            assert!(in_file(name), "{name:?} is not in the file with a changed byte at {at}");
        }
    }
}
