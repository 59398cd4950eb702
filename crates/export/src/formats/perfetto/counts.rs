//! What the CPUs counted: a note for each count, which is exact, and for viewers a counter track for each CPU and event. Its value is the
//! sum of the counts so far, as Perfetto's own performance counters are written.

use super::Pen;
use super::programs::{packet, track, track_event};
use model::{CpuId, Event, NameId, Ns};
use rustc_hash::FxHashMap;

/// The first of the tracks of counters: "cwct" in ASCII. Readers that know the notes leave these tracks out.
const TRACKS: u64 = 0x6377_6374_0000_0000;
/// The maximum number of tracks; the notes have the counts of all.
const MAX_TRACKS: usize = 1 << 16;

/// The track and the sum of each event on each CPU.
#[derive(Default)]
pub(super) struct Counts(FxHashMap<(CpuId, NameId), (u64, i64)>);

impl Pen<'_> {
    /// Adds to the track of an event on a CPU.
    pub(super) fn count(&mut self, e: &Event, at: Ns, event: NameId, name: &str, count: i64) {
        let (next, key) = (self.counts.0.len(), (e.cpu, event));
        let is_new = !self.counts.0.contains_key(&key);
        if e.at < Ns::ZERO || (is_new && next >= MAX_TRACKS) {
            return;
        }
        let (id, sum) = self.counts.0.entry(key).or_insert((TRACKS + next as u64, 0));
        *sum = sum.saturating_add(count);
        let (id, sum) = (*id, *sum);
        if is_new {
            let name = format!("{name} of cpu {}", e.cpu.0);
            self.packet(None, packet::TRACK_DESCRIPTOR, |p| {
                p.uint(track::UUID, id);
                p.text(track::NAME, &name);
                p.bytes(track::COUNTER, &[]);
            });
        }
        self.packet(Some(at), packet::TRACK_EVENT, |p| {
            p.uint(track_event::TYPE, track_event::VALUE);
            p.uint(track_event::TRACK, id);
            p.double(track_event::COUNTER, sum as f64);
        });
    }
}
