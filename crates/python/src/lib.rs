//! The Python package: what `engine`, `compare` and `diagnose` provide, as Python objects. It has no logic of its own.
//!
//! Tables leave as Arrow C streams, made while they are read. Long work runs in threads of its own, so that Ctrl-C ends it and other Python threads
//! run meanwhile. Results with fields (machines, findings, comparisons) are passed as JSON, from which the Python files make objects.

mod comparison;
mod errors;
mod stream;
mod times;
mod trace;
mod work;

use pyo3::prelude::*;

/// The extension module `corewise._corewise`.
#[pymodule]
mod _corewise {
    #[pymodule_export]
    use super::comparison::compare_runs;
    #[pymodule_export]
    use super::errors::Error;
    #[pymodule_export]
    use super::stream::{Table, interrupted};
    #[pymodule_export]
    use super::trace::{Trace, declared, identified, open, tables};
}
