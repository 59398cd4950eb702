//! A small writer of CTF, for features that tracers rarely use.

use super::Files;

/// Returns the start of the metadata: common types, and a trace whose packets have a magic number, a stream's id, and this context.
pub(crate) fn preamble(context: &str, header: &str) -> String {
    format!(
        r#"/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := unsigned long;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
trace {{ major = 1; minor = 8; byte_order = le; packet.header := struct {{ uint32_t magic; uint32_t stream_id; }}; }};
clock {{ name = c; freq = 1000000000; offset = 0; }};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.c.value; }} := time_t;
stream {{ id = 0; packet.context := struct {{ {context} }}; event.header := struct {{ {header} }}; }};
"#
    )
}

/// The default context and header.
pub(crate) const CONTEXT: &str = "unsigned long timestamp_begin; unsigned long content_size; unsigned long packet_size; \
    unsigned long packet_seq_num; unsigned long events_discarded; uint32_t cpu_id;";
pub(crate) const HEADER: &str = "uint8_t id; time_t timestamp;";

/// The contents of a packet.
#[derive(Clone, Default)]
pub(crate) struct Packet {
    pub(crate) sequence: u64,
    pub(crate) discarded: u64,
    pub(crate) cpu: u32,
    pub(crate) events: Vec<u8>,
    /// The number of free bytes after the content.
    pub(crate) room: usize,
}

impl Packet {
    /// Adds an event with the default header.
    pub(crate) fn event(mut self, id: u8, time: u64, fields: &[u8]) -> Self {
        self.events.push(id);
        self.events.extend(time.to_le_bytes());
        self.events.extend(fields);
        self
    }

    /// Returns the bytes of the packet, with the default context.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(0xc1fc_1fc1_u32.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        let content = 8 + 5 * 8 + 4 + self.events.len();
        let size = (content + self.room) as u64 * 8;
        for number in [0, content as u64 * 8, size, self.sequence, self.discarded] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.cpu.to_le_bytes());
        bytes.extend(&self.events);
        bytes.extend(vec![0; self.room]);
        bytes
    }
}

/// Returns a trace with one channel.
pub(crate) fn trace(metadata: &str, packets: &[Packet]) -> Files {
    let stream = packets.iter().flat_map(Packet::bytes).collect();
    Files([("metadata".to_owned(), metadata.as_bytes().to_vec()), ("channel_0".to_owned(), stream)].into())
}

/// Returns the fields of a `sched_switch`, as `SWITCH` declares them.
pub(crate) const SWITCH: &str = "event { name = \"sched_switch\"; id = 1; stream_id = 0; fields := struct { string _prev_comm; \
    int32_t _prev_tid; int32_t _prev_prio; unsigned long _prev_state; string _next_comm; int32_t _next_tid; int32_t _next_prio; }; };\n";

pub(crate) fn switch(prev: i32, state: u64, next: i32) -> Vec<u8> {
    let name = |tid| if tid == 0 { "swapper/0\0".to_owned() } else { format!("t{tid}\0") };
    let mut bytes = Vec::new();
    bytes.extend(name(prev).into_bytes());
    bytes.extend(prev.to_le_bytes());
    bytes.extend(20_i32.to_le_bytes());
    bytes.extend(state.to_le_bytes());
    bytes.extend(name(next).into_bytes());
    bytes.extend(next.to_le_bytes());
    bytes.extend(20_i32.to_le_bytes());
    bytes
}
