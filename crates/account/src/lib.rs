//! The state machine of ACCOUNTING.md: ordered events to finished stretches, sums and laws
