//! From a schema to its validator.

use super::cost::{Cost, DEEPEST};
use super::patterns::{self, Built};
use super::plain::plain_rules;
use super::prepare::prepared;
use super::references::children;
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use toolhub_types::model::Unchecked;
use toolhub_types::system;

/// The stack that one schema may need for one value, in an unoptimised build. A level of a value is at least two of a
/// schema: the keyword and its content.
const FRAME: usize = 3 * 1024;
/// Compiling nests as deeply as the schema.
const COMPILING: usize = 4 << 20;
/// Values whose check may need less than this are checked without a look at the stack.
const UNNOTICED: usize = 96 * 1024;

const ABOVE: &str = "its unions, references and patterns may take too long, so they are left out";
const BROKEN: &str =
    "it cannot be compiled, so the unions, references and patterns of the schema are left out";

/// A schema that is ready to check values.
pub struct Compiled {
    /// What the validator checks: the schema, or as much of it as can be checked.
    pub schema: Arc<Value>,
    /// `None` if nothing can be checked.
    pub built: Option<Built>,
    pub cost: Cost,
    /// Rules of the schema that are not checked.
    pub unchecked: Vec<Unchecked>,
    /// The plain rules; compiled when a value needs them.
    cheap: OnceLock<Option<Box<Compiled>>>,
}

/// The draft is the one that `$schema` names, else 2020-12. Of a schema that is above the bound, or cannot be compiled, only the
/// [plain rules](plain_rules) are checked.
pub fn compile(schema: &Arc<Value>) -> Compiled {
    system::with_room(COMPILING, || compile_here(schema))
        .unwrap_or_else(|| Compiled::nothing(all_of("no thread could be started to compile it")))
}

/// The whole schema, as far as it is not checked.
pub fn all_of(reason: &'static str) -> Unchecked {
    Unchecked { place: "".into(), reason }
}

fn compile_here(schema: &Arc<Value>) -> Compiled {
    let schema = prepared(schema);
    let is_above = Cost::of(&schema, 0, 1).is_above_the_bound();
    let built = match patterns::heaviest(&schema).filter(|_| !is_above) {
        Some(heaviest) => {
            patterns::build(&schema, heaviest).map_err(|place| Unchecked { place, reason: BROKEN })
        }
        None => Err(all_of(ABOVE)),
    };
    match built {
        Ok(built) => Compiled::of(schema, built),
        Err(left_out) => plain(&schema, left_out),
    }
}

/// What is left of a schema without the rules whose cost multiplies.
fn plain(schema: &Value, left_out: Unchecked) -> Compiled {
    let compiled = |rules: Value| {
        // Some schemas nest too deeply by themselves.
        let built = patterns::build(&rules, 0).ok().filter(|_| !Cost::of(&rules, 0, 1).is_above_the_bound());
        built.map(|built| Compiled::of(Arc::new(rules), built))
    };
    let each = || compiled(plain_rules(schema, &patterns::compiles));
    match compiled(plain_rules(schema, &|_| true)).or_else(each) {
        Some(compiled) => Compiled { unchecked: vec![left_out], ..compiled },
        None => Compiled::nothing(left_out),
    }
}

impl Compiled {
    fn of(schema: Arc<Value>, built: Built) -> Self {
        let cost = Cost::of(&schema, built.text, built.runs);
        Compiled { cost, built: Some(built), unchecked: Vec::new(), schema, cheap: OnceLock::new() }
    }

    fn nothing(left_out: Unchecked) -> Self {
        let schema = Arc::new(Value::Bool(true));
        let cost = Cost::of(&schema, 0, 1);
        Compiled { schema, built: None, cost, unchecked: vec![left_out], cheap: OnceLock::new() }
    }

    /// The bytes of stack that a check of this value may need; 0 if every thread has them.
    pub fn stack_for(&self, value: &Value) -> usize {
        match self.stack(self.cost.levels) {
            bytes if bytes < UNNOTICED => 0,
            _ => self.stack(depth(value).min(self.cost.levels)) + UNNOTICED,
        }
    }

    /// The bytes of stack for any value, with those that coercion may put in.
    pub fn stack_for_all(&self) -> usize {
        self.stack(self.cost.levels) + UNNOTICED
    }

    fn stack(&self, levels: usize) -> usize {
        (levels.min(DEEPEST) + 1) * (self.cost.chain + 1) * FRAME
    }

    /// The rules whose cost does not multiply, for a value that is too costly for all of them.
    pub fn cheap(&self) -> Option<&Compiled> {
        let compile = || {
            let cheap = plain(&self.schema, all_of(ABOVE));
            cheap.built.is_some().then(|| Box::new(cheap))
        };
        self.cheap.get_or_init(compile).as_deref()
    }
}

/// The number of levels below a value.
fn depth(value: &Value) -> usize {
    let (mut deepest, mut todo) = (0, vec![(value, 0)]);
    while let Some((value, level)) = todo.pop() {
        deepest = deepest.max(level);
        todo.extend(children(value).map(|inner| (inner, level + 1)));
    }
    deepest
}
