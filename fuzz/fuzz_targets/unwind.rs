//! Programs and stacks never make the tables and the walk panic, loop or take much memory. The first byte says how many of the last
//! bytes are the stack; the rest is a program, whose rows are in order and say of each address what a search finds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unwind::{Code, Kind, Memory, Registers, Row, Table, walk};

/// The most addresses of a chain.
const DEPTH: usize = 40;
/// Where the program is loaded, and where its stack is.
const LOADED: u64 = 0x5500_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;

struct Stack<'d>(&'d [u8]);

impl Memory for Stack<'_> {
    fn word(&mut self, at: u64) -> Option<u64> {
        let inside = usize::try_from(at.checked_sub(STACK)?).ok()?;
        let bytes = self.0.get(inside..inside.checked_add(8)?)?;
        let word = u64::from_le_bytes(bytes.try_into().ok()?);
        // Small numbers are places in the program and in the stack, so that a mutation reaches some.
        Some(match word >> 56 {
            0x55 => LOADED | word & 0xffff,
            0x7f => STACK | word & 0xfff,
            _ => word,
        })
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&size, data)) = data.split_first() else { return };
    let (program, stack) = data.split_at(data.len().saturating_sub(usize::from(size) * 8));
    let Ok(mut table) = Table::of_bytes(program) else { return };
    assert!(table.rows.windows(2).all(|two| two[0].at() < two[1].at()));
    for row in table.rows.iter().take(64) {
        assert_eq!(table.find(row.at()), Some(*row).filter(|row| row.kind() != Kind::None));
    }
    let mut stack = Stack(stack);
    let mut word = |n: u64| stack.word(STACK + n * 8).unwrap_or(STACK + n);
    let (sp, fp, lr) = (STACK | word(0) & 0xff8, word(1), word(2));
    let from = table.rows.get(word(3) as usize % table.rows.len().max(1)).map_or(0, |row| row.at());
    // The rows that the program has, then rows of all kinds.
    for turn in 0..2 {
        let registers = Registers { pc: LOADED + u64::from(from), sp, fp, lr };
        let mut code = |pc: u64| match pc.checked_sub(LOADED) {
            Some(at) if at < 1 << 32 => Code::Table(&table, at as u32),
            Some(at) if at < 1 << 33 => Code::NoTable,
            _ => Code::Nothing,
        };
        let walk = walk(table.machine, registers, &mut stack, &mut code, DEPTH);
        assert!(walk.addresses.len() <= DEPTH);
        if turn == 0 {
            for (n, row) in table.rows.iter_mut().enumerate() {
                let rule = stack.word(STACK + n as u64 % 32 * 8).unwrap_or(n as u64);
                *row = Row(u64::from(row.at()) << 32 | rule & 0x1ff_ffff | 1 << 25);
            }
        }
    }
});
