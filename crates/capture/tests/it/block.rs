//! Requests to block devices by a thread that reads without the page cache.

use crate::support::{alone, gettid, read, recorded_while};
use capture::{Backend, RecordOptions};
use model::{BlockOperation, BlockRequest, EventKind};
use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;

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
    let mut under_way = BTreeMap::<_, usize>::new();
    let (mut issued, mut by_reader, mut done) = (0, 0, 0);
    for event in &trace.events {
        let EventKind::Block { tid, request } = event.what else { continue };
        let BlockRequest { device, sector, bytes, operation, .. } = request;
        if operation != BlockOperation::Read {
            continue;
        }
        if !request.done {
            *under_way.entry((device, sector)).or_default() += 1;
            issued += usize::from(bytes == SIZE as u64);
            by_reader += usize::from(tid.0 == reader);
        } else if let Some(requests) = under_way.get_mut(&(device, sector)).filter(|requests| **requests > 0) {
            *requests -= 1;
            done += 1;
        }
    }
    // While the device is busy, the kernel queues a request and a kernel thread issues it later.
    assert!(issued >= READS && by_reader > 0, "{issued} reads issued, {by_reader} by the thread that reads");
    // Each ends in an interrupt, which no program gets where a task is current whose events the machine hides.
    let hides = trace.facts.about.iter().any(|(name, _)| name == "switches_inferred_from_next");
    assert!(done >= READS || hides && done > 0, "{done} of {issued} reads done");
}
