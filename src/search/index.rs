//! Which tool has which term, kept up with the registry: a change costs what the changed tools cost, and nothing is rebuilt.

use super::dictionary::{Dictionary, Term};
use super::text::{Counts, analyse};
use crate::registry::{NameEntry, Registry, Snapshot};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The number of a tool in the index.
pub type DocumentSlot = u32;

/// As many tools, or terms, as can be told apart. More are registered all the same, and not searched.
const MOST: usize = 1 << 24;
/// So many unused terms are no reason to tidy up.
const UNUSED: usize = 4_096;

/// A tool that has a term, or a term that a tool has, and what the term is worth there, in 255ths: 24 bits and 8, because
/// there are tens for each tool.
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
}

impl Document {
    pub fn name_terms(&self) -> impl Iterator<Item = Term> {
        self.terms[..usize::from(self.in_name)].iter().map(|weighed| weighed.number())
    }
}

#[derive(Default)]
pub struct Index {
    pub dictionary: Dictionary,
    /// By term; in the order of slots. Most terms are rare, and need no memory elsewhere.
    postings: Vec<SmallVec<[Weighed; 2]>>,
    documents: Vec<Option<Document>>,
    free: Vec<DocumentSlot>,
    /// By the hash of the name.
    slots: HashTable<DocumentSlot>,
    hasher: RandomState,
    unused: usize,
    /// Empty; kept for its memory.
    counts: Counts,
    version: u64,
}

impl Index {
    /// The version of the registry that it shows.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many tools are in it.
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

    /// How much a term tells, because few tools have it.
    pub fn rarity(&self, term: Term) -> f32 {
        let (all, having) = (self.len() as f32, self.postings(term).len() as f32);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }

    /// Catches up with the registry; gives what it has read.
    pub fn follow(&mut self, registry: &Registry) -> Arc<Snapshot> {
        let (snapshot, changed) = registry.changes_since(self.version);
        match changed {
            Some(names) => names.iter().for_each(|name| self.refresh(name, snapshot.get(name))),
            None => self.compare(&snapshot),
        }
        self.version = snapshot.version();
        // Names that come and go leave words behind; when most of them are unused, it is time to begin afresh.
        if self.unused > UNUSED && self.unused > self.dictionary.len() / 2 {
            *self = Index { version: self.version, ..Index::default() };
            self.compare(&snapshot);
        }
        snapshot
    }

    fn compare(&mut self, snapshot: &Snapshot) {
        let names = self.documents.iter().flatten().map(|document| &document.name);
        let gone: Vec<_> = names.filter(|name| snapshot.get(name).is_none()).cloned().collect();
        gone.iter().for_each(|name| self.remove(name));
        for (name, entry) in snapshot.entries() {
            self.refresh(name, Some(entry));
        }
        // Lists that grew one by one have room for twice as much.
        self.postings.iter_mut().for_each(SmallVec::shrink_to_fit);
        self.postings.shrink_to_fit();
    }

    fn slot(&self, name: &str) -> Option<DocumentSlot> {
        let has_name = |slot: &DocumentSlot| {
            self.document(*slot as usize).is_some_and(|document| *document.name == *name)
        };
        self.slots.find(self.hasher.hash_one(name), has_name).copied()
    }

    fn refresh(&mut self, name: &Arc<str>, entry: Option<&Arc<NameEntry>>) {
        let known = self.slot(name).and_then(|slot| self.document(slot as usize));
        match (known, entry) {
            (Some(document), Some(entry)) if document.changed_at == entry.changed_at => {}
            (_, Some(entry)) => {
                self.remove(name);
                self.insert(name, entry);
            }
            (_, None) => self.remove(name),
        }
    }

    fn insert(&mut self, name: &Arc<str>, entry: &NameEntry) {
        if self.slots.len() == MOST || self.dictionary.len() >= MOST {
            return;
        }
        let analysed = analyse(name, entry, &mut self.dictionary, &mut self.counts);
        let slot = self.free.pop().unwrap_or(self.documents.len() as DocumentSlot);
        self.postings.resize_with(self.dictionary.len(), || {
            self.unused += 1;
            SmallVec::new()
        });
        let known = |(term, _): &&(Term, u8)| (*term as usize) < MOST;
        for (term, worth) in analysed.terms.iter().filter(known) {
            let postings = &mut self.postings[*term as usize];
            self.unused -= usize::from(postings.is_empty());
            let at = place(postings, slot).unwrap_or_else(|at| at);
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
        };
        match self.documents.get_mut(slot as usize) {
            Some(place) => *place = Some(document),
            None => self.documents.push(Some(document)),
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
            if let Ok(at) = place(postings, slot) {
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

fn place(postings: &[Weighed], slot: DocumentSlot) -> Result<usize, usize> {
    // New tools have the highest slots: the end is looked at first.
    match postings.last() {
        Some(last) if last.number() < slot => Err(postings.len()),
        _ => postings.binary_search_by_key(&slot, |posting| posting.number()),
    }
}

#[cfg(test)]
impl Index {
    /// The memory of its parts, in bytes: postings, tools, their names' table, dictionary.
    pub fn bytes(&self) -> [usize; 4] {
        let spilled = |list: &SmallVec<[Weighed; 2]>| if list.spilled() { list.capacity() * 4 } else { 0 };
        let postings = self.postings.iter().map(spilled).sum::<usize>()
            + self.postings.capacity() * size_of::<SmallVec<[Weighed; 2]>>();
        let terms: usize = self.documents.iter().flatten().map(|document| document.terms.len() * 4).sum();
        let documents = terms + self.documents.capacity() * size_of::<Option<Document>>();
        [postings, documents, self.slots.capacity() * 5, self.dictionary.bytes()]
    }
}
