//! Events of programs, written by LTTng's user-space tracer: each is a moment that its program marked.
//!
//! Those of `lttng_ust_tracef`, `lttng_ust_tracelog` and of the agents for Java and Python carry a text, which is what was
//! marked; of others it is their name (`provider:event`), and their own fields are left out. Who marked is told by the
//! contexts `vpid` and `vtid`: the numbers that the program itself sees, which are the kernel's outside of PID namespaces.

use super::kinds::Kind;
use super::program::Slot;
use super::types::Metadata;

/// Providers whose events carry a text.
const OF_TEXTS: [&str; 6] =
    ["lttng_ust_tracef", "lttng_ust_tracelog", "lttng_jul", "lttng_log4j", "lttng_log4j2", "lttng_python"];
/// The field that holds it.
const TEXT: &str = "msg";
/// What the tracer writes of its own accord.
const OF_THE_TRACER: &str = "lttng_ust_statedump";
/// A longer text is cut.
pub(super) const LONGEST: usize = 4096;

/// Whether programs wrote the trace, and not the kernel.
pub(super) fn is_ust(told: &Metadata) -> bool {
    told.env("domain") == Some("ust")
}

fn provider(event: &str) -> &str {
    event.split_once(':').map_or(event, |(provider, _)| provider)
}

/// Whether a field of an event of this name is a text that a program wrote.
pub(super) fn is_text(event: &str, field: &str) -> bool {
    field == TEXT && OF_TEXTS.contains(&provider(event))
}

/// What an event of this name tells; `beside` are its contexts.
pub(super) fn kind(
    event: &str,
    field: &dyn Fn(&str) -> Option<Slot>,
    beside: &dyn Fn(&str) -> Option<Slot>,
) -> Option<Kind> {
    let text = field(TEXT).filter(|_| is_text(event, TEXT));
    let mark = || Kind::Mark { name: event.into(), text, tid: beside("vtid"), pid: beside("vpid") };
    (provider(event) != OF_THE_TRACER).then(mark)
}
