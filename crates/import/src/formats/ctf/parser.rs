//! TSDL's declarations: the blocks `trace`, `env`, `clock`, `stream` and `event`.

use super::lexer::{Lexer, Token};
use super::types::{ClockDecl, EventDecl, Metadata, StreamDecl, Type};
use crate::tracepoint::ByteOrder;
use ingest::Fatal;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The maximum number of declarations in the metadata, without streams; LTTng with all system calls has 2,000.
const MAX_DECLARATIONS: usize = 1 << 16;

/// The maximum number of streams; LTTng has one per channel of a session.
const MAX_STREAMS: usize = 256;

/// Parses metadata.
pub(super) fn parse(text: &str) -> Result<Metadata, Fatal> {
    let mut parser = Parser { lexer: Lexer::new(text)?, scopes: vec![FxHashMap::default()], depth: 0 };
    let mut metadata = Metadata {
        order: ByteOrder::Little,
        uuid: None,
        packet_header: None,
        env: Vec::new(),
        clocks: Vec::new(),
        streams: Vec::new(),
        events: Vec::new(),
    };
    let mut order = None;
    while *parser.lexer.peek() != Token::End {
        parser.top(&mut metadata, &mut order)?;
        let declared = metadata.env.len() + metadata.clocks.len() + metadata.events.len();
        if declared > MAX_DECLARATIONS || metadata.streams.len() > MAX_STREAMS {
            return Err(parser.lexer.error("more declarations than the limit"));
        }
    }
    metadata.order = order.ok_or_else(|| parser.lexer.error("there is no `trace` block with a byte order"))?;
    Ok(metadata)
}

/// The value of `name = value`.
pub(super) enum Value {
    Number(i128),
    Text(String),
    /// Words with dots between.
    Words(String),
}

impl Value {
    pub(super) fn number(&self) -> Option<i128> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Number(_) => "",
            Self::Text(text) | Self::Words(text) => text,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Number(n) => n.to_string(),
            Self::Text(text) | Self::Words(text) => text,
        }
    }
}

/// The right side of a statement in a block.
enum Right {
    Value(Value),
    Type(Rc<Type>),
}

pub(super) struct Parser<'t> {
    pub(super) lexer: Lexer<'t>,
    /// Named types, those of the innermost block last. `struct x` is stored with the word `struct`.
    pub(super) scopes: Vec<FxHashMap<String, Rc<Type>>>,
    /// The current nesting depth of types.
    pub(super) depth: u32,
}

impl Parser<'_> {
    fn top(&mut self, metadata: &mut Metadata, order: &mut Option<ByteOrder>) -> Result<(), Fatal> {
        if self.lexer.eat(";")? {
            return Ok(());
        }
        match self.lexer.word_ahead() {
            Some("trace") => self.trace(metadata, order),
            Some("env") => self.block(|name, right, _| {
                if let Right::Value(value) = right {
                    metadata.env.push((name.to_owned(), value.into_text()));
                }
                Ok(())
            }),
            Some("clock") => {
                metadata.clocks.extend(self.clock()?);
                Ok(())
            }
            Some("stream") => {
                metadata.streams.push(self.stream()?);
                Ok(())
            }
            Some("event") => {
                metadata.events.push(self.event()?);
                Ok(())
            }
            Some("callsite") => self.block(|_, _, _| Ok(())),
            Some(_) => self.type_statement(),
            None => Err(self.lexer.error("expected a declaration")),
        }
    }

    fn trace(&mut self, metadata: &mut Metadata, order: &mut Option<ByteOrder>) -> Result<(), Fatal> {
        self.block(|name, right, at| {
            match (name, right) {
                ("major", Right::Value(v)) if v.number() != Some(1) => {
                    return Err(at.error("this is not CTF 1.8, the only supported version"));
                }
                ("byte_order", Right::Value(v)) => {
                    *order = Some(byte_order(v.text()).ok_or_else(|| at.error("a byte order is neither le nor be"))?);
                }
                ("uuid", Right::Value(v)) => metadata.uuid = uuid(v.text()),
                ("packet.header", Right::Type(header)) => metadata.packet_header = Some(header),
                _ => {}
            }
            Ok(())
        })
    }

    /// `None` for a clock without a name, to which nothing can refer.
    fn clock(&mut self) -> Result<Option<ClockDecl>, Fatal> {
        let mut clock = ClockDecl { name: String::new(), freq: 1_000_000_000, offset_s: 0, offset: 0 };
        self.block(|name, right, at| {
            let Right::Value(value) = right else { return Ok(()) };
            let number = || value.number().ok_or_else(|| at.error("a clock's value is not a number"));
            let short = || at.error("a clock's value is out of range");
            match name {
                "name" => clock.name = value.text().to_owned(),
                "freq" => clock.freq = u64::try_from(number()?).ok().filter(|f| *f > 0).ok_or_else(short)?,
                "offset_s" => clock.offset_s = i64::try_from(number()?).map_err(|_| short())?,
                "offset" => clock.offset = i64::try_from(number()?).map_err(|_| short())?,
                _ => {}
            }
            Ok(())
        })?;
        Ok((!clock.name.is_empty()).then_some(clock))
    }

    fn stream(&mut self) -> Result<StreamDecl, Fatal> {
        let mut stream = StreamDecl::default();
        self.block(|name, right, at| {
            match (name, right) {
                ("id", Right::Value(v)) => stream.id = id(&v, at)?,
                ("packet.context", Right::Type(t)) => stream.packet_context = Some(t),
                ("event.header", Right::Type(t)) => stream.event_header = Some(t),
                ("event.context", Right::Type(t)) => stream.event_context = Some(t),
                _ => {}
            }
            Ok(())
        })?;
        Ok(stream)
    }

    fn event(&mut self) -> Result<EventDecl, Fatal> {
        let mut event = EventDecl::default();
        self.block(|name, right, at| {
            match (name, right) {
                ("id", Right::Value(v)) => event.id = id(&v, at)?,
                ("name", Right::Value(v)) => event.name = v.into_text(),
                ("stream_id", Right::Value(v)) => event.stream = id(&v, at)?,
                ("context", Right::Type(t)) => event.context = Some(t),
                ("fields", Right::Type(t)) => event.fields = Some(t),
                _ => {}
            }
            Ok(())
        })?;
        Ok(event)
    }

    /// Parses `word { statement… };` and calls `on_statement` for each `name = value;` and `name := type;`.
    fn block(
        &mut self,
        mut on_statement: impl FnMut(&str, Right, &Lexer<'_>) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        self.lexer.word()?;
        self.lexer.expect("{")?;
        self.scopes.push(FxHashMap::default());
        while !self.lexer.eat("}")? {
            if self.lexer.eat(";")? {
                continue;
            }
            if matches!(
                self.lexer.word_ahead(),
                Some("typealias" | "typedef" | "struct" | "enum" | "variant" | "integer")
            ) {
                self.type_statement()?;
                continue;
            }
            let name = self.path()?;
            let right = if self.lexer.eat(":=")? {
                Right::Type(self.complete_type()?)
            } else {
                self.lexer.expect("=")?;
                Right::Value(self.value()?)
            };
            on_statement(&name, right, &self.lexer)?;
            self.lexer.expect(";")?;
        }
        self.scopes.pop();
        self.lexer.eat(";")?;
        Ok(())
    }

    /// Words with dots between.
    pub(super) fn path(&mut self) -> Result<String, Fatal> {
        let mut path = self.lexer.word()?.to_owned();
        while self.lexer.eat(".")? || self.lexer.eat("->")? {
            path.push('.');
            path.push_str(self.lexer.word()?);
        }
        Ok(path)
    }

    pub(super) fn value(&mut self) -> Result<Value, Fatal> {
        match self.lexer.peek() {
            Token::Text(_) => {
                let mut text = String::new();
                while let Token::Text(more) = self.lexer.peek() {
                    text.push_str(more);
                    self.lexer.take()?;
                }
                Ok(Value::Text(text))
            }
            Token::Word(_) => Ok(Value::Words(self.path()?)),
            _ => Ok(Value::Number(self.lexer.number()?)),
        }
    }
}

pub(super) fn byte_order(name: &str) -> Option<ByteOrder> {
    match name {
        "le" => Some(ByteOrder::Little),
        "be" | "network" => Some(ByteOrder::Big),
        _ => None,
    }
}

fn id(value: &Value, at: &Lexer<'_>) -> Result<u64, Fatal> {
    value.number().and_then(|n| u64::try_from(n).ok()).ok_or_else(|| at.error("an id is not a number"))
}

fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten().map(u128::to_be_bytes)
}
