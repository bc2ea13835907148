//! Tells whether a block that was read stands in a quotation: see `quote`.

use crate::context::ReadContext;
use crate::marker::Opening;
use crate::quote::OpenQuote;

/// Turns the calls of a block into text if they are only quoted, and returns the position behind the quotation.
pub async fn passed(cx: &ReadContext, opening: Opening, to: usize, has_failed: bool) -> Option<usize> {
    let quote = cx.input.quote()?;
    let after = match behind(cx, to, quote).await {
        QuoteEnd::At(end) if !(has_failed && quote == OpenQuote::Block) => Some(end),
        QuoteEnd::Alone => None,
        // Words that were read as a call, to the end of the text if need be: the quotation ends among them.
        _ if has_failed => inside(cx, opening, to, quote).await,
        _ => None,
    };
    match after {
        Some(after) => cx.input.revoke_quoted(after),
        None => cx.input.settle_quoted(),
    }
    after
}

/// The end of a quotation behind a block.
enum QuoteEnd {
    None,
    /// The quoted block is all of its paragraph or ends it: it is not only quoted.
    Alone,
    At(usize),
}

async fn behind(cx: &ReadContext, to: usize, quote: OpenQuote) -> QuoteEnd {
    if quote == OpenQuote::Block {
        return QuoteEnd::At(to);
    }
    let is_blank = |text: &[u8]| text.trim_ascii().is_empty();
    let mut at = to;
    let mut rest = cx.input.rest_of_line(at).await;
    // The end tag of a call may end its line: then the mark is on the next one.
    if is_blank(&rest) {
        at = cx.input.skip(line_end(cx, at + rest.len()).await, |byte| matches!(byte, b' ' | b'\t')).await;
        rest = cx.input.rest_of_line(at).await;
    }
    let Some((from, end)) = quote.closing(&rest) else { return QuoteEnd::None };
    let is_all = quote.is_first() && is_blank(&rest[..from]) && is_blank(&rest[end..]);
    match is_all && ends_paragraph(cx, at + rest.len()).await {
        true => QuoteEnd::Alone,
        false => QuoteEnd::At(at + end),
    }
}

/// The position after the line end at `at`, if there is one.
async fn line_end(cx: &ReadContext, at: usize) -> usize {
    match cx.input.literal(at, &["\r\n", "\n", "\r"]).await {
        Some(0) => at + 2,
        Some(_) => at + 1,
        None => at,
    }
}

/// True if an empty line or the end of the text follows the line that ends at `at`.
async fn ends_paragraph(cx: &ReadContext, at: usize) -> bool {
    let first = cx.input.skip(line_end(cx, at).await, |byte| matches!(byte, b' ' | b'\t')).await;
    matches!(cx.input.byte(first).await, None | Some(b'\n' | b'\r'))
}

/// The end of a quotation on the line where a block begins that cannot be read. The text behind it is read again, so the number
/// of these searches is limited.
async fn inside(cx: &ReadContext, opening: Opening, to: usize, quote: OpenQuote) -> Option<usize> {
    let rest = cx.input.rest_of_line(opening.after).await;
    let end = match quote {
        OpenQuote::Block => rest.len(),
        _ => quote.closing_anywhere(&rest)?,
    };
    Some(if cx.take_rescan() { opening.after + end } else { to })
}
