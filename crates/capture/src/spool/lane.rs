//! One CPU's events between two marks: its blocks of every level and its rare events, merged by time.

use super::rare::Decoder;
use crate::wire::{self, BlockHead, LEVELS};
use model::{CpuId, Event, EventKind, LossSpan, MaybeCount, MaybeNs, Ns, Tid};
use std::collections::VecDeque;

struct Block {
    head: BlockHead,
    bytes: Vec<u8>,
    offset: u64,
}

/// The events of one CPU that have been read but not handed out.
pub struct Lane {
    cpu: CpuId,
    blocks: [VecDeque<Block>; LEVELS],
    open: [VecDeque<Event>; LEVELS],
    rare: VecDeque<Event>,
    /// Time of the last event of each level.
    last: [Ns; LEVELS],
    /// The number of blocks that could not be decoded completely.
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

    /// Adds a rare event. It may be earlier than events that were handed out: an inferred switch is recorded when it is noticed, with
    /// its own time, and the reader of the stream sorts it.
    pub fn push(&mut self, event: Event) {
        let index = self.rare.iter().rposition(|e| e.at <= event.at).map_or(0, |i| i + 1);
        self.rare.insert(index, event);
    }

    /// Returns the time of the last event in this CPU's blocks.
    pub fn last(&self) -> Ns {
        self.last.into_iter().max().unwrap_or(Ns::MIN)
    }

    /// Decodes the next block of each level that has no decoded events.
    fn open_blocks(&mut self, decoder: &mut Decoder) {
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
                        what: EventKind::Loss(span),
                    });
                }
                let mut chain = |chain, _| decoder.callchains.id(chain, &mut decoder.names);
                let mut out = |event| open.push_back(event);
                let complete = wire::decode_block(&block.head, &block.bytes, block.offset, &mut chain, &mut out);
                self.bad += u64::from(!complete);
                self.last[level] = self.last[level].max(wire::ns(block.head.last));
            }
        }
    }

    /// Returns the time up to which this lane can be merged without decoding another block; `None`: it has no more blocks.
    pub fn reach(&mut self, decoder: &mut Decoder) -> Option<Ns> {
        self.open_blocks(decoder);
        let more = (0..LEVELS).filter(|l| !self.blocks[*l].is_empty());
        more.filter_map(|l| self.open[l].back().map(|e| e.at)).min()
    }

    /// Hands out all events up to `until`, in time order.
    pub fn take(&mut self, until: Ns, decoder: &mut Decoder, out: &mut impl FnMut(Event)) {
        loop {
            self.open_blocks(decoder);
            let levels = self.open.iter().enumerate().filter_map(|(l, q)| q.front().map(|e| (e.at, l)));
            // At equal times, rare events come last.
            let rare = self.rare.front().map(|e| (e.at, LEVELS));
            let Some((at, from)) = levels.chain(rare).min() else { break };
            if at > until {
                break;
            }
            let queue = if from == LEVELS { &mut self.rare } else { &mut self.open[from] };
            let Some(mut event) = queue.pop_front() else { break };
            if decoder.complete(&mut event) {
                out(event);
            }
        }
    }

    /// Drops all pending events and returns their number.
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
