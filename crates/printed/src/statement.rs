//! Statements about a table: each computed value, compared with the printed one.

use crate::Figure;

/// A rule, or a value that is computed from printed figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The id in output and in tables of claims.
    pub id: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// What is computed, and with what it is compared.
    pub formula: &'static str,
}

/// The result of comparing a printed figure with a computed one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They are equal within the tolerance.
    Agrees,
    /// They are not equal.
    Contradicts,
    /// There is no printed figure.
    NoClaim,
    /// It is unknown, and why.
    NotEvaluated(String),
}

/// The result of one rule for one printed figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The table's name.
    pub table: String,
    /// The rule.
    pub rule: &'static Rule,
    /// The row, thread or run.
    pub of: String,
    /// The computed value, in the rule's unit.
    pub computed: Option<f64>,
    /// The printed value, or the limit.
    pub printed: Option<f64>,
    /// The allowed difference.
    pub tolerance: f64,
    /// The result.
    pub verdict: Verdict,
}

impl Statement {
    /// Printed minus computed value.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        Some(self.printed? - self.computed?)
    }
}

/// Collects the statements about one table.
pub struct StatementSink<'a> {
    table: &'a str,
    out: &'a mut Vec<Statement>,
}

impl<'a> StatementSink<'a> {
    pub(crate) fn new(table: &'a str, out: &'a mut Vec<Statement>) -> Self {
        Self { table, out }
    }

    /// Adds a value without a printed counterpart.
    pub(crate) fn value(&mut self, rule: &'static Rule, of: impl Into<String>, computed: f64) {
        self.push(rule, of.into(), Some(computed), None, 0.0, Verdict::NoClaim);
    }

    /// Adds a comparison within the rounding errors.
    pub(crate) fn equal(&mut self, rule: &'static Rule, of: impl Into<String>, computed: Figure, printed: Figure) {
        let tolerance = computed.rounding + printed.rounding;
        self.within(rule, of, computed.value, printed.value, tolerance);
    }

    /// Adds a comparison within a tolerance.
    pub(crate) fn within(
        &mut self,
        rule: &'static Rule,
        of: impl Into<String>,
        computed: f64,
        printed: f64,
        tolerance: f64,
    ) {
        let is_ok = (computed - printed).abs() <= slack(tolerance, printed);
        self.push_verdict(rule, of.into(), computed, printed, tolerance, is_ok);
    }

    /// Adds a check that the printed value does not exceed a limit.
    pub(crate) fn at_most(&mut self, rule: &'static Rule, of: impl Into<String>, limit: Figure, printed: Figure) {
        let tolerance = limit.rounding + printed.rounding;
        let is_ok = printed.value - limit.value <= slack(tolerance, printed.value);
        self.push_verdict(rule, of.into(), limit.value, printed.value, tolerance, is_ok);
    }

    /// Adds a check that a computed value is not below a limit.
    pub(crate) fn computed_at_least(
        &mut self,
        rule: &'static Rule,
        of: impl Into<String>,
        computed: Figure,
        limit: f64,
    ) {
        let is_ok = limit - computed.value <= slack(computed.rounding, limit);
        self.push_verdict(rule, of.into(), computed.value, limit, computed.rounding, is_ok);
    }

    /// Adds a check that a computed value does not exceed a limit.
    pub(crate) fn computed_at_most(
        &mut self,
        rule: &'static Rule,
        of: impl Into<String>,
        computed: Figure,
        limit: f64,
    ) {
        let is_ok = computed.value - limit <= slack(computed.rounding, limit);
        self.push_verdict(rule, of.into(), computed.value, limit, computed.rounding, is_ok);
    }

    /// Adds a result that is unknown.
    pub(crate) fn not_evaluated(&mut self, rule: &'static Rule, of: impl Into<String>, why: impl Into<String>) {
        self.push(rule, of.into(), None, None, 0.0, Verdict::NotEvaluated(why.into()));
    }

    /// Whether the last statement is a contradiction.
    pub(crate) fn contradicted(&self) -> bool {
        self.out.last().is_some_and(|s| s.verdict == Verdict::Contradicts)
    }

    fn push_verdict(
        &mut self,
        rule: &'static Rule,
        of: String,
        computed: f64,
        printed: f64,
        tolerance: f64,
        is_ok: bool,
    ) {
        if !computed.is_finite() || !tolerance.is_finite() {
            return self.not_evaluated(rule, of, "a divisor is 0");
        }
        let verdict = if is_ok { Verdict::Agrees } else { Verdict::Contradicts };
        self.push(rule, of, Some(computed), Some(printed), tolerance, verdict);
    }

    fn push(
        &mut self,
        rule: &'static Rule,
        of: String,
        computed: Option<f64>,
        printed: Option<f64>,
        tolerance: f64,
        verdict: Verdict,
    ) {
        let computed = computed.filter(|v| v.is_finite());
        if computed.is_some() || verdict != Verdict::NoClaim {
            self.out.push(Statement { table: self.table.to_owned(), rule, of, computed, printed, tolerance, verdict });
        }
    }
}

/// The tolerance plus the rounding errors of doubles.
fn slack(tolerance: f64, of: f64) -> f64 {
    tolerance + of.abs() * 1e-12
}
