//! Events of user-space programs, written by LTTng's user-space tracer. Each becomes a mark.
//!
//! Events of `lttng_ust_tracef`, `lttng_ust_tracelog` and of the agents for Java and Python contain a text, which
//! becomes the mark's label. The label of other events is their name (`provider:event`); their own fields are left out.
//! The contexts `vpid` and `vtid` identify the thread: they are the numbers that the program itself sees, which are the
//! kernel's outside of PID namespaces.

use super::kinds::Kind;
use super::program::Slot;
use super::types::Metadata;

/// Providers whose events contain a text.
const TEXT_PROVIDERS: [&str; 6] =
    ["lttng_ust_tracef", "lttng_ust_tracelog", "lttng_jul", "lttng_log4j", "lttng_log4j2", "lttng_python"];
/// The field that contains the text.
const TEXT: &str = "msg";
/// The provider of events that the tracer itself writes.
const TRACER_PROVIDER: &str = "lttng_ust_statedump";
/// The maximum length of a label; longer ones are cut.
pub(super) const MAX_LABEL: usize = 4096;

/// Whether user-space programs wrote the trace, and not the kernel.
pub(super) fn is_ust(metadata: &Metadata) -> bool {
    metadata.env("domain") == Some("ust")
}

fn provider(event: &str) -> &str {
    event.split_once(':').map_or(event, |(provider, _)| provider)
}

/// Whether a field of an event with this name is a text written by a program.
pub(super) fn is_text(event: &str, field: &str) -> bool {
    field == TEXT && TEXT_PROVIDERS.contains(&provider(event))
}

/// Returns the meaning of an event with this name; `context` returns the slots of its contexts.
pub(super) fn kind(
    event: &str,
    field: &dyn Fn(&str) -> Option<Slot>,
    context: &dyn Fn(&str) -> Option<Slot>,
) -> Option<Kind> {
    let text = field(TEXT).filter(|_| is_text(event, TEXT));
    let mark = || Kind::Mark { name: event.into(), text, tid: context("vtid"), pid: context("vpid") };
    (provider(event) != TRACER_PROVIDER).then(mark)
}
