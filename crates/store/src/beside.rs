//! The few kinds of event that are wanted of a part of the recording, without reading any other.

use crate::error::Error;
use crate::event_tables::{EventKind, TABLES};
use crate::folder::Folder;
use crate::read::{Reader, Texts};
use crate::sheet::Column;
use crate::values::Values;
use model::{CpuId, Ns, Power, PowerChange, Throttle, Tid};

/// A thread was put on another run queue, whatever it did then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Migration {
    /// When.
    pub at: Ns,
    /// Whose number.
    pub tid: Tid,
    /// The CPU of the run queue that it is on from now on.
    pub to: CpuId,
}

impl Folder {
    /// The migrations from a time on, in order; empty where the folder was made without events.
    ///
    /// # Errors
    /// Where the folder is damaged; so does each item tell.
    pub fn migrations(&self, from: Ns) -> Result<impl Iterator<Item = Result<Migration, Error>>, Error> {
        let reader = self.events_of(EventKind::Migrate)?;
        Ok(groups(reader, Some(from), |cols, row| match cols {
            [_, Values::Long(at), _, Values::Int(tid), _, Values::Int(to), ..] => {
                Some(Migration { at: Ns(*at.get(row)?), tid: Tid(*tid.get(row)?), to: CpuId(*to.get(row)? as u32) })
            }
            _ => None,
        })
        .filter(move |m| m.as_ref().is_ok_and(|m| m.at >= from) || m.is_err()))
    }

    /// The frequencies of CPUs, in order; empty where the folder was made without events, or nobody told any.
    ///
    /// # Errors
    /// Where the folder is damaged; so does each item tell.
    pub fn frequencies(&self) -> Result<impl Iterator<Item = Result<PowerChange, Error>>, Error> {
        let reader = self.events_of(EventKind::Frequency)?;
        Ok(groups(reader, None, |cols, row| match cols {
            [_, Values::Long(at), _, Values::Int(cpu), Values::Key(khz), ..] => Some(PowerChange {
                at: Ns(*at.get(row)?),
                cpu: CpuId(*cpu.get(row)? as u32),
                to: Power::Frequency(u32::try_from(*khz.get(row)?).ok()?),
            }),
            _ => None,
        }))
    }

    /// Which CPUs are parked from when on, and no longer, in order; empty as above.
    ///
    /// # Errors
    /// Where the folder is damaged; so does each item tell.
    pub fn parking(&self) -> Result<impl Iterator<Item = Result<PowerChange, Error>>, Error> {
        let reader = self.events_of(EventKind::Parking)?;
        Ok(groups(reader, None, |cols, row| match cols {
            [_, Values::Long(at), _, Values::Int(cpu), Values::Word(edge, _), ..] => Some(PowerChange {
                at: Ns(*at.get(row)?),
                cpu: CpuId(*cpu.get(row)? as u32),
                to: Power::Parked(*edge.get(row)? == 0),
            }),
            _ => None,
        }))
    }

    /// Whom a quota holds from when on, and no longer, in order; empty as above.
    ///
    /// # Errors
    /// Where the folder is damaged; so does each item tell.
    pub fn throttles(&self) -> Result<impl Iterator<Item = Result<Throttle, Error>>, Error> {
        let reader = self.events_of(EventKind::Throttle)?;
        Ok(groups(reader, None, |cols, row| match cols {
            [_, Values::Long(at), _, Values::Int(tid), Values::Word(edge, _), ..] => {
                Some(Throttle { at: Ns(*at.get(row)?), tid: Tid(*tid.get(row)?), begins: *edge.get(row)? == 0 })
            }
            _ => None,
        }))
    }

    fn events_of(&self, kind: EventKind) -> Result<Option<Reader>, Error> {
        let table = &TABLES[kind as usize];
        let columns: Vec<Column> =
            table.def.cols.iter().zip(table.stores).map(|(c, s)| Column { col: *c, store: *s }).collect();
        self.reader(&format!("events/{}.parquet", table.def.name), &columns)
    }
}

/// The rows of a file of events, a row group in memory at a time; of groups that end before a time, none.
fn groups<T>(
    reader: Option<Reader>,
    from: Option<Ns>,
    row: impl Fn(&[Values], usize) -> Option<T> + Copy,
) -> impl Iterator<Item = Result<T, Error>> {
    let of_group = move |reader: &Reader, group: usize| -> Vec<Result<T, Error>> {
        // Of all columns the second is the time.
        if reader.range(group, 1).zip(from).is_some_and(|((_, most), from)| most < from.0) {
            return Vec::new();
        }
        let bad = || reader.damaged("an event that this corewise does not know");
        match reader.group(group, &mut Texts::default()) {
            Ok((rows, cols)) => (0..rows).map(|r| row(&cols, r).ok_or_else(bad)).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    reader.into_iter().flat_map(move |reader| {
        let all = 0..reader.groups();
        all.flat_map(move |group| of_group(&reader, group))
    })
}
