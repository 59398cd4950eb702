//! What took longer along a critical path than in a typical one, by cause.

use crate::context::{SectionContext, add};
use crate::words::{TIE, ms};
use model::{Ns, ThreadKey};
use page::Tone;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of threads named that ran instead.
const NAMED: usize = 2;
const READY: &str = "ready";

/// The parts of a bar.
pub const PARTS: [(Tone, &str); 7] = [
    (Tone::Blue, "running"),
    (Tone::Purple, "running with a busy SMT sibling"),
    (Tone::Orange, "ready"),
    (Tone::Red, "wakeup latency"),
    (Tone::Idle, "blocked"),
    (Tone::Unknown, "exited or unknown"),
    (Tone::Sky, "throttled"),
];

/// A row of a table of causes.
pub struct CauseRow<'a> {
    pub cause: &'a str,
    /// Empty if the thread did not run, or the type is unknown.
    pub core_type: &'a str,
    /// The thread on the path, if it is another one than that of the frame.
    pub other: Option<String>,
    pub queued_behind: Option<ThreadKey>,
    pub time: Ns,
    pub more: Ns,
}

/// The causes of one frame.
#[derive(Default)]
pub struct Excess {
    /// The time of each of [`PARTS`].
    pub parts: [Ns; PARTS.len()],
    /// The excess over a typical frame, by cause.
    causes: BTreeMap<String, Ns>,
    /// The excess of `ready`, by the thread that ran instead.
    queued_behind: BTreeMap<String, Ns>,
}

impl Excess {
    pub fn add(&mut self, ctx: &SectionContext<'_>, row: CauseRow<'_>) {
        let (part, cause) = match row.cause {
            "running" => (0, "running"),
            "running_sibling_busy" => (1, "running with busy sibling"),
            READY => (2, READY),
            "wakeup_latency" => (3, "wakeup latency"),
            "blocked" => (4, "blocked"),
            "throttled" => (6, "throttled"),
            cause => (5, cause),
        };
        self.parts[part] += row.time;
        let mut cause = match row.core_type {
            "" | "uniform" => cause.to_owned(),
            core_type => format!("{cause} on {core_type}"),
        };
        if let Some(other) = row.other {
            cause = format!("{other} {cause}");
        } else if cause == READY {
            add(self.queued_behind.entry(ctx.name(row.queued_behind)).or_default(), row.more);
        }
        add(self.causes.entry(cause.replace(' ', &TIE.to_string())).or_default(), row.more);
    }

    /// Formats the causes that took longer, largest first.
    pub fn words(&self) -> String {
        let words = longest(&self.causes).into_iter().map(|(cause, more)| match &*cause {
            READY => {
                let others = longest(&self.queued_behind).into_iter().take(NAMED);
                let others = others.map(|(of, more)| format!("{of}{TIE}{}", ms(more)));
                format!("{READY}{TIE}{} (queued behind {})", ms(more), others.collect::<Vec<_>>().join(", "))
            }
            _ => format!("{cause}{TIE}{}", ms(more)),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The entries with an excess, largest first.
fn longest(of: &BTreeMap<String, Ns>) -> Vec<(String, Ns)> {
    let mut longer: Vec<(String, Ns)> =
        of.iter().filter(|(_, more)| **more > Ns::ZERO).map(|(k, v)| (k.clone(), *v)).collect();
    longer.sort_by_key(|(_, more)| Reverse(*more));
    longer
}
