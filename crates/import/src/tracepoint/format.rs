//! The kernel's description of a tracepoint's record: `name:`, `ID:`, `format:` with one line per field, `print fmt:`.

use ftrace::ByteOrder;

/// A field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) signed: bool,
    /// Whether the record holds a 32-bit (offset, length) of a text that follows the fixed fields (`__data_loc`).
    pub(crate) is_data_loc: bool,
}

impl Field {
    /// Returns an element of an array of `of`; `None` if it cannot have that many.
    pub(crate) fn element(self, at: usize, of: usize) -> Option<Self> {
        let size = self.size.checked_div(of).filter(|size| *size > 0 && at < of && size * of == self.size)?;
        Some(Self { offset: self.offset.checked_add(at * size)?, size, ..self })
    }

    /// Reads the field as a number; `None` if the record is too short.
    #[inline(always)]
    pub(crate) fn int(self, raw: &[u8], order: ByteOrder) -> Option<i64> {
        // Most are 32 bits wide; states and durations are 64.
        match self.size {
            4 => {
                let word = order.u32(*raw.get(self.offset..)?.first_chunk()?);
                Some(if self.signed { i64::from(word as i32) } else { i64::from(word) })
            }
            8 => Some(order.u64(*raw.get(self.offset..)?.first_chunk()?) as i64),
            _ => self.short_int(raw, order),
        }
    }

    fn short_int(self, raw: &[u8], order: ByteOrder) -> Option<i64> {
        let bytes = raw.get(self.offset..)?;
        Some(match (self.size, self.signed) {
            (2, true) => i64::from(order.u16(*bytes.first_chunk()?) as i16),
            (2, false) => i64::from(order.u16(*bytes.first_chunk()?)),
            (1, true) => i64::from(*bytes.first()? as i8),
            (1, false) => i64::from(*bytes.first()?),
            _ => return None,
        })
    }

    /// Reads the field as a text, up to its first NUL.
    #[inline]
    pub(crate) fn bytes(self, raw: &[u8], order: ByteOrder) -> Option<&[u8]> {
        let (offset, size) = if self.is_data_loc {
            let place = order.u32_at(raw, self.offset)?;
            ((place & 0xffff) as usize, (place >> 16) as usize)
        } else {
            (self.offset, self.size)
        };
        let text = raw.get(offset..offset.checked_add(size)?)?;
        Some(text.split(|b| *b == 0).next().unwrap_or(text))
    }
}

/// The format of a tracepoint's record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventFormat {
    pub(crate) name: String,
    pub(crate) id: u32,
    fields: Vec<(String, Field)>,
    pub(crate) print: String,
}

/// Why a description could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FormatError(pub(crate) &'static str);

impl EventFormat {
    /// Parses a description as the kernel writes it.
    pub(crate) fn parse(text: &str) -> Result<Self, FormatError> {
        let mut format = Self { id: u32::MAX, ..Self::default() };
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().map_err(|_| FormatError("a tracepoint's ID is not a number"))?;
            } else if let Some(field) = line.strip_prefix("field:") {
                format.fields.extend(parse_field(field));
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                print.trim().clone_into(&mut format.print);
            }
        }
        if format.name.is_empty() || format.id == u32::MAX {
            return Err(FormatError("a tracepoint's description has no name or no ID"));
        }
        Ok(format)
    }

    /// Returns the name of the described tracepoint without parsing the rest: the kernel writes it first. `None` if the
    /// name is not first.
    pub(crate) fn name_of(text: &[u8]) -> Option<&str> {
        let line = text.strip_prefix(b"name:")?.split(|b| *b == b'\n').next()?;
        std::str::from_utf8(line).ok().map(str::trim)
    }

    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, f)| *f)
    }
}

/// Parses `char prev_comm[16]; offset:8; size:16; signed:0;`, with tabs between.
fn parse_field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?;
    let mut field = Field { is_data_loc: declaration.starts_with("__data_loc"), ..Field::default() };
    for part in parts {
        match part.split_once(':') {
            Some(("offset", v)) => field.offset = v.trim().parse().ok()?,
            Some(("size", v)) => field.size = v.trim().parse().ok()?,
            Some(("signed", v)) => field.signed = v.trim() == "1",
            _ => {}
        }
    }
    let last = declaration.rsplit([' ', '\t', '*']).next()?;
    let name = last.split('[').next()?;
    Some((name.to_owned(), field))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_of_field_is_parsed() {
        let text = "name: sched_switch\nID: 316\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
            \tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n\nprint fmt: \"x=%d\", REC->x\n";
        let format = EventFormat::parse(text).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("sched_switch", 316));
        assert_eq!(format.field("prev_comm"), Some(Field { offset: 8, size: 16, signed: false, is_data_loc: false }));
        assert_eq!(format.field("prev_state"), Some(Field { offset: 32, size: 8, signed: true, is_data_loc: false }));
        assert!(format.field("name").unwrap().is_data_loc);
        assert_eq!(format.print, "\"x=%d\", REC->x");
        assert_eq!(EventFormat::name_of(text.as_bytes()), Some("sched_switch"));
        assert_eq!(EventFormat::name_of(b"ID: 316\nname: sched_switch\n"), None);
        assert!(EventFormat::parse("name: x").is_err());
    }

    #[test]
    fn numbers_and_texts_beyond_the_end_of_the_record_are_none() {
        let raw = [1_u8, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f];
        let int = Field { offset: 0, size: 4, signed: true, is_data_loc: false };
        assert_eq!(int.int(&raw, ByteOrder::Little), Some(1));
        assert_eq!(int.int(&raw, ByteOrder::Big), Some(1 << 24));
        assert_eq!(Field { offset: 6, ..int }.int(&raw, ByteOrder::Little), None);
        assert_eq!(Field { offset: 4, is_data_loc: true, ..int }.bytes(&raw, ByteOrder::Little), None);
    }
}
