//! Sections of special tokens: name, separator, JSON (DeepSeek, Kimi, PLaMo).

use super::arguments::{self, CallStops, NamedCall};
use crate::input::{Found, Opening, ReadContext};
use crate::parsed::Draft;
use crate::schemas::ToolSchemas;

/// The tokens of a dialect.
#[derive(Clone, Copy)]
pub struct SectionTokens {
    /// The token of the format, and spellings of it that models use.
    pub opens: &'static [&'static str],
    pub call: &'static str,
    pub separator: &'static str,
    /// May stand between the separator and the arguments.
    pub announces: &'static [&'static str],
    /// End a call; all of them may follow it.
    pub call_ends: &'static [&'static str],
    pub closes: &'static [&'static str],
    /// Reads the part before the separator.
    pub header: fn(&str, &dyn ToolSchemas) -> SectionHeader,
}

pub enum SectionHeader {
    /// Either is empty if the model left it out.
    Name { name: String, id: String },
    /// The name is on the line after the separator, and the arguments are in a fence.
    NameFollows { format: &'static str },
}

pub async fn read(cx: &ReadContext, opening: Opening, section: &SectionTokens) -> Option<Found> {
    let mut at = opening.start;
    let (mut found, mut opened) = (false, 0);
    loop {
        let token = cx.skip_space(at).await;
        if let Some(after) = cx.after(token, section.opens).await {
            // Models repeat the token once by mistake. More are text, and must not be skipped again from each of them.
            if !found && opened == 2 {
                break;
            }
            opened += 1;
            at = after;
        } else if cx.has(token, &[section.call]).await {
            let Some(end) = call(cx, token + section.call.len(), section).await else { break };
            found = true;
            at = end;
        } else if !found {
            break;
        } else if let Some(after) = cx.after(token, section.call_ends).await {
            at = after;
        } else {
            at = cx.close_with(at, section.closes).await.unwrap_or(at);
            break;
        }
        if found {
            cx.state().extend(at, None);
        }
    }
    found.then_some(Found::Block(at))
}

/// Reads a call from after its opening token, and returns the position after the arguments.
async fn call(cx: &ReadContext, at: usize, section: &SectionTokens) -> Option<usize> {
    let ends = [section.call_ends, section.closes].concat();
    let stops = CallStops { ends: &ends, next: &[section.call] };
    let tokens = [&[section.separator], &ends[..], &[section.call]].concat();
    let (separator, index) = cx.find(at, &tokens).await?;
    if index != 0 {
        return Some(cx.emit(vec![Draft::failed("", "The call has no arguments.")], separator));
    }
    let mut after = separator + section.separator.len();
    while let Some(next) = cx.after(after, section.announces).await {
        after = next;
    }
    match cx.with(at, separator, |text| (section.header)(text, &*cx.tools)) {
        SectionHeader::Name { name, id } => {
            let named = NamedCall { id, ..NamedCall::new(&name) };
            Some(arguments::read(cx, after, named, stops).await)
        }
        SectionHeader::NameFollows { format } => {
            let (end, _) = cx.find(after, &["\n", "```", "{", "<"]).await?;
            let name = cx.slice(after, end).trim().to_owned();
            cx.state().form.format = format;
            let named = NamedCall { fences: true, ..NamedCall::new(&name) };
            Some(arguments::read(cx, end, named, stops).await)
        }
    }
}
