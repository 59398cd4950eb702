//! What programs mark: a track for each name of each thread or process; stretches within others of their name are a further track.

use super::{Kind, Lane, MOST_LANES, Made, Shown};
use crate::ServeError;
use crate::feed::Feed;
use crate::making::To;
use engine::Session;
use levels::States;
use model::{Event, Mark, MarkEdge, NameId, What};
use std::collections::BTreeMap;

/// Open stretches of one track of the source, and tracks that have any: no program nests so deep, or begins so much.
const MOST_OPEN: usize = 1 << 12;
const MOST_TRACKS: usize = 1 << 16;

/// Whose, and what it is called.
pub(super) type Of = (i32, i32, NameId);

/// Of whom an open stretch is, and in which lane; nothing: it has no room.
type Open = Option<(Of, usize)>;

struct Marks<'a> {
    feed: Feed<'a, States>,
    /// The tracks of each, the n-th for what began within n−1 others.
    lanes: BTreeMap<(Of, usize), Lane>,
    /// What is open on each of the source's tracks, and in which lane.
    open: BTreeMap<(i32, i32, i64), Vec<Open>>,
    /// How many are open of each.
    depth: BTreeMap<Of, usize>,
    left_out: u64,
}

pub(crate) fn new<'a>(_: &Session, to: To<'a>, name: &'static str) -> Result<Made<'a>, ServeError> {
    let (lanes, open, depth) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    Ok(Box::new(Marks { feed: Feed::new(to, name), lanes, open, depth, left_out: 0 }))
}

/// What a name of a thread or process is called.
pub(super) fn label(of: Of, names: &[Box<str>]) -> String {
    let name = super::name(names, of.2).unwrap_or("?");
    match of {
        (tid, ..) if tid > 0 => format!("{name} (thread {tid})"),
        (_, pid, _) if pid > 0 => format!("{name} (process {pid})"),
        _ => name.to_owned(),
    }
}

impl Marks<'_> {
    /// The track of a name at a depth, if there is room for it.
    fn lane(&mut self, of: Of, depth: usize, names: &[Box<str>]) -> Option<u32> {
        let next = self.lanes.len();
        if next >= MOST_LANES && !self.lanes.contains_key(&(of, depth)) {
            return None;
        }
        let lane = self.lanes.entry((of, depth)).or_insert_with(|| {
            let within = if depth > 0 { format!(", {depth} deep") } else { String::new() };
            Lane { track: next as u32, label: label(of, names) + &within, most: 0.0 }
        });
        Some(lane.track)
    }
}

impl Kind for Marks<'_> {
    fn event(&mut self, event: &Event, names: &[Box<str>]) {
        let What::Mark(Mark { tid, pid, track, name, edge }) = event.what else { return };
        let at = event.at.0;
        if at < 0 {
            return;
        }
        let on = (tid.0, if tid.0 > 0 { 0 } else { pid.0 }, track);
        match edge {
            // Those have tracks of their own (`moments`).
            MarkEdge::Instant => {}
            MarkEdge::Begin => {
                let of = (on.0, on.1, name);
                let depth = self.depth.get(&of).copied().unwrap_or(0);
                let room = match self.open.get(&on) {
                    Some(open) => open.len() < MOST_OPEN,
                    None => self.open.len() < MOST_TRACKS,
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

    fn finish(self: Box<Self>) -> Result<Option<Shown>, ServeError> {
        let Self { feed, lanes, left_out, .. } = *self;
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_by_key(|lane| lane.track);
        let note = match left_out {
            0 => String::new(),
            _ => format!("{left_out} marked stretches beyond the first {MOST_LANES} tracks are not shown"),
        };
        let states = vec!["not marked".to_owned(), "marked".to_owned()];
        Ok(feed.finish()?.then(|| Shown { title: "Marks".into(), note, ..Shown::of_states(lanes, states) }))
    }
}
