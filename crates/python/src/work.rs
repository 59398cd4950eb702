//! Work in a thread of its own while Python waits for it.

use crate::errors::error;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How often Python's signals are checked.
pub const INTERVAL: Duration = Duration::from_millis(50);
/// How long an interrupted thread is waited for.
const GRACE: Duration = Duration::from_secs(2);

/// Runs work in a thread, without the GIL, until it is done or Ctrl-C is pressed. `cancelled` is then set, which the work should notice. `each` is called
/// from time to time.
///
/// # Errors
/// The work failed, `each` failed, or Ctrl-C was pressed.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    cancelled: &Arc<AtomicBool>,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
    mut each: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let (done, mut result) = sync_channel(1);
    let spawned = std::thread::Builder::new().name("corewise".into()).spawn(move || {
        let _ = done.send(work());
    });
    spawned.map_err(|why| error(format!("cannot start a thread: {why}")))?;
    loop {
        // Exclusively borrowed: a receiver cannot be shared with another thread, but lent.
        let lent = &mut result;
        match py.detach(move || lent.recv_timeout(INTERVAL)) {
            Ok(done) => return done.map_err(error),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(error("corewise failed unexpectedly; please report this"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(why) = py.check_signals().and_then(|()| each()) {
            cancelled.store(true, Ordering::Relaxed);
            let lent = &mut result;
            let _ = py.detach(move || lent.recv_timeout(GRACE));
            return Err(why);
        }
    }
}
