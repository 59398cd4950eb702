//! Processor specifications.

use crate::{CheckContext, Figure, Head, Kind, Rule, Sheet, StatementSink};

const MEMORY_BANDWIDTH: Rule = Rule {
    id: "memory_bandwidth",
    unit: "GB/s",
    formula: "two channels × 8 bytes × memory transfers per second (JEDEC: a channel is 64 bits wide)",
};

const BASE_BY_TYPE: Rule = Rule {
    id: "base_frequency_by_core_type",
    unit: "base frequencies",
    formula: "core types differ in base frequency, so there must be one base frequency per core type",
};

/// See [`Kind::doc`].
pub(crate) struct CpuSpecs;

impl Kind for CpuSpecs {
    fn id(&self) -> &'static str {
        "cpu_specs"
    }

    fn doc(&self) -> &'static str {
        "processors: model, base_freq_ghz, max_turbo_ghz, and e_cores, mem_mt_per_s, mem_bw_gb_per_s if known"
    }

    fn matches(&self, head: &Head) -> bool {
        head.has(&["model", "base_freq_ghz", "max_turbo_ghz"])
    }

    fn check(&self, sheet: &Sheet, _: &CheckContext<'_>, out: &mut StatementSink<'_>) {
        for row in 0..sheet.len() {
            let model = sheet.text(row, "model");
            let rate = sheet.count(row, "mem_mt_per_s");
            if let (Some(rate), Some(printed)) = (rate, sheet.figure(row, "mem_bw_gb_per_s")) {
                out.equal(&MEMORY_BANDWIDTH, model, rate.scaled(2.0 * 8.0 / 1000.0), printed.with_rounded_zeros());
            }
            if let (Some(slower), Some(_)) = (sheet.count(row, "e_cores"), sheet.figure(row, "base_freq_ghz")) {
                let types = if slower.value > 0.0 { 2.0 } else { 1.0 };
                out.equal(&BASE_BY_TYPE, model, Figure::exact(types), Figure::exact(1.0));
            }
        }
    }
}
