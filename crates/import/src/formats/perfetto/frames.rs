//! Frames of Android's compositor: `protos/perfetto/trace/android/frame_timeline_event.proto`. The start of a frame
//! contains all fields, its end only the cookie.

use super::wire::{Fields, Malformed};
use crate::tracepoint::Names;
use model::{Batch, Frame, FrameStretch, FrameToken, NameId, Pid};
use rustc_hash::FxHashMap;
use std::num::NonZeroI32;

/// The maximum number of open frames, so that a hostile file cannot exhaust memory.
const MAX_OPEN: usize = 1 << 16;

/// The frames that have started and not ended.
#[derive(Default)]
pub(super) struct Frames(FxHashMap<i64, Frame>);

impl Frames {
    /// Reads a `FrameTimelineEvent`; `None` for the end of a frame whose start is not in the trace.
    pub(super) fn read(
        &mut self,
        message: &[u8],
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Option<Frame>, Malformed> {
        let mut frame = None;
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            let of = Fields::of(value.bytes());
            frame = match field {
                1 => Some(self.begin(FrameStretch::ExpectedDisplay, of, names, out)?),
                2 => Some(self.begin(FrameStretch::ActualDisplay, of, names, out)?),
                3 => Some(self.begin(FrameStretch::ExpectedSurface, of, names, out)?),
                4 => Some(self.begin(FrameStretch::ActualSurface, of, names, out)?),
                5 => self.end(of)?,
                _ => frame,
            };
        }
        Ok(frame)
    }

    fn begin(
        &mut self,
        stretch: FrameStretch,
        mut fields: Fields<'_>,
        names: &mut Names,
        out: &mut Batch,
    ) -> Result<Frame, Malformed> {
        let surface = matches!(stretch, FrameStretch::ExpectedSurface | FrameStretch::ActualSurface);
        let (of_pid, of_jank) = if surface { (4, 9) } else { (3, 7) };
        let mut frame = Frame {
            cookie: 0,
            token: FrameToken::UNKNOWN,
            pid: Pid::UNKNOWN,
            layer: NameId::NONE,
            stretch,
            begins: true,
            jank: None,
        };
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => frame.cookie = value.number() as i64,
                2 => frame.token = FrameToken(value.number() as i64),
                5 if surface => frame.layer = names.id(value.bytes(), out),
                f if f == of_pid => frame.pid = Pid(value.int()),
                f if f == of_jank => frame.jank = NonZeroI32::new(value.int()),
                _ => {}
            }
        }
        if self.0.len() < MAX_OPEN {
            self.0.insert(frame.cookie, Frame { begins: false, ..frame });
        } else {
            out.left_out.entries += 1;
        }
        Ok(frame)
    }

    fn end(&mut self, mut fields: Fields<'_>) -> Result<Option<Frame>, Malformed> {
        let mut cookie = 0;
        while let Some((field, value)) = fields.next()? {
            if field == 1 {
                cookie = value.number() as i64;
            }
        }
        Ok(self.0.remove(&cookie))
    }
}
