//! What columns hold: the words that declarations have for it. Some say all that there is to say of a column.

use crate::column::{ColumnType, Text};
use crate::table::Kind;

macro_rules! column_types {
    ($($(#[$meta:meta])* $name:ident: $kind:ident $unit:literal $value:ty $(, thread $of_thread:literal)? $(, $doc:literal)?;)+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl ColumnType for $name {
            type Value = $value;
            const KIND: Kind = Kind::$kind;
            const UNIT: &'static str = $unit;
            $(const OF_THREAD: bool = $of_thread;)?
            $(const DOC: &'static str = $doc;)?
        }
    )+ };
}

impl ColumnType for Text {
    type Value = Self;
    const KIND: Kind = Kind::Text;
}

column_types! {
    /// A number without a unit.
    Int: Int "" i64;
    /// A time, or a point in time.
    Ns: Int "ns" i64;
    /// How many.
    Count: Int "count" i64;
    /// A frequency.
    Khz: Int "kHz" i64;
    /// A part of a whole, or how many times something is something else.
    Ratio: Float "ratio" f64;
    /// A time with parts of a nanosecond.
    MeanNs: Float "ns" f64;
    /// How many in the mean.
    MeanCount: Float "count" f64;
    /// How often in a second.
    PerSecond: Float "1/s" f64;
    /// Yes or no.
    Bool: Bool "" bool;
    /// The key of `threads` itself.
    Life: Int "" i64, "One life of one thread, numbered by first appearance in the trace; 0 is idle.";
    /// A key of `threads`, whose name can stand beside it.
    Thread: Int "" i64, thread true, "One life of one thread, numbered by first appearance in the trace; 0 is idle.";
    /// The kernel's number of a thread.
    Tid: Int "" i64, "The kernel's number of the thread; numbers are used again.";
    /// Which of the lives of a thread's number.
    LifeOfTid: Int "" i64, "Which life of this number: 0, 1, …";
    /// The kernel's number of a CPU.
    Cpu: Int "" i64, "The kernel's number of the logical processor.";
    /// A type of core.
    CoreType: Text "" Text, "performance, middle, efficient, low_power, or uniform where one class or none is known.";
    /// When something began.
    Start: Int "ns" i64, "When it began.";
    /// When something ended.
    End: Int "ns" i64, "When it ended.";
    /// A CPU's frequency.
    Frequency: Int "kHz" i64, "The frequency that the source told last; null: none was told yet, or more were told than are kept apart.";
    /// The program of a frame log.
    Application: Text "" Text, "The program, where told.";
    /// Its process.
    Process: Int "" i64, "Its process, where told.";
    /// One of its swap chains.
    SwapChain: Text "" Text, "The address of the swap chain, where told.";
}
