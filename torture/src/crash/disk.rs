//! A model of a file system that separates the state on the disk from changes that are only in memory.
//!
//! # States after a power loss
//! - Syncing a file (`fsync`, `fdatasync`) brings its contents and length to the disk, and not its name.
//! - Syncing a folder brings its entries to the disk: names made, renamed and removed in it. It says
//!   nothing of what those files hold, nor of the folder's own name.
//! - Of unsynced changes, any part may be there, in any order: each write, sector by sector of 512
//!   bytes; each new length; each name. What a file lost within its length reads as zeros, or as what stood
//!   there before. A length may be there without the bytes.
//! - Changes of different names do not wait for each other, not even in one folder. Changes of one name
//!   keep their order.
//! - A rename is one change: both names are changed or none is. It may be there while the file's bytes are
//!   not. Syncing one of its folders brings it to the disk with all that was done to its two names before.
//! - A file in a folder whose own name is lost is lost.
//! - A removed file that comes back holds what was on the disk of it.
//!
//! That is more than journaling file systems do, and less than POSIX allows: it has no file of which a
//! synced part is lost, and no name that leads to another file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::log::Call;
use crate::random::Random;

const SECTOR: usize = 512;
const ROOT: usize = 0;

/// The tree below a folder: files with their contents, and folders.
pub type Tree = BTreeMap<String, Option<Arc<Vec<u8>>>>;

#[derive(Debug, Clone, Default)]
struct Node {
    is_folder: bool,
    /// Contents on the disk, and as the system shows them.
    durable: Arc<Vec<u8>>,
    live: Arc<Vec<u8>>,
    durable_names: BTreeMap<String, usize>,
    live_names: BTreeMap<String, usize>,
}

/// A name in a folder.
type Name = (usize, String);

/// A change that is only in memory.
#[derive(Debug, Clone)]
enum Pending {
    Write {
        node: usize,
        at: usize,
        data: Arc<Vec<u8>>,
    },
    Truncate {
        node: usize,
        length: usize,
    },
    Link {
        name: Name,
        node: usize,
    },
    Unlink {
        name: Name,
    },
    Rename {
        from: Name,
        to: Name,
        node: usize,
    },
}

impl Pending {
    fn names(&self) -> Vec<&Name> {
        match self {
            Self::Write { .. } | Self::Truncate { .. } => Vec::new(),
            Self::Link { name, .. } | Self::Unlink { name } => vec![name],
            Self::Rename { from, to, .. } => vec![from, to],
        }
    }

    fn data_of(&self) -> Option<usize> {
        match self {
            Self::Write { node, .. } | Self::Truncate { node, .. } => Some(*node),
            _ => None,
        }
    }
}

/// What survives of the changes in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Draw {
    /// Nothing.
    Nothing,
    /// All.
    Everything,
    /// Names, and of no file its contents or length.
    NamesOnly,
    /// Names and lengths; the bytes are zeros.
    NamesAndLengths,
    /// Contents, but no names.
    ContentsOnly,
    /// All but one.
    Without(usize),
    /// One.
    Only(usize),
    /// A part drawn by a seed.
    Random(u64),
}

/// The file system.
#[derive(Debug)]
pub struct Disk {
    nodes: Vec<Node>,
    by_inode: HashMap<u64, usize>,
    pending: Vec<Pending>,
    /// Syncs of paths that hold one of these are not done.
    dropped_syncs: Vec<String>,
}

impl Disk {
    /// An empty one. Syncs whose path ends with one of `dropped_syncs` do nothing on it.
    #[must_use]
    pub fn new(dropped_syncs: &[String]) -> Self {
        let root = Node {
            is_folder: true,
            ..Node::default()
        };
        Self {
            nodes: vec![root],
            by_inode: HashMap::new(),
            pending: Vec::new(),
            dropped_syncs: dropped_syncs.to_vec(),
        }
    }

    /// The number of changes that are only in memory.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Applies a call.
    ///
    /// # Panics
    /// On a call on a file that was never made: the log is incomplete then.
    pub fn apply(&mut self, call: &Call) {
        match call {
            Call::Acknowledged(_) => {}
            Call::Open { path, inode } => self.opened(path, *inode),
            Call::Create { path, inode } => self.made(path, *inode, false),
            Call::Folder { path, inode } => self.made(path, *inode, true),
            Call::Truncate { inode, length } => {
                let (node, length) = (self.node(*inode), *length as usize);
                Arc::make_mut(&mut self.nodes[node].live).resize(length, 0);
                self.pending.push(Pending::Truncate { node, length });
            }
            Call::Write { inode, at, data } => {
                let (node, at) = (self.node(*inode), *at as usize);
                put(Arc::make_mut(&mut self.nodes[node].live), at, data);
                let data = Arc::new(data.clone());
                self.pending.push(Pending::Write { node, at, data });
            }
            Call::Sync { path, inode } => self.sync(path, *inode),
            Call::Rename { from, to } => {
                // A file that got its name unseen, see `opened`, is known by its next opening.
                if let Some(node) = self.find(from) {
                    self.rename(from, to, node);
                }
            }
            Call::Link { path, inode } => {
                let node = self.node(*inode);
                let name = self.name(path);
                self.link(name, node);
            }
            Call::Remove { path } => {
                let name = self.name(path);
                self.nodes[name.0].live_names.remove(&name.1);
                self.pending.push(Pending::Unlink { name });
            }
        }
    }

    fn made(&mut self, path: &str, inode: u64, is_folder: bool) {
        let node = self.nodes.len();
        self.nodes.push(Node {
            is_folder,
            ..Node::default()
        });
        self.by_inode.insert(inode, node);
        let name = self.name(path);
        self.link(name, node);
    }

    fn link(&mut self, name: Name, node: usize) {
        self.nodes[name.0].live_names.insert(name.1.clone(), node);
        self.pending.push(Pending::Link { name, node });
    }

    fn rename(&mut self, from: &str, to: &str, node: usize) {
        let (from, to) = (self.name(from), self.name(to));
        self.nodes[from.0].live_names.remove(&from.1);
        self.nodes[to.0].live_names.insert(to.1.clone(), node);
        self.pending.push(Pending::Rename { from, to, node });
    }

    /// A file that is found under another name than it had was renamed past the recorder, by a program
    /// that calls the system without its library. All that counts is that it was renamed before now.
    fn opened(&mut self, path: &str, inode: u64) {
        if path.is_empty() {
            return;
        }
        let known = self.by_inode.get(&inode).copied();
        let found = self.find(path);
        if known.is_some() && known == found {
            return;
        }
        let node = known.unwrap_or_else(|| panic!("{path} was opened and never made"));
        match self.path_of(ROOT, node, "") {
            Some(from) => self.rename(&from, path, node),
            None => {
                let name = self.name(path);
                self.link(name, node);
            }
        }
    }

    fn path_of(&self, folder: usize, node: usize, above: &str) -> Option<String> {
        self.nodes[folder]
            .live_names
            .iter()
            .find_map(|(name, &at)| {
                let path = match above.is_empty() {
                    true => name.clone(),
                    false => format!("{above}/{name}"),
                };
                match at == node {
                    true => Some(path),
                    false => self.path_of(at, node, &path),
                }
            })
    }

    fn sync(&mut self, path: &str, inode: u64) {
        if self
            .dropped_syncs
            .iter()
            .any(|dropped| path.ends_with(dropped.as_str()))
        {
            return;
        }
        let node = match path.is_empty() {
            true => ROOT,
            false => self.node(inode),
        };
        if !self.nodes[node].is_folder {
            self.nodes[node].durable = Arc::clone(&self.nodes[node].live);
            self.pending.retain(|change| change.data_of() != Some(node));
            return;
        }
        let touches = |change: &Pending| change.names().iter().any(|name| name.0 == node);
        let mut chosen: BTreeSet<usize> = (0..self.pending.len())
            .filter(|&number| touches(&self.pending[number]))
            .collect();
        // A rename brings the changes of its other name along.
        loop {
            let named: BTreeSet<(usize, &Name)> = chosen
                .iter()
                .filter(|&&number| matches!(self.pending[number], Pending::Rename { .. }))
                .flat_map(|&number| {
                    self.pending[number]
                        .names()
                        .into_iter()
                        .map(move |n| (number, n))
                })
                .collect();
            let more: Vec<usize> = (0..self.pending.len())
                .filter(|number| !chosen.contains(number))
                .filter(|&number| {
                    let names = self.pending[number].names();
                    named
                        .iter()
                        .any(|(rename, name)| number < *rename && names.contains(name))
                })
                .collect();
            if more.is_empty() {
                break;
            }
            chosen.extend(more);
        }
        for &number in &chosen {
            let change = self.pending[number].clone();
            let nodes = &mut self.nodes;
            enter(&change, &mut |name, node| {
                set(&mut nodes[name.0].durable_names, name, node);
            });
        }
        let mut number = 0;
        self.pending.retain(|_| {
            number += 1;
            !chosen.contains(&(number - 1))
        });
    }

    fn node(&self, inode: u64) -> usize {
        let node = self.by_inode.get(&inode);
        *node.unwrap_or_else(|| panic!("the file number {inode} was never made"))
    }

    fn find(&self, path: &str) -> Option<usize> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        parts.into_iter().try_fold(ROOT, |folder, part| {
            self.nodes[folder].live_names.get(part).copied()
        })
    }

    fn name(&self, path: &str) -> Name {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.find(folder);
        let folder = folder.unwrap_or_else(|| panic!("the folder of {path} was never made"));
        (folder, name.to_owned())
    }

    /// The tree that a power loss now leaves.
    #[must_use]
    pub fn draw(&self, draw: &Draw) -> Tree {
        let mut random = Random::new(match draw {
            Draw::Random(seed) => *seed,
            _ => 0,
        });
        // What is lost rarely, often, or mostly.
        let share = [100, 500, 900];
        let (names_kept, data_kept) = (share[random.below(3)], share[random.below(3)]);
        let mut names: BTreeMap<usize, BTreeMap<String, usize>> = BTreeMap::new();
        let mut contents: HashMap<usize, (Vec<u8>, bool)> = HashMap::new();
        for (number, change) in self.pending.iter().enumerate() {
            let is_data = change.data_of().is_some();
            let kept = match draw {
                Draw::Nothing => false,
                Draw::Everything => true,
                Draw::NamesOnly | Draw::NamesAndLengths => !is_data,
                Draw::ContentsOnly => is_data,
                Draw::Without(one) => *one != number,
                Draw::Only(one) => *one == number,
                Draw::Random(_) if is_data => true,
                Draw::Random(_) => random.per_mille(names_kept),
            };
            match change {
                Pending::Write { node, at, data } => {
                    let (held, lost) = self.held(&mut contents, *node);
                    if matches!(draw, Draw::Random(_)) {
                        *lost |= put_sectors(held, *at, data, data_kept, &mut random);
                    } else if kept {
                        put(held, *at, data);
                    } else {
                        *lost = true;
                    }
                }
                Pending::Truncate { node, length } => {
                    let kept = match draw {
                        Draw::Random(_) => random.per_mille(data_kept),
                        _ => kept,
                    };
                    let (held, lost) = self.held(&mut contents, *node);
                    match kept {
                        true => held.resize(*length, 0),
                        false => *lost = true,
                    }
                }
                _ if kept => enter(change, &mut |name, node| {
                    let own = names
                        .entry(name.0)
                        .or_insert_with(|| self.nodes[name.0].durable_names.clone());
                    set(own, name, node);
                }),
                _ => {}
            }
        }
        let mut ordered: Vec<_> = contents.iter_mut().collect();
        ordered.sort_unstable_by_key(|(node, _)| **node);
        for (node, (held, lost)) in ordered {
            let with_length = match draw {
                Draw::NamesAndLengths => true,
                Draw::Random(_) => *lost && random.per_mille(500),
                _ => false,
            };
            let length = self.nodes[*node].live.len();
            if with_length && held.len() < length {
                held.resize(length, 0);
            }
        }
        let mut contents: HashMap<usize, Arc<Vec<u8>>> = contents
            .into_iter()
            .map(|(node, (held, _))| (node, Arc::new(held)))
            .collect();
        let mut tree = Tree::new();
        self.walk(ROOT, "", &names, &mut contents, &mut tree);
        tree
    }

    fn held<'c>(
        &self,
        contents: &'c mut HashMap<usize, (Vec<u8>, bool)>,
        node: usize,
    ) -> (&'c mut Vec<u8>, &'c mut bool) {
        let held = contents
            .entry(node)
            .or_insert_with(|| (self.nodes[node].durable.to_vec(), false));
        (&mut held.0, &mut held.1)
    }

    fn walk(
        &self,
        folder: usize,
        above: &str,
        names: &BTreeMap<usize, BTreeMap<String, usize>>,
        contents: &mut HashMap<usize, Arc<Vec<u8>>>,
        tree: &mut Tree,
    ) {
        let own = names
            .get(&folder)
            .unwrap_or(&self.nodes[folder].durable_names);
        for (name, &node) in own {
            let path = match above.is_empty() {
                true => name.clone(),
                false => format!("{above}/{name}"),
            };
            if self.nodes[node].is_folder {
                self.walk(node, &path, names, contents, tree);
                tree.insert(path, None);
            } else {
                let durable = &self.nodes[node].durable;
                let held = contents.get(&node).unwrap_or(durable);
                tree.insert(path, Some(Arc::clone(held)));
            }
        }
    }
}

/// Makes a change of names: `set` gives a name a file, or none.
fn enter(change: &Pending, set: &mut dyn FnMut(&Name, Option<usize>)) {
    match change {
        Pending::Link { name, node } => set(name, Some(*node)),
        Pending::Unlink { name } => set(name, None),
        Pending::Rename { from, to, node } => {
            set(from, None);
            set(to, Some(*node));
        }
        Pending::Write { .. } | Pending::Truncate { .. } => {}
    }
}

/// Gives a name in a folder a file, or none.
fn set(names: &mut BTreeMap<String, usize>, name: &Name, node: Option<usize>) {
    match node {
        Some(node) => names.insert(name.1.clone(), node),
        None => names.remove(&name.1),
    };
}

fn put(held: &mut Vec<u8>, at: usize, data: &[u8]) {
    if held.len() < at + data.len() {
        held.resize(at + data.len(), 0);
    }
    held[at..at + data.len()].copy_from_slice(data);
}

/// Writes some sectors; says whether one was left out.
fn put_sectors(
    held: &mut Vec<u8>,
    at: usize,
    data: &[u8],
    kept: usize,
    random: &mut Random,
) -> bool {
    let mut lost = false;
    let mut from = 0;
    while from < data.len() {
        let end = ((at + from) / SECTOR + 1) * SECTOR - at;
        let end = end.min(data.len());
        match random.per_mille(kept) {
            true => put(held, at + from, &data[from..end]),
            false => lost = true,
        }
        from = end;
    }
    lost
}
