//! The frames in a page: the sources, the slowest frames of the first ones, and the causes of the slowest frames of the very first.
//!
//! ```text
//!   frame-sources ──▶ [source 0, source 1, …]      JSON, as answered by the server; only those with a block below
//!                          │         │
//!                     frames-0   frames-1 …        the slowest frames, and the histogram of all
//!                          │
//!                     causes-0-1, causes-0-2 …     the causes of the slowest one, of the next …
//! ```

use super::blocks::Blocks;
use super::unwritten;
use crate::ServeError;
use crate::frames::{described, encoded_causes, listed};
use crate::queries::QueryError;
use engine::Session;
use serde_json::Value;

/// The maximum number of sources in a page.
const MAX_SOURCES: usize = 6;
/// The maximum number of frames of a source.
const MAX_FRAMES: usize = 1000;
/// The maximum number of frames with causes: each takes a pass over the frame's time.
const MAX_EXPLAINED: usize = 20;
/// A list may take one part in this many of the remaining room.
const LIST_PARTS: usize = 16;
/// The causes of one frame may take one part in this many.
const CAUSES_PARTS: usize = 128;

/// Adds the frames that are found without a pass over the recording, as far as they fit.
pub(super) fn add(session: &Session, blocks: &mut Blocks) -> Result<(), ServeError> {
    let found = session.frame_sources(false)?;
    let mut sources: Vec<Value> = Vec::new();
    for group in found.iter().take(MAX_SOURCES) {
        let Some(list) = session.frame_list(&group.source, session.budget(), MAX_FRAMES)? else { continue };
        let rows = listed(Some(&list)).map_err(refused)?;
        if !blocks.offer(&format!("frames-{}", sources.len()), &rows, blocks.left() / LIST_PARTS)? {
            break;
        }
        if sources.is_empty() {
            for at in 0..list.slowest().count().min(MAX_EXPLAINED) {
                let causes = encoded_causes(session, &list, at, &|| false).map_err(refused)?;
                if !blocks.offer(&format!("causes-0-{}", at + 1), &causes, blocks.left() / CAUSES_PARTS)? {
                    break;
                }
            }
        }
        sources.push(described(group));
    }
    if !sources.is_empty() {
        blocks.must("frame-sources", Value::from(sources).to_string().as_bytes())?;
    }
    Ok(())
}

fn refused(why: QueryError) -> ServeError {
    unwritten(why.message())
}
