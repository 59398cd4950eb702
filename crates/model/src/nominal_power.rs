//! How far power may be above the nominal power of a processor.

/// How many times its nominal power (TDP) a processor may use for a while without being doubted. A judgement, not a fact of any processor:
/// the totals of document 004 are 3.6 to 11 times the power of the part, and an eighth of them, which is plausible, at most 1.4 times.
pub const ABOVE_TDP: f64 = 2.5;
