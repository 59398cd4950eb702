//! The metadata file's text, plain or in packets.

use crate::tracepoint::ByteOrder;
use ingest::{Fatal, ReadSeek};
use std::io::Read;

/// The maximum size of metadata; LTTng with all system calls writes 1 MB.
const MAX_METADATA: u64 = 8 << 20;
/// The first bytes of each packet of metadata.
const MAGIC: u32 = 0x75d1_1d57;
/// The length of a packet's header: magic, UUID, checksum, content and packet size in bits, three bytes of schemes,
/// version.
const HEADER: usize = 37;

/// Returns the byte order of packetised metadata.
fn packets(head: &[u8]) -> Option<ByteOrder> {
    [ByteOrder::Little, ByteOrder::Big].into_iter().find(|order| order.u32_at(head, 0) == Some(MAGIC))
}

/// Whether a file that starts with `head` is metadata.
pub(super) fn is_metadata(head: &[u8]) -> bool {
    packets(head).is_some() || head.starts_with(b"/* CTF 1.8")
}

/// Reads the text.
pub(super) fn read(mut file: Box<dyn ReadSeek + Send>) -> Result<String, Fatal> {
    let mut bytes = Vec::new();
    file.by_ref()
        .take(MAX_METADATA + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Fatal::new(format!("metadata: {e}"), 0))?;
    if bytes.len() as u64 > MAX_METADATA {
        return Err(Fatal::new("the metadata is larger than the limit of 8 MiB", MAX_METADATA));
    }
    if bytes.starts_with(&[0x1e]) || bytes.starts_with(b"{") {
        let what = "the metadata is CTF 2, which is not supported; convert it to CTF 1.8 \
                    (babeltrace2 convert --params=ctf-version=\"1.8\")";
        return Err(Fatal::new(what, 0));
    }
    match packets(&bytes) {
        Some(order) => unpack(&bytes, order),
        None => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Joins the contents of the packets. A cut-off packet ends the text; the declarations before it are valid.
fn unpack(bytes: &[u8], order: ByteOrder) -> Result<String, Fatal> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(packet) = bytes.get(at..).filter(|b| b.len() > HEADER) {
        if order.u32_at(packet, 0) != Some(MAGIC) {
            return Err(Fatal::new("metadata: a packet has no magic number", at as u64));
        }
        let bits = |place| order.u32_at(packet, place).unwrap_or(0) as usize / 8;
        let (content, size) = (bits(24), bits(28));
        if packet.get(32..35) != Some(&[0, 0, 0]) {
            return Err(Fatal::new("metadata: compressed or encrypted packets are not supported", at as u64));
        }
        if content < HEADER || size < content {
            return Err(Fatal::new("metadata: a packet's sizes contradict each other", at as u64));
        }
        text.extend_from_slice(&packet[HEADER..content.min(packet.len())]);
        at += size;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}
