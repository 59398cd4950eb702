//! Errors as Python exceptions, with the same sentence as on the command line.

use pyo3::PyErr;

pyo3::create_exception!(
    corewise,
    Error,
    pyo3::exceptions::PyException,
    "A trace cannot be read, or has not what was requested. The message is the sentence of the command line."
);

/// Returns the exception for an error.
pub fn error(why: impl std::fmt::Display) -> PyErr {
    Error::new_err(why.to_string())
}
