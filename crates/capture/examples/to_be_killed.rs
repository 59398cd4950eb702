//! Records into the given folder until a test kills it. Creates FOLDER.attached when everything is attached.

use capture::{CaptureError, RecordOptions};
use std::time::Duration;

fn main() -> Result<(), CaptureError> {
    let mut options = RecordOptions::new(std::env::args_os().nth(1).unwrap_or_default());
    options.duration = Some(Duration::from_secs(20));
    let attached = options.dir.with_extension("attached");
    capture::record(&options, &mut |_| _ = std::fs::write(&attached, "")).map(drop)
}
