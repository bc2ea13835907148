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
        match bare::value(cx, at, &["```"], "json_fence").await {
            Value::No => Read::No,
            Value::Data(end) => Read::Text(end),
            Value::Calls(end) => {
                let close = cx.tape.skip_space(end).await;
                let surplus = cx.tape.skip(close, |byte| matches!(byte, b'}' | b']')).await > close;
                let close =
                    cx.tape.skip(close, |byte| matches!(byte, b'}' | b']' | b' ' | b'\n' | b'\r')).await;
                match cx.tape.literal(close, &["```"]).await {
                    Some(_) => {
                        cx.tape.extend(close + 3, surplus.then_some(Repair::SurplusBrackets));
                        Read::Block(close + 3)
                    }
                    None => Read::Block(end),
                }
            }
        }
    })
}
