//! Functionary 3.2: `>>>name` and a JSON object on the next line; `>>>all` is before text.

use crate::parse::context::ReadContext;
use crate::parse::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::parse::python;
use crate::parse::read::arguments::{self, CallStops, NamedCall};

pub(super) const FUNCTIONARY_V32: CallDialect =
    CallDialect { name: "functionary_v32", markers: &[Marker::new(">>>", read)] };

const STOPS: CallStops<'_> = CallStops { ends: &["<|eot_id|>"], next: &[">>>"] };

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let to = cx.input.skip(opening.after, python::names).await;
        let name = cx.input.slice(opening.after, to);
        if name.is_empty() || cx.input.literal(to, &["\n"]).await.is_none() {
            return ReadOutcome::No;
        }
        if name == "all" {
            return ReadOutcome::Block(to + 1);
        }
        let at = cx.input.skip_space(to).await;
        match cx.input.byte(at).await {
            Some(b'{') => {
                let named = NamedCall::new(&name, "functionary_v32");
                ReadOutcome::Block(arguments::read(cx, at, named, STOPS).await)
            }
            _ => ReadOutcome::No,
        }
    })
}
