//! Protobuf's wire format (`protobuf.dev/programming-guides/encoding`): numbered fields in sequence.

/// The bytes are not a protobuf message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// A field has another type than its schema states: the message is whole, but not of that schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OtherType;

/// Why a message cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unreadable {
    Malformed,
    OtherType,
}

impl From<Malformed> for Unreadable {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<OtherType> for Unreadable {
    fn from(_: OtherType) -> Self {
        Self::OtherType
    }
}

/// A field's content. Numbers of fixed size are returned as their bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the number; 0 if the field has another type than its schema states.
    #[inline]
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Number(n) => n,
            Self::Bytes(_) => 0,
        }
    }

    /// Returns the number as `int32` and similar types are stored: sign-extended to 64 bits.
    #[inline]
    pub(super) fn int(self) -> i32 {
        self.number() as i32
    }

    /// Returns the number of a field that must be one.
    #[inline]
    pub(super) fn as_number(self) -> Result<u64, OtherType> {
        match self {
            Self::Number(n) => Ok(n),
            Self::Bytes(_) => Err(OtherType),
        }
    }

    /// Returns the number of a field that must be one, as `int32` and similar types are stored.
    #[inline]
    pub(super) fn as_int(self) -> Result<i32, OtherType> {
        self.as_number().map(|number| number as i32)
    }

    /// Returns the text or message of a field that must be one.
    #[inline]
    pub(super) fn as_bytes(self) -> Result<&'a [u8], OtherType> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(OtherType),
        }
    }

    /// Returns the text or message; empty if the field has another type than its schema states.
    #[inline]
    pub(super) fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(b) => b,
            Self::Number(_) => &[],
        }
    }
}

/// The fields of a message, in the order in which they were written.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the next field's number and whether it is a text or message, without its content.
    pub(super) fn peek(&self) -> Option<(u64, bool)> {
        varint(&mut { self.rest }).map(|tag| (tag >> 3, tag & 7 == 2))
    }

    /// Returns the next field's number and content; `None` at the end of the message.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = varint(&mut self.rest).ok_or(Malformed)?;
        let field = u32::try_from(tag >> 3).ok().filter(|f| *f != 0).ok_or(Malformed)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut self.rest).ok_or(Malformed)?),
            2 => {
                let length = varint(&mut self.rest).ok_or(Malformed)?;
                let length = usize::try_from(length).map_err(|_| Malformed)?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
                self.rest = rest;
                Value::Bytes(bytes)
            }
            1 => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
                self.rest = rest;
                Value::Number(u64::from_le_bytes(*bytes))
            }
            5 => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
                self.rest = rest;
                Value::Number(u64::from(u32::from_le_bytes(*bytes)))
            }
            _ => return Err(Malformed), // groups were never used
        };
        Ok(Some((field, value)))
    }
}

/// Takes a number from the front; `None` if it does not end within 64 bits or within the bytes.
#[inline]
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        *bytes = rest;
        return Some(u64::from(*first));
    }
    let mut value = u64::from(*first & 0x7f);
    for (at, byte) in rest.iter().take(9).enumerate() {
        value |= u64::from(*byte & 0x7f) << (7 * (at + 1));
        if *byte < 0x80 {
            *bytes = &rest[at + 1..];
            return Some(value);
        }
    }
    None
}

/// The numbers of a packed field, up to the first damaged one.
pub(super) struct Packed<'a>(pub(super) &'a [u8]);

impl Iterator for Packed<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        varint(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_of_field_is_read() {
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0];
        let mut fields = Fields::of(&message);
        assert_eq!(fields.next(), Ok(Some((1, Value::Number(150)))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Bytes(b"hi")))));
        assert_eq!(fields.next(), Ok(Some((3, Value::Number(1)))));
        assert_eq!(fields.next(), Ok(Some((4, Value::Number(2)))));
        assert_eq!(fields.next(), Ok(None));
    }

    #[test]
    fn content_beyond_the_end_is_malformed() {
        for bytes in [&[0x08][..], &[0x12, 5, 1], &[0x80; 11], &[0x0b, 0x0c], &[0x00, 0x00], &[0x19, 1]] {
            assert_eq!(Fields::of(bytes).next(), Err(Malformed), "{bytes:?}");
        }
        assert_eq!(varint(&mut &[0xff; 9][..]), None);
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(varint(&mut &minus_one[..]), Some(u64::MAX));
    }
}
