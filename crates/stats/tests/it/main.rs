//! The tests of this crate that use it from outside, in one program: a module for each subject.

mod laws;
