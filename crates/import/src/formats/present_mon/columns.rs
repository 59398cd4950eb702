//! The meanings of a log's columns. The columns have had three sets of names, and spellings that differ in case and in
//! a prefix `ms`.

/// The content of a column. Durations are in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Application,
    ProcessId,
    SwapChain,
    PresentMode,
    Dropped,
    /// When Present was called.
    PresentTime(Unit),
    /// When the CPU started the frame.
    StartTime(Unit),
    FrameTime,
    CpuBusy,
    CpuWait,
    InPresent,
    BetweenPresents,
    UntilRenderStart,
    UntilRenderComplete,
    GpuActive,
    GpuLatency,
    GpuTime,
    GpuBusy,
    UntilDisplayed,
    DisplayLatency,
    BetweenDisplayChange,
    DisplayedTime,
}

/// The units of points in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
    /// Ticks of QueryPerformanceCounter; their rate is not in the log.
    Ticks,
    /// The local date and time.
    Date,
    /// Not stated by the name: versions differ.
    Unknown,
}

/// Names in lower case, without a prefix `ms`.
const NAMES: &[(&str, Field)] = &[
    ("application", Field::Application),
    ("processid", Field::ProcessId),
    ("swapchainaddress", Field::SwapChain),
    ("presentmode", Field::PresentMode),
    ("dropped", Field::Dropped),
    // PresentMon 1, and from 2.3.
    ("timeinseconds", Field::PresentTime(Unit::Seconds)),
    ("timeinms", Field::PresentTime(Unit::Milliseconds)),
    ("timeindatetime", Field::PresentTime(Unit::Date)),
    ("timeinqpc", Field::PresentTime(Unit::Ticks)),
    ("qpctime", Field::PresentTime(Unit::Unknown)),
    ("inpresentapi", Field::InPresent),
    ("betweenpresents", Field::BetweenPresents),
    ("untilrenderstart", Field::UntilRenderStart),
    ("untilrendercomplete", Field::UntilRenderComplete),
    ("renderpresentlatency", Field::UntilRenderComplete),
    ("gpuactive", Field::GpuActive),
    ("untildisplayed", Field::UntilDisplayed),
    ("betweendisplaychange", Field::BetweenDisplayChange),
    // PresentMon 2.
    ("cpustarttime", Field::StartTime(Unit::Unknown)),
    ("cpustarttimeinseconds", Field::StartTime(Unit::Seconds)),
    ("cpustarttimeinms", Field::StartTime(Unit::Milliseconds)),
    ("cpustartqpctime", Field::StartTime(Unit::Milliseconds)),
    ("cpustartqpctimeinms", Field::StartTime(Unit::Milliseconds)),
    ("cpustartdatetime", Field::StartTime(Unit::Date)),
    ("cpustartqpc", Field::StartTime(Unit::Ticks)),
    ("frametime", Field::FrameTime),
    ("betweenappstart", Field::FrameTime),
    ("cpubusy", Field::CpuBusy),
    ("cpuwait", Field::CpuWait),
    ("gpulatency", Field::GpuLatency),
    ("gputime", Field::GpuTime),
    ("gpubusy", Field::GpuBusy),
    ("displaylatency", Field::DisplayLatency),
    ("displayedtime", Field::DisplayedTime),
];

/// The columns of a log.
#[derive(Clone, Debug)]
pub(in crate::formats) struct Columns {
    known: Vec<(Field, usize)>,
    /// The columns that are not read, under the log's names.
    pub(super) others: Vec<(String, usize)>,
    pub(super) count: usize,
}

impl Columns {
    /// Reads the cells of the header.
    pub(in crate::formats) fn of(head: &[&[u8]]) -> Self {
        let (mut known, mut others): (Vec<(Field, usize)>, _) = (Vec::new(), Vec::new());
        for (at, cell) in head.iter().enumerate() {
            let name = String::from_utf8_lossy(cell).to_ascii_lowercase();
            let plain = name.strip_prefix("ms").unwrap_or(&name);
            let field = NAMES.iter().find(|(known, _)| *known == plain).map(|(_, field)| *field);
            // Of two columns with the same content, the first is used.
            match field.filter(|f| known.iter().all(|(k, _)| k != f)) {
                Some(field) => known.push((field, at)),
                None => others.push((String::from_utf8_lossy(cell).into_owned(), at)),
            }
        }
        Self { known, others, count: head.len() }
    }

    /// Returns the index of a column.
    pub(super) fn at(&self, field: Field) -> Option<usize> {
        self.known.iter().find(|(known, _)| *known == field).map(|(_, at)| *at)
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.at(field).is_some()
    }

    /// Returns the column with the time when Present was called.
    pub(super) fn present_time(&self) -> Option<(Unit, usize)> {
        self.known.iter().find_map(|(field, at)| match field {
            Field::PresentTime(unit) => Some((*unit, *at)),
            _ => None,
        })
    }

    /// Returns the column with the time when the CPU started the frame.
    pub(super) fn start_time(&self) -> Option<(Unit, usize)> {
        self.known.iter().find_map(|(field, at)| match field {
            Field::StartTime(unit) => Some((*unit, *at)),
            _ => None,
        })
    }

    /// Whether these are the columns of a frame log, even if some are missing.
    pub(super) fn are_of_frames(&self) -> bool {
        let times = [Field::BetweenPresents, Field::FrameTime];
        self.has(Field::Application) && self.has(Field::ProcessId) && times.iter().any(|f| self.has(*f))
    }
}
