//! Compiles types to the steps that read them.

use super::program::{Chosen, Count, Encoding, Get, Program, Slot, Step, aligned, ordered};
use super::types::{Int, Kind, Label, Type, plain};
use crate::tracepoint::ByteOrder;
use std::rc::Rc;

/// The maximum cost of all programs of a trace, in bytes of field paths; LTTng with all system calls needs 2 million.
pub(super) const BUDGET: usize = 1 << 25;
/// The cost of a field in addition to its path.
const FIELD_COST: usize = 32;
/// The maximum numbers of integers in a record and of options of a variant, to bound the search among them.
const MAX_INTS: usize = 1024;
/// The maximum number of bits in a block; no tracer writes a larger record.
const MAX_BLOCK_BITS: usize = 1 << 27;

/// The number of a field, before it is known whether it needs a slot.
type Field = usize;

/// Compiles one program.
pub(super) struct Compiler<'b> {
    order: ByteOrder,
    /// The rest of [`BUDGET`].
    budget: &'b mut usize,
    steps: Vec<Step>,
    /// The block being filled, and the alignment in bits that its start is guaranteed to have.
    gets: Vec<Get>,
    bits: usize,
    known_align: usize,
    /// The slot of each field that needs one.
    slots: Vec<Option<Slot>>,
    used: usize,
    /// The integers so far with their full paths, which lengths and tags may name. Of several with one name, the last
    /// counts.
    ints: Vec<SeenInt>,
    /// The top-level fields that the reader requested.
    found: Vec<Found>,
    clock: Option<String>,
}

#[derive(Clone)]
struct SeenInt {
    path: String,
    field: Field,
    signed: bool,
    labels: Option<Rc<[Label]>>,
    /// Whether its struct is still open, so that the last word of the path is enough to name it.
    open: bool,
}

/// A field that the reader requested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// `fields`, `context`, …
    pub(super) scope: &'static str,
    /// The field's name, without LTTng's underscore.
    pub(super) name: String,
    pub(super) slot: Slot,
    pub(super) bits: u32,
}

/// The slots that a header's program fills: the clock's reading, and the number of its bits that were written.
pub(super) const CLOCK: Slot = 0;
pub(super) const CLOCK_BITS: Slot = 1;
/// The event's ID.
pub(super) const ID: Slot = 2;
/// The first slot for fields.
const FIRST_FIELD: Slot = 3;

/// A compiled program, and where it puts the requested fields.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) program: Program,
    pub(super) found: Vec<Found>,
    pub(super) slots: usize,
    /// The clock to which a field's values are mapped.
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
            known_align: 1,
            slots: Vec::new(),
            used: FIRST_FIELD,
            ints: Vec::new(),
            found: Vec::new(),
            clock: None,
        }
    }

    /// Adds a part of a record, and keeps those of its direct fields that `want` selects. In a `header`, clock readings
    /// and IDs are kept at any depth.
    pub(super) fn part(&mut self, scope: &'static str, t: Option<&Rc<Type>>, want: &dyn Fn(&str) -> bool) -> Outcome {
        let Some(t) = t else { return Ok(()) };
        let Kind::Struct(fields) = &t.kind else { return Err(CannotCompile("a part of a record is not a struct")) };
        self.align(t.align)?;
        for (name, of) in fields {
            let first = self.slots.len();
            self.field(&format!("{scope}.{name}"), name, of)?;
            let bits = of.plain_bits().unwrap_or(0);
            // The first field that was added is the field itself.
            if want(plain(name)) && first < self.slots.len() && is_value(of) {
                let slot = self.slot(first);
                self.found.push(Found { scope, name: plain(name).to_owned(), slot, bits });
            }
        }
        self.ints.iter_mut().for_each(|met| met.open = false);
        Ok(())
    }

    /// Finishes the program.
    pub(super) fn finish(mut self) -> Compiled {
        self.flush();
        let mut program = Program { steps: self.steps };
        assign_slots(&mut program, &self.slots);
        Compiled { program, found: self.found, slots: self.used, clock: self.clock }
    }

    fn spend(&mut self, cost: usize) -> Outcome {
        match self.budget.checked_sub(cost) {
            Some(left) => *self.budget = left,
            None => return Err(CannotCompile("the types have more fields than the limit")),
        }
        Ok(())
    }

    fn slot(&mut self, field: Field) -> Slot {
        let next = self.used;
        match self.slots.get_mut(field) {
            Some(Some(slot)) => *slot,
            Some(none) => {
                *none = Some(next);
                self.used += 1;
                next
            }
            None => next,
        }
    }

    fn new_field(&mut self) -> Field {
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// Closes the block. The next one starts where it ends.
    fn flush(&mut self) {
        if self.bits > 0 || !self.gets.is_empty() {
            let (bits, gets) = (std::mem::take(&mut self.bits), std::mem::take(&mut self.gets));
            // Alignment is merged into the next step: a separate step takes as long as reading a field.
            let align = match self.steps.pop() {
                Some(Step::Align(to)) => to,
                other => {
                    self.steps.extend(other);
                    1
                }
            };
            self.steps.push(Step::Block { align, bits, gets });
            self.known_align = self.known_align.min(1 << bits.trailing_zeros().min(16));
        }
    }

    fn align(&mut self, to: u32) -> Outcome {
        let to = to as usize;
        if to > self.known_align {
            self.flush();
        }
        if to > self.known_align {
            self.steps.push(Step::Align(to));
            self.known_align = to;
        } else {
            self.bits = aligned(self.bits, to);
        }
        Ok(())
    }

    fn grow(&mut self, bits: usize) -> Outcome {
        self.bits = self
            .bits
            .checked_add(bits)
            .filter(|b| *b <= MAX_BLOCK_BITS)
            .ok_or(CannotCompile("a record exceeds the maximum size"))?;
        Ok(())
    }

    fn field(&mut self, path: &str, name: &str, t: &Rc<Type>) -> Outcome {
        self.spend(FIELD_COST + path.len())?;
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
                self.known_align = 8;
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
        let encoding = int_encoding(int, self.order);
        self.gets.push(Get { at, encoding, slot: field });
        if self.clock.is_none() {
            self.clock.clone_from(&int.clock);
        }
        if path.starts_with("header.") {
            let kept = if int.clock.is_some() {
                let bits = self.new_field();
                self.gets.push(Get { at, encoding: Encoding::Constant(u64::from(int.bits)), slot: bits });
                self.assign(bits, CLOCK_BITS);
                Some(CLOCK)
            } else {
                (plain(name) == "id").then_some(ID)
            };
            if let Some(slot) = kept {
                self.assign(field, slot);
            }
        }
        if self.ints.len() >= MAX_INTS {
            return Err(CannotCompile("a record has more than 1024 integers"));
        }
        self.ints.push(SeenInt { path: path.to_owned(), field, signed: int.signed, labels, open: true });
        self.grow(int.bits as usize)
    }

    fn assign(&mut self, field: Field, slot: Slot) {
        if let Some(place) = self.slots.get_mut(field) {
            *place = Some(slot);
        }
    }

    /// Finds the integer that a length or a tag names: by its last word within its struct, by its path from elsewhere.
    fn named(&self, reference: &str) -> Result<SeenInt, CannotCompile> {
        let fits = |met: &&SeenInt| {
            let path = met.path.as_str();
            let ends = |long: &str, short: &str| {
                long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('.'))
            };
            let by_path = reference.contains('.') && (ends(path, reference) || ends(reference, path));
            by_path || met.open && ends(path, reference)
        };
        self.ints
            .iter()
            .rev()
            .find(fits)
            .cloned()
            .ok_or(CannotCompile("a length or tag refers to a field that does not precede it"))
    }

    fn variant(&mut self, path: &str, tag: Option<&str>, options: &[(String, Rc<Type>)]) -> Outcome {
        let met = self.named(tag.ok_or(CannotCompile("a variant has no tag"))?)?;
        let labels = met.labels.ok_or(CannotCompile("a variant's tag is not an enum"))?;
        self.spend(labels.len().saturating_mul(options.len()))?;
        let slot = self.slot(met.field);
        self.flush();
        let (outside, known_align) = (std::mem::take(&mut self.steps), self.known_align);
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
            if chosen.len() >= MAX_INTS {
                return Err(CannotCompile("a variant has more than 1024 options"));
            }
            self.known_align = known_align;
            self.field(&format!("{path}.{name}"), name, t)?;
            self.flush();
            let program = Program { steps: std::mem::take(&mut self.steps) };
            chosen.extend(chosen_by(label, met.signed, program));
            self.ints.iter_mut().skip(outer).for_each(|met| met.open = false);
        }
        self.steps = outside;
        self.steps.push(Step::Choice { tag: slot, signed: met.signed, options: chosen });
        self.known_align = 1;
        Ok(())
    }

    fn array(&mut self, path: &str, of: &Rc<Type>, length: u64) -> Outcome {
        self.align(of.align)?;
        let Some(bits) = of.plain_bits().map(|b| b as usize) else {
            let each = self.subprogram(path, of)?;
            self.steps.push(Step::Repeat { count: Count::Always(length), each });
            return Ok(());
        };
        let (at, stride) = (self.bits, aligned(bits, of.align as usize));
        let field = self.new_field();
        let large = CannotCompile("a record exceeds the maximum size");
        let length = usize::try_from(length).ok().filter(|n| *n <= MAX_BLOCK_BITS).ok_or(large)?;
        if stride == 8 && self.known_align.min(1 << at.trailing_zeros().min(16)) >= 8 {
            self.gets.push(Get { at, encoding: Encoding::Text(length), slot: field });
        }
        match length.checked_sub(1) {
            Some(before) => self.grow(before.checked_mul(stride).ok_or(large)?.checked_add(bits).ok_or(large)?),
            None => Ok(()),
        }
    }

    fn sequence(&mut self, path: &str, of: &Rc<Type>, length: &str) -> Outcome {
        let met = self.named(length)?;
        if met.signed {
            return Err(CannotCompile("a sequence's length is a signed integer"));
        }
        let count = self.slot(met.field);
        self.align(of.align)?;
        let Some(bits) = of.plain_bits().map(|b| b as usize) else {
            let each = self.subprogram(path, of)?;
            self.steps.push(Step::Repeat { count: Count::Slot(count), each });
            return Ok(());
        };
        self.flush();
        let stride = aligned(bits, of.align as usize);
        let field = self.new_field();
        let text = (bits == 8 && self.known_align >= 8).then_some(field);
        self.steps.push(Step::Run { count, stride, last: bits, text });
        self.known_align = if bits == stride { self.known_align.min(1 << stride.trailing_zeros()) } else { 1 };
        Ok(())
    }

    /// Compiles a type to a separate program that can be run repeatedly.
    fn subprogram(&mut self, path: &str, of: &Rc<Type>) -> Result<Program, CannotCompile> {
        self.flush();
        let outside = std::mem::take(&mut self.steps);
        self.known_align = 1;
        let outer = self.ints.len();
        self.field(&format!("{path}[]"), "[]", of)?;
        self.ints.iter_mut().skip(outer).for_each(|met| met.open = false);
        self.flush();
        self.known_align = 1;
        Ok(Program { steps: std::mem::replace(&mut self.steps, outside) })
    }
}

/// Returns the option that is read if the tag has one of the label's values; `None` if it never can.
fn chosen_by(label: &Label, signed: bool, program: Program) -> Option<Chosen> {
    let (min, max) = if signed { (i64::MIN.into(), i64::MAX.into()) } else { (0, i128::from(u64::MAX)) };
    let (from, to) = (label.from.max(min), label.to.min(max));
    let place = |n: i128| ordered(n as u64, signed);
    (from <= to).then(|| Chosen { from: place(from), to: place(to), program })
}

/// Whether a field is a single value: a number or a text.
fn is_value(t: &Type) -> bool {
    match &t.kind {
        Kind::Int(_) | Kind::Enum(..) | Kind::Text => true,
        Kind::Array { of, .. } | Kind::Sequence { of, .. } => of.plain_bits() == Some(8) && of.align == 8,
        _ => false,
    }
}

fn int_encoding(int: &Int, native: ByteOrder) -> Encoding {
    Encoding::Int { bits: int.bits as usize, signed: int.signed, order: int.order.unwrap_or(native) }
}

/// Assigns the fields their slots, and drops those without one.
fn assign_slots(program: &mut Program, slots: &[Option<Slot>]) {
    let slot_of = |field: Field| slots.get(field).copied().flatten();
    for step in &mut program.steps {
        match step {
            Step::Align(_) => {}
            Step::Block { gets, .. } => {
                gets.retain(|get| slot_of(get.slot).is_some());
                gets.shrink_to_fit();
                gets.iter_mut().for_each(|get| get.slot = slot_of(get.slot).unwrap_or_default());
            }
            Step::Text { slot } | Step::Run { text: slot, .. } => *slot = slot.and_then(slot_of),
            Step::Repeat { each, .. } => assign_slots(each, slots),
            Step::Choice { options, .. } => options.iter_mut().for_each(|o| assign_slots(&mut o.program, slots)),
        }
    }
}
