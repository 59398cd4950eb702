//! The files that a command is going to map: programs that its words name, and the libraries that their loader will load.
//!
//! The loader itself says which: `LOADER --list PROGRAM` (ld.so(8); musl's has it too). It loads the libraries, but runs nothing of them or
//! of the program.

use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, elf};
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The most words of a command that are looked at: in `taskset -c 1 nice ./game`, the fifth is the program.
const MAX_WORDS: usize = 12;
/// How often a script's interpreter may be a script.
const MAX_SCRIPTS: usize = 4;
/// The most files.
const MAX_FILES: usize = 2048;
/// The most bytes of a loader's list.
const MAX_LIST: u64 = 1 << 20;
/// How long a loader may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// Returns the files in the order in which their tables are wanted: the command's program and its libraries, then the other programs that its
/// words name.
pub fn of_command(words: &[String]) -> Vec<PathBuf> {
    let end = Instant::now() + PATIENCE;
    let mut files: Vec<PathBuf> = Vec::new();
    for program in words.iter().take(MAX_WORDS).filter_map(|word| program(word)) {
        for program in interpreters(program) {
            let found = if files.contains(&program) { Vec::new() } else { libraries(&program, end) };
            for file in std::iter::once(program).chain(found) {
                if files.len() < MAX_FILES && !files.contains(&file) {
                    files.push(file);
                }
            }
        }
    }
    files
}

/// Finds the program of a word, as a shell does.
fn program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Path::new(word).canonicalize().ok().filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH")?;
    let is_name = !word.is_empty() && !word.starts_with('-');
    let found = std::env::split_paths(&paths).map(|folder| folder.join(word)).find(|path| is_name && path.is_file())?;
    found.canonicalize().ok()
}

/// Returns a program, and if it is a script, what runs it: `#!/usr/bin/env python3` names two programs.
fn interpreters(program: PathBuf) -> Vec<PathBuf> {
    let mut all = vec![program];
    for _ in 0..MAX_SCRIPTS {
        let Some(words) = all.last().and_then(|script| first_line(script)) else { break };
        let before = all.len();
        all.extend(words.split_ascii_whitespace().filter_map(self::program));
        if all.len() == before {
            break;
        }
    }
    all
}

/// Returns what follows `#!` in a script.
fn first_line(path: &Path) -> Option<String> {
    let mut bytes = [0; 256];
    let read = open(path)?.read(&mut bytes).ok()?;
    let line = bytes[..read].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok().map(str::to_owned)
}

/// Opens a file, and nothing else: a pipe would wait for its writer.
fn open(path: &Path) -> Option<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file).map(|_| file)
}

/// Returns the libraries that a program's loader will load for it, and the loader.
fn libraries(program: &Path, end: Instant) -> Vec<PathBuf> {
    let Some(loader) = open(program).and_then(|file| loader(&ReadCache::new(BufReader::new(file)))) else {
        return Vec::new();
    };
    let Ok(list) = Command::new(&loader)
        .arg("--list")
        .arg(program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
    else {
        return Vec::new();
    };
    let list = output(list, end);
    let found = list.split(|byte| *byte == b'\n').filter_map(path_of_line);
    found.chain(Some(loader)).filter_map(|path| path.canonicalize().ok()).collect()
}

/// Returns the path in a line such as `libm.so.6 => /lib/libm.so.6 (0x00007f5c5a0e4000)` or `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn path_of_line(line: &[u8]) -> Option<PathBuf> {
    let from = line.iter().position(|byte| *byte == b'/')?;
    let to = line.windows(3).rposition(|part| part == b" (0")?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(line.get(from..to)?)))
}

/// Returns the loader that an ELF file names. Only those that are known to list and not to run: another one might run the program.
fn loader<'d, R: ReadRef<'d>>(data: R) -> Option<PathBuf> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let programs = header.program_headers(endian, data).ok()?;
    let path = programs.iter().find_map(|part| part.interpreter(endian, data).ok().flatten())?;
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    let name = path.file_name()?.as_bytes();
    let lists = [b"ld-linux".as_slice(), b"ld-musl-"].iter().any(|known| name.starts_with(known));
    (path.is_absolute() && lists).then(|| path.to_owned())
}

/// Reads what a process prints until it ends; it is killed when its time has passed.
fn output(mut process: Child, end: Instant) -> Vec<u8> {
    let mut list = Vec::new();
    if let Some(mut pipe) = process.stdout.take() {
        let mut bytes = [0; 1 << 14];
        while (list.len() as u64) < MAX_LIST && is_readable(&pipe, end) {
            match pipe.read(&mut bytes) {
                Ok(0) | Err(_) => break,
                Ok(read) => list.extend_from_slice(&bytes[..read]),
            }
        }
    }
    // It has ended, or it takes too long.
    let _ = process.kill();
    let _ = process.wait();
    list
}

fn is_readable(pipe: &impl AsRawFd, end: Instant) -> bool {
    let left = end.saturating_duration_since(Instant::now()).as_millis() as i32;
    let mut ready = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut ready, 1, left) == 1 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn lists_what_this_program_has_mapped() {
        let own = std::env::current_exe().unwrap();
        let found = of_command(&words(&format!("taskset -c 0 {} --help", own.display())));
        let mapped = crate::mappings::of_process(std::process::id().cast_signed()).unwrap();
        for file in mapped.iter().filter(|mapping| mapping.inode != 0) {
            assert!(found.contains(&PathBuf::from(&file.name)), "{} is not in {found:?}", file.name);
        }
    }

    #[test]
    fn finds_what_runs_a_script() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/usr/bin/env sh\nexit\n").unwrap();
        let found = of_command(&[script.to_string_lossy().into_owned()]);
        for name in ["/usr/bin/env", "/bin/sh"] {
            assert!(found.contains(&Path::new(name).canonicalize().unwrap()), "{name} is not in {found:?}");
        }
        std::fs::write(&script, format!("#!{}\n", script.display())).unwrap();
        assert_eq!(of_command(&[script.to_string_lossy().into_owned()]), [script.canonicalize().unwrap()]);
    }

    /// An ELF file that has nothing but the name of its loader.
    fn program_with_loader(path: &str) -> Vec<u8> {
        let mut bytes = vec![0; 120];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[20] = 1; // e_version
        bytes[32] = 64; // e_phoff
        bytes[54] = 56; // e_phentsize
        bytes[56] = 1; // e_phnum
        bytes[64] = 3; // p_type: PT_INTERP
        bytes[72] = 120; // p_offset
        bytes[96] = path.len() as u8 + 1; // p_filesz
        bytes.extend_from_slice(path.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_loader_that_is_not_known_is_not_run() {
        let of = |path: &str| loader(program_with_loader(path).as_slice());
        assert_eq!(of("/lib64/ld-linux-x86-64.so.2"), Some("/lib64/ld-linux-x86-64.so.2".into()));
        assert_eq!(of("/lib/ld-musl-aarch64.so.1"), Some("/lib/ld-musl-aarch64.so.1".into()));
        assert_eq!((of("/lib/my-loader"), of("ld-linux.so")), (None, None));
        assert_eq!(loader(b"\x7fELF".as_slice()), None);
    }

    #[test]
    fn a_loader_that_takes_too_long_is_ended() {
        let slow = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(output(slow, Instant::now() + Duration::from_millis(20)), b"");
    }

    #[test]
    fn parses_lines() {
        let path = |line: &str| path_of_line(line.as_bytes());
        assert_eq!(path("\tlibm.so.6 => /lib/a b/libm.so.6 (0x00007f5c5a0e4000)"), Some("/lib/a b/libm.so.6".into()));
        assert_eq!(
            path("\t/lib64/ld-linux-x86-64.so.2 (0x00007f5c5a2e1000)"),
            Some("/lib64/ld-linux-x86-64.so.2".into())
        );
        assert_eq!(path("\tlinux-vdso.so.1 (0x00007ffd3b5f2000)"), None);
        assert_eq!(path("\tlibx.so => not found"), None);
        assert_eq!(path(" (0/"), None);
    }
}
