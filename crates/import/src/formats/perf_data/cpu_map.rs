//! `PERF_RECORD_CPU_MAP`: the CPUs that perf records, by its options (`struct perf_record_cpu_map`, tools/lib/perf/include/perf/event.h).

use crate::tracepoint::ByteOrder;
use model::CpuId;

/// The kinds of lists.
const NUMBERS: u16 = 0;
const MASK: u16 = 1;
const RANGE: u16 = 2;
/// Stands for any CPU: perf records threads.
const ANY: u16 = u16::MAX;

/// Returns the CPUs; `None` if the record is damaged, or stands for any CPU.
pub(super) fn read(body: &[u8], order: ByteOrder) -> Option<Vec<CpuId>> {
    let u16_at = |at| order.u16_at(body, at);
    let count = usize::from(u16_at(2)?);
    let numbers: Vec<u16> = match u16_at(0)? {
        NUMBERS => (0..count).map(|nth| u16_at(4 + 2 * nth)).collect::<Option<_>>()?,
        MASK => {
            // Words of 8 bytes are aligned as in a structure of their own.
            let (size, at) = match u16_at(4)? {
                4 => (4, 6),
                8 => (8, 10),
                _ => return None,
            };
            let word = |nth: usize| match size {
                4 => order.u32_at(body, at + 4 * nth).map(u64::from),
                _ => order.u64_at(body, at + 8 * nth),
            };
            let words = (0..count).map(word).collect::<Option<Vec<u64>>>()?;
            let bits = (0..count * size * 8).filter(|bit| words[bit / (size * 8)] >> (bit % (size * 8)) & 1 == 1);
            bits.map(|bit| u16::try_from(bit).ok()).collect::<Option<_>>()?
        }
        // A byte for "any CPU", and an unused one.
        RANGE if *body.get(2)? == 0 => (u16_at(4)?..=u16_at(6)?).collect(),
        _ => return None,
    };
    if numbers.contains(&ANY) {
        return None;
    }
    Some(numbers.into_iter().map(u32::from).map(CpuId).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(body: &[u8]) -> Option<Vec<u32>> {
        Some(read(body, ByteOrder::Little)?.into_iter().map(|cpu| cpu.0).collect())
    }

    #[test]
    fn every_kind_of_list() {
        assert_eq!(cpus(&[0, 0, 2, 0, 1, 0, 9, 0]), Some(vec![1, 9]));
        assert_eq!(cpus(&[1, 0, 2, 0, 4, 0, 0b10, 0, 0, 0, 0b1, 0, 0, 0]), Some(vec![1, 32]));
        let wide = [&[1, 0, 1, 0, 8, 0, 0, 0, 0, 0][..], &[0b101, 0, 0, 0, 0, 0, 0, 0x80]].concat();
        assert_eq!(cpus(&wide), Some(vec![0, 2, 63]));
        assert_eq!(cpus(&[2, 0, 0, 0, 3, 0, 5, 0]), Some(vec![3, 4, 5]));
    }

    #[test]
    fn any_cpu_and_damage_are_no_list() {
        assert_eq!(cpus(&[0, 0, 1, 0, 0xff, 0xff]), None);
        assert_eq!(cpus(&[2, 0, 1, 0, 0, 0, 0, 0]), None);
        for damaged in [&[][..], &[0, 0, 2, 0, 1, 0], &[1, 0, 1, 0, 3, 0, 0, 0], &[7, 0, 0, 0], &[1, 0, 1, 0, 8, 0, 0]]
        {
            assert_eq!(cpus(damaged), None, "{damaged:?}");
        }
    }
}
