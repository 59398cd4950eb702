//! Whether a thread is throttled at an instant, looked up in all records.

use super::Analysed;
use model::{Ns, ThreadKey, ThreadState};

/// `None`: not recorded.
pub fn throttled(a: &Analysed, thread: ThreadKey, at: Ns) -> Option<bool> {
    let records = || a.throttles.iter().filter(|t| t.at < a.span.end).skip_while(|t| t.tid.is_some());
    records().next()?;
    let of = a.threads.iter().find(|s| s.thread == thread)?;
    let alive = |then: Ns| {
        let of_number = a.threads.iter().filter(|s| s.tid == of.tid && s.span.start <= then);
        let last = of_number.max_by_key(|s| s.span.start);
        last.is_some_and(|s| s.thread == thread && s.state != ThreadState::Exited)
    };
    let of_it = |t: &&super::changes::Throttle| t.at <= at && (t.tid.is_none() || t.tid == Some(of.tid) && alive(t.at));
    let Some(last) = records().filter(of_it).last() else { return Some(false) };
    let ran = a.threads.iter().any(|s| {
        let lets_go = matches!(s.state, ThreadState::Running | ThreadState::Exited);
        s.thread == thread && lets_go && s.span.start > last.at && s.span.start <= at
    });
    Some(last.begins && last.tid.is_some() && !ran)
}
