//! What a printed table measured: its values by run and by row, in corewise's units, for comparisons.

use std::collections::BTreeMap;

/// One run in a table. Times are in ns, frequencies in kHz, energies in joules, shares from 0 to 1; counts are plain numbers.
///
/// Ids of values are those of corewise's own tables where the quantity is the same (`running_ns`, `ready_ns`, `cpu_ns`); an event of
/// `perf stat` keeps the name that perf printed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    /// The name of the run; empty if the table has only one, without a name.
    pub run: String,
    /// Values of the whole run.
    pub values: BTreeMap<String, f64>,
    /// Values by the name of a row (a thread, a function).
    pub rows: BTreeMap<String, BTreeMap<String, f64>>,
    /// What the table does not show or cannot show, a sentence each.
    pub lacks: Vec<String>,
}

impl Measured {
    /// Returns an empty run.
    pub(crate) fn of(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// Returns a value of the whole run.
    pub(crate) fn get(&self, id: &str) -> Option<f64> {
        self.values.get(id).copied()
    }

    /// Sets a value of the whole run, if it is a finite number.
    pub(crate) fn set(&mut self, id: &str, value: Option<f64>) {
        put(&mut self.values, id, value);
    }

    /// Sets a ratio of two values, if both exist and the second is not 0.
    pub(crate) fn ratio(&mut self, id: &str, over: &str, under: &str, scale: f64) {
        let ratio = self.get(over).zip(self.get(under)).map(|(over, under)| scale * over / under);
        self.set(id, ratio);
    }

    /// Sets what follows from the counts of cycles and instructions and from the CPU time: `ipc`, `cpi` and `frequency`.
    pub(crate) fn derive_from_counts(&mut self) {
        self.ratio("ipc", "instructions", "cycles", 1.0);
        self.ratio("cpi", "cycles", "instructions", 1.0);
        // Cycles per ns are GHz.
        self.ratio("frequency", "cycles", "cpu_ns", 1e6);
    }
}

/// Sets a value, if it is a finite number.
pub(crate) fn put(values: &mut BTreeMap<String, f64>, id: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|v| v.is_finite()) {
        values.insert(id.to_owned(), value);
    }
}
