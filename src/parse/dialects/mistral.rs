//! Mistral: `[TOOL_CALLS] [{…}]`, and newer ones `[TOOL_CALLS]name[ARGS]{…}`.

use crate::context::ReadContext;
use crate::json_calls::CallShape;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::notation::Notation;
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::read::common;
use crate::read::json_body::{self, JsonBlock};

const MARKERS: &[Marker] = &[
    Marker::new("[TOOL_CALLS]", list),
    Marker::new("[TOOL_CALLS]", named),
    Marker::new("[/TOOL_CALLS]", common::leftover),
];

pub(super) const MISTRAL_JSON: CallDialect = CallDialect { name: "mistral_json", markers: MARKERS };
pub(super) const MISTRAL_ARGS: CallDialect = CallDialect { name: "mistral_args", markers: MARKERS };

const STOPS: CallStops<'_> = CallStops { ends: &["[/TOOL_CALLS]"], next: &["[TOOL_CALLS]"] };
const BLOCK: JsonBlock = JsonBlock {
    format: "mistral_json",
    opens: &[],
    closes: &[],
    ends: STOPS.ends,
    next: STOPS.next,
    shape: CallShape::Marked,
    notation: Notation::Json,
};

fn list(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let at = cx.input.skip_space(opening.after).await;
        // Its bracket is not that of a list.
        if cx.input.literal(at, &["[ARGS]", "[CALL_ID]"]).await.is_some() {
            return ReadOutcome::No;
        }
        json_body::reading(cx, opening, &BLOCK).await
    })
}

fn named(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
        let name = cx.input.slice(from, to);
        let mut at = cx.input.skip_space(to).await;
        let mut id = None;
        if cx.input.literal(at, &["[CALL_ID]"]).await.is_some() {
            let Some((end, _)) = cx.input.find(at, &["[ARGS]", "{"]).await else { return ReadOutcome::No };
            id = Some(cx.input.slice(at + "[CALL_ID]".len(), end).trim().to_owned());
            at = end;
        }
        match cx.input.literal(at, &["[ARGS]", "{"]).await {
            Some(0) => {
                at += "[ARGS]".len();
                let mark = Opening { after: at, ..opening };
                if common::is_mentioned(cx, mark).await || common::is_in_sentence(cx, mark).await {
                    return ReadOutcome::No;
                }
            }
            Some(_) if !name.is_empty() => {}
            _ => return ReadOutcome::No,
        }
        let named = NamedCall { id, ..NamedCall::new(&name, "mistral_args") };
        ReadOutcome::Block(arguments::read(cx, at, named, STOPS).await)
    })
}
