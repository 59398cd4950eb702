//! Compares the slices of a levels file with the stretches it was made from.

use levels::{HeldValue, Reader, Slice, States, Step, Stretch, Values, Writer};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ALL: usize = usize::MAX;

fn written(folder: &Path, stretches: &[Stretch], chunk: usize) -> PathBuf {
    let path = folder.join("drawn.levels");
    let duration = stretches.iter().map(|s| s.end).max().unwrap_or(0);
    let mut writer =
        Writer::<States>::new(std::fs::File::create(&path).unwrap(), &path, "drawn", 4, duration, chunk).unwrap();
    stretches.iter().for_each(|s| writer.push(s).unwrap());
    writer.finish().unwrap();
    path
}

/// Generates tracks of consecutive stretches, in order of start.
fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
    let lengths = prop::collection::vec((prop_oneof![1i64..4, 1i64..200], 0u8..4, -1i64..5), 1..120);
    let track = (0i64..100, lengths);
    prop::collection::vec(track, 1..8).prop_map(|tracks| {
        let mut all = Vec::new();
        for (track, (mut at, lengths)) in (0u32..).zip(tracks) {
            for (len, state, what) in lengths {
                all.push(Stretch { track, start: at, end: at + len, state, what });
                at += len;
            }
        }
        all.sort_by_key(|s| (s.start, s.track));
        all
    })
}

/// Returns the expected contents of a slice, from the stretches in its interval.
fn expected_slice(all: &[Stretch], slice: &Slice) -> Slice {
    let inside = all.iter().filter(|s| s.track == slice.track && s.start >= slice.start && s.end <= slice.end);
    let (mut states, mut whats) = (BTreeMap::new(), BTreeMap::new());
    let mut stretches = 0;
    for s in inside {
        *states.entry(s.state).or_insert(0) += s.end - s.start;
        *whats.entry((s.state, s.what)).or_insert(0) += s.end - s.start;
        stretches += 1;
    }
    let (state, state_ns) = states.into_iter().rev().max_by_key(|(_, ns)| *ns).unwrap();
    let of_state = whats.into_iter().rev().filter(|((of, _), _)| *of == state);
    let ((_, what), what_ns) = of_state.max_by_key(|(_, ns)| *ns).unwrap();
    Slice { state, state_ns, what, what_ns, stretches, ..*slice }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn at_every_width_slices_cover_the_requested_time_and_describe_their_interval(
        all in stretches(), chunk in 1usize..200, from in 0i64..3000, len in 1i64..3000, width in 0i64..300,
        first in 0u32..8, more in 0u32..8,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let reader = Reader::<States>::open(&written(folder.path(), &all, chunk)).unwrap();
        let slices = reader.slices(from..from + len, width, first..=first + more, ALL).unwrap();
        for track in 0..8 {
            let found: Vec<&Slice> = slices.iter().filter(|s| s.track == track).collect();
            let wanted = (first..=first + more).contains(&track);
            let mut of = all.iter().filter(|s| wanted && s.track == track && s.start < from + len && s.end > from);
            let begin = of.clone().map(|s| s.start).min();
            prop_assert_eq!(begin.is_some(), !found.is_empty());
            let Some(begin) = begin else { continue };
            // The first slice begins at or before the first stretch that overlaps, and there is no gap up to the last one.
            prop_assert!(found[0].start <= begin);
            prop_assert!(found.windows(2).all(|w| w[0].end == w[1].start));
            prop_assert!(found.last().unwrap().end >= of.by_ref().map(|s| s.end).max().unwrap());
            for slice in &found {
                prop_assert_eq!(**slice, expected_slice(&all, slice));
                prop_assert!(slice.stretches == 1 || slice.end - slice.start < 2 * width, "{:?} at {}", slice, width);
            }
        }
    }

    #[test]
    fn without_a_width_slices_are_the_stretches(all in stretches(), chunk in 1usize..200, from in 0i64..3000, len in 1i64..3000) {
        let folder = tempfile::tempdir().unwrap();
        let reader = Reader::<States>::open(&written(folder.path(), &all, chunk)).unwrap();
        let slices = reader.slices(from..from + len, 0, 0..=u32::MAX, ALL).unwrap();
        let mut expected: Vec<Slice> =
            all.iter().filter(|s| s.start < from + len && s.end > from).map(|s| Slice::from(*s)).collect();
        expected.sort_by_key(|s| (s.track, s.start));
        prop_assert_eq!(slices, expected);
    }

    #[test]
    fn a_changed_byte_is_always_detected(all in stretches(), at in any::<prop::sample::Index>(), to: u8) {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &all, 50);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        let was = std::mem::replace(&mut bytes[at], to);
        std::fs::write(&path, &bytes).unwrap();
        let read = |width| Reader::<States>::open(&path)?.slices(0..i64::MAX, width, 0..=u32::MAX, ALL);
        // Every byte is covered by a checksum or compared, so any change is detected when it is read.
        let fine = [0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384].iter().all(|w| read(*w).is_ok());
        prop_assert_eq!(fine, was == to);
    }
}

#[test]
fn a_thousand_short_stretches_are_few_slices_at_a_large_width() {
    // 1,000 stretches of 3 ns: at a width of 4 ns, two (6 ns) reach it. At each doubled width, two of the previous slices do: at
    // 256 ns, 128 stretches (384 ns). 1,000 ∕ 128 = 7.8.
    let all: Vec<Stretch> =
        (0..1000).map(|i| Stretch { track: 0, start: 3 * i, end: 3 * i + 3, state: (i % 2) as u8, what: 0 }).collect();
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::<States>::open(&written(folder.path(), &all, 10_000)).unwrap();
    assert_eq!(reader.widths().collect::<Vec<_>>(), [0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]);
    assert_eq!(reader.slices(0..3000, 256, 0..=0, ALL).unwrap().len(), 8);
    // The second (384 … 768) and the third overlap 600 … 900.
    let spans: Vec<_> = reader.slices(600..900, 300, 0..=0, ALL).unwrap().iter().map(|s| (s.start, s.end)).collect();
    assert_eq!(spans, [(384, 768), (768, 1152)]);
}

#[test]
fn too_many_slices_are_refused_with_advice() {
    let all: Vec<Stretch> = (0..100).map(|i| Stretch { track: 0, start: i, end: i + 1, state: 0, what: 0 }).collect();
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::<States>::open(&written(folder.path(), &all, 10)).unwrap();
    assert_eq!(reader.slices(0..100, 0, 0..=0, 100).unwrap().len(), 100);
    assert!(reader.slices(0..100, 0, 0..=0, 99).unwrap_err().to_string().contains("shorter time"));
}

#[test]
fn another_file_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.levels");
    for bytes in [&b""[..], b"short", &[0; 100], &b"corewise levels 1\n".repeat(9)[..]] {
        std::fs::write(&path, bytes).unwrap();
        let refused = Reader::<States>::open(&path).err().unwrap().to_string();
        assert!(refused.contains("created again"), "{refused}");
    }
}

#[test]
fn values_have_the_minimum_the_maximum_and_the_mean_over_their_time() {
    // At a width of 8: 1 for 4 ns and 4 for 6 ns give 28 over 10 ns. The 7 is long enough, and separates the 3.
    let held = |start, end, value| HeldValue { track: 2, start, end, value };
    let all = [held(0, 4, 1.0), held(4, 10, 4.0), held(10, 30, 7.0), held(30, 32, 3.0)];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.levels");
    let mut writer = Writer::<Values>::new(std::fs::File::create(&path).unwrap(), &path, "drawn", 8, 32, 10).unwrap();
    all.iter().for_each(|h| writer.push(h).unwrap());
    writer.finish().unwrap();
    let reader = Reader::<Values>::open(&path).unwrap();
    let step = |start, end, min, max, mean, stretches| Step { track: 2, start, end, min, max, mean, stretches };
    let expected = [step(0, 10, 1.0, 4.0, 2.8, 2), step(10, 30, 7.0, 7.0, 7.0, 1), step(30, 32, 3.0, 3.0, 3.0, 1)];
    assert_eq!(reader.slices(0..32, 8, 0..=9, ALL).unwrap(), expected);
    // Below the first width nothing is merged.
    let alone: Vec<Step> = all.iter().map(|h| step(h.start, h.end, h.value, h.value, h.value, 1)).collect();
    assert_eq!(reader.slices(0..32, 1, 0..=9, ALL).unwrap(), alone);
}
