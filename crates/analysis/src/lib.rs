//! Folds over stretches, each to a table
