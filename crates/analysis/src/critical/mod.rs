//! The critical path: the chain of threads that determined when one of them came where it was at the end of a span.
//!
//! It is found backwards, which no fold over begins can do, so it stands beside the analyses. Two folds share the work, each
//! with the memory of one piece:
//!
//! ```text
//!   A   run │ blocked     │ ready │ run            │end     Walk goes over threads' stretches from the last to the first and
//!   B   run │ blocked │ run ▲ run │ blocked                 keeps those on the path: A's run, A's ready, B's run up to the waking
//!                         └ B wakes A                       of A, …
//!
//!   path      B's run       │ A's ready  │ A's run          Pieces goes over these in order of time, with the CPUs' stretches
//!   CPU 0   │ C       │ B   │ B   │ D    │ A                beside them, and says what each was: beside whom, behind whom.
//! ```

mod causes;
mod last_ran;
mod pieces;
mod sums;
mod walk;

pub use causes::{Cause, Causes};
pub use last_ran::LastRan;
pub use pieces::{Piece, Pieces, Window};
pub use sums::Sums;
pub(crate) use sums::column;
pub use walk::{End, Walk};
