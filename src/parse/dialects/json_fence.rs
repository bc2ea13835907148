//! JSON in a code fence.

use super::{Dialect, Marker, Opening, Read, Reading};
use crate::parse::lenient::Repair;
use crate::parse::machine::Cx;
use crate::parse::read::arguments::skip_fence;
use crate::parse::read::bare::{self, Value};

pub(super) const JSON_FENCE: Dialect =
    Dialect { name: "json_fence", markers: &[Marker::new("```", read).at_line().weak()] };

fn read(cx: &Cx, opening: Opening) -> Reading<'_> {
    Box::pin(async move {
        let (at, _) = skip_fence(cx, opening.start).await;
        let mut end = match value(cx, at).await {
            Value::No => return Read::No,
            Value::Data(end) => return Read::Text(end),
            Value::Calls(end) => end,
        };
        // One call a line is a list, too.
        let mut close = cx.tape.skip_space(end).await;
        while cx.tape.byte(close).await == Some(b'{')
            && let Value::Calls(next) = value(cx, close).await
        {
            end = next;
            close = cx.tape.skip_space(end).await;
        }
        let surplus = cx.tape.skip(close, |byte| matches!(byte, b'}' | b']')).await;
        let fence = cx.tape.skip_space(surplus).await;
        match cx.tape.literal(fence, &["```"]).await {
            Some(_) => {
                cx.tape.extend(fence + 3, (surplus > close).then_some(Repair::SurplusBrackets));
                Read::Block(fence + 3)
            }
            None => Read::Block(end),
        }
    })
}

async fn value(cx: &Cx, at: usize) -> Value {
    bare::value(cx, at, &["```"], "json_fence").await
}
