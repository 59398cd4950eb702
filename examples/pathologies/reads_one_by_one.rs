//! A thread that reads blocks from all over a file, each when the one before has come: the CPU and the disk wait in turn.
//!
//! Mended, the kernel is told of the blocks to come, so that the disk works on many at once.

use pathologies::{Marks, Run, leave, skip, work};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// So small that a request takes the disk longer than the CPU.
const BLOCK: u64 = 4096;
/// Blocks of the file. It is small, since a recording holds its writing too: what was read is forgotten, and read again.
const BLOCKS: u64 = 2048;
/// How far ahead the kernel is told.
const AHEAD: u64 = 64;

fn main() {
    let run = Run::from_arguments();
    let reads = run.size(60_000);
    let file = match written() {
        Ok(file) => file,
        Err(why) => leave(1, &format!("cannot write a file in the folder for temporary files: {why}")),
    };
    // An odd step over a power of two of blocks reads each before the first again, in an order that the kernel does not guess.
    let place = |n: u64| (n * 7919 % BLOCKS) * BLOCK;
    let marks = Marks::open();
    let mut block = [0; BLOCK as usize];
    run.measure(reads, || {
        marks.around("read", || {
            for n in 0..reads {
                if run.mended {
                    let told = if n == 0 { 0..AHEAD } else { n + AHEAD - 1..n + AHEAD };
                    told.for_each(|n| advise(&file, place(n), BLOCK, libc::POSIX_FADV_WILLNEED));
                }
                if let Err(why) = file.read_exact_at(&mut block, place(n)) {
                    leave(1, &format!("cannot read the file back: {why}"));
                }
                advise(&file, place(n), BLOCK, libc::POSIX_FADV_DONTNEED);
                work(2);
            }
        });
    });
}

/// A file without a name, on the disk and no longer in memory.
fn written() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("corewise-pathology-{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    for _ in 0..BLOCKS {
        file.write_all(&[1; BLOCK as usize])?;
    }
    file.sync_all()?;
    advise(&file, 0, 0, libc::POSIX_FADV_DONTNEED);
    advise(&file, 0, 0, libc::POSIX_FADV_RANDOM);
    Ok(file)
}

fn advise(file: &File, from: u64, bytes: u64, what: libc::c_int) {
    // SAFETY: takes numbers only, of a file that is open.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), from.cast_signed(), bytes.cast_signed(), what) };
    if refused != 0 {
        skip("this folder for temporary files takes no advice on what is read");
    }
}
