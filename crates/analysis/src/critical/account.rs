//! The account of an objective's time: its critical path as a tree: the threads at its end, those for which these waited, and so on.
//!
//! ```text
//!   A   run │ waits for a mutex         │ ready, run     A waits for B, which holds the mutex; B waits for C.
//!   B   run    │ waits   │ ready, run   ▲
//!   C            run     ▲
//!
//!   path  B     │ C      │ B            │ A              tree  A: ready, run
//!                                                              └ B, for the mutex: run, ready
//!                                                                └ C: run
//! ```
//!
//! A node is a role of threads and what the threads of the node above waited for until one of these woke them. Each piece of the path
//! belongs to one node, so the times of all nodes sum to the path. Where the path is with a thread's wait because the thread that ended it
//! slept until an interrupt, that time belongs to the node of the one that slept, as far as its wait is known.

use super::parts::{Part, Parts, Which};
use super::{Cause, Others};
use crate::ThreadGroups;
use model::{CoreType, Ns, Rows, ThreadKey, Value};
use std::collections::{BTreeMap, HashMap};

/// The maximum number of nodes. Further ones are joined, without what is waited for and who waits.
const MAX_NODES: usize = 2000;

/// The maximum depth. Deeper nodes begin at the root again.
const MAX_DEPTH: usize = 16;

/// The number of what a thread waits for, in [`Account::waits`].
pub type WaitId = u32;

/// What a thread waits for, with the words of the table `object_waits`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Wait {
    /// The system call, if known.
    pub reason: Option<Box<str>>,
    /// The kind of object, or [`Wait::START`].
    pub kind: Box<str>,
    /// Which one, if its number has a meaning.
    pub object: Option<Box<str>>,
    /// Its path, or its addresses.
    pub name: Option<Box<str>>,
}

impl Wait {
    /// The kind of a link to the thread that created the one above.
    pub const START: &'static str = "start";
}

/// What a thread of a node does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Activity {
    /// The cause; the thread of [`Cause::Ready`] is the one of the role `instead`.
    pub cause: Cause,
    /// Ready: the role of the thread that runs instead, in [`Account::roles`].
    pub instead: Option<usize>,
    /// Blocked: for what.
    pub wait: Option<WaitId>,
}

/// Times of the slow windows and of the typical ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// On the path.
    pub path: [Ns; 2],
    /// The part of it in which no other thread of the program ran.
    pub alone: [Ns; 2],
    /// The idle time of the other CPUs meanwhile, over all of them.
    pub idle: [Ns; 2],
}

impl Times {
    fn add(&mut self, which: Which, path: Ns, others: Others) {
        let at = which.index();
        self.path[at] += path;
        self.alone[at] += others.alone;
        self.idle[at] += others.idle;
    }

    /// Adds the times of another node.
    pub fn plus(&mut self, of: &Self) {
        for at in 0..2 {
            self.path[at] += of.path[at];
            self.alone[at] += of.alone[at];
            self.idle[at] += of.idle[at];
        }
    }
}

/// Threads of one program whose names differ only by a number at the end, or one thread without a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Role {
    /// The name, if known.
    pub name: Option<Box<str>>,
    /// One of its threads.
    pub thread: ThreadKey,
}

/// A role of threads, and what those above it waited for until one of these ended the wait.
#[derive(Clone, Debug)]
pub struct Node {
    /// The node of the threads that waited; `None`: these are the threads at the end of the path.
    pub parent: Option<usize>,
    /// The role, in [`Account::roles`].
    pub role: usize,
    /// What they waited for, in [`Account::waits`]; `None`: unknown, or the end of the path.
    pub link: Option<WaitId>,
    /// The time of each thread.
    pub threads: BTreeMap<ThreadKey, Ns>,
    /// How often the path came from one of its threads to one above.
    pub visits: [i64; 2],
    /// How often the lock that was waited for was held by the thread of this node.
    pub held: i64,
    /// In how many windows the node is.
    pub windows: [i64; 2],
    /// After which time from the begin of a window its first visit began; the sum over its windows.
    pub began: [Ns; 2],
    /// What the threads did.
    pub doing: BTreeMap<Activity, Times>,
    depth: usize,
}

impl Node {
    /// Returns the times of all that its threads did.
    #[must_use]
    pub fn times(&self) -> Times {
        let mut sum = Times::default();
        self.doing.values().for_each(|times| sum.plus(times));
        sum
    }

    /// Returns the thread with the most time.
    #[must_use]
    pub fn thread(&self) -> ThreadKey {
        let most = self.threads.iter().rev().max_by_key(|(_, time)| **time);
        most.map_or(ThreadKey::UNKNOWN, |(thread, _)| *thread)
    }
}

/// The account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The nodes; a node comes after its parent.
    pub nodes: Vec<Node>,
    /// The roles.
    pub roles: Vec<Role>,
    /// What is waited for.
    pub waits: Vec<Wait>,
    /// For each window, the time of each node.
    pub windows: Vec<BTreeMap<usize, Ns>>,
    /// The number of slow windows, and of typical ones.
    pub counts: [i64; 2],
}

impl Account {
    /// Builds the tree from the parts of the path.
    #[must_use]
    pub fn new(parts: Parts, groups: &ThreadGroups) -> Self {
        let Parts { windows, waits, rest, counts, .. } = parts;
        let mut tree = Tree::new(groups, &waits);
        for (which, window) in windows {
            match which {
                Some(which) => tree.window(which, &window),
                None => tree.account.windows.push(BTreeMap::new()),
            }
        }
        // The end of a path that is too long for the tree.
        for ((which, thread, cause), (time, others)) in rest {
            let role = tree.role(thread);
            let node = tree.child(None, role, None);
            let doing = tree.activity(cause, None);
            tree.add(node, thread, which, doing, (time, others));
        }
        let account = tree.account;
        Self { waits, counts, ..account }
    }

    /// Writes the rows of [`model::tables::OBJECTIVE_TIME`].
    pub fn rows(&self, out: &mut dyn Rows) {
        let known =
            |thread: ThreadKey| Some(thread).filter(|thread| *thread != ThreadKey::UNKNOWN).map(|thread| thread.0);
        for (at, node) in self.nodes.iter().enumerate() {
            for (doing, times) in &node.doing {
                let instead = doing.instead.and_then(|role| known(self.roles[role].thread));
                let mut row = vec![number(at), node.parent.map_or(Value::Null, number)];
                row.extend([node.thread().into(), number_of(node.threads.len())]);
                row.extend(self.cells(node.link));
                row.extend([
                    doing.cause.word().into(),
                    doing.cause.core_type().map(CoreType::as_str).into(),
                    instead.into(),
                ]);
                row.extend(self.cells(doing.wait));
                row.extend(times.path.map(Value::from));
                row.extend([times.alone[0].into(), times.idle[0].into()]);
                row.extend(self.counts.map(Value::from));
                out.row(&row);
            }
        }
    }

    /// The cells of what is waited for.
    fn cells(&self, wait: Option<WaitId>) -> [Value; 4] {
        const NONE: Value = Value::Null;
        let Some(wait) = wait.and_then(|wait| self.waits.get(wait as usize)) else { return [NONE; 4] };
        let text = |text: &Option<Box<str>>| text.as_deref().into();
        [text(&wait.reason), (&*wait.kind).into(), text(&wait.object), text(&wait.name)]
    }

    /// Returns the nodes below a node.
    pub fn below(&self, node: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes.len()).filter(move |at| self.nodes[*at].parent == node)
    }

    /// Returns the sums of each node with all below it.
    #[must_use]
    pub fn sums(&self) -> Vec<Times> {
        let mut sums: Vec<Times> = self.nodes.iter().map(Node::times).collect();
        for at in (0..sums.len()).rev() {
            if let Some(parent) = self.nodes[at].parent {
                let of = sums[at];
                sums[parent].plus(&of);
            }
        }
        sums
    }

    /// Returns the time of a node with all below it in each window.
    #[must_use]
    pub fn in_windows(&self, node: usize) -> Vec<Ns> {
        let is_below = |mut at: usize| loop {
            match self.nodes[at].parent {
                _ if at == node => return true,
                Some(parent) => at = parent,
                None => return false,
            }
        };
        let below: Vec<bool> = (0..self.nodes.len()).map(is_below).collect();
        let of_window =
            |window: &BTreeMap<usize, Ns>| window.iter().filter(|(at, _)| below[**at]).map(|(_, ns)| *ns).sum();
        self.windows.iter().map(of_window).collect()
    }
}

/// The number of a node in tables.
fn number(node: usize) -> Value {
    number_of(node + 1)
}

fn number_of(count: usize) -> Value {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

/// The tree while it is built.
struct Tree<'a> {
    groups: &'a ThreadGroups,
    waits: &'a [Wait],
    roles: HashMap<RoleKey, usize>,
    nodes: HashMap<(Option<usize>, usize, Option<WaitId>), usize>,
    account: Account,
}

/// A pool and its program, or a thread without a name.
#[derive(PartialEq, Eq, Hash)]
enum RoleKey {
    Pool(usize, Option<u32>),
    Thread(ThreadKey),
}

impl<'a> Tree<'a> {
    fn new(groups: &'a ThreadGroups, waits: &'a [Wait]) -> Self {
        Self { groups, waits, roles: HashMap::new(), nodes: HashMap::new(), account: Account::default() }
    }

    fn role(&mut self, thread: ThreadKey) -> usize {
        let key = match self.groups.of(thread) {
            0 => RoleKey::Thread(thread),
            pool => RoleKey::Pool(pool, self.groups.program(thread)),
        };
        let Self { roles, groups, account, .. } = self;
        *roles.entry(key).or_insert_with(|| {
            account.roles.push(Role { name: groups.name(thread).map(Box::from), thread });
            account.roles.len() - 1
        })
    }

    fn activity(&mut self, cause: Cause, wait: Option<WaitId>) -> Activity {
        let instead = cause.ran_instead().map(|thread| self.role(thread));
        let cause = if matches!(cause, Cause::Ready(_)) { Cause::Ready(ThreadKey::UNKNOWN) } else { cause };
        Activity { cause, instead, wait }
    }

    /// The node of a role below another one, for what that one waited for.
    fn child(&mut self, parent: Option<usize>, role: usize, link: Option<WaitId>) -> usize {
        let depth = parent.map_or(0, |parent| self.account.nodes[parent].depth + 1);
        let key = match (parent, role, link) {
            key if self.nodes.contains_key(&key) => key,
            _ if depth >= MAX_DEPTH || self.account.nodes.len() >= MAX_NODES => (None, role, None),
            key => key,
        };
        let nodes = &mut self.account.nodes;
        *self.nodes.entry(key).or_insert_with(|| {
            nodes.push(Node {
                parent: key.0,
                role,
                link: key.2,
                threads: BTreeMap::new(),
                visits: [0; 2],
                held: 0,
                windows: [0; 2],
                began: [Ns::ZERO; 2],
                doing: BTreeMap::new(),
                depth: if key.0.is_some() { depth } else { 0 },
            });
            nodes.len() - 1
        })
    }

    fn add(&mut self, node: usize, thread: ThreadKey, which: Which, doing: Activity, (time, others): (Ns, Others)) {
        let node = &mut self.account.nodes[node];
        *node.threads.entry(thread).or_default() += time;
        node.doing.entry(doing).or_default().add(which, time, others);
    }

    /// Adds the path of a window, from its last part to its first.
    fn window(&mut self, which: Which, parts: &[Part]) {
        let begin = parts.first().map_or(Ns::ZERO, |part| part.span.start);
        let (mut path, mut times) = (Path::default(), BTreeMap::<usize, Ns>::new());
        let mut began = BTreeMap::<usize, Ns>::new();
        for (at, part) in parts.iter().enumerate().rev() {
            let before = path.node();
            let is_next = path.top().is_none_or(|top| top != part.thread);
            if is_next {
                // The later part, of the thread that waited, began when this one ended.
                let later = parts.get(at + 1).filter(|later| later.begins());
                let link = later.and_then(|later| later.wait);
                let node = self.goes_to(&mut path, part.thread, link);
                let node = &mut self.account.nodes[node];
                node.visits[which.index()] += 1;
                node.held += i64::from(later.is_some_and(|later| later.is_held));
            }
            let Some(node) = path.node() else { continue };
            let mut put = |tree: &mut Self, node: usize, thread, (cause, wait), share: (Ns, Others)| {
                let doing = tree.activity(cause, wait);
                tree.add(node, thread, which, doing, share);
                *times.entry(node).or_default() += share.0;
                began.insert(node, part.span.start - begin);
            };
            let [own, others] = part.divided();
            if let (Some((time, wait)), Some(before)) = (others, before.filter(|_| is_next)) {
                put(self, before, part.sleeper(), (Cause::Blocked, wait), time);
            } else if let Some((time, wait)) = others {
                put(self, node, part.thread, (part.cause, wait), time);
            }
            if let Some((time, wait)) = own {
                put(self, node, part.thread, (part.cause, wait), time);
            }
        }
        for (node, began) in began {
            let node = &mut self.account.nodes[node];
            node.windows[which.index()] += 1;
            node.began[which.index()] += began;
        }
        self.account.windows.push(times);
    }

    /// Whether two waits are in one call and for things of one kind.
    fn are_alike(&self, one: Option<WaitId>, other: Option<WaitId>) -> bool {
        let kind = |wait: WaitId| self.waits.get(wait as usize).map(|wait| (&wait.reason, &wait.kind));
        one == other || (one.is_some() && other.is_some() && one.and_then(kind) == other.and_then(kind))
    }

    /// Returns the node of a thread to which the path goes back.
    fn goes_to(&mut self, path: &mut Path, thread: ThreadKey, link: Option<WaitId>) -> usize {
        if let Some(place) = path.0.iter().position(|(of, _)| *of == thread) {
            path.0.truncate(place + 1);
            return path.0[place].1;
        }
        let role = self.role(thread);
        // Threads of one role that wait for each other, for things of one kind, are one node.
        let nodes = &self.account.nodes;
        let is_alike = |node: &usize| nodes[*node].role == role && self.are_alike(nodes[*node].link, link);
        let above = path.0.iter().map(|(_, node)| *node).find(is_alike);
        let node = above.unwrap_or_else(|| self.child(path.node(), role, link));
        path.0.push((thread, node));
        node
    }
}

/// The threads that wait for each other, the one at the end of the path first, with their nodes.
#[derive(Default)]
struct Path(Vec<(ThreadKey, usize)>);

impl Path {
    fn top(&self) -> Option<ThreadKey> {
        self.0.last().map(|(thread, _)| *thread)
    }

    fn node(&self) -> Option<usize> {
        self.0.last().map(|(_, node)| *node)
    }
}
