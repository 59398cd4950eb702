//! Foreign files as streams of events, one file a format
