//! What is said of a table: each value that its rules give, beside what it prints.

use crate::Figure;

/// A rule, or a value that follows from what a table prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// How it is named in output and in tables of claims.
    pub id: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// What is computed, and what it is held against.
    pub formula: &'static str,
}

/// What comes of holding a printed figure against a computed one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The two are one within what rounding may have done.
    Agrees,
    /// They are not.
    Contradicts,
    /// Nothing is printed to hold the value against.
    NoClaim,
    /// Nobody can say, and why.
    CannotTell(String),
}

/// One rule held against one printed figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// The table's name.
    pub table: String,
    /// The rule.
    pub rule: &'static Rule,
    /// Which row, thread or run.
    pub of: String,
    /// What follows from the rule, in its unit.
    pub computed: Option<f64>,
    /// What the table prints, or the most that can be.
    pub printed: Option<f64>,
    /// By how much the two may differ.
    pub tolerance: f64,
    /// What comes of it.
    pub verdict: Verdict,
}

impl Statement {
    /// Printed minus computed.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        Some(self.printed? - self.computed?)
    }
}

/// Takes down what is said of one table.
pub struct Told<'a> {
    table: &'a str,
    out: &'a mut Vec<Statement>,
}

impl<'a> Told<'a> {
    pub(crate) fn new(table: &'a str, out: &'a mut Vec<Statement>) -> Self {
        Self { table, out }
    }

    /// A value that nothing is printed against.
    pub(crate) fn value(&mut self, rule: &'static Rule, of: impl Into<String>, computed: f64) {
        self.push(rule, of.into(), Some(computed), None, 0.0, Verdict::NoClaim);
    }

    /// The two are one, but for rounding.
    pub(crate) fn equal(&mut self, rule: &'static Rule, of: impl Into<String>, computed: Figure, printed: Figure) {
        let tolerance = computed.rounding + printed.rounding;
        self.within(rule, of, computed.value, printed.value, tolerance);
    }

    /// The two are one, but for so much.
    pub(crate) fn within(
        &mut self,
        rule: &'static Rule,
        of: impl Into<String>,
        computed: f64,
        printed: f64,
        tolerance: f64,
    ) {
        let holds = (computed - printed).abs() <= slack(tolerance, printed);
        self.judged(rule, of.into(), computed, printed, tolerance, holds);
    }

    /// What is printed is at most what is computed.
    pub(crate) fn at_most(&mut self, rule: &'static Rule, of: impl Into<String>, limit: Figure, printed: Figure) {
        let tolerance = limit.rounding + printed.rounding;
        let holds = printed.value - limit.value <= slack(tolerance, printed.value);
        self.judged(rule, of.into(), limit.value, printed.value, tolerance, holds);
    }

    /// Nobody can say.
    pub(crate) fn cannot(&mut self, rule: &'static Rule, of: impl Into<String>, why: impl Into<String>) {
        self.push(rule, of.into(), None, None, 0.0, Verdict::CannotTell(why.into()));
    }

    /// Whether what was said last was that two contradict.
    pub(crate) fn contradicted(&self) -> bool {
        self.out.last().is_some_and(|s| s.verdict == Verdict::Contradicts)
    }

    fn judged(&mut self, rule: &'static Rule, of: String, computed: f64, printed: f64, tolerance: f64, holds: bool) {
        if !computed.is_finite() || !tolerance.is_finite() {
            return self.cannot(rule, of, "a divisor is 0");
        }
        let verdict = if holds { Verdict::Agrees } else { Verdict::Contradicts };
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

/// What doubles do to the last digits is no contradiction.
fn slack(tolerance: f64, of: f64) -> f64 {
    tolerance + of.abs() * 1e-12
}
