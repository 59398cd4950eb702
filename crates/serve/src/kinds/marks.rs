//! Marks of programs: a track for each name of each thread or process, and further tracks for nested marks of the same name.

use super::{BoxedKind, Kind, KindInfo, Lane, MAX_LANES};
use crate::ServeError;
use crate::build_levels::Target;
use crate::feed::Feed;
use engine::Session;
use levels::States;
use model::{Event, EventKind, Mark, MarkEdge, NameId};
use std::collections::BTreeMap;

/// The maximum nesting on a track of the source, and the maximum number of tracks with open marks.
const MAX_OPEN: usize = 1 << 12;
const MAX_TRACKS: usize = 1 << 16;

/// The thread, the process and the name of a mark.
pub(super) type Owner = (i32, i32, NameId);

/// The owner of an open mark and its depth; `None` if there was no room for it.
type Open = Option<(Owner, usize)>;

struct Marks<'a> {
    feed: Feed<'a, States>,
    /// The tracks of each name, by nesting depth.
    lanes: BTreeMap<(Owner, usize), Lane>,
    /// The open marks on each of the source's tracks.
    open: BTreeMap<(i32, i32, i64), Vec<Open>>,
    /// The number of open marks of each name.
    depth: BTreeMap<Owner, usize>,
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: Target<'a>, name: &'static str) -> Result<BoxedKind<'a>, ServeError> {
    let (lanes, open, depth) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    Ok(Box::new(Marks { feed: Feed::new(to, name), lanes, open, depth, left_out: 0 }))
}

/// Returns the label of a track.
pub(super) fn label(of: Owner, names: &[Box<str>]) -> String {
    let name = super::name(names, of.2).unwrap_or("?");
    match of {
        (tid, ..) if tid > 0 => format!("{name} (thread {tid})"),
        (_, pid, _) if pid > 0 => format!("{name} (process {pid})"),
        _ => name.to_owned(),
    }
}

impl Marks<'_> {
    /// Returns the track of a name at a depth, if there is room for it.
    fn lane(&mut self, of: Owner, depth: usize, names: &[Box<str>]) -> Option<u32> {
        let next = self.lanes.len();
        if next >= MAX_LANES && !self.lanes.contains_key(&(of, depth)) {
            return None;
        }
        let lane = self.lanes.entry((of, depth)).or_insert_with(|| {
            let within = if depth > 0 { format!(", depth {depth}") } else { String::new() };
            Lane::new(next as u32, label(of, names) + &within)
        });
        Some(lane.track)
    }
}

impl Kind for Marks<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let EventKind::Mark(Mark { tid, pid, track, name, edge }) = event.what else { return };
        let at = event.at.0;
        if at < 0 {
            return;
        }
        let on = (tid.0, if tid.0 > 0 { 0 } else { pid.0 }, track);
        match edge {
            // KindInfo in separate tracks (`moments`).
            MarkEdge::Instant => {}
            MarkEdge::Begin => {
                let of = (on.0, on.1, name);
                let depth = self.depth.get(&of).copied().unwrap_or(0);
                let room = match self.open.get(&on) {
                    Some(open) => open.len() < MAX_OPEN,
                    None => self.open.len() < MAX_TRACKS,
                };
                let lane = if room { self.lane(of, depth, names) } else { None };
                self.left_out += u64::from(lane.is_none());
                if let Some(lane) = lane {
                    self.feed.change(lane, at, Some((1, -1)));
                    *self.depth.entry(of).or_default() += 1;
                }
                if room {
                    self.open.entry(on).or_default().push(lane.map(|_| (of, depth)));
                }
            }
            MarkEdge::End => {
                let Some(open) = self.open.get_mut(&on) else { return };
                let ended = open.pop().flatten();
                if open.is_empty() {
                    self.open.remove(&on);
                }
                if let Some((of, depth)) = ended {
                    if let Some(lane) = self.lanes.get(&(of, depth)).map(|lane| lane.track) {
                        self.feed.change(lane, at, Some((0, -1)));
                    }
                    self.depth.entry(of).and_modify(|n| *n = n.saturating_sub(1));
                }
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<Option<KindInfo>, ServeError> {
        let Self { feed, lanes, left_out, .. } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_by_key(|lane| lane.track);
        let note = match left_out {
            0 => String::new(),
            _ => format!("{left_out} marks beyond the first {MAX_LANES} tracks are not shown"),
        };
        let states = vec!["no mark".to_owned(), "mark".to_owned()];
        Ok(feed.finish()?.then(|| KindInfo { title: "Marks".into(), note, ..KindInfo::of_states(lanes, states) }))
    }
}
