//! Pictures as data; the page draws them.

use crate::blocks::Anchor;
use model::{Amount, CoreType, Span};

/// Colours. The first six are from Okabe and Ito (2008) and can be distinguished by colour-blind people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// Blue.
    Blue,
    /// Orange.
    Orange,
    /// Bluish green.
    Green,
    /// Vermillion.
    Red,
    /// Reddish purple.
    Purple,
    /// Sky blue.
    Sky,
    /// Idle or nothing.
    Idle,
    /// Unknown: hatched.
    Unknown,
}

impl Tone {
    /// The colour of a core type, by its name.
    pub fn of_type(word: &str) -> Self {
        const TYPES: [(CoreType, Tone); 4] = [
            (CoreType::Performance, Tone::Blue),
            (CoreType::Middle, Tone::Sky),
            (CoreType::Efficient, Tone::Green),
            (CoreType::LowPower, Tone::Purple),
        ];
        TYPES.iter().find(|(of, _)| of.as_str() == word).map_or(Self::Blue, |(_, tone)| *tone)
    }
}

/// A picture.
pub enum Picture {
    /// Stacked bars.
    Bars(Bars),
    /// CPUs over time.
    Timeline(Timeline),
    /// Counts from each row to each column.
    Matrix(Matrix),
    /// Shares over time.
    Stack(Stack),
    /// Callchains.
    Flame(Flame),
    /// The worst instance of a finding.
    Instance(Instance),
}

/// What a thread and the CPUs did around an interval.
pub struct Instance {
    /// The title.
    pub title: String,
    /// The drawn time, from the start of the recording.
    pub window: Span,
    /// The interval.
    pub marked: Span,
    /// The colours.
    pub legend: Vec<(Tone, String)>,
    /// The lanes, from the top: the thread, then CPUs.
    pub lanes: Vec<InstanceLane>,
}

/// A lane of an instance.
pub struct InstanceLane {
    /// The label.
    pub label: String,
    /// Its pieces, in order of time.
    pub pieces: Vec<Piece>,
}

/// A stretch in a lane.
pub struct Piece {
    /// When it was, within the window.
    pub span: Span,
    /// The colour.
    pub tone: Tone,
    /// What is written on it.
    pub label: String,
    /// The label and the time.
    pub about: String,
}

/// Stacked bars, one per row.
pub struct Bars {
    /// The title.
    pub title: String,
    /// The parts, in order from the left.
    pub legend: Vec<(Tone, String)>,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    /// The label on the left.
    pub label: String,
    /// The value on the right.
    pub value: String,
    /// The parts in the order of the legend; negative ones count as zero.
    pub parts: Vec<i64>,
    /// The value of the full width; anything above is cut off.
    pub whole: i64,
}

impl Bar {
    /// Returns a bar of times or of counts.
    #[must_use]
    pub fn new<A: Amount>(label: String, value: String, parts: impl IntoIterator<Item = A>, whole: A) -> Self {
        Self { label, value, parts: parts.into_iter().map(A::number).collect(), whole: whole.number() }
    }
}

/// How busy each CPU was over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// The title.
    pub title: String,
    /// The lanes, from the top.
    pub lanes: Vec<Lane>,
    /// The begin, from the start of the recording.
    pub begin_ns: i64,
    /// The duration of the picture.
    pub span_ns: i64,
    /// Spans that are marked below the lanes.
    pub ranges: Vec<Range>,
}

/// Marked spans of time.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// Its name.
    pub label: String,
    /// The subject.
    pub of: String,
    /// Its own anchor.
    pub place: Anchor,
    /// The link target of its label.
    pub link: Anchor,
    /// The colour.
    pub tone: Tone,
    /// The spans, from the start of the recording.
    pub spans: Vec<Span>,
}

/// One CPU, or several that share a lane.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// The label.
    pub label: String,
    /// The core type, if the machine has several.
    pub core_type: String,
    /// For each interval from the left: the busy and the unknown share, each 0 to 1.
    pub cells: Vec<(f64, f64)>,
}

/// Counts from each row to each column of a square table.
pub struct Matrix {
    /// The title.
    pub title: String,
    /// The names of rows and columns.
    pub labels: Vec<String>,
    /// The counts, by row, then column.
    pub cells: Vec<Vec<i64>>,
}

/// Stacked shares of a whole over time.
pub struct Stack {
    /// The title.
    pub title: String,
    /// The layers, in order from the bottom.
    pub legend: Vec<(Tone, String)>,
    /// The begin and end, from the start of the recording.
    pub begin_ns: i64,
    /// See [`Self::begin_ns`].
    pub end_ns: i64,
    /// For each interval from the left: the shares, in the order of the legend.
    pub parts: Vec<Vec<f64>>,
}

/// A flame graph: functions above those that called them, as wide as their shares of the samples.
pub struct Flame {
    /// The title.
    pub title: String,
    /// The colours.
    pub legend: Vec<(FlameTone, String)>,
    /// The frames, callers first; the first one is the root.
    pub frames: Vec<FlameFrame>,
}

/// A function as called by the one below it.
pub struct FlameFrame {
    /// Its name.
    pub label: String,
    /// Its name and its samples.
    pub about: String,
    /// The number of frames below it.
    pub depth: usize,
    /// Where it begins, 0 to 1.
    pub x: f64,
    /// Its share of all samples, 0 to 1.
    pub width: f64,
    /// The colour.
    pub tone: FlameTone,
}

/// The colour of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlameTone {
    /// All samples.
    Root,
    /// A type of cores.
    Core(Tone),
    /// A thread.
    Thread,
    /// A function of a program or a library.
    Program,
    /// A function of the kernel.
    Kernel,
    /// A function without a known name.
    Unnamed,
    /// The difference of its share: -3 (much smaller) to 3 (much larger).
    Difference(i8),
}

impl From<Flame> for Picture {
    fn from(flame: Flame) -> Self {
        Self::Flame(flame)
    }
}

impl From<Instance> for Picture {
    fn from(instance: Instance) -> Self {
        Self::Instance(instance)
    }
}

impl From<Bars> for Picture {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

impl From<Timeline> for Picture {
    fn from(timeline: Timeline) -> Self {
        Self::Timeline(timeline)
    }
}

impl From<Stack> for Picture {
    fn from(stack: Stack) -> Self {
        Self::Stack(stack)
    }
}

impl From<Matrix> for Picture {
    fn from(matrix: Matrix) -> Self {
        Self::Matrix(matrix)
    }
}
