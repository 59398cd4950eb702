//! Tables for unwinding the copies of stacks that an input has, whatever the files are that it names.

use std::sync::{Arc, LazyLock};
use unwind::{Endings, Inode, Kind, Machine, Row, Segment, Table, Tables, Why};

/// The number of tables of each machine.
const TABLES: u64 = 4;
/// The rows of a table, and how many bytes each is for.
const ROWS: u64 = 1 << 13;
const STEP: u64 = 8;

static ALL: LazyLock<Vec<Arc<Table>>> = LazyLock::new(|| {
    let machines = [Machine::X86_64, Machine::Arm64];
    machines.into_iter().flat_map(|machine| (0..TABLES).map(move |seed| Arc::new(table(machine, seed)))).collect()
});

/// Makes a table of rows of all kinds. Most have small numbers, as those of compilers do, so that walks through small stacks go on.
fn table(machine: Machine, seed: u64) -> Table {
    // Mostly those of compilers; few that end a walk.
    let mut kinds = vec![Kind::Sp; 16];
    kinds.extend([
        Kind::Fp,
        Kind::Fp,
        Kind::Fp,
        Kind::FpDeref,
        Kind::Plt,
        Kind::Signal,
        Kind::SpDeref,
        Kind::End,
        Kind::None,
    ]);
    let mut random = seed + 1;
    let mut next = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let row = |number: u64| {
        let kind = kinds[next(kinds.len() as u64) as usize];
        let words = if next(8) == 0 { next(1 << 15) as i64 - (1 << 14) } else { 1 + next(4) as i64 };
        let (fp, ra) = if next(8) == 0 { (next(128), next(128)) } else { (next(3), next(2)) };
        Row::new((number * STEP) as u32, kind, words * 8, fp, ra)
            .unwrap_or(Row::plain((number * STEP) as u32, Kind::None))
    };
    let rows: Vec<Row> = (0..ROWS).map(row).collect();
    let (low, high) =
        (Segment { offset: 0, size: 1 << 31, vaddr: 0 }, Segment { offset: 1 << 31, size: 1 << 20, vaddr: 1 << 31 });
    Table { machine, base: 0, segments: vec![low, high], rows, functions: 1, without: 0 }
}

/// The tables of any file, by its path: of either machine, or a reason why there is none.
pub(crate) struct Any;

impl Tables for Any {
    fn table(&self, path: &str, _: Option<&str>) -> Result<Arc<Table>, Why> {
        let hash = path.bytes().fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let of_machine = path.len() % 2 * TABLES as usize;
        match hash % 16 {
            0 => Err(Why::NotFound),
            1 => Err(Why::NoTable),
            _ => Ok(Arc::clone(&ALL[of_machine + hash / 16 % TABLES as usize])),
        }
    }

    fn identify(&self, path: &str, inode: Inode, lasted_ns: u64) -> Option<String> {
        (inode.number % 2 == 0 && lasted_ns > 0).then(|| format!("{:016x}", path.len()))
    }

    fn ended(&self, endings: Endings) {
        assert!(endings.all() > 0);
    }
}
