//! The sentence for an option or a key that does not exist.

use pyo3::prelude::*;
use toolhub::text::nearest;

/// Says what to write instead. `owner` has the options (`hub.execute()`), and `what` they are ("option"). `call` is the call
/// to write if the names are parameters of the tool; otherwise the nearest option is suggested.
#[pyfunction]
#[pyo3(signature = (owner, what, unknown, known, call=None))]
pub fn unknown_options(
    owner: &str,
    what: &str,
    unknown: Vec<String>,
    known: Vec<String>,
    call: Option<&str>,
) -> String {
    let names: Vec<String> = unknown.iter().map(|name| format!("'{name}'")).collect();
    let has_no = match names.as_slice() {
        [one] => format!("{owner} has no {what} {one}"),
        [rest @ .., last] => format!("{owner} has no {what}s {} and {last}", rest.join(", ")),
        [] => return String::new(),
    };
    if let Some(call) = call {
        return format!("{has_no}; pass the arguments of the tool as a mapping: {call}");
    }
    let known = || known.iter().map(String::as_str);
    let near: Vec<String> =
        unknown.iter().filter_map(|name| nearest(name, known())).map(|near| format!("'{near}'")).collect();
    match near.as_slice() {
        [] if known().next().is_none() => format!("{has_no}, and no other {what}s"),
        [] => format!("{has_no}; its {what}s are {}", known().collect::<Vec<_>>().join(", ")),
        near => format!("{has_no}; did you mean {}?", near.join(" and ")),
    }
}
