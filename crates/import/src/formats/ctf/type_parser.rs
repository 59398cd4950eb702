//! TSDL's types: `integer { … }`, `struct { … }`, `variant <tag> { … }`, and names for them.

use super::lexer::Token;
use super::parser::{Parser, Value, byte_order};
use super::types::{Int, Kind, Label, MAX_DEPTH, Type};
use ingest::Fatal;
use std::rc::Rc;

/// The maximum alignment in bits.
const MAX_ALIGN: u32 = 512;

impl Parser<'_> {
    /// Parses `typealias type := name;`, `typedef type name;`, or a type that names itself.
    pub(super) fn type_statement(&mut self) -> Result<(), Fatal> {
        match self.lexer.word_ahead() {
            Some("typealias") => {
                self.lexer.take()?;
                let t = self.complete_type()?;
                self.lexer.expect(":=")?;
                let name = self.words()?;
                self.declare(name, t);
            }
            Some("typedef") => {
                self.lexer.take()?;
                let (name, t) = self.named()?;
                self.declare(name, t);
            }
            _ => {
                self.complete_type()?;
            }
        }
        self.lexer.expect(";")
    }

    fn declare(&mut self, name: String, t: Rc<Type>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, t);
        }
    }

    fn known(&self, name: &str) -> Result<Rc<Type>, Fatal> {
        let found = self.scopes.iter().rev().find_map(|s| s.get(name));
        found.cloned().ok_or_else(|| self.lexer.error(&format!("the type `{}` is not declared", shorten(name))))
    }

    /// Words up to a sign: `unsigned long`.
    fn words(&mut self) -> Result<String, Fatal> {
        let mut words = self.lexer.word()?.to_owned();
        while self.lexer.word_ahead().is_some() {
            words.push(' ');
            words.push_str(self.lexer.word()?);
        }
        Ok(words)
    }

    /// A type that is not followed by a name.
    pub(super) fn complete_type(&mut self) -> Result<Rc<Type>, Fatal> {
        if let Some(t) = self.built()? {
            return Ok(t);
        }
        let name = self.words()?;
        self.known(&name)
    }

    /// `type name[length]…`
    fn named(&mut self) -> Result<(String, Rc<Type>), Fatal> {
        let (name, mut t) = match self.built()? {
            Some(t) => (self.lexer.word()?.to_owned(), t),
            None => {
                let words = self.words()?;
                let Some((of, name)) = words.rsplit_once(' ') else {
                    return Err(self.lexer.error("expected a type and a name"));
                };
                (name.to_owned(), self.known(of)?)
            }
        };
        let mut lengths = Vec::new();
        while self.lexer.eat("[")? {
            lengths.push(match self.lexer.peek() {
                Token::Word(_) => Value::Words(self.path()?),
                _ => Value::Number(self.lexer.number()?),
            });
            self.lexer.expect("]")?;
            if lengths.len() > MAX_DEPTH as usize {
                return Err(self.lexer.error("an array has more dimensions than the limit"));
            }
        }
        for length in lengths.into_iter().rev() {
            let (align, depth) = (t.align, t.depth + 1);
            let kind = match length.number() {
                Some(n) => {
                    let length = u64::try_from(n).map_err(|_| self.lexer.error("an array has a negative length"))?;
                    Kind::Array { of: t, length }
                }
                None => Kind::Sequence { of: t, length: length.text().to_owned() },
            };
            t = self.checked(Type { kind, align, depth })?;
        }
        Ok((name, t))
    }

    /// Parses a type that is defined here; `None` if the name of a type follows.
    fn built(&mut self) -> Result<Option<Rc<Type>>, Fatal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.error("types are nested deeper than the limit"));
        }
        while self.lexer.word_ahead() == Some("const") {
            self.lexer.take()?;
        }
        let word = self.lexer.word_ahead().unwrap_or("");
        let t = match word {
            "integer" => Some(self.integer()?),
            "floating_point" => Some(self.float()?),
            "string" => Some(self.string()?),
            "struct" => Some(self.structure()?),
            "enum" => Some(self.enumeration()?),
            "variant" => Some(self.variant()?),
            _ => None,
        };
        self.depth -= 1;
        Ok(t)
    }

    fn checked(&self, t: Type) -> Result<Rc<Type>, Fatal> {
        if t.depth > MAX_DEPTH {
            return Err(self.lexer.error("types are nested deeper than the limit"));
        }
        Ok(Rc::new(t))
    }

    /// `{ name = value; … }`
    fn attributes(&mut self, mut on_attribute: impl FnMut(&str, &Value)) -> Result<(), Fatal> {
        self.lexer.expect("{")?;
        while !self.lexer.eat("}")? {
            let name = self.lexer.word()?;
            self.lexer.expect("=")?;
            let value = self.value()?;
            on_attribute(name, &value);
            if !self.lexer.is("}") {
                self.lexer.expect(";")?;
            }
        }
        Ok(())
    }

    fn alignment(&self, bits: i128) -> Result<u32, Fatal> {
        let fits = u32::try_from(bits).ok().filter(|b| b.is_power_of_two() && *b <= MAX_ALIGN);
        fits.ok_or_else(|| self.lexer.error("an alignment is not a power of two up to 512"))
    }

    fn integer(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        let (mut size, mut align, mut signed, mut order, mut clock) = (0, None, false, None, None);
        self.attributes(|name, value| match name {
            "size" => size = value.number().unwrap_or(0),
            "align" => align = value.number().or(Some(0)),
            "signed" => {
                signed = value.number().unwrap_or(0) != 0 || matches!(value.text(), "true" | "TRUE");
            }
            "byte_order" => order = byte_order(value.text()),
            "map" => clock = clock_of(value.text()),
            _ => {}
        })?;
        let bits = u32::try_from(size).ok().filter(|b| (1..=64).contains(b));
        let bits = bits.ok_or_else(|| self.lexer.error("an integer does not have 1 to 64 bits"))?;
        let align = self.alignment(align.unwrap_or(if bits % 8 == 0 { 8 } else { 1 }))?;
        Ok(Rc::new(Type { kind: Kind::Int(Int { bits, signed, order, clock }), align, depth: 1 }))
    }

    fn float(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        let (mut exponent, mut mantissa, mut align) = (0, 0, 8);
        self.attributes(|name, value| match name {
            "exp_dig" => exponent = value.number().unwrap_or(0),
            "mant_dig" => mantissa = value.number().unwrap_or(0),
            "align" => align = value.number().unwrap_or(0),
            _ => {}
        })?;
        let bits = u32::try_from(exponent + mantissa).ok().filter(|b| (1..=128).contains(b));
        let bits = bits.ok_or_else(|| self.lexer.error("a floating_point does not have 1 to 128 bits"))?;
        Ok(Rc::new(Type { kind: Kind::Float { bits }, align: self.alignment(align)?, depth: 1 }))
    }

    fn string(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        if self.lexer.is("{") {
            self.attributes(|_, _| ())?;
        }
        Ok(Rc::new(Type { kind: Kind::Text, align: 8, depth: 1 }))
    }

    /// The name after `struct`, `enum` or `variant`, including that word.
    fn own_name(&mut self, word: &str) -> Result<Option<String>, Fatal> {
        let name = self.lexer.word_ahead().map(|name| format!("{word} {name}"));
        if name.is_some() {
            self.lexer.take()?;
        }
        Ok(name)
    }

    fn structure(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        let name = self.own_name("struct")?;
        if !self.lexer.is("{") {
            return self.known(&name.ok_or_else(|| self.lexer.error("expected `{`"))?);
        }
        let fields = self.fields()?;
        let mut align = 1;
        if self.lexer.word_ahead() == Some("align") {
            self.lexer.take()?;
            self.lexer.expect("(")?;
            let bits = self.lexer.number()?;
            align = self.alignment(bits)?;
            self.lexer.expect(")")?;
        }
        let t = self.checked(Type::structure(fields, align))?;
        if let Some(name) = name {
            self.declare(name, t.clone());
        }
        Ok(t)
    }

    /// `{ type name; … }`
    fn fields(&mut self) -> Result<Vec<(String, Rc<Type>)>, Fatal> {
        self.lexer.expect("{")?;
        self.scopes.push(rustc_hash::FxHashMap::default());
        let mut fields = Vec::new();
        while !self.lexer.eat("}")? {
            if matches!(self.lexer.word_ahead(), Some("typealias" | "typedef")) {
                self.type_statement()?;
                continue;
            }
            fields.push(self.named()?);
            self.lexer.expect(";")?;
        }
        self.scopes.pop();
        Ok(fields)
    }

    fn enumeration(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        let name = self.own_name("enum")?;
        let container = if self.lexer.eat(":")? { Some(self.complete_type()?) } else { None };
        if !self.lexer.is("{") {
            return self.known(&name.ok_or_else(|| self.lexer.error("expected `{`"))?);
        }
        let container = container.map_or_else(|| self.known("int"), Ok)?;
        let Some(int) = container.int().cloned() else {
            return Err(self.lexer.error("an enum's container is not an integer"));
        };
        let labels = self.labels()?;
        let t = Rc::new(Type { kind: Kind::Enum(int, labels.into()), align: container.align, depth: 1 });
        if let Some(name) = name {
            self.declare(name, t.clone());
        }
        Ok(t)
    }

    /// `{ name = 0 ... 30, other, … }`
    fn labels(&mut self) -> Result<Vec<Label>, Fatal> {
        self.lexer.expect("{")?;
        let mut labels = Vec::new();
        let mut next = 0;
        while !self.lexer.eat("}")? {
            let name = match self.lexer.take()? {
                Token::Word(word) => word.to_owned(),
                Token::Text(text) => text,
                _ => return Err(self.lexer.error("expected a label")),
            };
            let from = if self.lexer.eat("=")? { self.lexer.number()? } else { next };
            let to = if self.lexer.eat("...")? { self.lexer.number()? } else { from };
            next = to + 1;
            labels.push(Label { name, from, to });
            if !self.lexer.is("}") {
                self.lexer.expect(",")?;
            }
        }
        Ok(labels)
    }

    fn variant(&mut self) -> Result<Rc<Type>, Fatal> {
        self.lexer.take()?;
        let name = self.own_name("variant")?;
        let mut tag = None;
        if self.lexer.eat("<")? {
            tag = Some(self.path()?);
            self.lexer.expect(">")?;
        }
        let (options, depth) = if self.lexer.is("{") {
            let options: Rc<[_]> = self.fields()?.into();
            let depth = options.iter().map(|(_, t)| t.depth).fold(0, u32::max) + 1;
            (options, depth)
        } else {
            let known = self.known(name.as_deref().unwrap_or(""))?;
            let Kind::Variant { options, tag: own_tag } = &known.kind else {
                return Err(self.lexer.error("expected `{`"));
            };
            tag = tag.or_else(|| own_tag.clone());
            (options.clone(), known.depth)
        };
        // Each option is aligned when it is read.
        let t = self.checked(Type { kind: Kind::Variant { tag, options }, align: 1, depth })?;
        if let Some(name) = name {
            self.declare(name, t.clone());
        }
        Ok(t)
    }
}

/// `clock.monotonic.value` to `monotonic`.
fn clock_of(path: &str) -> Option<String> {
    path.strip_prefix("clock.")?.split('.').next().map(str::to_owned)
}

fn shorten(name: &str) -> &str {
    name.get(..60).unwrap_or(name)
}
