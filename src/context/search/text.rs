//! Reads the searchable text of a tool, field by field.

use super::dictionary::{Dictionary, Term};
use super::weights::{ABOUT, CHARACTER_LENGTH, FIELDS, Field, MEASURES, SATURATION};
use super::word_vectors::{Direction, VectorSum, WORD_VECTORS};
use super::words::{WordKind, each_word, start_of};
use serde_json::Value;
use std::sync::Arc;
use toolhub_registry::Candidate;

/// Only the beginning of a description is indexed, so that a huge one stays cheap.
const DESCRIPTION_BYTES: usize = 20_000;
const PARAMETER_BYTES: usize = 20_000;
const NAME_BYTES: usize = 1_000;
/// The number of candidates read for one name.
const CANDIDATES: usize = 8;
/// Nested schemas are read to this depth.
const DEPTH: usize = 5;

/// A tool's terms with their worth (1 to 255), those of the name first.
pub struct Analysed {
    pub terms: Vec<(Term, u8)>,
    /// The number of terms in the name.
    pub in_name: usize,
    /// What its name and description are about.
    pub direction: Option<Direction>,
}

/// Reads the texts of the candidates of a name.
pub fn analyse(
    name: &str,
    candidates: &[&Arc<Candidate>],
    dictionary: &mut Dictionary,
    counts: &mut Counts,
) -> Analysed {
    let mut reading = FieldReading { dictionary, counts, lengths: [0.0; FIELDS] };
    reading.text(Field::Name, start_of(name, NAME_BYTES));
    let names = reading.counts.order.len();
    let candidates = &candidates[..candidates.len().min(CANDIDATES)];
    for (at, candidate) in candidates.iter().enumerate() {
        let is_repeated = candidates[..at].iter().any(|other| same_text(other, candidate));
        reading.candidate(candidate, is_repeated);
    }
    reading.weigh(names)
}

fn same_text(one: &Candidate, other: &Candidate) -> bool {
    let (one, other) = (one.spec(), other.spec());
    one.description == other.description && one.parameters == other.parameters
}

/// Term counts for each field, in order of first appearance.
#[derive(Default)]
pub struct Counts {
    order: Vec<(Term, [u16; FIELDS])>,
    /// By term: its index in `order` plus one; 0 for none.
    positions: Vec<u32>,
}

impl Counts {
    fn of(&mut self, term: Term) -> &mut [u16; FIELDS] {
        let at = term as usize;
        if at >= self.positions.len() {
            self.positions.resize((at + 1).next_power_of_two(), 0);
        }
        if self.positions[at] == 0 {
            self.order.push((term, [0; FIELDS]));
            self.positions[at] = self.order.len() as u32;
        }
        &mut self.order[self.positions[at] as usize - 1].1
    }

    fn clear(&mut self) {
        for (term, _) in self.order.drain(..) {
            self.positions[term as usize] = 0;
        }
    }
}

struct FieldReading<'d> {
    dictionary: &'d mut Dictionary,
    counts: &'d mut Counts,
    lengths: [f32; FIELDS],
}

impl FieldReading<'_> {
    fn candidate(&mut self, candidate: &Candidate, is_repeated: bool) {
        let spec = candidate.spec();
        for tag in &spec.capabilities {
            let term = self.dictionary.enter_capability(tag);
            self.count(Field::Capability, term);
            self.text(Field::Origin, tag);
        }
        for origin in [&candidate.server, &spec.category].into_iter().flatten() {
            self.text(Field::Origin, start_of(origin, NAME_BYTES));
        }
        if is_repeated {
            return;
        }
        let description = start_of(&spec.description, DESCRIPTION_BYTES);
        self.text(Field::Lead, description);
        let mut left = PARAMETER_BYTES;
        self.parameters(&spec.parameters, &spec.parameters, DEPTH, &mut left);
    }

    fn text(&mut self, field: Field, text: &str) {
        each_word(text, |word| {
            let is_later = field == Field::Lead && word.sentence > 0;
            let field = if is_later { Field::Rest } else { field };
            self.lengths[field as usize] += length(word.kind);
            let term = self.dictionary.enter(&word);
            self.count(field, term);
        });
    }

    fn count(&mut self, field: Field, term: Term) {
        let count = &mut self.counts.of(term)[field as usize];
        *count = count.saturating_add(1);
    }

    fn parameters(&mut self, root: &Value, schema: &Value, depth: usize, left: &mut usize) {
        let Some(schema) = schema.as_object().filter(|_| depth > 0 && *left > 0) else { return };
        for (name, parameter) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.some(Field::ParameterName, name, left);
            if let Some(text) = parameter.get("description").and_then(Value::as_str) {
                self.some(Field::ParameterText, text, left);
            }
            let values = parameter.get("enum").and_then(Value::as_array);
            for value in values.into_iter().flatten().filter_map(Value::as_str) {
                self.some(Field::ParameterText, value, left);
            }
            self.parameters(root, parameter, depth - 1, left);
        }
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| {
            // Local references only. The depth limit ends cycles.
            root.pointer(reference.strip_prefix('#')?)
        });
        for part in target.into_iter().chain(schema.get("items")) {
            self.parameters(root, part, depth - 1, left);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for one in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.parameters(root, one, depth - 1, left);
            }
        }
    }

    fn some(&mut self, field: Field, text: &str, left: &mut usize) {
        let text = start_of(text, *left);
        *left -= text.len();
        self.text(field, text);
    }

    fn direction(&self) -> Option<Direction> {
        let (vectors, mut sum) = (WORD_VECTORS.read()?, VectorSum::default());
        for (term, counts) in &self.counts.order {
            let Some(row) = self.dictionary.row(*term) else { continue };
            let times: f32 =
                ABOUT.iter().map(|(field, weight)| weight * f32::from(counts[*field as usize])).sum();
            if times > 0.0 {
                sum.add(vectors, row, times);
            }
        }
        sum.direction()
    }

    fn weigh(self, in_name: usize) -> Analysed {
        let mut shares = [0.0; FIELDS];
        for (field, measure) in MEASURES.iter().enumerate() {
            let long = self.lengths[field] / measure.usual;
            shares[field] = measure.weight / (1.0 - measure.slope + measure.slope * long);
        }
        let worth = |counts: &[u16; FIELDS]| {
            let often: f32 = counts
                .iter()
                .zip(shares)
                .filter(|(n, _)| **n > 0)
                .map(|(n, share)| f32::from(*n) * share)
                .sum();
            (255.0 * often / (SATURATION + often)).round().max(1.0) as u8
        };
        let terms = self.counts.order.iter().map(|(term, counts)| (*term, worth(counts))).collect();
        let direction = self.direction();
        self.counts.clear();
        Analysed { terms, in_name, direction }
    }
}

fn length(kind: WordKind) -> f32 {
    match kind {
        WordKind::Word | WordKind::Number => 1.0,
        WordKind::Character => CHARACTER_LENGTH,
        WordKind::Pair | WordKind::Whole => 0.0,
    }
}
