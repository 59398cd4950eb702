//! Copies of stacks that perf recorded here (`perf record --call-graph dwarf`), against what perf unwinds from the same file.

use engine::{PassOptions, account_with, open_source};
use model::{Batch, EventKind, StackFrame};
use std::collections::HashMap;
use std::fs::{DirEntry, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A chain of calls without frame pointers.
const SOURCE: &str = "#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noinline)) static int compare(const void *a, const void *b) {
    for (int n = 0; n < 200; n++) sink += n;
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static unsigned long sorted(void) {
    int all[64];
    for (int n = 0; n < 64; n++) all[n] = n * 37 % 64;
    qsort(all, 64, sizeof *all, compare);
    return all[sink % 64];
}
__attribute__((noinline)) static unsigned long chain(unsigned depth) {
    volatile unsigned long kept = depth;
    return (depth == 0 ? sorted() : chain(depth - 1)) + kept;
}
int main(void) {
    unsigned long sum = 0;
    for (int n = 0; n < 6000; n++) sum += chain(30);
    return sum == 1;
}
";

fn run(tool: &str, words: &[&str], folder: &Path) -> String {
    let done = Command::new(tool).args(words).current_dir(folder).output().expect(tool);
    assert!(done.status.success(), "{tool} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// The chains of samples by time and thread: places in files, those of callers one byte before the return address, as perf prints them.
type Chains = HashMap<(u64, i32), Vec<u64>>;

fn by_perf(folder: &Path) -> Chains {
    let text = run("perf", &["script", "-i", "perf.data", "-F", "tid,time,ip", "--ns", "--no-inline"], folder);
    let sample = |block: &str| {
        let mut lines = block.lines().filter(|line| !line.trim().is_empty());
        let mut head = lines.next()?.split_ascii_whitespace();
        let (tid, time) = (head.next()?.parse().ok()?, head.next()?.trim_end_matches(':').replace('.', ""));
        let address = |line: &str| u64::from_str_radix(line.split_ascii_whitespace().next()?, 16).ok();
        // perf ends a chain with the address -1 where it has no memory.
        let chain = lines.filter_map(address).filter(|address| address >> 63 == 0).collect();
        Some(((time.parse().ok()?, tid), chain))
    };
    text.split("\n\n").filter_map(sample).collect()
}

fn by_corewise(folder: &Path) -> Chains {
    let source = open_source(&folder.join("perf.data")).unwrap();
    let (mut stacks, mut samples) = (Vec::new(), Vec::new());
    let each = |(): &mut (), batch: &mut Batch| {
        stacks.append(&mut batch.stacks);
        samples.extend(batch.events.iter().filter_map(|event| match event.what {
            EventKind::CpuSample { tid, stack, .. } => Some(((event.at.0, tid.0), stack)),
            _ => None,
        }));
        Ok(())
    };
    let (accounted, ()) = account_with(source.as_ref(), &PassOptions::default(), |_| Ok(()), each).unwrap();
    let origin = accounted.ingested.origin.unwrap().0.cast_unsigned();
    // Without the frame that says why the chain is truncated.
    let of_program = |frame: &&StackFrame| frame.address >> 63 == 0 && frame.address > 0;
    let chains = samples.into_iter().map(|((at, tid), stack)| {
        let frames = stacks[stack.0 as usize - 1].iter().filter(of_program).enumerate();
        let chain = frames.map(|(n, frame)| frame.offset - u64::from(n > 0)).collect();
        ((origin + at.cast_unsigned(), tid), chain)
    });
    chains.collect()
}

#[test]
#[ignore = "needs perf, perf events"]
fn copies_of_stacks_have_the_chains_that_perf_unwinds() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("chain.c"), SOURCE).unwrap();
    run("cc", &["-O2", "-fomit-frame-pointer", "-Wl,--build-id", "-o", "chain", "chain.c"], here);
    let how =
        ["record", "-q", "-o", "perf.data", "-e", "cpu-clock", "-F", "997", "--buildid-mmap", "--call-graph", "dwarf"];
    run("perf", &[&how[..], &["--", "./chain"]].concat(), here);
    let (expected, found) = (by_perf(here), by_corewise(here));
    assert!(expected.len() > 100, "{} samples", expected.len());
    assert_eq!(found.len(), expected.len());
    let of_chain = |chain: &Vec<u64>| chain.len() > 30;
    assert!(expected.values().any(of_chain));
    for (at, chain) in &expected {
        // In code without a rule (of the dynamic linker, before the chain), perf guesses, and corewise ends.
        let ours = &found[at];
        assert!(ours == chain || !of_chain(chain) && chain.starts_with(ours), "{at:?}: {ours:x?}, by perf {chain:x?}");
    }
}

/// Has perf record xz as everyone does: build ids only of files that have samples of their own.
///
/// xz has mapped its files before: Linux marks what perf records of a mapping as having a build id if another event of the machine (of a perf with
/// `--buildid-mmap`, or of corewise) wants build ids, and perf 6.1 aborts on it. -N: perf 6.1 fails where it fills its cache.
fn record_at_work(folder: &Path) {
    let (input, mut text) = std::io::pipe().unwrap();
    let output = File::create(folder.join("packed")).unwrap();
    let mut xz = Command::new("xz").args(["-1", "-c"]).stdin(input).stdout(output).spawn().unwrap();
    let of = |pid: u32, what: &str| format!("/proc/{pid}/{what}");
    // It has loaded its libraries and waits for its input.
    let has = |what: &str, text: &str| std::fs::read_to_string(of(xz.id(), what)).is_ok_and(|all| all.contains(text));
    wait_until(|| has("maps", "liblzma") && has("status", "State:\tS"));
    let how = ["record", "-N", "-q", "-o", "perf.data", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-p"];
    let mut perf = Command::new("perf").args(how).arg(xz.id().to_string()).current_dir(folder).spawn().unwrap();
    let is_event = |entry: std::io::Result<DirEntry>| {
        entry.and_then(|entry| entry.path().read_link()).is_ok_and(|to| to.ends_with("anon_inode:[perf_event]"))
    };
    wait_until(|| std::fs::read_dir(of(perf.id(), "fd")).is_ok_and(|mut all| all.any(is_event)));
    text.write_all(&std::fs::read(folder.join("noise")).unwrap()).unwrap();
    drop(text);
    assert!(xz.wait().unwrap().success() && perf.wait().unwrap().success());
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs perf, perf events, xz"]
fn files_whose_build_ids_were_not_recorded_are_known_by_their_inodes() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    std::fs::write(here.join("noise"), (0..6 << 20).map(|_| noise()).collect::<Vec<u8>>()).unwrap();
    record_at_work(here);
    let (expected, found) = (by_perf(here), by_corewise(here));
    assert!(expected.len() > 100, "{} samples", expected.len());
    let equal = expected.iter().filter(|(at, chain)| found[at] == **chain).count();
    assert!(equal * 100 >= expected.len() * 95, "{equal} of {} chains are equal", expected.len());
    // A copy, which is written faster than it was recorded, does not show when that was, so no file is taken for the recorded one.
    std::fs::copy(here.join("perf.data"), here.join("copy")).unwrap();
    let copy = File::options().append(true).open(here.join("copy")).unwrap();
    copy.set_modified(copy.metadata().unwrap().created().unwrap()).unwrap();
    std::fs::rename(here.join("copy"), here.join("perf.data")).unwrap();
    let copied = by_corewise(here);
    assert!(copied.iter().all(|(at, chain)| found[at].starts_with(chain)));
    // If samples were in the C library too, the recording has the build ids of all files of the callchains.
    let listed = Command::new("perf").args(["buildid-list", "-i", "perf.data"]).current_dir(here).output().unwrap();
    let has_all = String::from_utf8_lossy(&listed.stdout).contains("/libc.so");
    let frames = |of: &Chains| of.values().map(Vec::len).sum::<usize>();
    assert!(has_all || frames(&copied) < frames(&found));
}
