//! The wire format of protocol buffers, as far as it is written here.

/// Bytes of a length whose message is not whole yet: a varint may be longer than it must.
const LENGTH: usize = 4;

/// A message being written.
#[derive(Default)]
pub(crate) struct Proto {
    pub(crate) bytes: Vec<u8>,
}

/// Where a message within a message began.
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

    /// An unsigned number, or a bool.
    #[inline]
    pub(crate) fn uint(&mut self, field: u32, v: u64) {
        self.tag(field, 0);
        self.varint(v);
    }

    /// A signed number (`int32`, `int64`; not the zigzag of `sint64`).
    #[inline]
    pub(crate) fn int(&mut self, field: u32, v: i64) {
        self.uint(field, v.cast_unsigned());
    }

    /// A text.
    #[inline]
    pub(crate) fn text(&mut self, field: u32, words: &str) {
        self.bytes(field, words.as_bytes());
    }

    /// Bytes, or a message that is whole.
    #[inline]
    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A double.
    pub(crate) fn double(&mut self, field: u32, v: f64) {
        self.tag(field, 1);
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    /// Begins a message within this one; its length is put in by [`Self::end`].
    #[inline]
    pub(crate) fn begin(&mut self, field: u32) -> Begun {
        self.tag(field, 2);
        self.bytes.extend_from_slice(&[0; LENGTH]);
        Begun(self.bytes.len())
    }

    /// Ends it. Messages here are far below the 256 MiB that the length can tell.
    #[inline]
    pub(crate) fn end(&mut self, begun: Begun) {
        let length = (self.bytes.len() - begun.0) as u32;
        let digit = |at: u32| ((length >> (7 * at)) & 0x7f) as u8;
        let told = [digit(0) | 0x80, digit(1) | 0x80, digit(2) | 0x80, digit(3)];
        if let Some(place) = self.bytes.get_mut(begun.0 - LENGTH..begun.0) {
            place.copy_from_slice(&told);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_specification_has_it() {
        let mut p = Proto::default();
        p.uint(1, 150);
        p.text(2, "testing");
        assert_eq!(p.bytes, b"\x08\x96\x01\x12\x07testing");
        let mut p = Proto::default();
        let inner = p.begin(3);
        p.int(1, -1);
        p.end(inner);
        assert_eq!(p.bytes, b"\x1a\x8b\x80\x80\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    }
}
