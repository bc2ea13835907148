//! Functionary 3.2: `>>>name` and a JSON object on the next line; `>>>all` is before text. The prompt ends with the first `>>>`.

use serde_json::json;

use crate::context::ReadContext;
use crate::draft::Draft;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};

pub(super) const FUNCTIONARY_V32: CallDialect =
    CallDialect { name: FORMAT, markers: &[Marker::new(">>>", read)] };

const FORMAT: &str = "functionary_v32";
const STOPS: CallStops<'_> = CallStops { ends: &["<|eot_id|>"], next: &[">>>"] };

/// Among all formats, only a tool that is known is meant if tools are known: the mark is also that of a shell.
fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let to = cx.input.skip(opening.after, python::names).await;
        let name = cx.input.slice(opening.after, to);
        let is_known = || matches!(name.as_str(), "all" | "python") || cx.tools.parameters(&name).is_some();
        match cx.asked.is_some() || cx.tools.is_empty() || is_known() {
            true => message(cx, opening.after).await,
            false => ReadOutcome::No,
        }
    })
}

/// The start of a text. Among all formats, only the name of a known tool is a name.
pub(super) fn first(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let is_asked = cx.asked == Some(FORMAT);
        // Without tools nothing is a name, and the first word need not wait for its end.
        if !is_asked && cx.tools.is_empty() {
            return ReadOutcome::No;
        }
        let from = cx.input.skip_space(opening.after).await;
        let to = cx.input.skip(from, python::names).await;
        let name = cx.input.slice(from, to);
        let is_known = cx.tools.parameters(&name).is_some() && name != "all";
        match is_known || is_asked {
            true => message(cx, from).await,
            false => ReadOutcome::No,
        }
    })
}

async fn message(cx: &ReadContext, from: usize) -> ReadOutcome {
    let to = cx.input.skip(from, python::names).await;
    let name = cx.input.slice(from, to);
    if name.is_empty() || cx.input.literal(to, &["\n"]).await.is_none() {
        return ReadOutcome::No;
    }
    if name == "all" {
        // What is said to the user has no calls.
        cx.input.drop_to(to + 1);
        return match cx.input.text_until(to + 1, &STOPS.all(None)).await {
            Some((end, _)) => ReadOutcome::Text(end),
            None => ReadOutcome::Text(cx.input.end_so_far()),
        };
    }
    let at = cx.input.skip_space(to).await;
    match cx.input.byte(at).await {
        Some(b'{') => ReadOutcome::Block(arguments::read(cx, at, NamedCall::new(&name, FORMAT), STOPS).await),
        // The built-in interpreter takes code as it is.
        Some(_) if name == "python" => {
            let found = cx.input.find(at, &STOPS.all(None)).await;
            let end = found.map_or_else(|| cx.input.end_so_far(), |(end, _)| end);
            let code = json!({"code": cx.input.slice(to + 1, end)});
            cx.emit(vec![Draft::new(&name, Ok(code), Default::default())], end, FORMAT);
            ReadOutcome::Block(end)
        }
        _ => ReadOutcome::No,
    }
}
