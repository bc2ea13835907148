//! The inverted index. It follows the registry incrementally: an update reads only the tools that changed.

use super::dictionary::{Dictionary, Term};
use super::text::{Counts, analyse};
use super::word_vectors::Direction;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};
use toolhub_registry::{Candidate, ListedNames, NameEntry, Registry, Snapshot};
use toolhub_types::model::Safety;

/// A part of the tools. What it leaves out has no influence on a search in it: neither its words nor how frequent they are.
pub trait ToolPart: Send + Sync {
    fn has_entry(&self, entry: &NameEntry) -> bool;

    /// Whether the text of this candidate counts.
    fn has_candidate(&self, candidate: &Candidate) -> bool;
}

/// The index of a tool in [`Index`].
pub type DocumentSlot = u32;

/// Limit of tools and of terms (24 bits in [`Weighed`]). Tools beyond it can be called but are not searched.
const CAPACITY: usize = 1 << 24;
/// The index is not rebuilt below this number of unused terms.
const UNUSED_FLOOR: usize = 4_096;

/// A slot or a term (24 bits) with the worth of the term there in 255ths (8 bits). Packed, because each tool has dozens.
#[derive(Clone, Copy)]
pub struct Weighed(u32);

impl Weighed {
    fn new(number: u32, worth: u8) -> Self {
        Weighed(number << 8 | u32::from(worth))
    }

    /// The slot or the term.
    pub fn number(self) -> u32 {
        self.0 >> 8
    }

    pub fn worth(self) -> f32 {
        (self.0 & 0xff) as f32
    }
}

pub struct Document {
    pub name: Arc<str>,
    changed_at: u64,
    pub terms: Box<[Weighed]>,
    in_name: u16,
    pub may_act: bool,
    /// Boxed: tools that are not described in English have none.
    pub direction: Option<Box<Direction>>,
}

impl Document {
    pub fn name_terms(&self) -> impl Iterator<Item = Term> {
        self.terms[..usize::from(self.in_name)].iter().map(|weighed| weighed.number())
    }
}

#[derive(Default)]
pub struct Index {
    pub dictionary: Dictionary,
    /// By term, sorted by slot. Most terms are rare, so their postings fit inline.
    postings: Vec<SmallVec<[Weighed; 2]>>,
    documents: Vec<Option<Document>>,
    free: Vec<DocumentSlot>,
    /// By the hash of the name.
    slots: HashTable<DocumentSlot>,
    hasher: RandomState,
    unused: usize,
    /// The logarithm of the number of tools plus one.
    log_size: f32,
    /// A scratch buffer, empty between uses.
    counts: Counts,
    /// The version of the registry that the index reflects, and what it lists.
    pub version: u64,
    listed: ListedNames,
}

impl Index {
    /// The number of tools.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// One more than the highest slot.
    pub fn slots(&self) -> usize {
        self.documents.len()
    }

    pub fn document(&self, slot: usize) -> Option<&Document> {
        self.documents.get(slot)?.as_ref()
    }

    pub fn postings(&self, term: Term) -> &[Weighed] {
        self.postings.get(term as usize).map_or(&[], SmallVec::as_slice)
    }

    /// The inverse document frequency of a term, as in BM25: `ln(1 + (all - having + ½) / (having + ½))`.
    pub fn rarity(&self, term: Term) -> f32 {
        self.log_size - log_frequency(self.postings(term).len())
    }

    /// Catches up with the registry and returns the snapshot it read.
    pub fn follow(&mut self, registry: &Registry, part: Option<&dyn ToolPart>) -> Arc<Snapshot> {
        let snapshot = registry.snapshot();
        self.catch_up(&snapshot, part);
        // Removed tools leave unused terms behind; rebuild when they are the majority.
        if self.unused > UNUSED_FLOOR && self.unused > self.dictionary.len() / 2 {
            *self = Index::default();
            self.catch_up(&snapshot, part);
        }
        self.version = snapshot.version();
        self.log_size = (self.len() as f32 + 1.0).ln();
        snapshot
    }

    fn catch_up(&mut self, snapshot: &Snapshot, part: Option<&dyn ToolPart>) {
        let (seen, before) =
            (std::mem::replace(&mut self.listed, snapshot.listed_names().clone()), self.len());
        for name in seen.changed(snapshot) {
            self.refresh(name, snapshot.listed(name), part);
        }
        if self.len() > 2 * before {
            // Lists that grew item by item have spare capacity.
            self.postings.iter_mut().for_each(SmallVec::shrink_to_fit);
            self.postings.shrink_to_fit();
        }
    }

    fn slot(&self, name: &str) -> Option<DocumentSlot> {
        let has_name = |slot: &DocumentSlot| {
            self.document(*slot as usize).is_some_and(|document| *document.name == *name)
        };
        self.slots.find(self.hasher.hash_one(name), has_name).copied()
    }

    fn refresh(&mut self, name: &Arc<str>, entry: Option<&Arc<NameEntry>>, part: Option<&dyn ToolPart>) {
        // What is not for models is not proposed to them.
        let is_shown =
            |entry: &&Arc<NameEntry>| !entry.is_hidden() && part.is_none_or(|part| part.has_entry(entry));
        let entry = entry.filter(is_shown);
        let known = self.slot(name).and_then(|slot| self.document(slot as usize));
        match (known, entry) {
            (Some(document), Some(entry)) if document.changed_at == entry.changed_at => {}
            (_, Some(entry)) => {
                self.remove(name);
                self.insert(name, entry, part);
            }
            (_, None) => self.remove(name),
        }
    }

    fn insert(&mut self, name: &Arc<str>, entry: &NameEntry, part: Option<&dyn ToolPart>) {
        if self.slots.len() == CAPACITY || self.dictionary.len() >= CAPACITY {
            return;
        }
        let counts = |candidate: &&Arc<Candidate>| part.is_none_or(|part| part.has_candidate(candidate));
        let candidates: SmallVec<[&Arc<Candidate>; 2]> = entry.candidates.iter().filter(counts).collect();
        let analysed = analyse(name, &candidates, &mut self.dictionary, &mut self.counts);
        let slot = self.free.pop().unwrap_or(self.documents.len() as DocumentSlot);
        self.postings.resize_with(self.dictionary.len(), || {
            self.unused += 1;
            SmallVec::new()
        });
        let known = |(term, _): &&(Term, u8)| (*term as usize) < CAPACITY;
        for (term, worth) in analysed.terms.iter().filter(known) {
            let postings = &mut self.postings[*term as usize];
            self.unused -= usize::from(postings.is_empty());
            let at = position_of(postings, slot).unwrap_or_else(|at| at);
            postings.insert(at, Weighed::new(slot, *worth));
        }
        let document = Document {
            name: name.clone(),
            changed_at: entry.changed_at,
            terms: analysed
                .terms
                .iter()
                .filter(known)
                .map(|(term, worth)| Weighed::new(*term, *worth))
                .collect(),
            in_name: analysed.in_name as u16,
            may_act: candidates.iter().any(|candidate| candidate.spec().effects.safety == Safety::MayAct),
            direction: analysed.direction.map(Box::new),
        };
        match self.documents.get_mut(slot as usize) {
            Some(free) => *free = Some(document),
            None => {
                // By a quarter: twice the room would be the largest part of the index.
                if self.documents.len() == self.documents.capacity() {
                    self.documents.reserve_exact(self.documents.len() / 4 + 16);
                }
                self.documents.push(Some(document));
            }
        }
        let (documents, hasher) = (&self.documents, &self.hasher);
        let hash = |slot: &DocumentSlot| {
            documents[*slot as usize].as_ref().map_or(0, |document| hasher.hash_one(&*document.name))
        };
        self.slots.insert_unique(self.hasher.hash_one(&**name), slot, hash);
    }

    fn remove(&mut self, name: &str) {
        let Some(slot) = self.slot(name) else { return };
        if let Ok(entry) = self.slots.find_entry(self.hasher.hash_one(name), |known| *known == slot) {
            entry.remove();
        }
        let Some(document) = self.documents[slot as usize].take() else { return };
        for term in &document.terms {
            let postings = &mut self.postings[term.number() as usize];
            if let Ok(at) = position_of(postings, slot) {
                postings.remove(at);
            }
            if postings.is_empty() {
                *postings = SmallVec::new();
                self.unused += 1;
            }
        }
        self.free.push(slot);
    }
}

/// `ln(having + ½)`. Finalists of a query ask for it hundreds of times, mostly for words that few tools have.
fn log_frequency(having: usize) -> f32 {
    static LOGS: LazyLock<[f32; 1_024]> =
        LazyLock::new(|| std::array::from_fn(|having| (having as f32 + 0.5).ln()));
    LOGS.get(having).copied().unwrap_or_else(|| (having as f32 + 0.5).ln())
}

fn position_of(postings: &[Weighed], slot: DocumentSlot) -> Result<usize, usize> {
    // New tools usually have the highest slot.
    match postings.last() {
        Some(last) if last.number() < slot => Err(postings.len()),
        _ => postings.binary_search_by_key(&slot, |posting| posting.number()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Index {
        /// Memory in bytes: postings, documents, name table, dictionary.
        pub fn bytes(&self) -> [usize; 4] {
            let spilled =
                |list: &SmallVec<[Weighed; 2]>| if list.spilled() { list.capacity() * 4 } else { 0 };
            let postings = self.postings.iter().map(spilled).sum::<usize>()
                + self.postings.capacity() * size_of::<SmallVec<[Weighed; 2]>>();
            let terms: usize = self.documents.iter().flatten().map(|document| document.terms.len() * 4).sum();
            let directions =
                self.documents.iter().flatten().filter(|document| document.direction.is_some()).count();
            let documents = terms
                + directions * size_of::<Direction>()
                + self.documents.capacity() * size_of::<Option<Document>>();
            [postings, documents, self.slots.capacity() * 5, self.dictionary.bytes()]
        }
    }
}
