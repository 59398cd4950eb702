//! Switches and wakings as columns: `FtraceEventBundle.CompactSched`.
//!
//! ```text
//!   switch_timestamp   5000  +70  +12      the first in full, then differences
//!   switch_next_pid       7    0    7      the previous thread is the one before's next: of the first, that which
//!   switch_prev_state     1    1    0      this CPU's bundle before brought in, unless something was lost between
//! ```
//!
//! The previous thread's name is not told again: it may have another since it was switched in (an exec).

use super::bundle::Lane;
use super::ftrace::Place;
use super::states::Numbers;
use super::wire::{Broken, Fields, Packed};
use crate::tracepoint::{Names, waker};
use model::{Batch, CpuId, Event, MaybeNs, NameId, Prio, StackId, Switch, Tid, Wake, WakeKind, What};

/// Names in one bundle's table; a hostile file must not fill the memory.
const MOST_NAMES: usize = 1 << 16;

/// The columns, packed as they are; an unpacked column is of no known writer.
#[derive(Default)]
struct Columns<'a> {
    switch: [&'a [u8]; 5],
    waking: [&'a [u8]; 5],
    /// Absent in older recordings.
    waking_flags: &'a [u8],
    names: Vec<NameId>,
}

impl<'a> Columns<'a> {
    fn of(message: &'a [u8], names: &mut Names, out: &mut Batch) -> Result<Self, Broken> {
        let mut columns = Self::default();
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            let bytes = value.bytes();
            match field {
                1..=4 => columns.switch[field as usize - 1] = bytes,
                6 => columns.switch[4] = bytes,
                7..=11 => columns.waking[field as usize - 7] = bytes,
                12 => columns.waking_flags = bytes,
                5 if columns.names.len() < MOST_NAMES => columns.names.push(names.id(bytes, out)),
                5 => out.left_out.texts += 1,
                _ => {}
            }
        }
        Ok(columns)
    }

    fn name(&self, index: u64) -> NameId {
        usize::try_from(index).ok().and_then(|at| self.names.get(at)).copied().unwrap_or_default()
    }
}

/// Reads the columns: wakings first, then switches, each in time order.
pub(super) fn read(
    message: &[u8],
    place: Place,
    states: &Numbers,
    lane: &mut Lane,
    names: &mut Names,
    out: &mut Batch,
) -> Result<(), Broken> {
    let columns = Columns::of(message, names, out)?;
    wakings(&columns, place, out)?;
    switches(&columns, place, states, *lane, out)
}

fn wakings(columns: &Columns<'_>, place: Place, out: &mut Batch) -> Result<(), Broken> {
    let [mut times, mut tids, mut targets, mut prios, mut names] = columns.waking.map(Packed);
    let mut flags = Packed(columns.waking_flags);
    let mut now = 0_u64;
    for step in times.by_ref() {
        now = now.wrapping_add(step);
        let (Some(tid), Some(target), Some(prio), Some(name)) =
            (tids.next(), targets.next(), prios.next(), names.next())
        else {
            return Err(Broken);
        };
        let at = place.time(now)?;
        let wake = Wake {
            tid: Tid(tid as i32),
            name: columns.name(name),
            kind: WakeKind::Waking,
            target: Some(CpuId(target as u32)),
            waker: waker(flags.next().unwrap_or(0), Tid::UNKNOWN),
            prio: Prio::new(prio as i16),
            stamp: at,
        };
        out.events.push(place.event(at, Tid::UNKNOWN, What::Wake(wake)));
    }
    ended(&times)
}

fn switches(
    columns: &Columns<'_>,
    place: Place,
    states: &Numbers,
    mut lane: Lane,
    out: &mut Batch,
) -> Result<(), Broken> {
    let [mut times, mut prev_states, mut nexts, mut prios, mut names] = columns.switch.map(Packed);
    let mut now = 0_u64;
    for step in times.by_ref() {
        now = now.wrapping_add(step);
        let (Some(state), Some(next), Some(prio), Some(name)) =
            (prev_states.next(), nexts.next(), prios.next(), names.next())
        else {
            return Err(Broken);
        };
        let (what, letter) = states.meaning(state);
        let switch = Switch {
            prev: lane.current,
            next: Tid(next as i32),
            prev_name: NameId::NONE,
            next_name: columns.name(name),
            stack: StackId::NONE,
            prev_state: state as u32,
            prev_prio: lane.prio,
            next_prio: Prio::new(prio as i16),
            out: what,
            letter,
            prev_exec: MaybeNs::NONE,
        };
        (lane.current, lane.prio) = (switch.next, switch.next_prio);
        let at = place.time(now)?;
        out.events.push(Event {
            at,
            offset: place.offset,
            cpu: place.cpu,
            current: Tid::UNKNOWN,
            what: What::Switch(switch),
        });
    }
    ended(&times)
}

/// A column that stopped before its bytes did is damaged.
fn ended(column: &Packed<'_>) -> Result<(), Broken> {
    if column.0.is_empty() { Ok(()) } else { Err(Broken) }
}
