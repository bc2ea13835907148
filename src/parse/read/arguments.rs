//! The JSON object after a name, for dialects that write the name outside of it.

use serde_json::{Map, Value, json};

use crate::extent::ValueExtent;
use crate::input::ReadContext;
use crate::keys::{ARGUMENT_KEYS, NAME_KEYS};
use crate::lenient::{self, MissingClosers, Notation, Repairs, SyntaxRepair};
use crate::parsed::{CUT, Draft};
use crate::schemas;
use toolhub_text::message::Message;

/// Reads the arguments at `at` (white space and a fence may come first), emits the call, and returns the position after
/// them.
pub async fn read(cx: &ReadContext, at: usize, call: NamedCall<'_>, stops: CallStops<'_>) -> usize {
    let mut repairs = Repairs::default();
    let (at, fence) = skip_fence(cx, cx.skip_space(at).await).await;
    if fence.is_some() && !call.fences {
        repairs.add(SyntaxRepair::Fence);
    }
    let is_open = match cx.byte(at).await {
        Some(b'(') => matches!(call.notation, Notation::Quoted(_)),
        first => first == Some(b'{'),
    };
    let (arguments, end) = if is_open {
        object(cx, at, call.notation, stops, fence, &mut repairs).await
    } else {
        let end = cx.find_or_end(at, &stops.all(None)).await;
        let blank = cx.with(at, end, |text| text.trim().is_empty());
        let stopped = cx.has(end, stops.ends).await;
        let quoted = cx.with(at, end, |text| serde_json::from_str::<String>(text).ok());
        match quoted {
            Some(text) => (Ok(Value::String(text)), end),
            None if blank && stopped => (Ok(Value::Null), end),
            None => (Err("there is no JSON object".into()), end),
        }
    };
    let name = call.name;
    let arguments = arguments.map(|given| unwrapped(given, name, cx, &mut repairs));
    let arguments = arguments.map(|given| match call.notation {
        // Its strings are often written without their quotes, and other values with them.
        Notation::Quoted(_) => by_schema(given, name, cx),
        _ => given,
    });
    let mut draft = Draft::new(name, arguments, repairs);
    draft.id = call.id;
    cx.emit(vec![draft], end);
    match fence {
        Some(fence) => cx.close_with(end, &[fence]).await.unwrap_or(end),
        None => end,
    }
}

/// Reads code, which the built-in interpreter takes as it is, emits the call, and returns the position after it.
pub async fn code(cx: &ReadContext, from: usize, call: NamedCall<'_>, stops: CallStops<'_>) -> usize {
    let end = cx.find_or_end(from, &stops.all(None)).await;
    let code = json!({"code": cx.slice(from, end)});
    cx.emit(vec![Draft::new(call.name, Ok(code), Repairs::default())], end)
}

/// The arguments of a whole call that was written in their place: its name is that of the tool, which has no such parameters.
fn unwrapped(given: Value, tool: &str, cx: &ReadContext, repairs: &mut Repairs) -> Value {
    let Value::Object(map) = &given else { return given };
    let key_of = |keys: &[&'static str]| keys.iter().copied().find(|key| map.contains_key(*key));
    let (Some(name), Some(inner), 2) = (key_of(NAME_KEYS), key_of(ARGUMENT_KEYS), map.len()) else {
        return given;
    };
    let is_own = [name, inner].iter().any(|key| cx.tools.parameter(tool, key).is_some());
    if is_own || map[name] != tool || !map[inner].is_object() {
        return given;
    }
    repairs.add(SyntaxRepair::WrappedArguments);
    map[inner].clone()
}

/// Arguments with the types of their schema.
fn by_schema(given: Value, tool: &str, cx: &ReadContext) -> Value {
    let Value::Object(map) = given else { return given };
    let typed = map.into_iter().map(|(key, value)| {
        let schema = cx.tools.parameter(tool, &key);
        (key, schemas::by_schema(value, schema))
    });
    typed.collect::<Map<_, _>>().into()
}

/// What stops a call whose brackets are open.
#[derive(Clone, Copy)]
pub struct CallStops<'a> {
    /// Ends the call: only its brackets are missing.
    pub ends: &'a [&'a str],
    /// Begins the next call: this one was cut off.
    pub next: &'a [&'a str],
}

impl<'a> CallStops<'a> {
    /// All of them, and the end of the fence that the call is in.
    pub fn all(self, fence: Option<&'a str>) -> Vec<&'a str> {
        self.ends.iter().chain(self.next).copied().chain(fence).collect()
    }
}

/// What is known about a call before its arguments.
pub struct NamedCall<'a> {
    pub name: &'a str,
    /// Empty if the model gave none.
    pub id: String,
    pub notation: Notation,
    /// The dialect itself writes a fence around the arguments.
    pub fences: bool,
}

impl<'a> NamedCall<'a> {
    pub fn new(name: &'a str) -> Self {
        Self { name, id: String::new(), notation: Notation::Json, fences: false }
    }
}

/// The object whose bracket is at `at`, and its end.
async fn object(
    cx: &ReadContext,
    at: usize,
    notation: Notation,
    stops: CallStops<'_>,
    fence: Option<&str>,
    repairs: &mut Repairs,
) -> (Result<Value, Message>, usize) {
    let cut = || Err(CUT.into());
    let (end, missing) = match cx.extent(at, notation, &stops.all(fence)).await {
        ValueExtent::Closed(end) => (end, MissingClosers::NONE),
        ValueExtent::Stopped(end) if cx.has(end, stops.next).await => {
            return (cut(), end);
        }
        ValueExtent::Stopped(end) => (end, MissingClosers::ALL),
        ValueExtent::Cut { .. } => return (cut(), give_up(cx, at, &stops.all(fence)).await),
    };
    let read = cx.with(at, end, |text| lenient::read(text, notation, missing));
    let value = read.and_then(|reading| {
        if reading.dangling > 0 {
            return cut();
        }
        repairs.join(reading.repairs);
        Ok(reading.value)
    });
    (value, end)
}

/// The end of an unterminated value: the first of its stops, so that the next call is not lost.
pub async fn give_up(cx: &ReadContext, at: usize, stops: &[&str]) -> usize {
    match cx.take_rescan() {
        true => cx.find_or_end(at, stops).await,
        false => cx.end_so_far(),
    }
}

/// The marks of code fences.
pub const FENCES: &[&str] = &["```", "~~~"];

/// Skips the opening of a code fence, and returns its mark, if there is one.
pub async fn skip_fence(cx: &ReadContext, at: usize) -> (usize, Option<&'static str>) {
    let Some(index) = cx.literal(at, FENCES).await else { return (at, None) };
    let word = cx.skip(at + FENCES[index].len(), |byte| byte.is_ascii_alphanumeric() || byte == b'_').await;
    (cx.skip_space(word).await, Some(FENCES[index]))
}
