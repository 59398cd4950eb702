//! Sources as people have them: packed, in folders, several of one run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

use engine::{
    EngineError, JoinedSource, Part, PassOptions, Priority, Source, account, is_machine, machine_file, open_source,
};
use model::{Ns, ThreadState};
use std::io::Write;
use std::path::{Path, PathBuf};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/perf_data/sched.data");

fn recorded() -> Vec<u8> {
    std::fs::read(RECORDED).unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut to = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        to.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        to.write_all(bytes).unwrap();
    }
    to.finish().unwrap().into_inner()
}

fn tarred(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut to = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        to.append_data(&mut header, name, *bytes).unwrap();
    }
    to.into_inner().unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// An archive with links, each by what it is called and where it leads.
fn tarred_with_links(files: &[(&str, &[u8])], links: &[(&str, &str)]) -> Vec<u8> {
    let mut to = tar::Builder::new(Vec::new());
    for (name, target) in links {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        to.append_link(&mut header, name, target).unwrap();
    }
    let mut all = to.into_inner().unwrap();
    all.truncate(all.len() - 1024); // the two empty blocks at the end
    all.extend(tarred(files));
    all
}

/// Of each thread: its number and how long it ran.
fn ran(source: &dyn Source) -> Vec<(i32, i64)> {
    let accounted = account(source, &PassOptions::default()).unwrap();
    assert!(accounted.laws.hold());
    accounted.totals.threads.all().unwrap().iter().map(|t| (t.tid.0, t.time(ThreadState::Running).0)).collect()
}

fn refused(path: &Path) -> String {
    match open_source(path) {
        Ok(source) => panic!("{} is taken for {}", path.display(), source.format()),
        Err(EngineError::Other(why)) => why,
        Err(other) => other.to_string(),
    }
}

#[test]
fn packed_files_tell_what_plain_ones_do() {
    let plain = ran(open_source(Path::new(RECORDED)).unwrap().as_ref());
    let (folder, bytes) = (Folder::new(), recorded());
    let packed = [
        ("a.gz", gzipped(&bytes)),
        ("b.zst", zstd::encode_all(bytes.as_slice(), 1).unwrap()),
        ("c.zip", zipped(&[("readme.txt", b"not this one"), ("x/trace.data", &bytes)])),
        ("d.gz.gz", gzipped(&gzipped(&bytes))),
    ];
    for (name, bytes) in packed {
        let path = folder.file(name, &bytes);
        assert_eq!(ran(open_source(&path).unwrap().as_ref()), plain, "{name}");
    }
}

/// As `tar -C / -czf sys.tar.gz sys/devices/system/cpu` makes it. The kernel's tree tells a CPU's frequencies through a link.
#[test]
fn a_machine_may_be_an_archive_of_its_sysfs() {
    let cpu = |name: &str| format!("board/sys/devices/system/cpu/{name}");
    let names = ["present", "cpu1/cpu_capacity", "cpufreq/policy0/cpuinfo_max_freq", "cpu2/none"].map(cpu);
    let bytes: [&[u8]; 4] = [b"0-2\n", b"512\n", b"2400000\n", b""];
    let files: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(bytes).collect();
    let links =
        [("cpu1/cpufreq", "../cpufreq/policy0"), ("cpu0", "/etc"), ("cpu2/cpufreq", "../../../../../../../etc")];
    let links = links.map(|(name, to)| (cpu(name), to));
    let links: Vec<(&str, &str)> = links.iter().map(|(name, to)| (name.as_str(), *to)).collect();
    let (dir, tar) = (Folder::new(), tarred_with_links(&files, &links));
    for (name, bytes) in [
        ("sys.tar", tar.clone()),
        ("sys.tar.gz", gzipped(&tar)),
        ("sys.zip", zipped(&files)),
        ("elf", b"\x7fELF".to_vec()),
    ] {
        let path = dir.file(name, &bytes);
        assert_eq!(is_machine(&path), name != "elf", "{name}");
        let Ok(machine) = machine_file(&path) else { continue };
        let capacities: Vec<_> = machine.cpus.iter().map(|c| c.capacity).collect();
        assert_eq!(capacities, [None, Some(512), None], "{name}");
        let frequencies: Vec<_> = machine.cpus.iter().map(|c| c.max_khz).collect();
        let linked = if name == "sys.zip" { None } else { Some(2_400_000) };
        assert_eq!(frequencies, [None, linked, None], "{name}");
    }
    // A trace in an archive is one, whatever it lies in.
    let trace = dir.file("trace.tar", &tarred(&[("a/sched.data", &recorded())]));
    assert!(!is_machine(&trace));
}

#[test]
fn what_is_no_trace_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let text = folder.file("a.txt.gz", &gzipped(b"just some words"));
    assert!(refused(&text).contains("not a format that corewise reads"), "{}", refused(&text));
    let cut = folder.file("cut.gz", &gzipped(&recorded())[..20_000]);
    assert!(refused(&cut).contains("damaged behind"), "{}", refused(&cut));
    let climbing = folder.file("up.tar", &tarred(&[("deep/trace.txt", b"words")]));
    assert!(refused(&climbing).contains("nor a folder that an importer knows"), "{}", refused(&climbing));
    let xz = folder.file("a.xz", b"\xfd7zXZ\0 and so on");
    assert!(refused(&xz).contains("xz -dk"), "{}", refused(&xz));
    assert!(refused(folder.0.path()).contains("no manifest.json"));
    assert!(refused(Path::new("/nowhere/at/all")).contains("No such file"));
    let sparse = folder.0.path().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(4 << 30).unwrap();
    assert!(refused(&sparse).contains("not a format that corewise reads"));
}

/// More than a gigabyte of zeros in a megabyte.
#[test]
fn a_bomb_is_put_out() {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..1200 {
        to.write_all(&zeros).unwrap();
    }
    let folder = Folder::new();
    let bomb = folder.file("bomb.gz", &to.finish().unwrap());
    assert!(refused(&bomb).contains("this is no trace"), "{}", refused(&bomb));
}

fn joined(offsets: [Option<Ns>; 2]) -> Result<JoinedSource, EngineError> {
    let part = |offset| Part { source: open_source(Path::new(RECORDED)).unwrap(), offset };
    JoinedSource::new(offsets.map(part).into())
}

#[test]
fn a_second_recording_adds_no_second_chain_of_switches() {
    let plain = ran(open_source(Path::new(RECORDED)).unwrap().as_ref());
    let twice = joined([None, Some(Ns(12_345))]).unwrap();
    assert_eq!(ran(&twice), plain);
    assert_eq!(twice.parts(), 2);
    assert_eq!(twice.identity(&Priority::now()).unwrap().files.len(), 2);
}
