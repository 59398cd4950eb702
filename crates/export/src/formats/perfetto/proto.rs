//! The part of the protocol buffers wire format that is written here.

/// A message being written.
#[derive(Default)]
pub(crate) struct Proto {
    pub(crate) bytes: Vec<u8>,
}

/// The start of a nested message.
#[must_use]
pub(crate) struct Begun(usize);

impl Proto {
    #[inline]
    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.bytes.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.bytes.push(v as u8);
    }

    #[inline]
    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    /// Writes an unsigned number, or a bool.
    #[inline]
    pub(crate) fn uint(&mut self, field: u32, v: u64) {
        self.tag(field, 0);
        self.varint(v);
    }

    /// Writes a signed number (`int32`, `int64`; not the zigzag of `sint64`).
    #[inline]
    pub(crate) fn int(&mut self, field: u32, v: i64) {
        self.uint(field, v.cast_unsigned());
    }

    /// Writes a text.
    #[inline]
    pub(crate) fn text(&mut self, field: u32, words: &str) {
        self.bytes(field, words.as_bytes());
    }

    /// Writes bytes, or a complete message.
    #[inline]
    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a double.
    pub(crate) fn double(&mut self, field: u32, v: f64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    /// Begins a nested message; [`Self::end`] fills in its length.
    #[inline]
    pub(crate) fn begin(&mut self, field: u32) -> Begun {
        self.tag(field, 2);
        self.bytes.push(0);
        Begun(self.bytes.len())
    }

    /// Ends a nested message. The length of a short one fits in the reserved byte; a longer one is moved.
    #[inline]
    pub(crate) fn end(&mut self, begun: Begun) {
        let length = self.bytes.len() - begun.0;
        if let (0..0x80, Some(place)) = (length, self.bytes.get_mut(begun.0 - 1)) {
            *place = length as u8;
            return;
        }
        let mut prefix = Self::default();
        prefix.varint(length as u64);
        self.bytes.splice(begun.0 - 1..begun.0, prefix.bytes);
    }

    /// Writes a message of some fields and of others after them, without moving either.
    pub(crate) fn both(&mut self, field: u32, first: &Self, then: &Self) {
        self.tag(field, 2);
        self.varint((first.bytes.len() + then.bytes.len()) as u64);
        self.bytes.extend_from_slice(&first.bytes);
        self.bytes.extend_from_slice(&then.bytes);
    }

    /// Writes a message that contains one message of some fields and of others after them.
    pub(crate) fn within(&mut self, field: u32, inner: u32, first: &Self, then: &Self) {
        let mut head = Self::default();
        head.tag(inner, 2);
        head.varint((first.bytes.len() + then.bytes.len()) as u64);
        head.bytes.extend_from_slice(&first.bytes);
        self.both(field, &head, then);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_match_the_specification() {
        let mut p = Proto::default();
        p.uint(1, 150);
        p.text(2, "testing");
        assert_eq!(p.bytes, b"\x08\x96\x01\x12\x07testing");
        let mut p = Proto::default();
        let inner = p.begin(3);
        p.int(1, -1);
        p.end(inner);
        assert_eq!(p.bytes, b"\x1a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        let long = "x".repeat(200);
        let mut p = Proto::default();
        let inner = p.begin(1);
        p.text(2, &long);
        p.end(inner);
        assert_eq!(p.bytes[..6], *b"\x0a\xcb\x01\x12\xc8\x01");
        let (mut first, mut then) = (Proto::default(), Proto::default());
        first.uint(1, 3);
        then.text(2, "ab");
        let mut p = Proto::default();
        p.within(1, 5, &first, &then);
        assert_eq!(p.bytes, b"\x0a\x08\x2a\x06\x08\x03\x12\x02ab");
    }
}
