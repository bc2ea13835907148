//! FunctionGemma and Gemma 4: `call:name{key:<escape>text<escape>,n:5}`, each with its own tokens. With many tools at hand the model
//! lapses into parentheses, `call:name(key=5)`, or forgets the word before the name.

use super::form::Form;
use crate::lenient::Notation;
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::reader::{Opening, ReadContext, ReadOutcome};
use crate::schemas;

/// `end` ends a call, and the marks begin the next one.
pub(super) async fn read(
    cx: &ReadContext,
    opening: Opening,
    form: &Form,
    quote: &'static str,
    end: &str,
) -> ReadOutcome {
    let at = cx.skip_space(opening.after).await;
    let marked = cx.literal(at, &["call:", ":"]).await;
    let from = at + marked.map_or(0, |index| ["call:", ":"][index].len());
    let Some((to, 0 | 1)) = cx.find(from, &["{", "(", "<", "\n"]).await else { return ReadOutcome::No };
    let name = cx.slice(from, to).trim().to_owned();
    if marked != Some(0) && (name.is_empty() || !name.bytes().all(python::in_path)) {
        return ReadOutcome::No;
    }
    // The model puts the server of a tool, or where it comes from, before its name.
    let parts = name.match_indices([':', '.', '/']).map(|(at, _)| &name[at + 1..]);
    let known = match cx.is_known(&name) {
        true => None,
        false => schemas::only_known(&*cx.tools, parts),
    };
    let name = known.unwrap_or(&name);
    let named = NamedCall { notation: Notation::Quoted(quote), ..NamedCall::new(name, form.format()) };
    let read = arguments::read(cx, to, named, CallStops { ends: &[end], next: form.marks }).await;
    ReadOutcome::Block(cx.close_or_repair(read, &[end]).await)
}
