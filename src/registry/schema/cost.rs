//! What a check may cost, known before it begins.
//!
//! The validator has no limit of its own, and a stranger writes the schema. So the schemas that look at one value are counted
//! along all paths, by the depth of the value: a schema of n references can have 2ⁿ paths, but each schema is counted once
//! for each depth. A check then costs at most the sum over the values that it is given, and one that costs too much is not begun.

use super::references::{Resolver, children, kept_in, values};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Values nest less than this: conversion and parsing refuse deeper ones.
pub const DEEPEST: usize = 130;
/// The looks that one check may take: about a tenth of a second.
pub const LIMIT: u64 = 4_000_000;
/// The looks that the lists of violations of one check may take. Each of them costs as much as several that only decide: the
/// place and a copy of the value are written down.
pub const LISTING: u64 = LIMIT / 8;
/// The looks of a check that is over at once.
pub const QUICK: u64 = 50_000;
/// A schema is above the bound if so many schemas look at one value in the first levels …
const LOOKS: u64 = 100_000;
const LEVELS: usize = 8;
/// … if so many look at it in a row, each from inside the one before …
const CHAIN: usize = 100;
/// … or if it has so many values itself.
const VALUES: usize = 50_000;
/// A look for this many bytes of text, or values that a keyword lists.
const BYTES: u64 = 64;
const LISTED: usize = 8;
/// How often an item is compared with others, at most.
const PAIRS: u64 = 15;

/// What the checks against one schema cost.
pub struct Cost {
    /// The schemas that look at a value, by its depth. Deeper values are looked at as often as the last.
    looks: Vec<u64>,
    /// The same for a list of violations: in a union each of them holds a copy of the value.
    listing: Vec<u64>,
    /// Looks for each [`BYTES`] bytes of text.
    text: u64,
    /// The longest row of schemas that look at one value.
    pub chain: usize,
    /// Levels of a value that are looked at, at most.
    pub levels: usize,
    /// Whether a reference cannot be followed here or leads back to itself without a step into the value, or the schema is too
    /// large.
    is_unknown: bool,
}

impl Cost {
    /// `text` are the looks that patterns take for each byte of a text, and `runs` how often the validator may start.
    pub fn of(schema: &Value, text: u64, runs: u64) -> Self {
        let graph = Graph::of(schema);
        let (order, chain, is_endless) = graph.in_order();
        let is_unknown = graph.is_unknown || is_endless || graph.nodes.len() > VALUES;
        let mut looks = if is_unknown { vec![u64::MAX] } else { graph.looks(&order) };
        looks.iter_mut().for_each(|looks| *looks = looks.saturating_mul(runs));
        let mut sum = 0u64;
        let from_above: Vec<u64> = looks
            .iter()
            .map(|looks| {
                sum = sum.saturating_add(*looks);
                sum
            })
            .collect();
        Cost {
            levels: looks.len(),
            listing: if graph.has_unions || graph.compares { from_above.clone() } else { looks.clone() },
            looks: if graph.compares { from_above } else { looks },
            text: 1 + text * BYTES,
            chain,
            is_unknown,
        }
    }

    /// Whether checks would take too long for ordinary arguments.
    pub fn is_above_the_bound(&self) -> bool {
        let first = self.looks.iter().take(LEVELS).fold(0u64, |sum, looks| sum.saturating_add(*looks));
        self.is_unknown || self.chain > CHAIN || first > LOOKS
    }

    /// The looks to decide whether a value fits, and those to list what is wrong with it.
    pub fn of_check(&self, value: &Value) -> CheckCost {
        let mut cost = CheckCost { deciding: 0, listing: 0 };
        self.add(value, 0, &mut cost);
        cost
    }

    fn add(&self, value: &Value, depth: usize, cost: &mut CheckCost) {
        let text = |text: &str| (text.len() as u64).saturating_mul(self.text) / BYTES;
        let size = match value {
            Value::String(content) => 1 + text(content),
            Value::Object(map) => map.keys().fold(1, |sum, name| sum + text(name)),
            Value::Number(number) => 1 + text(number.as_str()),
            _ => 1,
        };
        let at = depth.min(self.looks.len() - 1);
        cost.deciding = cost.deciding.saturating_add(self.looks[at].saturating_mul(size));
        cost.listing = cost.listing.saturating_add(self.listing[at].saturating_mul(size));
        // Once it is too much, the rest does not matter.
        if cost.deciding <= LIMIT {
            children(value).for_each(|inner| self.add(inner, depth + 1, cost));
        }
    }
}

/// What one check costs, in looks.
#[derive(Clone, Copy)]
pub struct CheckCost {
    pub deciding: u64,
    pub listing: u64,
}

/// The schemas of a document, and which of them look at the same value.
#[derive(Default)]
struct Graph {
    nodes: Vec<CostNode>,
    is_unknown: bool,
    has_unions: bool,
    /// Whether items are compared with each other, with all that is in them.
    compares: bool,
}

#[derive(Default)]
struct CostNode {
    /// The looks of its own keywords, besides one for the schema.
    own: u64,
    /// Schemas that look at the same value.
    beside: Vec<usize>,
    /// Schemas for different parts of the value, and those that look at every part.
    parts: Vec<usize>,
    every: Vec<usize>,
    /// Whether it looks again at what those beside it have accepted.
    looks_back: bool,
}

impl Graph {
    fn of<'a>(root: &'a Value) -> Self {
        let (resolver, mut graph) = (Resolver::new(root), Graph::default());
        let (mut ids, mut todo) = (HashMap::new(), Vec::new());
        let mut id = |schema: &'a Value, nodes: &mut Vec<CostNode>, todo: &mut Vec<(usize, &'a Value)>| {
            *ids.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
                nodes.push(CostNode::default());
                todo.push((nodes.len() - 1, schema));
                nodes.len() - 1
            })
        };
        id(root, &mut graph.nodes, &mut todo);
        while let Some((at, schema)) = todo.pop() {
            let Some(map) = schema.as_object().filter(|_| graph.nodes.len() <= VALUES) else { continue };
            let inside = kept_in(map);
            let mut all = |schemas: &[&'a Value]| -> Vec<usize> {
                schemas.iter().map(|schema| id(schema, &mut graph.nodes, &mut todo)).collect()
            };
            let (mut beside, parts, every) = (all(&inside.beside), all(&inside.parts), all(&inside.every));
            let target = resolver.target(map);
            if let Some(target) = target.as_ref().ok().copied().flatten() {
                beside.extend(all(&[target]));
            }
            graph.is_unknown |= target.is_err();
            graph.has_unions |= ["anyOf", "oneOf", "propertyNames"].iter().any(|key| map.contains_key(*key));
            graph.compares |= map.contains_key("uniqueItems");
            let node = &mut graph.nodes[at];
            (node.beside, node.parts, node.every) = (beside, parts, every);
            // Few items are compared pair by pair.
            let compared = if map.contains_key("uniqueItems") { PAIRS } else { 0 };
            // Every pattern looks at every name.
            let patterns = map.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            node.own = compared + (values_listed(map) / LISTED + patterns) as u64;
            node.looks_back =
                map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems");
        }
        graph
    }

    /// Each schema after those that look at the same value from inside it; the longest row of them; and whether a reference
    /// closes a circle. It is not followed.
    fn in_order(&self) -> (Vec<usize>, usize, bool) {
        let (mut order, mut is_endless) = (Vec::with_capacity(self.nodes.len()), false);
        let (mut open, mut rows) = (vec![false; self.nodes.len()], vec![0; self.nodes.len()]);
        for start in 0..self.nodes.len() {
            let mut path = if rows[start] == 0 { vec![(start, 0)] } else { Vec::new() };
            while let Some((at, next)) = path.last_mut() {
                let (node, at) = (&self.nodes[*at], *at);
                open[at] = true;
                if let Some(inner) = node.beside.get(*next).copied() {
                    *next += 1;
                    is_endless |= open[inner];
                    if !open[inner] && rows[inner] == 0 {
                        path.push((inner, 0));
                    }
                    continue;
                }
                open[at] = false;
                rows[at] = 1 + node.beside.iter().map(|inner| rows[*inner]).max().unwrap_or(0);
                order.push(at);
                path.pop();
            }
        }
        (order, rows.into_iter().max().unwrap_or(0), is_endless)
    }

    /// The schemas that look at one value below the root, by its depth.
    fn looks(&self, order: &[usize]) -> Vec<u64> {
        let (mut looks, mut above) = (Vec::new(), vec![0u64; self.nodes.len()]);
        for depth in 0..DEEPEST {
            let (mut here, mut back) = (vec![0u64; self.nodes.len()], vec![0u64; self.nodes.len()]);
            for at in order {
                let node = &self.nodes[*at];
                let sum = |schemas: &[usize], of: &[u64]| {
                    schemas.iter().fold(0u64, |sum, inner| sum.saturating_add(of[*inner]))
                };
                let below = || {
                    let part = node.parts.iter().map(|part| above[*part]).max().unwrap_or(0);
                    part.saturating_add(sum(&node.every, &above))
                };
                let own = if depth == 0 { 1 + node.own } else { below() };
                let beside = sum(&node.beside, &here);
                back[*at] = beside.saturating_add(sum(&node.beside, &back));
                let again = if node.looks_back { back[*at] } else { 0 };
                here[*at] = own.saturating_add(beside).saturating_add(again);
            }
            looks.push(here[0]);
            // Nothing looks at deeper values, or nothing that is looked at can be paid for.
            if here[0] == 0 || here[0] > LIMIT {
                break;
            }
            above = here;
        }
        looks
    }
}

/// The values that the keywords of a schema list, as far as they are not schemas.
fn values_listed(map: &Map<String, Value>) -> usize {
    let lists = ["enum", "const", "required", "dependentRequired", "type"];
    let listed = lists.iter().filter_map(|key| map.get(*key)).flat_map(values).count();
    let names = map.get("properties").and_then(Value::as_object).map_or(0, Map::len);
    map.len() + listed + names
}
