//! One CPU's events between two marks: its blocks of every level and its rare events, merged by time.

use super::rare::Telling;
use crate::wire::{self, BlockHead, LEVELS};
use model::{CpuId, Event, LossSpan, MaybeCount, MaybeNs, Ns, Tid, What};
use std::collections::VecDeque;

struct Block {
    head: BlockHead,
    bytes: Vec<u8>,
    offset: u64,
}

/// The events of one CPU that have been read and not handed out.
pub struct Lane {
    cpu: CpuId,
    blocks: [VecDeque<Block>; LEVELS],
    open: [VecDeque<Event>; LEVELS],
    rare: VecDeque<Event>,
    /// Time of the last event of each level that was read.
    last: [Ns; LEVELS],
    /// How many blocks could not be decoded to their end.
    pub bad: u64,
}

impl Lane {
    pub fn new(cpu: CpuId) -> Self {
        Self {
            cpu,
            blocks: std::array::from_fn(|_| VecDeque::new()),
            open: std::array::from_fn(|_| VecDeque::new()),
            rare: VecDeque::new(),
            last: [Ns::MIN; LEVELS],
            bad: 0,
        }
    }

    /// Adds a block; its bytes begin with its head.
    pub fn push_block(&mut self, head: BlockHead, bytes: &[u8], offset: u64) {
        let bytes = bytes.get(wire::BLOCK_HEAD..).unwrap_or_default().to_vec();
        self.blocks[head.level].push_back(Block { head, bytes, offset });
    }

    /// Adds a rare event. It may lie before what was handed out: a switch that nobody heard is told when it is noticed, with
    /// its own time, and whoever reads the stream sorts it in.
    pub fn push(&mut self, event: Event) {
        let behind = self.rare.iter().rposition(|e| e.at <= event.at).map_or(0, |i| i + 1);
        self.rare.insert(behind, event);
    }

    /// The last event that was read from this CPU's blocks.
    pub fn last(&self) -> Ns {
        self.last.into_iter().max().unwrap_or(Ns::MIN)
    }

    /// Decodes the next block of each level that has nothing decoded.
    fn open_blocks(&mut self, telling: &mut Telling) {
        for level in 0..LEVELS {
            while self.open[level].is_empty() {
                let Some(block) = self.blocks[level].pop_front() else { break };
                let open = &mut self.open[level];
                if block.head.lost > 0 {
                    let to = wire::ns(block.head.base);
                    let span = LossSpan {
                        from: MaybeNs::new(self.last[level]),
                        to: MaybeNs::new(to),
                        cpu: Some(self.cpu),
                        events: MaybeCount::new(i64::try_from(block.head.lost).unwrap_or(-1)),
                    };
                    open.push_back(Event {
                        at: to,
                        offset: block.offset,
                        cpu: self.cpu,
                        current: Tid::UNKNOWN,
                        what: What::Loss(span),
                    });
                }
                let mut chain = |chain, _| telling.callchains.id(chain, &mut telling.names);
                let mut out = |event| open.push_back(event);
                let whole = wire::decode_block(&block.head, &block.bytes, block.offset, &mut chain, &mut out);
                self.bad += u64::from(!whole);
                self.last[level] = self.last[level].max(wire::ns(block.head.last));
            }
        }
    }

    /// Up to where this lane can be merged without decoding another block; `None`: it has no more blocks.
    pub fn reach(&mut self, telling: &mut Telling) -> Option<Ns> {
        self.open_blocks(telling);
        let more = (0..LEVELS).filter(|l| !self.blocks[*l].is_empty());
        more.filter_map(|l| self.open[l].back().map(|e| e.at)).min()
    }

    /// Hands out everything not later than `until`, in time order.
    pub fn take(&mut self, until: Ns, telling: &mut Telling, out: &mut impl FnMut(Event)) {
        loop {
            self.open_blocks(telling);
            let levels = self.open.iter().enumerate().filter_map(|(l, q)| q.front().map(|e| (e.at, l)));
            // Rare events last among equals.
            let rare = self.rare.front().map(|e| (e.at, LEVELS));
            let Some((at, from)) = levels.chain(rare).min() else { break };
            if at > until {
                break;
            }
            let queue = if from == LEVELS { &mut self.rare } else { &mut self.open[from] };
            let Some(mut event) = queue.pop_front() else { break };
            telling.complete(&mut event);
            out(event);
        }
    }

    /// Drops what waits; how many events that were.
    pub fn clear(&mut self) -> u64 {
        let blocks: u64 = self.blocks.iter().flatten().map(|b| u64::from(b.head.events)).sum();
        let open: usize = self.open.iter().map(VecDeque::len).sum();
        let all = blocks + (open + self.rare.len()) as u64;
        self.blocks.iter_mut().for_each(VecDeque::clear);
        self.open.iter_mut().for_each(VecDeque::clear);
        self.rare.clear();
        all
    }
}
