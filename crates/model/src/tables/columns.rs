//! Column types, as used in table declarations. Some have the documentation of their columns.

use crate::column::{ColumnType, Text};
use crate::table::{Kind, Shows};
use crate::units::{self, ThreadKey};

macro_rules! column_types {
    (@shows) => { Shows::Nothing };
    (@shows $shows:ident) => { Shows::$shows };
    ($($(#[$meta:meta])* $name:ident: $kind:ident $unit:literal $value:ty $(, thread $is_key:literal)? $(, shows $shows:ident)? $(, $doc:literal)?;)+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl ColumnType for $name {
            type Value = $value;
            const KIND: Kind = Kind::$kind;
            const UNIT: &'static str = $unit;
            $(const IS_THREAD_KEY: bool = $is_key;)?
            const SHOWS: Shows = column_types!(@shows $($shows)?);
            $(const DOC: &'static str = $doc;)?
        }
    )+ };
}

column_types! {
    /// A number without a unit.
    Int: Int "" i64;
    /// A duration, or a point in time.
    Ns: Int "ns" units::Ns;
    /// A count.
    Count: Int "count" i64;
    /// A frequency.
    Khz: Int "kHz" i64;
    /// A share or a factor.
    Ratio: Float "ratio" f64;
    /// A duration with fractions of a nanosecond.
    MeanNs: Float "ns" f64;
    /// A mean count.
    MeanCount: Float "count" f64;
    /// A rate per second.
    PerSecond: Float "1/s" f64;
    /// A frequency with fractions.
    Mhz: Float "MHz" f64;
    /// Millions per second.
    PerMicrosecond: Float "1/us" f64;
    /// Energy.
    Joules: Float "J" f64;
    /// Power.
    Watts: Float "W" f64;
    /// A temperature.
    Celsius: Float "°C" f64;
    /// A truth value.
    Bool: Bool "" bool;
    /// The key of the table `threads`.
    InstanceKey: Int "" ThreadKey, "Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task.";
    /// A reference to a key of the table `threads`, for which a column with the name can be added.
    Thread: Int "" ThreadKey, thread true, "Key of the thread instance, numbered by first appearance in the trace; 0 is the idle task.";
    /// A thread ID.
    Tid: Int "" units::Tid, "Thread ID in the kernel; TIDs are reused.";
    /// Which of the thread instances with the same TID.
    InstanceOfTid: Int "" i64, "Which instance of this TID: 0, 1, …";
    /// The kernel's number of a CPU.
    Cpu: Int "" i64, "CPU number in the kernel (a logical processor).";
    /// A type of core.
    CoreType: Text "" Text, "`performance`, `middle`, `efficient`, `low_power`, or `uniform` if the machine has one core class or none is known.";
    /// When something began.
    Start: Int "ns" units::Ns, "Start time.";
    /// When something ended.
    End: Int "ns" units::Ns, "End time.";
    /// A CPU's frequency.
    Frequency: Int "kHz" i64, "The last reported frequency; null if none was reported yet, or if there are more distinct frequencies than are kept apart.";
    /// A word of corewise, of the kernel or of the hardware: a state, a cause, a device, a sensor, a counter.
    Word: Text "" Text;
    /// The name of a thread.
    ThreadName: Text "" Text, shows Name;
    /// The name of a function.
    FunctionName: Text "" Text, shows Function;
    /// The path of a file or of a cgroup.
    FilePath: Text "" Text, shows Path;
    /// The mapping that contains code.
    MappedFile: Text "" Text, shows File;
    /// The functions of a callchain; those without a symbol are files.
    Chain: Text "" Text, shows Chain;
    /// A name that a program gave.
    MarkName: Text "" Text, shows Mark;
    /// The program of a frame log.
    Application: Text "" Text, shows Program, "Name of the program; null if not recorded.";
    /// The process of a frame log.
    Process: Int "" i64, "Process ID; null if not recorded.";
    /// An address in a process.
    Address: Text "" Text, shows Address;
    /// A swap chain of a frame log.
    SwapChain: Text "" Text, shows Address, "Address of the swap chain; null if not recorded.";
}
