//! The newer form of Mistral: `[TOOL_CALLS]name[ARGS]{…}`, with an id or without.

use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::common;
use crate::reader::{Opening, ReadContext, ReadOutcome};

const ARGS: &[&str] = &["[ARGS]", "{"];

pub(super) async fn named(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let from = cx.skip_space(opening.after).await;
    let to = cx.skip(from, python::in_path).await;
    let name = cx.slice(from, to);
    let mut at = cx.skip_space(to).await;
    let mut id = None;
    if let Some(after) = cx.after(at, &["[CALL_ID]"]).await {
        let Some((end, _)) = cx.find(after, ARGS).await else { return ReadOutcome::No };
        id = Some(cx.slice(after, end).trim().to_owned());
        at = end;
    }
    match cx.literal(at, ARGS).await {
        Some(0) => {
            at += ARGS[0].len();
            let mark = Opening { after: at, ..opening };
            if common::is_mentioned(cx, mark).await || common::is_in_sentence(cx, mark).await {
                return ReadOutcome::No;
            }
        }
        Some(_) if !name.is_empty() => {}
        _ => return ReadOutcome::No,
    }
    let named = NamedCall { id, ..NamedCall::new(&name, "mistral_args") };
    let stops = CallStops { ends: &["[/TOOL_CALLS]"], next: &["[TOOL_CALLS]"] };
    ReadOutcome::Block(arguments::read(cx, at, named, stops).await)
}
