//! How the fields of an event become cells of its table, and cells become fields again.
//!
//! ```text
//!   EventKind::Throttle { tid, begins } ──ThreadOrAll──▶ tid   12   ──▶ a column of a file, a field of a note, …
//!                                       ──Begins───────▶ edge begin
//! ```
//!
//! A [`Field`] is the conversion of one field. The cells are written to a [`WriteCells`] and read from a [`ReadCells`].

use super::{Coded, Donor, FrameToken};
use crate::coded;
use crate::{CoreType, CpuId, MaybeCount, MaybeNs, NameId, Ns, Pid, Prio, StackId, Tid};
use std::marker::PhantomData;
use std::num::NonZeroI32;

/// How the values of a column are stored.
#[derive(Clone, Copy)]
pub enum Storage {
    /// Times and other numbers close to their neighbours, 64 bits.
    Long,
    /// 64-bit numbers with few distinct values.
    Key,
    /// 32-bit numbers.
    Int,
    /// Words from a fixed list, stored by their codes; this returns the word of a code.
    Word(fn(u8) -> String),
    /// Texts.
    Text,
    /// Doubles.
    Float,
    /// Booleans.
    Bool,
}

/// Takes the cells of an event. `at` is the column, without those that all events have.
pub trait WriteCells {
    /// Takes a number; `None` is null.
    fn int(&mut self, at: usize, value: Option<i64>);
    /// Takes a double.
    fn float(&mut self, at: usize, value: f64);
    /// Takes a text; [`NameId::NONE`] is null.
    fn text(&mut self, at: usize, value: NameId);
    /// Takes a callchain.
    fn stack(&mut self, at: usize, value: StackId);
    /// Takes a word.
    fn word<T: Coded>(&mut self, at: usize, value: T);
    /// Takes a truth value, and the code of its word.
    fn flag(&mut self, at: usize, value: bool, code: u8);
}

/// Returns the cells of an event.
pub trait ReadCells {
    /// Returns a number; `None` is null.
    fn int(&mut self, at: usize) -> Option<i64>;
    /// Returns a number of a column that is never null; `None` if it is missing.
    fn number(&mut self, at: usize) -> Option<i64>;
    /// Returns a double.
    fn float(&mut self, at: usize) -> f64;
    /// Returns a text.
    fn text(&mut self, at: usize) -> NameId;
    /// Returns a callchain.
    fn stack(&mut self, at: usize) -> StackId;
    /// Returns a word's value; `None` if it is not in the list.
    fn word<T: Coded>(&mut self, at: usize) -> Option<T>;
    /// Returns a truth value, whose word has this code if it is true.
    fn flag(&mut self, at: usize, code: u8) -> bool;
}

/// The conversion of a field of an event to a cell and back.
pub(super) trait Field {
    /// The field's type.
    type Of: Copy;
    /// How a table stores it.
    const STORAGE: Storage;
    /// Writes the field.
    fn write(value: Self::Of, at: usize, to: &mut impl WriteCells);
    /// Reads the field; `None` if the cell has no valid value.
    fn read(at: usize, from: &mut impl ReadCells) -> Option<Self::Of>;
    /// Passes the id of a text or callchain that the field is.
    fn ids(_: &mut Self::Of, _: &mut impl FnMut(&mut NameId), _: &mut impl FnMut(&mut StackId)) {}
}

fn tid(value: Option<i64>) -> Tid {
    value.and_then(|value| i32::try_from(value).ok()).map_or(Tid::UNKNOWN, Tid)
}

fn prio(value: Option<i64>) -> Prio {
    value.and_then(|value| i16::try_from(value).ok()).into()
}

/// Declares fields that are numbers: what is written, which may be null, and the value of what is read, which may be invalid.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident: $of:ty, $storage:ident, |$value:ident| $write:expr, |$cell:ident| $read:expr;)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;
        impl Field for $name {
            type Of = $of;
            const STORAGE: Storage = Storage::$storage;
            #[inline]
            fn write($value: $of, at: usize, to: &mut impl WriteCells) {
                to.int(at, $write);
            }
            #[inline]
            fn read(at: usize, from: &mut impl ReadCells) -> Option<$of> {
                let $cell = from.int(at);
                $read
            }
        }
    )+};
}

/// Declares fields that are numbers and never null.
macro_rules! whole_numbers {
    ($($(#[$doc:meta])* $name:ident: $of:ty, $storage:ident, |$value:ident| $write:expr, |$cell:ident| $read:expr;)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;
        impl Field for $name {
            type Of = $of;
            const STORAGE: Storage = Storage::$storage;
            #[inline]
            fn write($value: $of, at: usize, to: &mut impl WriteCells) {
                to.int(at, Some($write));
            }
            #[inline]
            fn read(at: usize, from: &mut impl ReadCells) -> Option<$of> {
                let $cell = from.number(at)?;
                $read
            }
        }
    )+};
}

numbers! {
    /// A thread; −1 if unknown.
    Thread: Tid, Int, |v| Some(v.0.into()), |cell| Some(tid(cell));
    /// A thread; null if unknown.
    KnownThread: Tid, Int, |v| (v != Tid::UNKNOWN).then_some(v.0.into()), |cell| Some(tid(cell));
    /// A process; null if unknown.
    KnownProcess: Pid, Int, |v| (v != Pid::UNKNOWN).then_some(v.0.into()), |cell| Some(Pid(tid(cell).0));
    /// A thread, or 0 for all.
    ThreadOrAll: Option<Tid>, Int, |v| Some(v.unwrap_or(Tid::IDLE).0.into()),
        |cell| Some(Some(tid(cell)).filter(|tid| *tid != Tid::IDLE));
    /// The thread that lends its priority; 0 if none does, null if not recorded.
    LentBy: Donor, Int,
        |v| match v {
            Donor::NotRecorded => None,
            Donor::None => Some(Tid::IDLE.0.into()),
            Donor::Thread(tid) => Some(tid.0.into()),
        },
        |cell| Some(match cell {
            None => Donor::NotRecorded,
            Some(0) => Donor::None,
            Some(_) => Donor::Thread(tid(cell)),
        });
    /// A CPU.
    Cpu: CpuId, Int, |v| Some(v.0.cast_signed().into()), |cell| cell.map(|cpu| CpuId(cpu as u32));
    /// A CPU, or null.
    MaybeCpu: Option<CpuId>, Int, |v| v.map(|cpu| cpu.0.cast_signed().into()),
        |cell| Some(cell.map(|cpu| CpuId(cpu as u32)));
    /// A priority, −32768 if unknown.
    Priority: Prio, Int, |v| Some(v.to_word().into()), |cell| Some(prio(cell));
    /// A priority, null if unknown.
    KnownPriority: Prio, Int, |v| v.get().map(i64::from), |cell| Some(prio(cell));
    /// A policy, −1 if not recorded.
    Policy: Option<i8>, Int, |v| Some(v.unwrap_or(-1).into()),
        |cell| Some(cell.and_then(|policy| i8::try_from(policy).ok()).filter(|policy| *policy != -1));
    /// A nice value, −128 if not recorded.
    Nice: Option<i8>, Int, |v| Some(v.unwrap_or(i8::MIN).into()),
        |cell| Some(cell.and_then(|nice| i8::try_from(nice).ok()).filter(|nice| *nice != i8::MIN));
    /// A utilisation clamp, or null.
    Clamp: Option<u16>, Int, |v| v.map(i64::from), |cell| Some(cell.and_then(|clamp| u16::try_from(clamp).ok()));
    /// A weight above 0, or null.
    Weight: Option<u16>, Int, |v| v.map(i64::from),
        |cell| Some(cell.and_then(|weight| u16::try_from(weight).ok()).filter(|weight| *weight > 0));
    /// A time, or null, with few distinct values.
    MaybeTimeKey: MaybeNs, Key, |v| v.get().map(|ns| ns.0), |cell| Some(cell.map(Ns).into());
    /// A time, or null.
    MaybeTime: MaybeNs, Long, |v| v.get().map(|ns| ns.0), |cell| Some(cell.map(Ns).into());
    /// A count, or null.
    KnownCount: MaybeCount, Long, |v| v.get(), |cell| Some(cell.map_or(MaybeCount::UNKNOWN, MaybeCount::new));
    /// A count, −1 if unknown.
    CountKey: MaybeCount, Key, |v| Some(v.to_word()), |cell| Some(cell.map_or(MaybeCount::UNKNOWN, MaybeCount::new));
}

whole_numbers! {
    /// An id with few distinct values.
    Id: u64, Key, |v| v.cast_signed(), |cell| Some(cell.cast_unsigned());
    /// An unsigned number.
    Unsigned: u64, Long, |v| v.cast_signed(), |cell| Some(cell.cast_unsigned());
    /// A 32-bit number with few distinct values.
    SmallKey: u32, Key, |v| v.into(), |cell| u32::try_from(cell).ok();
    /// A 16-bit number.
    Short: u16, Int, |v| v.into(), |cell| u16::try_from(cell).ok();
    /// A number.
    Long: i64, Long, |v| v, |cell| Some(cell);
    /// A number with few distinct values.
    Key: i64, Key, |v| v, |cell| Some(cell);
    /// A 32-bit number.
    Int: i32, Int, |v| v.into(), |cell| i32::try_from(cell).ok();
    /// A time.
    Time: Ns, Long, |v| v.0, |cell| Some(Ns(cell));
    /// What connects the stretches of a frame.
    Token: FrameToken, Long, |v| v.0, |cell| Some(FrameToken(cell));
    /// Why a frame was late; 0 if not recorded.
    Jank: Option<NonZeroI32>, Int, |v| v.map_or(0, NonZeroI32::get).into(),
        |cell| Some(i32::try_from(cell).ok().and_then(NonZeroI32::new));
}

/// A text.
pub(super) struct Name;
impl Field for Name {
    type Of = NameId;
    const STORAGE: Storage = Storage::Text;
    fn write(value: NameId, at: usize, to: &mut impl WriteCells) {
        to.text(at, value);
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<NameId> {
        Some(from.text(at))
    }
    fn ids(value: &mut NameId, names: &mut impl FnMut(&mut NameId), _: &mut impl FnMut(&mut StackId)) {
        names(value);
    }
}

/// A callchain.
pub(super) struct Chain;
impl Field for Chain {
    type Of = StackId;
    const STORAGE: Storage = Storage::Int;
    fn write(value: StackId, at: usize, to: &mut impl WriteCells) {
        to.stack(at, value);
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<StackId> {
        Some(from.stack(at))
    }
    fn ids(value: &mut StackId, _: &mut impl FnMut(&mut NameId), stacks: &mut impl FnMut(&mut StackId)) {
        stacks(value);
    }
}

/// A double.
pub(super) struct Float;
impl Field for Float {
    type Of = f64;
    const STORAGE: Storage = Storage::Float;
    fn write(value: f64, at: usize, to: &mut impl WriteCells) {
        to.float(at, value);
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<f64> {
        Some(from.float(at))
    }
}

/// A word.
pub(super) struct Word<T>(PhantomData<T>);
impl<T: Coded> Field for Word<T> {
    type Of = T;
    const STORAGE: Storage = Storage::Word(word::<T>);
    fn write(value: T, at: usize, to: &mut impl WriteCells) {
        to.word(at, value);
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<T> {
        from.word(at)
    }
}

pub(super) fn word<T: Coded>(code: u8) -> String {
    T::word_of_code(code).unwrap_or("?").to_owned()
}

/// A core type; files of the first version have none.
pub(super) struct CoreTypeOrUniform;
impl Field for CoreTypeOrUniform {
    type Of = CoreType;
    const STORAGE: Storage = <Word<CoreType> as Field>::STORAGE;
    fn write(value: CoreType, at: usize, to: &mut impl WriteCells) {
        to.word(at, value);
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<CoreType> {
        Some(from.word(at).unwrap_or(CoreType::Uniform))
    }
}

/// Declares fields that are truth values: the words of their codes, and the code if true.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident: $words:expr, $code:literal;)+) => {$(
        $(#[$doc])*
        pub(super) struct $name;
        impl Field for $name {
            type Of = bool;
            const STORAGE: Storage = Storage::Word(|code| $words[usize::from(code != 0)].to_owned());
            fn write(value: bool, at: usize, to: &mut impl WriteCells) {
                to.flag(at, value, if value { $code } else { 1 - $code });
            }
            fn read(at: usize, from: &mut impl ReadCells) -> Option<bool> {
                Some(from.flag(at, $code))
            }
        }
    )+};
}

/// The two edges of a stretch.
const EDGES: [&str; 2] = ["begin", "end"];

flags! {
    /// Whether a stretch begins here.
    Begins: EDGES, 0;
    /// Whether it ends here.
    Ends: EDGES, 1;
    /// Whether energy follows from power.
    FromPower: ["counter", "power"], 1;
    /// Whether something could be read.
    Read: ["no", "yes"], 1;
    /// Whether something is the thread's own.
    Own: ["no", "yes"], 1;
}

/// Whether a frame was displayed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum WasDisplayed {
    No,
    Yes,
    NotRecorded,
}

coded!(WasDisplayed: WasDisplayed::No => "no", WasDisplayed::Yes => "yes", WasDisplayed::NotRecorded => "not_recorded");

/// Whether a frame was displayed, if recorded.
pub(super) struct Displayed;
impl Field for Displayed {
    type Of = Option<bool>;
    const STORAGE: Storage = <Word<WasDisplayed> as Field>::STORAGE;
    fn write(value: Option<bool>, at: usize, to: &mut impl WriteCells) {
        to.word(
            at,
            value.map_or(WasDisplayed::NotRecorded, |shown| if shown { WasDisplayed::Yes } else { WasDisplayed::No }),
        );
    }
    fn read(at: usize, from: &mut impl ReadCells) -> Option<Option<bool>> {
        Some(match from.word(at)? {
            WasDisplayed::No => Some(false),
            WasDisplayed::Yes => Some(true),
            WasDisplayed::NotRecorded => None,
        })
    }
}

/// A running total that is read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Total {
    /// The time that the hypervisor gave to other guests.
    Steal,
}

coded!(Total: Total::Steal => "steal");
