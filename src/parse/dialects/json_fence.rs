//! JSON in a code fence. In a fence of a programming language it is code.

use crate::context::ReadContext;
use crate::marker::{CallDialect, Marker, Opening, ReadFuture, ReadOutcome};
use crate::read::arguments::skip_fence;
use crate::read::bare_json::{self, BareJson};
use crate::read::common;
use crate::repair::SyntaxRepair;

pub(super) const JSON_FENCE: CallDialect = CallDialect {
    name: "json_fence",
    markers: &[Marker::new("```", read).at_line().weak(), Marker::new("~~~", read).at_line().weak()],
};

fn read(cx: &ReadContext, opening: Opening) -> ReadFuture<'_> {
    Box::pin(async move {
        let (at, fence) = skip_fence(cx, opening.start).await;
        if !cx.input.with(opening.after, at, common::holds_data) {
            return ReadOutcome::No;
        }
        let mut end = match value(cx, at, fence).await {
            BareJson::No => return ReadOutcome::No,
            BareJson::Data(end) => {
                if let Some((line, end)) = common::fence_line(cx, opening).await {
                    cx.input.pass_fence(line, end);
                }
                return ReadOutcome::Text(end);
            }
            BareJson::Calls(end) => end,
        };
        // One call per line is a list, too.
        let mut close = cx.input.skip_space(end).await;
        while cx.input.byte(close).await == Some(b'{')
            && let BareJson::Calls(next) = value(cx, close, fence).await
        {
            end = next;
            close = cx.input.skip_space(end).await;
        }
        let surplus = cx.input.skip(close, |byte| matches!(byte, b'}' | b']')).await;
        let mark = cx.input.skip_space(surplus).await;
        if !bare_json::ends_fence(cx, mark, fence).await {
            return ReadOutcome::Block(end);
        }
        let after = mark + fence.map_or(0, str::len);
        cx.input.extend(after, (surplus > close).then_some(SyntaxRepair::SurplusBrackets));
        ReadOutcome::Block(after)
    })
}

async fn value(cx: &ReadContext, at: usize, fence: Option<&str>) -> BareJson {
    bare_json::value(cx, at, fence, "json_fence").await
}
