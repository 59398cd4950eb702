//! The priority of each thread.

use crate::context::RuleContext;
use engine::EngineError;
use model::tables::priority_residency;
use model::{Ns, ThreadKey};
use std::collections::BTreeMap;

/// The priority at which each thread ran for longest, on the kernel's scale. Reads `priority_residency`.
pub(crate) fn longest(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, i64>, EngineError> {
    let mut longest = BTreeMap::<ThreadKey, (Ns, i64)>::new();
    ctx.each_row(priority_residency::Table, |row| {
        if let Some(prio) = row.get(priority_residency::PRIO) {
            let ran = (row.get(priority_residency::RUNNING_NS), prio);
            let of = longest.entry(row.get(priority_residency::THREAD)).or_insert(ran);
            *of = ran.max(*of);
        }
    })?;
    Ok(longest.into_iter().map(|(thread, (_, prio))| (thread, prio)).collect())
}

/// The priority of nice 0 (kernel numbering).
pub(crate) const NICE_0: i64 = 120;
/// Priorities below this one are real-time priorities (kernel numbering).
pub(crate) const FIRST_FAIR_PRIO: i64 = 100;

/// The threads that ran with a real-time priority for most of their time, and that priority. It shows that their response time matters. Reads
/// `priority_residency`.
pub(crate) fn real_time(ctx: &RuleContext<'_>) -> Result<BTreeMap<ThreadKey, i64>, EngineError> {
    let mut all = longest(ctx)?;
    all.retain(|_, prio| *prio < FIRST_FAIR_PRIO);
    Ok(all)
}
