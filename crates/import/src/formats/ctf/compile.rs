//! From types to the steps that read them.

use super::program::{Chosen, Count, Get, How, Program, Slot, Step, aligned, ordered};
use super::types::{Int, Kind, Label, Type, plain};
use crate::tracepoint::ByteOrder;
use std::rc::Rc;

/// What all programs of a trace may cost, in bytes of fields' paths; LTTng with every system call needs 2 million.
pub(super) const BUDGET: usize = 1 << 25;
/// What a field costs beyond its path.
const FIELD: usize = 32;
/// Integers of a record, and options of a variant; searching among more of them would take time.
const MOST_INTS: usize = 1024;
/// Bits that a block may have; no tracer writes a larger record.
const WIDEST_BLOCK: usize = 1 << 27;

/// A field's number while its slot is not known to be needed.
type Field = usize;

/// Compiles one program.
pub(super) struct Compiler<'b> {
    order: ByteOrder,
    /// What is left of [`BUDGET`].
    budget: &'b mut usize,
    steps: Vec<Step>,
    /// The block that is being filled, and the multiple of bits that it surely begins at.
    gets: Vec<Get>,
    bits: usize,
    known: usize,
    /// The slot of each field, where it is needed.
    slots: Vec<Option<Slot>>,
    used: usize,
    /// Integers met, with their full path, which lengths and tags may name; the last of a name counts.
    ints: Vec<Met>,
    /// Top-level fields that the reader asked for.
    found: Vec<Found>,
    clock: Option<String>,
}

#[derive(Clone)]
struct Met {
    path: String,
    field: Field,
    signed: bool,
    labels: Option<Rc<[Label]>>,
    /// Its struct is still open, so that it may be named by its last word.
    open: bool,
}

/// A field that the reader asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// `fields`, `context`, …
    pub(super) scope: &'static str,
    /// Its name, without LTTng's underscore.
    pub(super) name: String,
    pub(super) slot: Slot,
    pub(super) bits: u32,
}

/// What a header's program leaves of the clock: its reading, and how many bits of it were written.
pub(super) const CLOCK: Slot = 0;
pub(super) const CLOCK_BITS: Slot = 1;
/// And the event's id.
pub(super) const ID: Slot = 2;
/// The first slot of fields.
const FIRST: Slot = 3;

/// A compiled program, and where it puts what was asked for.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) program: Program,
    pub(super) found: Vec<Found>,
    pub(super) slots: usize,
    /// The clock that a field is a reading of.
    pub(super) clock: Option<String>,
}

/// Why a type cannot be compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CannotCompile(pub(super) &'static str);

type Outcome = Result<(), CannotCompile>;

impl<'b> Compiler<'b> {
    pub(super) fn new(order: ByteOrder, budget: &'b mut usize) -> Self {
        Self {
            order,
            budget,
            steps: Vec::new(),
            gets: Vec::new(),
            bits: 0,
            known: 1,
            slots: Vec::new(),
            used: FIRST,
            ints: Vec::new(),
            found: Vec::new(),
            clock: None,
        }
    }

    /// Adds a part of a record; of its own fields those that `want` are kept. In a `header`, readings of the clock and ids
    /// are kept wherever they stand.
    pub(super) fn part(&mut self, scope: &'static str, t: Option<&Rc<Type>>, want: &dyn Fn(&str) -> bool) -> Outcome {
        let Some(t) = t else { return Ok(()) };
        let Kind::Struct(fields) = &t.kind else { return Err(CannotCompile("a part of a record that is no struct")) };
        self.align(t.align)?;
        for (name, of) in fields {
            let first = self.slots.len();
            self.field(&format!("{scope}.{name}"), name, of)?;
            let bits = of.plain_bits().unwrap_or(0);
            // Of what the field added, the first is the field itself.
            if want(plain(name)) && first < self.slots.len() && is_value(of) {
                let slot = self.slot(first);
                self.found.push(Found { scope, name: plain(name).to_owned(), slot, bits });
            }
        }
        self.ints.iter_mut().for_each(|met| met.open = false);
        Ok(())
    }

    /// The program.
    pub(super) fn finish(mut self) -> Compiled {
        self.flush();
        let mut program = Program { steps: self.steps };
        settle(&mut program, &self.slots);
        Compiled { program, found: self.found, slots: self.used, clock: self.clock }
    }

    fn spend(&mut self, cost: usize) -> Outcome {
        match self.budget.checked_sub(cost) {
            Some(left) => *self.budget = left,
            None => return Err(CannotCompile("types of more fields than any tracer writes")),
        }
        Ok(())
    }

    fn slot(&mut self, field: Field) -> Slot {
        let fresh = self.used;
        match self.slots.get_mut(field) {
            Some(Some(slot)) => *slot,
            Some(none) => {
                *none = Some(fresh);
                self.used += 1;
                fresh
            }
            None => fresh,
        }
    }

    fn new_field(&mut self) -> Field {
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// Closes the block; the next one begins where it ends.
    fn flush(&mut self) {
        if self.bits > 0 || !self.gets.is_empty() {
            let (bits, gets) = (std::mem::take(&mut self.bits), std::mem::take(&mut self.gets));
            // To align is part of what follows: a step for itself takes as long as to read a field.
            let align = match self.steps.pop() {
                Some(Step::Align(to)) => to,
                other => {
                    self.steps.extend(other);
                    1
                }
            };
            self.steps.push(Step::Block { align, bits, gets });
            self.known = self.known.min(1 << bits.trailing_zeros().min(16));
        }
    }

    fn align(&mut self, to: u32) -> Outcome {
        let to = to as usize;
        if to > self.known {
            self.flush();
        }
        if to > self.known {
            self.steps.push(Step::Align(to));
            self.known = to;
        } else {
            self.bits = aligned(self.bits, to);
        }
        Ok(())
    }

    fn grow(&mut self, bits: usize) -> Outcome {
        self.bits =
            self.bits.checked_add(bits).filter(|b| *b <= WIDEST_BLOCK).ok_or(CannotCompile("a record too large"))?;
        Ok(())
    }

    fn field(&mut self, path: &str, name: &str, t: &Rc<Type>) -> Outcome {
        self.spend(FIELD + path.len())?;
        match &t.kind {
            Kind::Int(int) => self.int(path, name, t.align, int, None),
            Kind::Enum(int, labels) => self.int(path, name, t.align, int, Some(labels.clone())),
            Kind::Float { bits } => {
                self.align(t.align)?;
                self.grow(*bits as usize)
            }
            Kind::Text => {
                self.align(8)?;
                self.flush();
                let field = self.new_field();
                self.steps.push(Step::Text { slot: Some(field) });
                self.known = 8;
                Ok(())
            }
            Kind::Struct(fields) => {
                self.align(t.align)?;
                let outer = self.ints.len();
                for (name, of) in fields {
                    self.field(&format!("{path}.{name}"), name, of)?;
                }
                self.ints.iter_mut().skip(outer).for_each(|met| met.open = false);
                Ok(())
            }
            Kind::Variant { tag, options } => self.variant(path, tag.as_deref(), options),
            Kind::Array { of, length } => self.array(path, of, *length),
            Kind::Sequence { of, length } => self.sequence(path, of, length),
        }
    }

    fn int(&mut self, path: &str, name: &str, align: u32, int: &Int, labels: Option<Rc<[Label]>>) -> Outcome {
        self.align(align)?;
        let (field, at) = (self.new_field(), self.bits);
        let how = how(int, self.order);
        self.gets.push(Get { at, how, slot: field });
        if self.clock.is_none() {
            self.clock.clone_from(&int.clock);
        }
        if path.starts_with("header.") {
            let kept = if int.clock.is_some() {
                let bits = self.new_field();
                self.gets.push(Get { at, how: How::Known(u64::from(int.bits)), slot: bits });
                self.give(bits, CLOCK_BITS);
                Some(CLOCK)
            } else {
                (plain(name) == "id").then_some(ID)
            };
            if let Some(slot) = kept {
                self.give(field, slot);
            }
        }
        if self.ints.len() >= MOST_INTS {
            return Err(CannotCompile("a record of more numbers than any tracer writes"));
        }
        self.ints.push(Met { path: path.to_owned(), field, signed: int.signed, labels, open: true });
        self.grow(int.bits as usize)
    }

    fn give(&mut self, field: Field, slot: Slot) {
        if let Some(place) = self.slots.get_mut(field) {
            *place = Some(slot);
        }
    }

    /// The integer that a length or a tag names: by its last word within its struct, by its path from elsewhere.
    fn named(&self, reference: &str) -> Result<Met, CannotCompile> {
        let fits = |met: &&Met| {
            let path = met.path.as_str();
            let ends = |long: &str, short: &str| {
                long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('.'))
            };
            let by_path = reference.contains('.') && (ends(path, reference) || ends(reference, path));
            by_path || met.open && ends(path, reference)
        };
        self.ints.iter().rev().find(fits).cloned().ok_or(CannotCompile("a length or tag that was not read before"))
    }

    fn variant(&mut self, path: &str, tag: Option<&str>, options: &[(String, Rc<Type>)]) -> Outcome {
        let met = self.named(tag.ok_or(CannotCompile("a variant without a tag"))?)?;
        let labels = met.labels.ok_or(CannotCompile("a variant whose tag is no enum"))?;
        self.spend(labels.len().saturating_mul(options.len()))?;
        let slot = self.slot(met.field);
        self.flush();
        let (outside, known) = (std::mem::take(&mut self.steps), self.known);
        let mut chosen = Vec::new();
        let outer = self.ints.len();
        for label in labels.iter() {
            let same = |exact: bool| {
                options.iter().find(
                    |(name, _)| {
                        if exact { *name == label.name } else { plain(name) == plain(&label.name) }
                    },
                )
            };
            let Some((name, t)) = same(true).or_else(|| same(false)) else { continue };
            if chosen.len() >= MOST_INTS {
                return Err(CannotCompile("a variant of more options than any tracer writes"));
            }
            self.known = known;
            self.field(&format!("{path}.{name}"), name, t)?;
            self.flush();
            let program = Program { steps: std::mem::take(&mut self.steps) };
            chosen.extend(chosen_by(label, met.signed, program));
            self.ints.iter_mut().skip(outer).for_each(|met| met.open = false);
        }
        self.steps = outside;
        self.steps.push(Step::Choice { tag: slot, signed: met.signed, options: chosen });
        self.known = 1;
        Ok(())
    }

    fn array(&mut self, path: &str, of: &Rc<Type>, length: u64) -> Outcome {
        self.align(of.align)?;
        let Some(bits) = of.plain_bits().map(|b| b as usize) else {
            let each = self.apart(path, of)?;
            self.steps.push(Step::Repeat { count: Count::Always(length), each });
            return Ok(());
        };
        let (at, stride) = (self.bits, aligned(bits, of.align as usize));
        let field = self.new_field();
        let large = CannotCompile("a record too large");
        let length = usize::try_from(length).ok().filter(|n| *n <= WIDEST_BLOCK).ok_or(large)?;
        if stride == 8 && self.known.min(1 << at.trailing_zeros().min(16)) >= 8 {
            self.gets.push(Get { at, how: How::Text(length), slot: field });
        }
        match length.checked_sub(1) {
            Some(before) => self.grow(before.checked_mul(stride).ok_or(large)?.checked_add(bits).ok_or(large)?),
            None => Ok(()),
        }
    }

    fn sequence(&mut self, path: &str, of: &Rc<Type>, length: &str) -> Outcome {
        let met = self.named(length)?;
        if met.signed {
            return Err(CannotCompile("a sequence whose length is a signed number"));
        }
        let count = self.slot(met.field);
        self.align(of.align)?;
        let Some(bits) = of.plain_bits().map(|b| b as usize) else {
            let each = self.apart(path, of)?;
            self.steps.push(Step::Repeat { count: Count::Slot(count), each });
            return Ok(());
        };
        self.flush();
        let stride = aligned(bits, of.align as usize);
        let field = self.new_field();
        let text = (bits == 8 && self.known >= 8).then_some(field);
        self.steps.push(Step::Run { count, stride, last: bits, text });
        self.known = if bits == stride { self.known.min(1 << stride.trailing_zeros()) } else { 1 };
        Ok(())
    }

    /// A program of its own, run any number of times.
    fn apart(&mut self, path: &str, of: &Rc<Type>) -> Result<Program, CannotCompile> {
        self.flush();
        let outside = std::mem::take(&mut self.steps);
        self.known = 1;
        let outer = self.ints.len();
        self.field(&format!("{path}[]"), "[]", of)?;
        self.ints.iter_mut().skip(outer).for_each(|met| met.open = false);
        self.flush();
        self.known = 1;
        Ok(Program { steps: std::mem::replace(&mut self.steps, outside) })
    }
}

/// What is read where the tag has one of the label's values; `None` where it never can.
fn chosen_by(label: &Label, signed: bool, program: Program) -> Option<Chosen> {
    let (least, most) = if signed { (i64::MIN.into(), i64::MAX.into()) } else { (0, i128::from(u64::MAX)) };
    let (from, to) = (label.from.max(least), label.to.min(most));
    let place = |n: i128| ordered(n as u64, signed);
    (from <= to).then(|| Chosen { from: place(from), to: place(to), program })
}

/// Whether a field is one value: a number, or a text.
fn is_value(t: &Type) -> bool {
    match &t.kind {
        Kind::Int(_) | Kind::Enum(..) | Kind::Text => true,
        Kind::Array { of, .. } | Kind::Sequence { of, .. } => of.plain_bits() == Some(8) && of.align == 8,
        _ => false,
    }
}

fn how(int: &Int, native: ByteOrder) -> How {
    How::Int { bits: int.bits as usize, signed: int.signed, order: int.order.unwrap_or(native) }
}

/// Gives fields their slots, and forgets those that have none.
fn settle(program: &mut Program, slots: &[Option<Slot>]) {
    let of = |field: Field| slots.get(field).copied().flatten();
    for step in &mut program.steps {
        match step {
            Step::Align(_) => {}
            Step::Block { gets, .. } => {
                gets.retain(|get| of(get.slot).is_some());
                gets.shrink_to_fit();
                gets.iter_mut().for_each(|get| get.slot = of(get.slot).unwrap_or_default());
            }
            Step::Text { slot } | Step::Run { text: slot, .. } => *slot = slot.and_then(of),
            Step::Repeat { each, .. } => settle(each, slots),
            Step::Choice { options, .. } => options.iter_mut().for_each(|o| settle(&mut o.program, slots)),
        }
    }
}
