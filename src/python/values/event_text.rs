//! Texts for logs, events and spans: one clean line, without the values of arguments.

use crate::classes::upstream::servers;
use crate::prelude::*;
use crate::runtime::interpreter::{Entries, released};
use crate::values::unicode::start_of;
use pyo3::types::PyBytes;
use toolhub::error::clip;
use toolhub::invisible::line;
use toolhub::secret::{ArgumentValues, LABELS, is_secret_flag, scrubbed_text};

/// Longer texts are cut.
const MAX_CHARS: usize = 2_000;
/// Deeper arguments are not read.
const MAX_DEPTH: usize = 64;
/// Members of one container that are read.
const MAX_MEMBERS: usize = 2_000;
/// Characters of one argument that are read.
const MAX_READ: usize = 100_000;

/// A name or an id for a log or an event: short, one line, without commands to a terminal.
#[pyfunction]
pub fn event_name(name: &Bound<'_, PyString>) -> String {
    clip(&name.to_string_lossy()).into_owned()
}

/// The text of an error for a log or an event. The values of the arguments are hidden, with `debug` only those whose names
/// say that they are secret. What servers were given in secret is always hidden.
#[pyfunction]
#[pyo3(signature = (text, arguments=None, kind=None, debug=false))]
pub fn event_error(
    text: &Bound<'_, PyString>,
    arguments: Option<&Bound<'_, PyAny>>,
    kind: Option<&str>,
    debug: bool,
) -> String {
    let refused = kind == Some(ErrorKind::InvalidArguments.name());
    // More than is shown: a secret must not be cut in two before it is hidden.
    let start = start_of(text, 8 * MAX_CHARS).unwrap_or_default();
    let text = shortened(&scrubbed_text(&servers::without_secrets(start)));
    let Some(arguments) = arguments else {
        return match refused && !debug {
            // It quotes text that could not be read as a call.
            true => ErrorKind::InvalidArguments.sentence().to_owned(),
            false => text,
        };
    };
    let mut values = ArgumentValues::new(!debug);
    collect(arguments, !debug, 0, &mut values);
    values.hide(&text)
}

fn shortened(text: &str) -> String {
    let start = text.char_indices().nth(4 * MAX_CHARS).map_or(text, |(end, _)| &text[..end]);
    let clean = line(start);
    match clean.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None if start.len() < text.len() => format!("{clean}…"),
        None => clean.into_owned(),
    }
}

/// Reads exact types only, so that no code of the user runs.
fn collect(value: &Bound<'_, PyAny>, is_hidden: bool, depth: usize, values: &mut ArgumentValues) {
    if depth > MAX_DEPTH || values.is_full() {
        return;
    }
    if let Some(text) = text_of(value) {
        values.add(&text, is_hidden);
    } else if let Ok(dict) = value.cast::<PyDict>() {
        let labelled = LABELS.iter().filter_map(|label| dict.get_item(label).ok()?);
        let labelled = labelled.filter_map(|label| text_of(&label)).any(|label| values.hides(&label));
        for entry in Entries::of(dict).take(MAX_MEMBERS) {
            let Ok((name, item)) = entry else { return };
            let name = text_of(&name).unwrap_or_default();
            let is_value = labelled && !LABELS.contains(&name.as_str());
            collect(&item, is_hidden || is_value || values.hides(&name), depth + 1, values);
        }
    } else if let Ok(list) = value.cast::<PyList>() {
        let mut after_flag = false;
        for at in 0..MAX_MEMBERS {
            let Ok(item) = list.get_item(at) else { return };
            collect(&item, is_hidden || after_flag, depth + 1, values);
            after_flag = text_of(&item).is_some_and(|word| is_secret_flag(&word));
        }
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        for item in tuple.iter_borrowed().take(MAX_MEMBERS) {
            collect(&item, is_hidden, depth + 1, values);
        }
    } else if let Ok(bytes) = value.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        values.add(&released(value.py(), bytes.len(), || String::from_utf8_lossy(bytes)), is_hidden);
    } else if is_number(value)
        && let Ok(text) = value.str()
    {
        values.add(&text.to_string_lossy(), is_hidden);
    }
}

fn text_of(value: &Bound<'_, PyAny>) -> Option<String> {
    value.cast::<PyString>().ok().and_then(|text| start_of(text, MAX_READ).ok())
}

fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyInt>() && !value.is_exact_instance_of::<PyBool>()
}
