//! What was offered at each place of a type, and what is left to offer.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use super::{refusal::Refusal, untraceable::Untraceable};

/// The name of a type, and its fields or variants.
pub(super) type Type = (&'static str, &'static [&'static str]);

/// The number of places above one that is still offered something.
const DEEPEST: usize = 64;

/// A place in the tree.
pub(super) type Id = usize;

/// The state of an offer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Untried,
    Taken,
    Refused,
}

#[derive(Debug, Default)]
struct Node {
    parent: Option<Id>,
    /// The number of places above it.
    depth: usize,
    /// Its name in the parent.
    name: String,
    /// The type: its name, and its fields or variants.
    of: Option<Type>,
    offers: Vec<State>,
    /// The offer of this try.
    current: usize,
    /// Whether an offer brings places of its own.
    is_branch: bool,
    children: BTreeMap<usize, Id>,
    /// The names of a map that the type asked for.
    asked: Vec<&'static str>,
}

/// The places of a type.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: RefCell<Vec<Node>>,
    /// The places that offered something in this try, in order.
    offered: RefCell<Vec<Id>>,
    /// The map that was read last in this try.
    map: Cell<Option<Id>>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self {
            nodes: RefCell::new(vec![Node::default()]),
            offered: RefCell::default(),
            map: Cell::new(None),
        }
    }

    /// Begins a try.
    pub(super) fn begin(&self) {
        self.offered.borrow_mut().clear();
        self.map.set(None);
    }

    /// The child at this place of a node.
    pub(super) fn child(&self, of: Id, at: usize, name: &str) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(id) = nodes[of].children.get(&at) {
            return *id;
        }
        let id = nodes.len();
        let depth = nodes[of].depth + 1;
        nodes.push(Node {
            parent: Some(of),
            depth,
            name: name.to_owned(),
            ..Node::default()
        });
        nodes[of].children.insert(at, id);
        id
    }

    /// Which of these offers the place makes in this try; `None` if it has none left.
    pub(super) fn choose(&self, id: Id, number: usize, is_branch: bool) -> Option<usize> {
        if self.is_too_deep(id) {
            return None;
        }
        self.offered.borrow_mut().push(id);
        let mut nodes = self.nodes.borrow_mut();
        let node = &mut nodes[id];
        node.offers.resize(number, State::Untried);
        node.is_branch = is_branch;
        let first = |state| node.offers.iter().position(|offer| *offer == state);
        let chosen = first(State::Untried).or_else(|| first(State::Taken))?;
        node.current = chosen;
        Some(chosen)
    }

    /// Notes the type of a place. `false` if it is inside of a value of the same type.
    ///
    /// Types without names of fields may share their own name: such a type is only inside of itself if an option, a list, a map
    /// or a variant is between, without which it would have no end.
    pub(super) fn enter(&self, id: Id, of: Type) -> bool {
        if self.is_too_deep(id) {
            return false;
        }
        let mut nodes = self.nodes.borrow_mut();
        nodes[id].of = Some(of);
        let mut is_same = !of.1.is_empty();
        let mut above = nodes[id].parent;
        while let Some(at) = above {
            is_same |= nodes[at].is_branch;
            if is_same && nodes[at].of == Some(of) {
                drop(nodes);
                self.refuse(id);
                return false;
            }
            above = nodes[at].parent;
        }
        true
    }

    /// Whether a place is so deep that its type must be inside of itself: not every type has a name. Nothing is offered there.
    pub(super) fn is_too_deep(&self, id: Id) -> bool {
        let is_too_deep = self.nodes.borrow()[id].depth > DEEPEST;
        if is_too_deep {
            self.refuse(id);
        }
        is_too_deep
    }

    fn refuse(&self, id: Id) {
        self.offered.borrow_mut().push(id);
        self.nodes.borrow_mut()[id].offers = vec![State::Refused];
    }

    /// Notes that a map is read here, and gives the names that the type asked for.
    pub(super) fn enter_map(&self, id: Id) -> Vec<&'static str> {
        self.map.set(Some(id));
        self.nodes.borrow()[id].asked.clone()
    }

    /// Whether a branch below this place has something left to offer.
    fn is_done(nodes: &[Node], id: Id) -> bool {
        let node = &nodes[id];
        if node.is_branch || node.children.is_empty() {
            return !node.offers.contains(&State::Untried);
        }
        node.children
            .values()
            .all(|child| Self::is_done(nodes, *child))
    }

    /// The try has made a value. Returns whether there is nothing left to offer.
    pub(super) fn accepted(&self) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        // The deepest first: a branch is done once all that it brings is.
        for id in self.offered.borrow().iter().rev() {
            let node = &nodes[*id];
            let current = node.current;
            let child = node.children.get(&current).copied();
            let is_done = !node.is_branch || child.is_none_or(|child| Self::is_done(&nodes, child));
            let node = &mut nodes[*id];
            if is_done && let Some(offer) = node.offers.get_mut(current) {
                *offer = State::Taken;
            }
        }
        Self::is_done(&nodes, 0)
    }

    /// The try has failed: the place that offered something last is the cause.
    pub(super) fn refused(&self, refusal: Refusal) -> Result<(), Untraceable> {
        let mut nodes = self.nodes.borrow_mut();
        if let (Some(name), Some(map)) = (refusal.missing, self.map.get())
            && !nodes[map].asked.contains(&name)
        {
            nodes[map].asked.push(name);
            return Ok(());
        }
        let last = self.offered.borrow().last().copied();
        let Some(mut id) = last else {
            return Err(Untraceable {
                path: String::new(),
                message: refusal.message,
            });
        };
        let path = path(&nodes, id);
        loop {
            let node = &mut nodes[id];
            let current = node.current;
            if let Some(offer) = node.offers.get_mut(current) {
                *offer = State::Refused;
            }
            if node.offers.iter().any(|offer| *offer != State::Refused) {
                return Ok(());
            }
            // Nothing fits here. What brought this place is the cause, if it has something else to offer.
            loop {
                let Some(parent) = nodes[id].parent else {
                    return Err(Untraceable {
                        path,
                        message: refusal.message,
                    });
                };
                id = parent;
                if nodes[id].is_branch {
                    break;
                }
            }
        }
    }
}

fn path(nodes: &[Node], id: Id) -> String {
    let mut names = Vec::new();
    let mut at = Some(id);
    while let Some(id) = at {
        let node = &nodes[id];
        if !node.name.is_empty() {
            names.push(node.name.as_str());
        }
        at = node.parent;
    }
    names.reverse();
    names.join(".")
}
