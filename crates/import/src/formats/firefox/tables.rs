//! The tables of a profile as columns in memory.

use super::{MAX_TEXT, NONE};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// A cell of a column of numbers.
pub(super) trait Cell: Copy {
    /// `None`: `null`, or not a number.
    fn of(number: Option<f64>) -> Self;
}

/// An index into another table; [`NONE`] if the cell has none: `null` or −1.
impl Cell for u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in this range")]
    fn of(number: Option<f64>) -> Self {
        number.filter(|n| (0.0..f64::from(NONE)).contains(n)).map_or(NONE, |n| n as Self)
    }
}

/// Any other number; not a number if the cell has none.
impl Cell for f64 {
    fn of(number: Option<f64>) -> Self {
        number.filter(|n| n.is_finite()).unwrap_or(Self::NAN)
    }
}

/// A column of numbers. Also `null`, for one without cells.
pub(super) struct Column<T>(pub(super) Vec<T>);

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Column<T> {
    pub(super) fn get(&self, row: u32) -> Option<T> {
        self.0.get(row as usize).copied()
    }
}

impl Column<u32> {
    /// Returns an index; [`NONE`] if there is no such row.
    pub(super) fn index(&self, row: u32) -> u32 {
        self.get(row).unwrap_or(NONE)
    }
}

/// A cell as it is written.
struct Number(Option<f64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Of;
        impl Visitor<'_> for Of {
            type Value = Number;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a number")
            }
            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }
            #[expect(clippy::cast_precision_loss, reason = "JSON's numbers are floating-point")]
            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(Some(number as f64)))
            }
            #[expect(clippy::cast_precision_loss, reason = "JSON's numbers are floating-point")]
            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(Some(number as f64)))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
                Ok(Number(None))
            }
            fn visit_str<E>(self, _: &str) -> Result<Number, E> {
                Ok(Number(None))
            }
            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(None))
            }
        }
        from.deserialize_any(Of)
    }
}

impl<'de, T: Cell> Deserialize<'de> for Column<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Of<T>(PhantomData<T>);
        impl<'de, T: Cell> Visitor<'de> for Of<T> {
            type Value = Column<T>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of numbers")
            }
            fn visit_unit<E>(self) -> Result<Column<T>, E> {
                Ok(Column::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Column<T>, A::Error> {
                let mut column = Vec::new();
                while let Some(Number(cell)) = cells.next_element()? {
                    column.push(T::of(cell));
                }
                Ok(Column(column))
            }
        }
        from.deserialize_any(Of(PhantomData))
    }
}

/// A column of texts, one after another.
#[derive(Default)]
pub(super) struct Texts {
    all: String,
    /// The end of each text.
    ends: Vec<u32>,
}

impl Texts {
    /// Returns a text; empty if there is no such row.
    pub(super) fn get(&self, row: u32) -> &str {
        let end = |row: u32| self.ends.get(row as usize).map(|end| *end as usize);
        let from = row.checked_sub(1).map_or(Some(0), end);
        from.zip(end(row)).and_then(|(from, to)| self.all.get(from..to)).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Texts;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of texts")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Texts, A::Error> {
                let mut texts = Texts::default();
                while let Some(text) = cells.next_element::<Option<String>>()? {
                    texts.all.push_str(&text.unwrap_or_default());
                    if texts.all.len() > MAX_TEXT {
                        return Err(A::Error::custom("the texts of a table have more than 256 MiB"));
                    }
                    texts.ends.push(u32::try_from(texts.all.len()).unwrap_or(u32::MAX));
                }
                Ok(texts)
            }
        }
        from.deserialize_seq(Of)
    }
}

/// A PID or TID: a text or a number. A text has a point and a count after the number if that was used again.
#[derive(Clone, Copy, Default)]
pub(super) struct Id(pub(super) Option<i32>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Of;
        impl Visitor<'_> for Of {
            type Value = Id;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a number, or a text with one")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Id, E> {
                Ok(Id(i32::try_from(number).ok()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Id, E> {
                Ok(Id(i32::try_from(number).ok()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Id, E> {
                Ok(Id(text.split('.').next().and_then(|number| number.parse().ok())))
            }
            fn visit_unit<E>(self) -> Result<Id, E> {
                Ok(Id(None))
            }
        }
        from.deserialize_any(Of)
    }
}

/// A list of larger entries, of which there are fewer.
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The maximum number of threads, and of files.
const MAX_LIST: usize = 1 << 16;

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Of<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Of<T> {
            type Value = List<T>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = entries.next_element()? {
                    if list.len() == MAX_LIST {
                        return Err(A::Error::custom("it has more than 65,536 threads or files"));
                    }
                    list.push(entry);
                }
                Ok(List(list))
            }
        }
        from.deserialize_seq(Of(PhantomData))
    }
}

/// The samples of a thread.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Samples {
    pub(super) stack: Column<u32>,
    /// In ms.
    pub(super) time: Column<f64>,
    /// The differences, instead of the times.
    pub(super) time_deltas: Column<f64>,
    pub(super) weight: Column<f64>,
    pub(super) weight_type: Option<String>,
    #[serde(rename = "threadCPUDelta")]
    pub(super) cpu: Column<f64>,
}

/// The nodes of the tree of callers.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StackTable {
    frame: Column<u32>,
    /// The caller, or how far before it is.
    prefix: Column<u32>,
    prefix_offset: Column<u32>,
}

impl StackTable {
    /// Returns the frame of a node, and its caller.
    pub(super) fn node(&self, at: u32) -> Option<(u32, Option<u32>)> {
        let frame = self.frame.get(at)?;
        let caller = match self.prefix_offset.get(at) {
            Some(0) => None,
            Some(offset) => at.checked_sub(offset),
            None => self.prefix.get(at),
        };
        // A caller is before those that it calls, so there is no circle.
        Some((frame, caller.filter(|caller| *caller < at)))
    }

    pub(super) fn len(&self) -> usize {
        self.frame.0.len()
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FrameTable {
    pub(super) address: Column<u32>,
    pub(super) inline_depth: Column<u32>,
    pub(super) func: Column<u32>,
    pub(super) line: Column<u32>,
    /// Since version 70.
    pub(super) lib: Column<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FuncTable {
    pub(super) name: Column<u32>,
    pub(super) resource: Column<u32>,
    /// Before version 58.
    pub(super) file_name: Column<u32>,
    /// Since then.
    pub(super) source: Column<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceTable {
    /// Before version 70.
    pub(super) lib: Column<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Sources {
    pub(super) filename: Column<u32>,
}

/// The tables that samples refer to: of a thread, or since version 60 of the profile.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Tables {
    pub(super) stack_table: StackTable,
    pub(super) frame_table: FrameTable,
    pub(super) func_table: FuncTable,
    pub(super) resource_table: ResourceTable,
    /// Since version 56 of the profile.
    pub(super) string_array: Texts,
    pub(super) sources: Sources,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) pid: Id,
    #[serde(default)]
    pub(super) tid: Id,
    pub(super) register_time: Option<f64>,
    #[serde(default)]
    pub(super) samples: Samples,
    #[serde(default)]
    stack_table: StackTable,
    #[serde(default)]
    frame_table: FrameTable,
    #[serde(default)]
    func_table: FuncTable,
    #[serde(default)]
    resource_table: ResourceTable,
    #[serde(default)]
    string_array: Texts,
}

impl Thread {
    /// Takes its own tables.
    pub(super) fn tables(&mut self) -> Tables {
        Tables {
            stack_table: std::mem::take(&mut self.stack_table),
            frame_table: std::mem::take(&mut self.frame_table),
            func_table: std::mem::take(&mut self.func_table),
            resource_table: std::mem::take(&mut self.resource_table),
            string_array: std::mem::take(&mut self.string_array),
            sources: Sources::default(),
        }
    }
}

/// A mapped file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Lib {
    pub(super) name: Option<String>,
    pub(super) path: Option<String>,
    /// Of an ELF file its build id, of Windows' files another one.
    pub(super) code_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Units {
    #[serde(rename = "threadCPUDelta")]
    pub(super) cpu: Option<String>,
    pub(super) time: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    pub(super) preprocessed_profile_version: Option<u32>,
    /// Of the sampling, in ms.
    pub(super) interval: Option<f64>,
    pub(super) product: Option<String>,
    pub(super) oscpu: Option<String>,
    pub(super) sample_units: Option<Units>,
}

#[derive(Deserialize)]
pub(super) struct Profile {
    pub(super) meta: Meta,
    #[serde(default)]
    pub(super) libs: List<Lib>,
    #[serde(default)]
    pub(super) threads: List<Thread>,
    #[serde(default)]
    pub(super) shared: Option<Tables>,
}
