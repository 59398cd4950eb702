//! The text that people keep
