//! Sections of special tokens: name, separator, JSON (DeepSeek, Kimi).

use super::arguments::{self, Named};
use crate::parse::dialects::{Opening, Read};
use crate::parse::draft::Draft;
use crate::parse::machine::Cx;

/// The tokens of a dialect.
pub struct Section {
    pub format: &'static str,
    pub opens: &'static str,
    pub call: &'static str,
    pub separator: &'static str,
    pub call_end: &'static str,
    pub closes: &'static str,
    /// Reads what stands before the separator.
    pub header: fn(&str) -> Header,
}

pub enum Header {
    Name {
        name: String,
        id: Option<String>,
        format: &'static str,
    },
    /// The name comes on the line behind the separator, and a fence around the arguments.
    NameFollows {
        format: &'static str,
    },
}

pub async fn read(cx: &Cx, opening: Opening, section: &Section) -> Read {
    let tokens = [section.opens, section.call, section.call_end, section.closes];
    let mut at = opening.start;
    let (mut found, mut opened) = (false, 0);
    loop {
        let token = cx.tape.skip_space(at).await;
        match cx.tape.literal(token, &tokens).await {
            // Twice is a slip; more of them are text, and not to be stepped over again from each of them.
            Some(0) if found || opened < 2 => {
                opened += 1;
                at = token + section.opens.len();
            }
            Some(1) => match call(cx, token + section.call.len(), section).await {
                Some(end) => {
                    found = true;
                    at = end;
                }
                None => break,
            },
            Some(2) if found => at = token + section.call_end.len(),
            Some(3) if found => {
                at = token + section.closes.len();
                break;
            }
            _ => break,
        }
        if found {
            cx.tape.extend(at, None);
        }
    }
    match found {
        true => {
            cx.tape.extend(at, None);
            Read::Block(at)
        }
        false => Read::No,
    }
}

/// Reads a call from behind its opening token, and gives the position behind the arguments.
async fn call(cx: &Cx, at: usize, section: &Section) -> Option<usize> {
    let stops = [section.call_end, section.closes, section.call];
    let ends = [section.separator, section.call_end, section.closes, section.call];
    let (separator, index) = cx.tape.find(at, &ends).await?;
    if index != 0 {
        cx.emit(vec![Draft::failed("", "The call has no arguments.")], separator, section.format);
        return Some(separator);
    }
    let after = separator + section.separator.len();
    match cx.tape.with(at, separator, section.header) {
        Header::Name { name, id, format } => {
            let named = Named { id, ..Named::new(&name, format) };
            Some(arguments::read(cx, after, named, &stops).await)
        }
        Header::NameFollows { format } => {
            let (end, _) = cx.tape.find(after, &["\n", "```", "{", "<"]).await?;
            let name = cx.tape.slice(after, end).trim().to_owned();
            let named = Named { fences: true, ..Named::new(&name, format) };
            Some(arguments::read(cx, end, named, &stops).await)
        }
    }
}
