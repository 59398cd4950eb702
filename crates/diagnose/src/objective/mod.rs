//! What a program is judged by: the end of the recorded command, the lateness of a periodic thread, the time of requests or of marked
//! frames, or else its throughput.
//!
//! A millisecond is recoverable only if the objective gains it. For a periodic thread or frames, that is time by which work ended late:
//! the critical paths of the late periods or frames are summed, and a finding counts at most the time that its threads have on them
//! ([`path::ObjectivePath::limit`]). Before the deadline, a delay only uses up slack. If the objective is the end, only the lateness of periodic
//! threads is limited, to their time on the critical path: the other rules estimate what the end gains, as far as the CPUs are not full already ([`FullCpus`]).

mod choice;
mod full_cpus;
mod marks;
mod path;
mod periods;
mod requests;
mod windows;

pub use choice::Choice;
pub(crate) use choice::TABLES;
pub(crate) use full_cpus::FullCpus;
pub(crate) use path::ObjectivePath;
pub(crate) use windows::Compared;

use engine::Session;
use model::words::{ms, plural, time};
use model::{Ns, Shows, ThreadKey, Tid};
use serde::Serialize;
use std::str::FromStr;

/// The objective that the user set (`--objective`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// The end of the recorded command.
    End,
    /// How much work is done in the analysed range.
    Throughput,
    /// What this thread does, by name or TID: its lateness if it is periodic, else its path to the end of the range.
    Thread(String),
    /// The lateness of this periodic thread, by name or TID.
    Period(String),
    /// The time of the requests that this thread answers, by name or TID; `None`: of the thread that answers most.
    Requests(Option<String>),
    /// The time of the marks that are frames.
    Frames,
    /// The time of the marks with this name; a final `*` matches any ending.
    Marks(String),
}

impl Target {
    /// The same target, by the names that a session shows.
    #[must_use]
    pub(crate) fn shown(&self, session: &Session) -> Self {
        let thread = |name: &str| session.shown_name(Shows::Name, name);
        match self {
            Self::Thread(name) => Self::Thread(thread(name)),
            Self::Period(name) => Self::Period(thread(name)),
            Self::Requests(name) => Self::Requests(name.as_deref().map(thread)),
            Self::Marks(name) => Self::Marks(session.shown_name(Shows::Mark, name)),
            Self::End | Self::Throughput | Self::Frames => self.clone(),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        let named =
            words.split_once(':').filter(|(_, name)| !name.is_empty()).map(|(kind, name)| (kind, name.to_owned()));
        match (words, named) {
            ("end" | "command", _) => Ok(Self::End),
            ("throughput", _) => Ok(Self::Throughput),
            ("frames", _) => Ok(Self::Frames),
            ("requests", _) => Ok(Self::Requests(None)),
            (_, Some(("thread", name))) => Ok(Self::Thread(name)),
            (_, Some(("period", name))) => Ok(Self::Period(name)),
            (_, Some(("requests", name))) => Ok(Self::Requests(Some(name))),
            (_, Some(("mark" | "marks", name))) => Ok(Self::Marks(name)),
            _ => Err(format!(
                "{words}: expected command, throughput, frames, requests, or thread:THREAD, period:THREAD, requests:THREAD, mark:NAME"
            )),
        }
    }
}

/// The kind of an objective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveKind {
    /// The end of the recorded command.
    End,
    /// The lateness of a periodic thread.
    Period,
    /// The time of requests.
    Requests,
    /// The time of marked frames.
    Marks,
    /// What one thread does until the end of the analysed range.
    Thread,
    /// How much work is done in the analysed range.
    Throughput,
}

/// What the program is judged by in a diagnosis.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Objective {
    /// Its kind.
    pub kind: ObjectiveKind,
    /// The name of the thread or of the marks.
    pub name: Option<String>,
    /// The key of the thread; of marks, the one that has most of them.
    pub thread: Option<ThreadKey>,
    /// The TID of the thread.
    pub tid: Option<Tid>,
    /// The number of periods or frames.
    pub count: i64,
    /// The number of those that ended late.
    pub late: i64,
    /// By how much these were late in all, ns.
    pub late_ns: Ns,
    /// How long the longest period or frame took, ns.
    pub longest_ns: Ns,
    /// Whether `late_ns` contains the time between the marks.
    pub has_pauses: bool,
    /// The time from the begin of a period or frame within which its work is not late, ns; `None` if all of its time counts.
    pub deadline_ns: Option<Ns>,
    /// The number of periods that left less than a tenth of themselves, if that is why all of their time counts.
    pub tight: i64,
    /// Whether the user set it.
    pub set: bool,
    /// The same in one sentence, without a full stop.
    pub sentence: String,
}

impl Objective {
    fn of(kind: ObjectiveKind) -> Self {
        let (name, sentence) = (None, String::new());
        Self {
            kind,
            name,
            thread: None,
            tid: None,
            count: 0,
            late: 0,
            late_ns: Ns::ZERO,
            longest_ns: Ns::ZERO,
            has_pauses: false,
            deadline_ns: None,
            tight: 0,
            set: false,
            sentence,
        }
    }

    /// Describes it in one sentence.
    fn described(&self) -> String {
        let name = self.name.as_deref().unwrap_or("?");
        let tid = self.tid.map_or_else(String::new, |tid| format!(" {tid}"));
        let late = |what: &str| {
            let total = plural(self.count.unsigned_abs(), what);
            match self.deadline_ns {
                Some(deadline) if self.late == 0 => format!("none of {total} ended after its {}", time(deadline)),
                Some(deadline) => {
                    format!(
                        "{} of {total} ended after their {}, by {} ms in all",
                        self.late,
                        time(deadline),
                        ms(self.late_ns)
                    )
                }
                None if self.has_pauses => format!("{total} and the time between them, {} ms in all", ms(self.late_ns)),
                None => format!("{total}, {} ms in all", ms(self.late_ns)),
            }
        };
        match self.kind {
            ObjectiveKind::End if self.set => format!("the end of the recorded command ({name})"),
            ObjectiveKind::End => {
                format!("the end of the recorded command ({name}), as no frames are marked and no steady periodic thread does its work")
            }
            ObjectiveKind::Thread => format!("what the thread {name}{tid} does until the end of the analysed range"),
            ObjectiveKind::Period if self.deadline_ns.is_none() && self.tight > 0 => {
                format!(
                    "the response time of the periodic thread {name}{tid}, as {} left it less than a tenth of their time: {}",
                    plural(self.tight.unsigned_abs(), "period"),
                    late("period")
                )
            }
            ObjectiveKind::Period if self.deadline_ns.is_none() => {
                format!("the response time of the periodic thread {name}{tid}, which has a real-time priority: {}", late("period"))
            }
            ObjectiveKind::Period => format!("lateness of the periodic thread {name}{tid}: {}", late("period")),
            ObjectiveKind::Requests => format!("the time of the requests that {name}{tid} answers: {}", late("request")),
            ObjectiveKind::Marks => format!("the time of the marks {name}: {}", late("mark")),
            ObjectiveKind::Throughput => "throughput: no end of a command, no frames and no steady periodic thread of the program are in the analysed range".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn targets_are_parsed_and_others_are_refused() {
        assert_eq!(["end", "command"].map(str::parse), [Ok(Target::End), Ok(Target::End)]);
        assert_eq!("thread:42".parse(), Ok(Target::Thread("42".to_owned())));
        assert_eq!("requests".parse(), Ok(Target::Requests(None)));
        assert_eq!("period:Game".parse(), Ok(Target::Period("Game".to_owned())));
        assert_eq!("requests:42".parse(), Ok(Target::Requests(Some("42".to_owned()))));
        assert_eq!("marks:frame:*".parse(), Ok(Target::Marks("frame:*".to_owned())));
        for bad in ["", "begin", "period", "period:", "end:x", "frames:x"] {
            let error = bad.parse::<Target>().unwrap_err();
            assert!(error.contains("expected command, throughput"), "{error}");
        }
    }
}
