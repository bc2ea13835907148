//! Mistral: `[TOOL_CALLS] [{…}]`, and newer ones `[TOOL_CALLS]name[ARGS]{…}`.

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::draft::Shape;
use crate::parse::machine::Cx;
use crate::parse::python;
use crate::parse::read::arguments::{self, Named};
use crate::parse::read::json_body::{self, Body};

const MARKERS: &[Marker] = &[Marker::new("[TOOL_CALLS]", list), Marker::new("[TOOL_CALLS]", named)];

pub(super) const MISTRAL_JSON: Dialect = Dialect { name: "mistral_json", markers: MARKERS };
pub(super) const MISTRAL_ARGS: Dialect = Dialect { name: "mistral_args", markers: MARKERS };

const STOPS: &[&str] = &["[TOOL_CALLS]"];
const BODY: Body =
    Body { format: "mistral_json", opens: &[], closes: &[], stops: STOPS, shape: Shape::Marked };

fn list(cx: &Cx, opening: Opening) -> Reading<'_> {
    json_body::reading(cx, opening, &BODY)
}

fn named(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let from = cx.tape.skip_space(opening.after).await;
        let to = cx.tape.skip(from, |byte| python::names(byte) || matches!(byte, b'/' | b':')).await;
        let name = cx.tape.slice(from, to);
        let mut at = cx.tape.skip_space(to).await;
        let mut id = None;
        if cx.tape.literal(at, &["[CALL_ID]"]).await.is_some() {
            let Some((end, _)) = cx.tape.find(at, &["[ARGS]", "{"]).await else { return Read::No };
            id = Some(cx.tape.slice(at + "[CALL_ID]".len(), end).trim().to_owned());
            at = end;
        }
        match cx.tape.literal(at, &["[ARGS]", "{"]).await {
            Some(0) => at += "[ARGS]".len(),
            Some(_) if !name.is_empty() => {}
            _ => return Read::No,
        }
        let named = Named { id, ..Named::new(&name, "mistral_args") };
        Read::Block(arguments::read(cx, at, named, STOPS).await)
    })
}
