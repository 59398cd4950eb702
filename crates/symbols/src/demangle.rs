//! Names of C++, Rust and Go functions as their programmers wrote them. Those of Swift are not changed.

use cpp_demangle::{DemangleOptions, Symbol};
use std::fmt::{self, Write};

/// The maximum length of a name. A short symbol may stand for an extremely long name.
const MAX_LENGTH: usize = 1 << 12;

/// A text that is limited to [`MAX_LENGTH`] bytes.
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// Returns the name that a symbol stands for, without parameters and without Rust's hash; `None` if it stands for itself.
#[must_use]
pub fn demangled(symbol: &str) -> Option<String> {
    let mut name = Limited::default();
    if symbol.starts_with("_R") || has_hash(symbol) {
        write!(name, "{:#}", rustc_demangle::try_demangle(symbol).ok()?).ok()?;
    } else if symbol.starts_with("_Z") {
        let options = DemangleOptions::new().no_params().no_return_type();
        Symbol::new(symbol.as_bytes()).ok()?.structured_demangle(&mut name, &options).ok()?;
    } else if symbol.contains('%') && symbol.contains('.') {
        name.write_str(&without_escapes(symbol)?).ok()?;
    }
    Some(name.0).filter(|name| !name.is_empty())
}

/// Returns the name of a Go function, whose package's path has escapes: `%2e` for a dot in its last part. `None` if there are none.
fn without_escapes(symbol: &str) -> Option<String> {
    let mut parts = symbol.split('%');
    let mut name = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        let character = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii_graphic)?;
        name.push(char::from(character));
        name.push_str(rest);
    }
    Some(name)
}

/// Whether a symbol ends as Rust's do in the older scheme, which looks like C++: `17h`, a hash of 16 digits, and `E`.
fn has_hash(symbol: &str) -> bool {
    let symbol = symbol.split_once(".llvm.").map_or(symbol, |(symbol, _)| symbol);
    let hash = symbol.strip_suffix('E').and_then(|rest| rest.get(rest.len().checked_sub(19)?..));
    let hash = hash.and_then(|hash| hash.strip_prefix("17h"));
    symbol.starts_with("_ZN") && hash.is_some_and(|hash| hash.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::demangled;

    #[test]
    fn names_of_cpp_and_rust_are_readable() {
        let of = |symbol: &str| demangled(symbol).unwrap_or_else(|| format!("({symbol})"));
        assert_eq!(of("_ZN4game4draw5sceneEiRKSs"), "game::draw::scene");
        assert_eq!(of("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<int, std::allocator<int> >::push_back");
        assert_eq!(of("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(of("_ZN4game4draw17h0123456789abcdefE.llvm.123"), "game::draw");
        assert_eq!(of("_RNvCskwGfYPst2Cb_3foo16example_function"), "foo::example_function");
    }

    #[test]
    fn names_of_go_have_no_escapes() {
        assert_eq!(demangled("gopkg.in/yaml%2ev3.Unmarshal").as_deref(), Some("gopkg.in/yaml.v3.Unmarshal"));
        assert_eq!(demangled("main.(*T).run"), None);
        for symbol in ["a.b%", "a.b%2", "a.b%zz", "a.b%00", "a.b%é"] {
            assert_eq!(demangled(symbol), None, "{symbol}");
        }
    }

    #[test]
    fn other_names_are_left_as_they_are() {
        for name in
            ["", "main", "__libc_read", "_Z", "_R", "_ZN", "_Zx17hE", "_ZN17h0123456789abcdefE.", "second.isra.0"]
        {
            assert_eq!(demangled(name), None, "{name}");
        }
        // A symbol of 200 bytes that stands for a name that doubles with every part.
        let bomb: String = (0..60).fold("_Z1fI1aE".to_owned(), |symbol, _| symbol + "S_S_");
        assert!(demangled(&bomb).is_none_or(|name| name.len() <= super::MAX_LENGTH));
    }
}
