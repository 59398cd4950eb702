//! Requests to block devices by a thread that reads without the page cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod support;

use capture::{Backend, RecordOptions};
use model::{BlockOperation, BlockRequest, EventKind};
use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;
use support::{alone, gettid, read, recorded_while};

const READS: usize = 50;
const SIZE: usize = 4096;

/// Memory with the alignment that direct reads need.
#[repr(align(4096))]
struct Page([u8; SIZE]);

/// Returns a folder on a block device: file systems without one have the major number 0.
fn on_a_disk() -> &'static str {
    let has_device = |folder: &&str| std::fs::metadata(folder).is_ok_and(|m| libc::major(m.dev()) != 0);
    [env!("CARGO_TARGET_TMPDIR"), "/var/tmp", "/root"].into_iter().find(has_device).expect("a folder on a disk")
}

#[test]
#[ignore = "needs BPF rights"]
fn direct_reads_are_recorded_as_issued_and_done_requests() {
    let _alone = alone();
    let dir = tempfile::tempdir_in(on_a_disk()).unwrap();
    let path = dir.path().join("data");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&vec![1; READS * SIZE]).unwrap();
    file.sync_all().unwrap();
    let mut direct = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path).unwrap();
    let mut options = RecordOptions::new(dir.path().join("run"));
    (options.backend, options.duration) = (Backend::Bpf, Some(Duration::from_millis(500)));
    let mut reader = 0;
    recorded_while(&options, &mut || {
        reader = gettid();
        let mut page = Page([0; SIZE]);
        direct.rewind().unwrap();
        (0..READS).for_each(|_| direct.read_exact(&mut page.0).unwrap());
    });
    let trace = read(&options.dir);
    let mut under_way = BTreeMap::<_, Vec<i32>>::new();
    let (mut issued, mut done) = (0, 0);
    for event in &trace.events {
        let EventKind::Block { tid, request } = event.what else { continue };
        let BlockRequest { device, sector, bytes, operation, .. } = request;
        let place = (device, sector, operation);
        if !request.done {
            under_way.entry(place).or_default().push(tid.0);
            issued += usize::from(tid.0 == reader && operation == BlockOperation::Read && bytes == SIZE as u64);
        } else if let Some(tid) = under_way.get_mut(&place).and_then(Vec::pop) {
            done += usize::from(tid == reader && operation == BlockOperation::Read);
        }
    }
    assert_eq!((issued, done), (READS, READS));
}
