//! Encodes one column of one row group: dictionary page, data page, their headers and checksums.

use crate::dictionary::{Entries, Index, ranks};
use crate::encode::{Bounds, Number, bounds, compact, hybrid, index_width, run, varint, zigzag};
use crate::pack::Code;
use crate::values::{NO_WORD, Values};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// An encoded column of a row group, and its entry for the footer.
pub(crate) type Chunk = (Bytes, ColumnCloseResult);

/// Encodes chunks; its memory is reused.
pub(crate) struct Chunker {
    zstd: zstd::bulk::Compressor<'static>,
    page: Vec<u8>,
    dict: Vec<u8>,
    packed: Vec<u8>,
    index: Index,
    longs: Vec<i64>,
    ints: Vec<i32>,
    /// For each row, 1 if it has a value.
    present: Vec<u8>,
}

/// The type of a number column, with its footer statistics and buffer.
trait Numbers: Number {
    fn stats(min: Self, max: Self) -> Statistics;
    /// Returns the buffer for values that are not null.
    fn buffer(chunker: &mut Chunker) -> &mut Vec<Self>;
}

impl Numbers for i64 {
    fn stats(min: Self, max: Self) -> Statistics {
        Statistics::int64(Some(min), Some(max), None, None, false)
    }
    fn buffer(chunker: &mut Chunker) -> &mut Vec<Self> {
        &mut chunker.longs
    }
}

impl Numbers for i32 {
    fn stats(min: Self, max: Self) -> Statistics {
        Statistics::int32(Some(min), Some(max), None, None, false)
    }
    fn buffer(chunker: &mut Chunker) -> &mut Vec<Self> {
        &mut chunker.ints
    }
}

/// The properties of an encoded page.
struct Page {
    /// The number of entries of the dictionary in `Chunker::dict`.
    dict: Option<usize>,
    encoding: Encoding,
    stats: Option<Statistics>,
}

impl Chunker {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            zstd: zstd::bulk::Compressor::new(1)?,
            page: Vec::new(),
            dict: Vec::new(),
            packed: Vec::new(),
            index: Index::default(),
            longs: Vec::new(),
            ints: Vec::new(),
            present: Vec::new(),
        })
    }

    /// Encodes a column of `rows` rows. `names` are the texts that [`Values::Text`] refers to; the first has number 1. `zstd`:
    /// whether to try compression.
    pub(crate) fn chunk(
        &mut self,
        descr: ColumnDescPtr,
        values: &Values,
        rows: usize,
        names: &[Box<str>],
        zstd: bool,
    ) -> Result<Chunk> {
        self.page.clear();
        self.dict.clear();
        let nullable = descr.max_def_level() > 0;
        let page = self.page(values, rows, names, nullable);
        self.finish(descr, page, rows, zstd)
    }

    /// Encodes a column's values with the instructions that the processor has: 256-bit vectors reduce the time to three quarters.
    fn page(&mut self, values: &Values, rows: usize, names: &[Box<str>], nullable: bool) -> Page {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt") {
                // SAFETY: the processor has all features that the function is compiled for.
                return unsafe { self.page_avx2(values, rows, names, nullable) };
            }
        }
        self.page_portable(values, rows, names, nullable)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn page_avx2(&mut self, values: &Values, rows: usize, names: &[Box<str>], nullable: bool) -> Page {
        self.page_portable(values, rows, names, nullable)
    }

    // Functions inlined here are compiled for the instructions of the caller.
    #[inline(always)]
    fn page_portable(&mut self, values: &Values, rows: usize, names: &[Box<str>], nullable: bool) -> Page {
        match values {
            Values::Constant { value, of, .. } if matches!(**of, Values::Int(_)) => {
                self.one_number(*value as i32, rows, nullable)
            }
            Values::Constant { value, .. } => self.one_number(*value, rows, nullable),
            Values::Long(v) => self.numbers(v, nullable, false),
            Values::Key(v) => self.numbers(v, nullable, true),
            Values::Int(v) => self.numbers(v, nullable, true),
            Values::Word(v, word) => self.word(v, *word, nullable),
            Values::Text(v) => self.text(v, names, nullable),
            Values::Float(v) => self.float(v, nullable),
            Values::Bool(v) => self.bool(v, nullable),
        }
    }

    /// Writes the definition levels, which mark the rows with a value. Returns the number of these rows.
    #[inline(always)]
    fn levels<T: Copy>(&mut self, values: &[T], nullable: bool, present: impl Fn(T) -> bool) -> usize {
        if !nullable {
            return values.len();
        }
        let count = values.iter().filter(|v| present(**v)).count();
        self.counted_levels(values, count, present);
        count
    }

    /// Writes the definition levels of a column with `count` values that are not null.
    #[inline(always)]
    fn counted_levels<T: Copy>(&mut self, values: &[T], count: usize, present: impl Fn(T) -> bool) {
        if !values.is_empty() && (count == 0 || count == values.len()) {
            return self.same_levels(count > 0, values.len());
        }
        let at = self.page.len();
        self.page.extend_from_slice(&[0; 4]);
        self.present.clear();
        self.present.extend(values.iter().map(|v| u8::from(present(*v))));
        hybrid(&self.present, 1, &mut self.page);
        self.put_length(at);
    }

    /// Writes the definition levels of a column in which all rows have a value, or none.
    fn same_levels(&mut self, present: bool, rows: usize) {
        let at = self.page.len();
        self.page.extend_from_slice(&[0; 4]);
        run(u64::from(present), rows, 1, &mut self.page);
        self.put_length(at);
    }

    /// Writes the length of the levels in front of them.
    fn put_length(&mut self, at: usize) {
        let length = (self.page.len() - at - 4) as u32;
        self.page[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Encodes a column with the same number, or null, in every row.
    fn one_number<T: Numbers>(&mut self, value: T, rows: usize, nullable: bool) -> Page {
        let present = if nullable && value == T::NULL { 0 } else { rows };
        if nullable {
            self.same_levels(present > 0, rows);
        }
        if present == 0 {
            return self.indices::<u8>(&[], 0);
        }
        T::put(value.into(), &mut self.dict);
        Page { stats: Some(T::stats(value, value)), ..self.single_entry(rows) }
    }

    /// Encodes a column of numbers. `few`: try a dictionary, since present may be few distinct numbers.
    #[inline(always)]
    fn numbers<T: Numbers>(&mut self, values: &[T], nullable: bool, few: bool) -> Page {
        let Bounds { present, range } = bounds(values, nullable);
        if nullable {
            self.counted_levels(values, present, |v| v != T::NULL);
        }
        let mut buffer = std::mem::take(T::buffer(self));
        let values = if present == values.len() {
            values
        } else {
            compact(values, present, |v| v != T::NULL, &mut buffer);
            &buffer
        };
        let mut index = std::mem::take(&mut self.index);
        let page = match few.then(|| index.build(values, range)).flatten() {
            Some(Entries::One(value)) => {
                T::put(value, &mut self.dict);
                self.single_entry(present)
            }
            Some(Entries::Bytes(entries)) => {
                entries.iter().for_each(|value| T::put(*value, &mut self.dict));
                self.indices(&index.bytes, entries.len())
            }
            Some(Entries::Shorts(entries)) => {
                entries.iter().for_each(|value| T::put(*value, &mut self.dict));
                self.indices(&index.shorts, entries.len())
            }
            None => {
                T::delta(values, &mut self.page);
                Page { dict: None, encoding: Encoding::DELTA_BINARY_PACKED, stats: None }
            }
        };
        self.index = index;
        *T::buffer(self) = buffer;
        Page { stats: range.map(|(min, max)| T::stats(min, max)), ..page }
    }

    /// Writes the index of rows that all have the dictionary's only value.
    fn single_entry(&mut self, rows: usize) -> Page {
        self.page.push(1);
        run(0, rows, 1, &mut self.page);
        Page { dict: Some(1), encoding: Encoding::RLE_DICTIONARY, stats: None }
    }

    /// Writes an index into a dictionary of `entries` entries after the levels.
    #[inline(always)]
    fn indices<T: Code>(&mut self, index: &[T], entries: usize) -> Page {
        let width = index_width(entries);
        self.page.push(width as u8);
        hybrid(index, width, &mut self.page);
        Page { dict: Some(entries), encoding: Encoding::RLE_DICTIONARY, stats: None }
    }

    #[inline(always)]
    fn word(&mut self, values: &[u8], word: fn(u8) -> String, nullable: bool) -> Page {
        let present = self.levels(values, nullable, |v| v != NO_WORD);
        let mut index = std::mem::take(&mut self.index);
        if present == values.len() {
            index.bytes.clear();
            index.bytes.extend_from_slice(values);
        } else {
            compact(values, present, |v| v != NO_WORD, &mut index.bytes);
        }
        let entries = ranks(&mut index.bytes);
        entries.iter().for_each(|code| put_text(&mut self.dict, &word(*code)));
        let page = self.indices(&index.bytes, entries.len());
        self.index = index;
        page
    }

    fn text(&mut self, values: &[u32], names: &[Box<str>], nullable: bool) -> Page {
        self.levels(values, nullable, |v| v != 0);
        let mut place = rustc_hash::FxHashMap::default();
        let mut index: Vec<u32> = Vec::with_capacity(values.len());
        for v in values.iter().filter(|v| !nullable || **v != 0) {
            let next = place.len() as u32;
            let dict = &mut self.dict;
            index.push(*place.entry(*v).or_insert_with(|| {
                put_text(dict, names.get((*v as usize).wrapping_sub(1)).map_or("", |t| t));
                next
            }));
        }
        self.indices(&index, place.len())
    }

    fn float(&mut self, values: &[Option<f64>], nullable: bool) -> Page {
        self.levels(values, nullable, |v| v.is_some());
        values.iter().flatten().for_each(|v| self.page.extend_from_slice(&v.to_le_bytes()));
        Page { dict: None, encoding: Encoding::PLAIN, stats: None }
    }

    fn bool(&mut self, values: &[Option<bool>], nullable: bool) -> Page {
        self.levels(values, nullable, |v| v.is_some());
        let present: Vec<bool> = values.iter().flatten().copied().collect();
        for eight in present.chunks(8) {
            self.page.push(eight.iter().enumerate().fold(0, |byte, (i, v)| byte | (u8::from(*v) << i)));
        }
        Page { dict: None, encoding: Encoding::PLAIN, stats: None }
    }

    /// Compresses the pages and writes their headers.
    fn finish(&mut self, descr: ColumnDescPtr, page: Page, rows: usize, zstd: bool) -> Result<Chunk> {
        // If zstd hardly shrinks the data page, decompression is not worth it. All pages of a chunk have the same codec.
        let data = std::mem::take(&mut self.page);
        let mut packed = std::mem::take(&mut self.packed);
        let mut length = data.len();
        if zstd {
            let bound = zstd::zstd_safe::compress_bound(data.len());
            if packed.len() < bound {
                packed.resize(bound, 0);
            }
            length = self.zstd.compress_to_buffer(&data, packed.as_mut_slice())?;
        }
        let shrinks = length < data.len() - data.len() / 8;
        let mut out = Vec::with_capacity(self.dict.len() + data.len().min(length) + 128);
        let mut uncompressed = 0;
        if let Some(entries) = page.dict {
            let bytes = if shrinks { self.zstd.compress(&self.dict)? } else { self.dict.clone() };
            let header = header(Kind::Dictionary { entries }, self.dict.len(), &bytes);
            uncompressed += header.len() + self.dict.len();
            out.extend_from_slice(&header);
            out.extend_from_slice(&bytes);
        }
        let data_at = out.len();
        let bytes = if shrinks { &packed[..length] } else { data.as_slice() };
        let header = header(Kind::Data { rows, encoding: page.encoding }, data.len(), bytes);
        uncompressed += header.len() + data.len();
        out.extend_from_slice(&header);
        out.extend_from_slice(bytes);
        let codec = if shrinks { Compression::ZSTD(ZstdLevel::try_new(1)?) } else { Compression::UNCOMPRESSED };
        let mut encodings = vec![page.encoding, Encoding::RLE];
        encodings.extend(page.dict.map(|_| Encoding::PLAIN));
        let mut metadata = ColumnChunkMetaData::builder(descr)
            .set_encodings(encodings)
            .set_compression(codec)
            .set_num_values(rows as i64)
            .set_total_compressed_size(out.len() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_dictionary_page_offset(page.dict.map(|_| 0))
            .set_data_page_offset(data_at as i64);
        if let Some(stats) = page.stats {
            metadata = metadata.set_statistics(stats);
        }
        let close = ColumnCloseResult {
            bytes_written: out.len() as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        self.page = data;
        self.packed = packed;
        Ok((out.into(), close))
    }
}

/// Appends a text in PLAIN encoding.
fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

enum Kind {
    Dictionary { entries: usize },
    Data { rows: usize, encoding: Encoding },
}

/// Returns a page header in Thrift's compact protocol (parquet.thrift, `PageHeader`). It has a checksum, which the parquet crate's
/// own writer leaves out: a flipped bit in a stored trace must be an error, not another number.
fn header(kind: Kind, uncompressed: usize, bytes: &[u8]) -> Vec<u8> {
    const I32: u8 = 5;
    const STRUCT: u8 = 12;
    let mut out = Vec::with_capacity(40);
    let mut field = |step: u8, value: usize| {
        out.push((step << 4) | I32);
        varint(&mut out, zigzag(value as i64));
    };
    field(1, if matches!(kind, Kind::Data { .. }) { 0 } else { 2 });
    field(1, uncompressed);
    field(1, bytes.len());
    // The checksum's 32 bits are stored in a signed field.
    out.push((1 << 4) | I32);
    varint(&mut out, zigzag(i64::from(crc32fast::hash(bytes) as i32)));
    let mut inner = |step: u8, values: &[usize]| {
        out.push((step << 4) | STRUCT);
        for v in values {
            out.push((1 << 4) | I32);
            varint(&mut out, zigzag(*v as i64));
        }
        out.push(0);
    };
    match kind {
        // Fields 5 and 7 of the header, counted from field 4.
        Kind::Data { rows, encoding } => {
            inner(1, &[rows, encoding as usize, Encoding::RLE as usize, Encoding::RLE as usize]);
        }
        Kind::Dictionary { entries } => inner(3, &[entries, Encoding::PLAIN as usize]),
    }
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Compares both code paths, if the processor has the instructions for both.
    #[test]
    fn vector_and_portable_encoding_are_equal() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for (rows, nulls, range) in
            [(0, 2, 9), (1, 2, 9), (1000, 2, 9), (1000, 1, 9), (5000, 9, 1 << 30), (5000, 1000, 1)]
        {
            let optional: Vec<Option<i64>> =
                (0..rows).map(|_| (random(nulls) != 0).then(|| random(range) as i64)).collect();
            let longs = || optional.iter().map(|v| v.unwrap_or(i64::MIN)).collect();
            let ints = optional.iter().map(|v| v.map_or(i32::MIN, |v| v as i32)).collect();
            let words = optional.iter().map(|v| v.map_or(NO_WORD, |v| (v % 5) as u8)).collect();
            let all = [
                Values::Long(longs()),
                Values::Key(longs()),
                Values::Int(ints),
                Values::Word(words, |w| w.to_string()),
            ];
            for values in &all {
                let [one, other] = [Chunker::page, Chunker::page_portable].map(|encode| {
                    let mut with = Chunker::new().unwrap();
                    let page = encode(&mut with, values, rows, &[], true);
                    (with.page, with.dict, page.dict, page.encoding)
                });
                assert_eq!(one, other, "{rows} rows of {values:?}");
            }
        }
    }

    /// A counted column gives the same bytes as one with a value per row.
    #[test]
    fn a_constant_column_is_stored_like_separate_rows() {
        for (number, null) in [(7, false), (-1, true), (i32::MIN, true), (i32::MIN, false)] {
            let long = if null && number == i32::MIN { i64::MIN } else { number.into() };
            for mut column in [Values::Key(Vec::new()), Values::Int(Vec::new())] {
                column.longs(std::iter::repeat_n(long, 300));
                column.ints(std::iter::repeat_n(number, 300));
                assert!(matches!(column, Values::Constant { rows: 300, .. }));
                let mut page = || {
                    let mut with = Chunker::new().unwrap();
                    let page = with.page(&column, 300, &[], null);
                    column.expand();
                    (with.page, with.dict, page.dict, page.encoding, page.stats)
                };
                assert_eq!(page(), page(), "{number} {null}");
            }
        }
    }
}
