//! The declarations of the metadata: types, and the trace, streams, events and clocks that use them.

use crate::tracepoint::ByteOrder;
use std::rc::Rc;

/// The maximum nesting depth of types; real ones need five.
pub(super) const MAX_DEPTH: u32 = 48;

/// A type.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) kind: Kind,
    /// In bits; a power of two up to 512.
    pub(super) align: u32,
    /// The nesting depth of this type.
    pub(super) depth: u32,
}

/// The kinds of types.
#[derive(Debug)]
pub(super) enum Kind {
    Int(Int),
    /// A floating-point number. None is read, so the size is enough.
    Float {
        bits: u32,
    },
    /// A text up to a NUL.
    Text,
    Struct(Vec<(String, Rc<Type>)>),
    Enum(Int, Rc<[Label]>),
    Variant {
        tag: Option<String>,
        options: Rc<[(String, Rc<Type>)]>,
    },
    Array {
        of: Rc<Type>,
        length: u64,
    },
    Sequence {
        of: Rc<Type>,
        length: String,
    },
}

/// An integer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) signed: bool,
    /// `None`: the trace's byte order, which may be declared later.
    pub(super) order: Option<ByteOrder>,
    /// The clock to which the value is mapped.
    pub(super) clock: Option<String>,
}

/// A label of an enumeration, and its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) from: i128,
    pub(super) to: i128,
}

/// A clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClockDecl {
    pub(super) name: String,
    pub(super) freq: u64,
    pub(super) offset_s: i64,
    pub(super) offset: i64,
}

/// A stream class.
#[derive(Clone, Default, Debug)]
pub(super) struct StreamDecl {
    pub(super) id: u64,
    pub(super) packet_context: Option<Rc<Type>>,
    pub(super) event_header: Option<Rc<Type>>,
    pub(super) event_context: Option<Rc<Type>>,
}

/// An event class.
#[derive(Clone, Default, Debug)]
pub(super) struct EventDecl {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) stream: u64,
    pub(super) context: Option<Rc<Type>>,
    pub(super) fields: Option<Rc<Type>>,
}

/// The whole metadata.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    pub(super) order: ByteOrder,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) packet_header: Option<Rc<Type>>,
    pub(super) env: Vec<(String, String)>,
    pub(super) clocks: Vec<ClockDecl>,
    pub(super) streams: Vec<StreamDecl>,
    pub(super) events: Vec<EventDecl>,
}

impl Metadata {
    /// Returns a value of `env`.
    pub(super) fn env(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

impl Type {
    /// Creates a struct, aligned like its widest field or wider.
    pub(super) fn structure(fields: Vec<(String, Rc<Self>)>, align: u32) -> Self {
        let align = fields.iter().map(|(_, t)| t.align).fold(align, u32::max);
        let depth = fields.iter().map(|(_, t)| t.depth).fold(0, u32::max) + 1;
        Self { kind: Kind::Struct(fields), align, depth }
    }

    /// Returns the integer as which the type is read.
    pub(super) fn int(&self) -> Option<&Int> {
        match &self.kind {
            Kind::Int(int) | Kind::Enum(int, _) => Some(int),
            _ => None,
        }
    }

    /// Returns the size in bits if it is constant; `None` for structs.
    pub(super) fn plain_bits(&self) -> Option<u32> {
        match &self.kind {
            Kind::Int(int) | Kind::Enum(int, _) => Some(int.bits),
            Kind::Float { bits } => Some(*bits),
            _ => None,
        }
    }
}

/// Returns a name without the underscore that LTTng puts before each name to avoid words of TSDL.
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}
