//! A thread reads blocks from all over a file, each after the previous one has arrived: the CPU and the disk wait in turn.
//!
//! Fixed: the kernel is advised of the next blocks, so that the disk works on many at the same time.

use pathologies::{Marks, Run, leave, skip, work};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Small enough that a request takes longer on the disk than on the CPU.
const BLOCK: u64 = 4096;
/// Blocks of the file. It is small, since a recording also contains the writing of the file: each block is dropped from the page cache
/// after reading, and read again.
const BLOCKS: u64 = 2048;
/// How many blocks ahead the kernel is advised.
const AHEAD: u64 = 64;

fn main() {
    let run = Run::from_arguments();
    let reads = run.size(60_000);
    let file = match written() {
        Ok(file) => file,
        Err(why) => leave(1, &format!("cannot write a file in {}: {why}", std::env::temp_dir().display())),
    };
    // The step and the number of blocks have no common factor, so each block is read before the first is read again. The kernel does not
    // predict this order.
    let place = |n: u64| (n * 7919 % BLOCKS) * BLOCK;
    let marks = Marks::open();
    let mut block = [0; BLOCK as usize];
    run.measure(reads, || {
        marks.around("read", || {
            for n in 0..reads {
                if run.fixed {
                    let next = if n == 0 { 0..AHEAD } else { n + AHEAD - 1..n + AHEAD };
                    next.for_each(|n| advise(&file, place(n), BLOCK, libc::POSIX_FADV_WILLNEED));
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

/// Returns an unlinked file that is on the disk and not in the page cache.
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
    // SAFETY: takes numbers only, and the file is open.
    let refused = unsafe { libc::posix_fadvise(file.as_raw_fd(), from.cast_signed(), bytes.cast_signed(), what) };
    if refused != 0 {
        skip("the file system of the temporary folder does not support posix_fadvise");
    }
}
