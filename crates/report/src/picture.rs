//! Pictures as data; the page draws them.

use crate::page::Place;
use model::{CoreType, Span};

/// A colour by what it stands for. The first six are those of Okabe and Ito (2008), told apart by the colour-blind too.
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
    /// Nothing happened.
    Idle,
    /// Nobody can say: hatched.
    Unknown,
}

impl Tone {
    /// Of a type of core, by its word.
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
    /// Bars of parts.
    Bars(Bars),
    /// CPUs over time.
    Timeline(Timeline),
    /// From each to each.
    Matrix(Matrix),
    /// Shares over time.
    Stack(Stack),
}

/// Bars of parts, one above the other.
pub struct Bars {
    /// What it shows.
    pub title: String,
    /// What the parts are, in order from the left.
    pub legend: Vec<(Tone, String)>,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    /// Whose it is.
    pub label: String,
    /// What stands behind the label.
    pub value: String,
    /// In the order of the legend; negative ones count as nothing.
    pub parts: Vec<i64>,
    /// What the whole width stands for; more is cut off.
    pub whole: i64,
}

/// For each CPU and part of the time, how busy it was.
pub struct Timeline {
    /// What it shows.
    pub title: String,
    /// One above the other, each with its name.
    pub lanes: Vec<Lane>,
    /// When it begins, from the start of the recording.
    pub begin_ns: i64,
    /// The length of all of it.
    pub span_ns: i64,
    /// What lies within some of the time, below.
    pub ranges: Vec<Range>,
}

/// Something that lies within some of the time.
pub struct Range {
    /// Its name.
    pub label: String,
    /// What it is.
    pub of: String,
    /// As what words can lead to it.
    pub place: Place,
    /// Where its name leads to.
    pub leads: Place,
    /// Its colour.
    pub tone: Tone,
    /// When, from the start of the recording.
    pub spans: Vec<Span>,
}

/// One CPU, or some that stand together.
pub struct Lane {
    /// Its name.
    pub label: String,
    /// The type of its cores, where the machine has several.
    pub core_type: String,
    /// Of each part of the time, from the left: how much was busy and how much is unknown, each 0 to 1.
    pub cells: Vec<(f64, f64)>,
}

/// How often anything went from each to each; the numbers of a square table.
pub struct Matrix {
    /// What it shows.
    pub title: String,
    /// Names of rows and columns.
    pub labels: Vec<String>,
    /// From row to column.
    pub cells: Vec<Vec<i64>>,
}

/// Shares of a whole over time, one above the other.
pub struct Stack {
    /// What it shows.
    pub title: String,
    /// What the shares are, in order from the bottom.
    pub legend: Vec<(Tone, String)>,
    /// When it begins and ends, from the start of the recording.
    pub begin_ns: i64,
    /// See [`Self::begin_ns`].
    pub end_ns: i64,
    /// Of each part of the time, from the left: the shares, in the order of the legend.
    pub parts: Vec<Vec<f64>>,
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
