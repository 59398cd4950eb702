//! Writes messages of protobuf's wire format.

/// A message being written.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    pub(crate) fn number(mut self, field: u32, value: u64) -> Self {
        varint(&mut self.0, u64::from(field) << 3);
        varint(&mut self.0, value);
        self
    }

    pub(crate) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        varint(&mut self.0, u64::from(field) << 3 | 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(crate) fn packed(self, field: u32, values: &[i64]) -> Self {
        let mut bytes = Vec::new();
        values.iter().for_each(|v| varint(&mut bytes, *v as u64));
        self.bytes(field, &bytes)
    }
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Returns a trace of these packets.
pub(crate) fn trace(packets: &[Message]) -> Vec<u8> {
    packets.iter().fold(Message::default(), |t, p| t.message(1, p)).0
}

/// Returns a packet with a `TraceConfig` for kernel events only.
pub(crate) fn kernel_only() -> Message {
    let config = Message::default().bytes(1, b"linux.ftrace");
    Message::default().message(33, &Message::default().message(2, &Message::default().message(1, &config)))
}

/// Returns a packet with a bundle.
pub(crate) fn bundle(cpu: u64, content: &Message) -> Message {
    let mut inside = Message::default().number(1, cpu);
    inside.0.extend_from_slice(&content.0);
    Message::default().message(1, &inside).number(10, 7)
}

pub(crate) fn switch(at: u64, prev: u64, state: u64, next: u64) -> Message {
    let name = |tid: u64| if tid == 0 { "swapper".to_owned() } else { format!("t{tid}") };
    let body = Message::default().bytes(1, name(prev).as_bytes()).number(2, prev).number(3, 120).number(4, state);
    let body = body.bytes(5, name(next).as_bytes()).number(6, next).number(7, 120);
    Message::default().number(1, at).number(2, prev).message(4, &body)
}

/// Returns the content of a bundle with plain events.
pub(crate) fn events(events: &[Message]) -> Message {
    events.iter().fold(Message::default(), |b, e| b.message(2, e))
}
