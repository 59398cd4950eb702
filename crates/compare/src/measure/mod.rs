//! From a recording, a frame log or a printed table to a [`crate::Run`].

pub(crate) mod frames;
pub(crate) mod printed;
