//! The bits of a term: the files in a PMU's `format` folder.

use crate::event::Attr;

/// A field of `perf_event_attr` that a PMU interprets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigField {
    /// `config`.
    Config,
    /// `config1`.
    Config1,
    /// `config2`.
    Config2,
}

impl ConfigField {
    /// Returns the name in `format` files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Config1 => "config1",
            Self::Config2 => "config2",
        }
    }
}

/// Which bits of which field a term sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TermBits {
    /// The field.
    pub field: ConfigField,
    /// Ranges of bits, first and last, in the order in which the value's bits fill them.
    pub ranges: Vec<(u8, u8)>,
}

impl TermBits {
    /// Returns all bits of a field.
    #[must_use]
    pub fn whole(field: ConfigField) -> Self {
        Self { field, ranges: vec![(0, 63)] }
    }

    /// Parses a `format` file such as `config:8-15,40-47`; `None` if it is not one, or names a field that is not supported.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (field, bits) = text.trim().split_once(':')?;
        let field = [ConfigField::Config, ConfigField::Config1, ConfigField::Config2]
            .into_iter()
            .find(|f| f.as_str() == field.trim())?;
        let mut ranges = Vec::new();
        let mut taken = 0_u64;
        for part in bits.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse::<u8>().ok()?, last.trim().parse::<u8>().ok()?);
            if first > last || last > 63 {
                return None;
            }
            let bits = mask(last - first + 1) << first;
            // A bit that is listed twice would count twice in the width.
            if taken & bits != 0 {
                return None;
            }
            taken |= bits;
            ranges.push((first, last));
        }
        Some(Self { field, ranges })
    }

    /// Returns the number of bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.ranges.iter().map(|(first, last)| u32::from(last - first) + 1).sum()
    }

    /// Returns the greatest value that fits.
    #[must_use]
    pub fn max(&self) -> u64 {
        mask(u8::try_from(self.width()).unwrap_or(64))
    }

    /// Sets the bits of a value; those that were set before are replaced. Returns whether the value fits.
    #[must_use]
    pub fn place(&self, value: u64, attr: &mut Attr) -> bool {
        if value > self.max() {
            return false;
        }
        let field = match self.field {
            ConfigField::Config => &mut attr.config,
            ConfigField::Config1 => &mut attr.config1,
            ConfigField::Config2 => &mut attr.config2,
        };
        let mut rest = value;
        for (first, last) in &self.ranges {
            let width = last - first + 1;
            *field = *field & !(mask(width) << first) | (rest & mask(width)) << first;
            rest = rest.checked_shr(u32::from(width)).unwrap_or(0);
        }
        true
    }
}

impl std::fmt::Display for TermBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.field.as_str())?;
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            if first == last { write!(f, "{comma}{first}") } else { write!(f, "{comma}{first}-{last}") }?;
        }
        Ok(())
    }
}

/// Returns so many low bits.
fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_parsed_and_filled_in_order() {
        let umask = TermBits::parse("config:8-15,40-47\n").unwrap();
        assert_eq!((umask.width(), umask.max(), umask.to_string().as_str()), (16, 0xffff, "config:8-15,40-47"));
        let mut attr = Attr { config: 0xff3c, ..Attr::default() };
        assert!(umask.place(0x8001, &mut attr));
        assert_eq!(attr.config, 0x8000_0000_013c);
        assert!(!umask.place(0x1_0000, &mut attr), "17 bits");
        let whole = TermBits::parse("config1:0-63").unwrap();
        assert!(whole.place(u64::MAX, &mut attr));
        assert_eq!(attr.config1, u64::MAX);
        assert_eq!(TermBits::parse("config:18").unwrap().to_string(), "config:18");
    }

    #[test]
    fn other_texts_are_refused() {
        for not in
            ["", "config", "config:", "config:64", "config:3-1", "config:0-7,7-9", "config3:0-7", "x:1", "config:-1"]
        {
            assert_eq!(TermBits::parse(not), None, "{not}");
        }
    }
}
