//! The critical path: the chain of threads that determined when one of them reached its state at the end of a span.
//!
//! The path is found backwards. A fold over begins cannot do that, so it is separate from the analyses. Two folds share
//! the work; each needs memory for one piece only:
//!
//! ```text
//!   A   run │ blocked     │ ready │ run            │end     Walk visits threads' stretches from the last to the first and
//!   B   run │ blocked │ run ▲ run │ blocked                 keeps those on the path: A's run, A's ready, B's run up to the wakeup
//!                         └ B wakes A                       of A, …
//!
//!   path      B's run       │ A's ready  │ A's run          Pieces visits these in order of time, with the CPUs' stretches,
//!   CPU 0   │ C       │ B   │ B   │ D    │ A                and determines the sibling's state and the thread that ran instead.
//! ```

mod account;
mod causes;
mod last_ran;
mod outside;
mod parts;
mod pieces;
mod sums;
mod waited;
mod walk;

pub use account::{Account, Activity, Node, Role, Times, Wait, WaitId};
pub use causes::{Cause, Causes, ThreadCause};
pub use last_ran::LastRan;
pub use outside::Outside;
pub use parts::{Parts, Which};
pub use pieces::{Others, Piece, Pieces, Window};
pub use sums::Sums;
pub(crate) use sums::column;
pub use walk::{End, Walk};
