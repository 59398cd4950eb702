//! Parses a list of events as a user writes it. Needs no machine: names are looked up later.

use crate::event::{AskedGroup, BadEvent, Event, EventName, Term};
use crate::names::{hardware_named, software_named};

/// The maximum number of events of a list.
const MAX_EVENTS: usize = 256;
/// The maximum number of terms of an event.
const MAX_TERMS: usize = 64;
/// The maximum length of a name, bytes.
const MAX_NAME: usize = 128;

/// Parses a list such as `{cycles,instructions:u},cpu_core/event=0xc0,umask=0x1/,INST_RETIRED.ANY,msr/tsc/`.
///
/// # Errors
/// Says where the text is not such a list.
pub fn parse(text: &str) -> Result<Vec<AskedGroup>, BadEvent> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, events: 0 };
    let mut groups = Vec::new();
    loop {
        groups.push(parser.group()?);
        match parser.next() {
            None => return Ok(groups),
            Some(',') => parser.at += 1,
            Some('}') => return Err(parser.wrong("this } has no {")),
            Some(other) => return Err(parser.wrong(format!("`{}`: expected a comma", printable(other)))),
        }
    }
}

struct Parser {
    text: Vec<char>,
    /// The place of the next character.
    at: usize,
    events: usize,
}

impl Parser {
    fn wrong(&self, what: impl Into<String>) -> BadEvent {
        BadEvent::new(self.at, what)
    }

    /// Skips blanks and returns the next character.
    fn next(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| *c == ' ') {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn group(&mut self) -> Result<AskedGroup, BadEvent> {
        if self.next() != Some('{') {
            return Ok(AskedGroup { together: false, events: vec![self.event()?] });
        }
        let open = self.at;
        self.at += 1;
        let mut events = Vec::new();
        loop {
            events.push(self.event()?);
            match self.next() {
                Some(',') => self.at += 1,
                Some('}') => break,
                Some(other) => return Err(self.wrong(format!("`{}`: expected a comma or }}", printable(other)))),
                None => return Err(BadEvent::new(open, "this { has no }")),
            }
        }
        self.at += 1;
        if self.text.get(self.at) == Some(&':') {
            self.at += 1;
            let (user, kernel) = self.modifier()?;
            for event in &mut events {
                event.user |= user;
                event.kernel |= kernel;
            }
        }
        Ok(AskedGroup { together: true, events })
    }

    fn event(&mut self) -> Result<Event, BadEvent> {
        self.next();
        let at = self.at;
        self.events += 1;
        if self.events > MAX_EVENTS {
            return Err(self.wrong(format!("more than {MAX_EVENTS} events")));
        }
        let name = self.name("the name of an event")?;
        let (mut user, mut kernel) = (false, false);
        let name = if self.text.get(self.at) == Some(&'/') {
            let terms = self.terms()?;
            // perf writes the modifier directly after the slash.
            if self.text.get(self.at).is_some_and(|c| c.is_ascii_alphabetic()) {
                (user, kernel) = self.modifier()?;
            }
            EventName::OfPmu { pmu: name, terms }
        } else if let Some(event) = hardware_named(&name) {
            EventName::Hardware(event)
        } else if let Some(event) = software_named(&name) {
            EventName::Software(event)
        } else {
            EventName::Named(name)
        };
        if self.text.get(self.at) == Some(&':') {
            self.at += 1;
            (user, kernel) = self.modifier()?;
        }
        Ok(Event { name, user, kernel, at })
    }

    fn name(&mut self, what: &str) -> Result<String, BadEvent> {
        let name: String = self.text.iter().skip(self.at).take_while(|c| of_name(**c)).collect();
        match name.len() {
            0 => Err(match self.text.get(self.at) {
                Some(c) => self.wrong(format!("`{}`: expected {what}", printable(*c))),
                None => self.wrong(format!("the text ends here: expected {what}")),
            }),
            n if n > MAX_NAME => Err(self.wrong(format!("a name of more than {MAX_NAME} characters"))),
            n => {
                self.at += n;
                Ok(name)
            }
        }
    }

    fn terms(&mut self) -> Result<Vec<Term>, BadEvent> {
        let open = self.at;
        self.at += 1;
        let unclosed = || BadEvent::new(open, "this / has no second /: write PMU/term=value/");
        let mut terms = Vec::new();
        loop {
            if self.next().is_none() {
                return Err(unclosed());
            }
            let at = self.at;
            let name = self.name("a term such as event=0x3c")?;
            let mut value = None;
            if self.next() == Some('=') {
                self.at += 1;
                value = Some(self.value()?);
            }
            terms.push(Term { name, value, at });
            if terms.len() > MAX_TERMS {
                return Err(self.wrong(format!("more than {MAX_TERMS} terms")));
            }
            match self.next() {
                Some(',') => self.at += 1,
                Some('/') => break,
                Some(other) => return Err(self.wrong(format!("`{}`: expected a comma or /", printable(other)))),
                None => return Err(unclosed()),
            }
        }
        self.at += 1;
        Ok(terms)
    }

    fn value(&mut self) -> Result<u64, BadEvent> {
        self.next();
        let text: String = self.text.iter().skip(self.at).take_while(|c| of_name(**c)).collect();
        let value = number(&text)
            .ok_or_else(|| self.wrong(format!("`{text}` is not a number of 64 bits such as 60 or 0x3c")))?;
        self.at += text.chars().count();
        Ok(value)
    }

    fn modifier(&mut self) -> Result<(bool, bool), BadEvent> {
        let from = self.at;
        let (mut user, mut kernel) = (false, false);
        while let Some(c) = self.text.get(self.at).filter(|c| of_name(**c)) {
            match c {
                'u' => user = true,
                'k' => kernel = true,
                other => {
                    let what = format!("modifier {other} is not supported: u counts user mode, k kernel mode");
                    return Err(self.wrong(what));
                }
            }
            self.at += 1;
        }
        if self.at == from { Err(self.wrong("expected a modifier: u or k")) } else { Ok((user, kernel)) }
    }
}

/// Whether names have this character.
pub(crate) fn of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn printable(c: char) -> char {
    if c.is_control() { '?' } else { c }
}

/// Parses a number, decimal or with 0x.
pub(crate) fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    // `from_str_radix` accepts a sign.
    digits.starts_with(|c: char| c.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}
