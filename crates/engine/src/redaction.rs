//! What is private, and left out of all that a session passes on or replaced in it: rows, events, callchains, programs and facts. Nothing else
//! decides it; writers write what they get.
//!
//! ```text
//!   kind    object    name                kind    object    name
//!   pipe    81234                         pipe    #1
//!   socket  81240     10.0.0.1:80   ──▶   socket  #2
//!   pipe    81234                         pipe    #1
//! ```

use model::{
    Coded, Event, EventKind, Fate, Kind, NameId, NameStandIns, ObjectWait, Redact, Shows, StackFrame, Stacks, StandIns,
    TableDef, Value, WaitKind, public_file, shown_chain, without_paths,
};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::REDACTED;

/// How much is left out, and what stands for it. Sessions that share it have the same stand-ins.
#[derive(Debug)]
pub struct Redaction {
    level: Redact,
    stand_ins: Mutex<AllStandIns>,
}

#[derive(Default, Debug)]
struct AllStandIns {
    objects: StandIns<String>,
    /// The texts that stand for objects, so that they are not replaced again where rows are made from rows.
    issued: HashSet<String>,
    names: NameStandIns,
}

/// A column that needs a change: its place, what it shows, and of an object the column with its kind.
struct Private {
    at: usize,
    shows: Shows,
    nullable: bool,
    kind: Option<usize>,
}

/// The columns of a table that need a change.
pub(crate) struct PrivateColumns(Vec<Private>);

impl PrivateColumns {
    fn of(def: &TableDef, level: Redact) -> Self {
        let columns = def.cols.iter().enumerate().filter(|(_, col)| col.shows.fate(level) != Fate::Kept);
        let private = columns.filter(|(_, col)| col.kind == Kind::Text).map(|(at, col)| Private {
            at,
            shows: col.shows,
            nullable: col.nullable,
            kind: if col.shows == Shows::Address { kind_of(def, col.name) } else { None },
        });
        Self(private.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the column with the kind of the object in a column: `ready_kind` of `ready_object`, `kind` of `object` and `lock`.
fn kind_of(def: &TableDef, object: &str) -> Option<usize> {
    let kind = object.replace("object", "kind").replace("lock", "kind");
    def.cols.iter().position(|col| col.name == kind && kind != object)
}

impl Redaction {
    /// Returns one without stand-ins so far.
    #[must_use]
    pub fn new(level: Redact) -> Self {
        Self { level, stand_ins: Mutex::default() }
    }

    /// How much is left out.
    #[must_use]
    pub fn level(&self) -> Redact {
        self.level
    }

    fn stand_ins(&self) -> MutexGuard<'_, AllStandIns> {
        // It is only added to, so it is whole after a panic, too.
        self.stand_ins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what an output has instead of a text; `None`: nothing.
    #[must_use]
    pub fn shown(&self, shows: Shows, text: &str) -> Option<String> {
        match shows.fate(self.level) {
            Fate::Kept => Some(text.to_owned()),
            Fate::Removed => None,
            Fate::PublicFile => public_file(text).map(str::to_owned),
            Fate::Numbered => Some(self.stand_in(text)),
            Fate::Renamed(kind) => Some(self.stand_ins().names.name(kind, text)),
            Fate::WithoutPaths => Some(without_paths(text).into_owned()),
            Fate::Chain => Some(shown_chain(text, |of| self.shown(Shows::Function, of).unwrap_or_default())),
        }
    }

    /// Returns the begin of what is shown instead of names that begin so, before a number, with the `*` that stands for that.
    pub(crate) fn shown_pattern(&self, shows: Shows, begin: &str) -> String {
        let of = self.shown(shows, &format!("{begin}1")).unwrap_or_default();
        format!("{}*", of.trim_end_matches(|c: char| c.is_ascii_digit()))
    }

    /// Returns what stands for the address or the number of an object: `#1`, `#2`, …; `#` for all beyond the first million.
    pub(crate) fn stand_in(&self, object: &str) -> String {
        let mut of = self.stand_ins();
        if of.issued.contains(object) {
            return object.to_owned();
        }
        let shown = match of.objects.number(object) {
            0 => "#".to_owned(),
            number => format!("#{number}"),
        };
        of.issued.insert(shown.clone());
        shown
    }

    /// Returns the columns of a table that need a change.
    pub(crate) fn columns(&self, def: &TableDef) -> PrivateColumns {
        PrivateColumns::of(def, self.level)
    }

    /// Changes a row.
    pub(crate) fn row(&self, columns: &PrivateColumns, row: &mut [Value]) {
        for Private { at, shows, nullable, kind } in &columns.0 {
            let kind = kind.and_then(|at| match &row[at] {
                Value::Text(word) => WaitKind::of_word(word.as_bytes()),
                _ => None,
            });
            let Value::Text(text) = &row[*at] else { continue };
            if kind.is_some_and(|kind| !kind.is_private()) {
                continue;
            }
            let shown = self.shown(*shows, text);
            row[*at] = match shown {
                None if !nullable => REDACTED.into(),
                shown => shown.into(),
            };
        }
    }

    /// Returns the same callchains without paths and build IDs. Functions of the kernel stay.
    pub(crate) fn stacks(&self, stacks: &Stacks) -> Stacks {
        let mut texts = Texts::new(self);
        let frame = |frame: &StackFrame| StackFrame {
            function: match frame.in_kernel() {
                true => texts.id(&stacks.names, frame.function, Shows::Nothing),
                false => texts.id(&stacks.names, frame.function, Shows::Function),
            },
            file: texts.id(&stacks.names, frame.file, Shows::File),
            build_id: NameId::NONE,
            source: NameId::NONE,
            line: 0,
            ..*frame
        };
        let mut frame = frame;
        let chains = stacks.chains.iter().map(|chain| chain.iter().map(&mut frame).collect()).collect();
        Stacks { chains, names: texts.all }
    }
}

/// The texts that are shown, with numbers of their own.
struct Texts<'a> {
    redaction: &'a Redaction,
    all: Vec<Box<str>>,
    known: HashMap<(NameId, Shows), NameId>,
}

impl<'a> Texts<'a> {
    fn new(redaction: &'a Redaction) -> Self {
        Self { redaction, all: Vec::new(), known: HashMap::new() }
    }

    /// Returns the number of what is shown instead of a text.
    fn id(&mut self, names: &[Box<str>], id: NameId, shows: Shows) -> NameId {
        let Some(text) = (id.0 as usize).checked_sub(1).and_then(|at| names.get(at)) else { return NameId::NONE };
        let Self { redaction, all, known } = self;
        *known.entry((id, shows)).or_insert_with(|| match redaction.shown(shows, text) {
            Some(shown) => {
                all.push(shown.into());
                NameId(u32::try_from(all.len()).unwrap_or(0))
            }
            None => NameId::NONE,
        })
    }
}

/// Events without what is private.
pub(crate) struct Events<'a> {
    texts: Texts<'a>,
    numbers: StandIns<u64>,
    events: Vec<Event>,
}

impl<'a> Events<'a> {
    pub(crate) fn new(redaction: &'a Redaction) -> Self {
        Self { texts: Texts::new(redaction), numbers: StandIns::default(), events: Vec::new() }
    }

    /// Returns the events of a batch, and all texts so far.
    pub(crate) fn of(&mut self, events: &[Event], names: &[Box<str>]) -> (&[Event], &[Box<str>]) {
        let Self { texts, numbers, events: shown } = self;
        let mut number = |kind: WaitKind, id: u64| if kind.is_private() { numbers.number(&id) } else { id };
        shown.clear();
        for event in events {
            let mut what = match event.what {
                // Addresses, and memory of the program.
                EventKind::FutexWait(_)
                | EventKind::FutexCall { .. }
                | EventKind::FutexReturn { .. }
                | EventKind::WokenByCall { .. } => continue,
                EventKind::ObjectWait(wait) => {
                    EventKind::ObjectWait(ObjectWait { id: number(wait.kind, wait.id), ..wait })
                }
                EventKind::ObjectReady { tid, kind, id, name } => {
                    EventKind::ObjectReady { tid, kind, id: number(kind, id), name }
                }
                what => what,
            };
            what.ids(&mut |id, shows| *id = texts.id(names, *id, shows), &mut |_| ());
            shown.push(Event { what, ..*event });
        }
        (&self.events, &self.texts.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::tables::{ALL, OBJECT_WAITS, WAIT_OBJECTS, named};

    /// No column of any table keeps a text that its declaration does not let stay, and no column of names one that stands for nothing.
    #[test]
    fn every_column_is_shown_as_it_is_declared() {
        for level in [Redact::Private, Redact::Names] {
            let redaction = Redaction::new(level);
            for def in ALL.iter().map(|def| named(def)) {
                let secret = |col: &model::Col| if col.kind == Kind::Text { "own/secret".into() } else { Value::Null };
                let mut row: Vec<Value> = def.cols.iter().map(secret).collect();
                redaction.row(&redaction.columns(def), &mut row);
                for (col, value) in def.cols.iter().zip(&row) {
                    let stays = match (col.shows, level) {
                        (Shows::Nothing, _) | (Shows::Name | Shows::Program | Shows::Mark, Redact::Private) => true,
                        // The last part of a relative path.
                        (Shows::Function | Shows::Chain, Redact::Private) => continue,
                        _ => false,
                    };
                    let shown = matches!(value, Value::Text(text) if text.contains("secret"));
                    assert_eq!(shown, stays && col.kind == Kind::Text, "{}.{}: {value:?}", def.name, col.name);
                    assert!(
                        col.nullable || *value != Value::Null || col.kind != Kind::Text,
                        "{}.{}",
                        def.name,
                        col.name
                    );
                }
            }
        }
    }

    /// Rows that are made from rows have the same stand-ins as these.
    #[test]
    fn what_stands_for_something_is_not_replaced_again() {
        let redaction = Redaction::new(Redact::Names);
        for shows in [Shows::Name, Shows::Program, Shows::Function, Shows::Mark, Shows::Address, Shows::Chain] {
            let once = redaction.shown(shows, "own 3").unwrap_or_default();
            assert_eq!(redaction.shown(shows, &once), Some(once.clone()), "{once}");
        }
        for def in [&OBJECT_WAITS, &WAIT_OBJECTS] {
            assert!(!redaction.columns(def).is_empty(), "{}", def.name);
        }
    }
}
