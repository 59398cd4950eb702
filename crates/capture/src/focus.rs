//! Blanks the names of processes outside the target (`--only-focus`).

use crate::wire::{self, Bytes};
use std::collections::HashSet;

/// Bytes of a fork's record before the name.
const FORK_NAME: usize = wire::RARE_HEAD + 40;
/// Bytes of a rename's or an exec's record before the name.
const NAME: usize = wire::RARE_HEAD + 8;

/// The target's process and its descendants.
pub struct Focus {
    pids: HashSet<i32>,
    tids: HashSet<i32>,
}

impl Focus {
    pub fn new(pid: i32) -> Self {
        Self { pids: HashSet::from([pid]), tids: HashSet::from([pid]) }
    }

    /// Whether a process belongs to the target.
    pub fn has(&self, pid: i32) -> bool {
        self.pids.contains(&pid)
    }

    /// Whether a thread belongs to the target.
    pub fn has_thread(&self, tid: i32) -> bool {
        self.tids.contains(&tid)
    }

    /// Takes note of a record, and blanks its name unless it belongs to the target.
    pub fn pass(&mut self, record: &mut [u8]) {
        let mut b = Bytes::new(record);
        let head = wire::rare_head(&mut b);
        let (first, second) = (b.i32(), b.i32());
        let (ours, name) = match (head.kind, head.of) {
            (wire::KIND_ROW, _) => {
                if self.pids.contains(&first) {
                    self.tids.insert(head.tid);
                }
                (self.pids.contains(&first), wire::ROW_COMM..wire::ROW_COMM + 16)
            }
            (wire::KIND_RARE, wire::FORK) => {
                let ours = self.tids.contains(&first);
                if ours {
                    self.tids.insert(head.tid);
                    self.pids.insert(second);
                }
                (ours, FORK_NAME..FORK_NAME + 16)
            }
            (wire::KIND_RARE, wire::EXEC) => (self.pids.contains(&first), NAME..NAME + 256),
            (wire::KIND_RARE, wire::RENAME) => (self.pids.contains(&first), NAME..NAME + 16),
            _ => return,
        };
        if !ours && let Some(name) = record.get_mut(name) {
            name.fill(0);
        }
    }
}
