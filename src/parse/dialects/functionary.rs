//! Functionary 3.2: `>>>name` and a JSON object on the next line; `>>>all` is before text. The prompt ends with the first `>>>`.

use serde_json::json;

use crate::parsed::Draft;
use crate::python;
use crate::read::arguments::{self, CallStops, NamedCall};
use crate::reader::{Opening, ReadContext, ReadOutcome};

const FORMAT: &str = "functionary_v32";
const STOPS: CallStops<'_> = CallStops { ends: &["<|eot_id|>"], next: &[">>>"] };

/// Among all formats, only a tool that is known is meant if tools are known: the mark is also that of a shell.
pub(super) async fn read(cx: &ReadContext, opening: Opening) -> ReadOutcome {
    let to = cx.skip(opening.after, python::names).await;
    let name = cx.slice(opening.after, to);
    let is_known = || matches!(name.as_str(), "all" | "python") || cx.is_known(&name);
    match cx.asked.is_some() || cx.tools.is_empty() || is_known() {
        true => message(cx, opening.after).await,
        false => ReadOutcome::No,
    }
}

/// The start of a text. Among all formats, only the name of a known tool is a name.
pub(super) async fn first(cx: &ReadContext, start: usize) -> ReadOutcome {
    let is_asked = cx.asked == Some(FORMAT);
    // Without tools nothing is a name, and the first word need not wait for its end.
    if !is_asked && cx.tools.is_empty() {
        return ReadOutcome::No;
    }
    let from = cx.skip_space(start).await;
    let name = cx.slice(from, cx.skip(from, python::names).await);
    match is_asked || (cx.is_known(&name) && name != "all") {
        true => message(cx, from).await,
        false => ReadOutcome::No,
    }
}

async fn message(cx: &ReadContext, from: usize) -> ReadOutcome {
    let to = cx.skip(from, python::names).await;
    let name = cx.slice(from, to);
    if name.is_empty() || !cx.has(to, &["\n"]).await {
        return ReadOutcome::No;
    }
    if name == "all" {
        // What is said to the user has no calls.
        cx.state().advance(to + 1);
        return cx.as_text_until(to + 1, &STOPS.all(None)).await;
    }
    let at = cx.skip_space(to).await;
    match cx.byte(at).await {
        Some(b'{') => ReadOutcome::Block(arguments::read(cx, at, NamedCall::new(&name, FORMAT), STOPS).await),
        // The built-in interpreter takes code as it is.
        Some(_) if name == "python" => {
            let end = cx.find_or_end(at, &STOPS.all(None)).await;
            let code = json!({"code": cx.slice(to + 1, end)});
            cx.emit(vec![Draft::new(&name, Ok(code), Default::default())], end, FORMAT);
            ReadOutcome::Block(end)
        }
        _ => ReadOutcome::No,
    }
}
