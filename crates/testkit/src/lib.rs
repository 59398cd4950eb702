//! Traces and machines drawn as text, for tests
