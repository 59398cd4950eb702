//! The trace folder: Parquet and a manifest
