//! Live recording of a Linux machine to a spool that survives a crash
