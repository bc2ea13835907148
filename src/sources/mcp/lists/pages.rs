//! Lists that come in pages: tools, skills, resources and prompts, read entry by entry.
//!
//! One odd entry costs that entry. A list that does not end is cut; a cursor that comes again ends it. The notices say so.

use crate::mcp::connection::{Connection, RequestExtras};
use crate::mcp::convert::wrong_answer;
use crate::mcp::message::Params;
use crate::mcp::wire::clean;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use toolhub_text::{Message, message};
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{HubError, Result};
use toolhub_types::tool::CallContextExtras;

const MAX_PAGES: usize = 400;

/// Which list to fetch.
pub struct PagedList {
    pub method: &'static str,
    /// The member of a page that has its entries.
    pub member: &'static str,
    pub meta: Map<String, Value>,
    /// How many entries are taken.
    pub most: usize,
    /// What notices call the list, and an entry whose key another one has.
    pub words: [&'static str; 2],
}

/// What was taken of a list.
pub struct Fetched<T> {
    pub entries: Vec<T>,
    /// What was left out, and why.
    pub notices: Vec<String>,
    /// For how long the server says that this holds.
    pub ttl_ms: Option<u64>,
}

/// An entry with its key and what is odd about it, or why it is left out.
pub type ReadEntry<T> = Result<(Arc<str>, T, Vec<String>), String>;

/// Fetches the pages of a list one by one.
pub async fn fetch<T>(
    connection: &Connection,
    list: PagedList,
    read: impl Fn(&RawValue) -> ReadEntry<T>,
) -> Result<Fetched<T>> {
    let mut fetched = Fetched { entries: Vec::new(), notices: Vec::new(), ttl_ms: None };
    let (mut keys, mut twice, mut cursors) = (HashSet::new(), Vec::new(), HashSet::new());
    let [name, second] = list.words;
    let mut cut = Some(format!("{name} did not end after {MAX_PAGES} pages"));
    let mut params = Params::new();
    let call = CallContextExtras { meta: list.meta.clone(), ..CallContextExtras::default() };
    for _ in 0..MAX_PAGES {
        let extras = RequestExtras { call: Some(&call), ..RequestExtras::default() };
        let raw = connection.request(list.method, params, extras).await?;
        let next = block_if_large(raw.get().len(), || {
            let wrong = |why: Message| wrong_answer(list.method, why);
            let members: Members<'_> =
                serde_json::from_str(raw.get()).map_err(|error| wrong(error.to_string().into()))?;
            let entries: Vec<&RawValue> = match members.get(list.member).filter(|raw| raw.get() != "null") {
                None => Vec::new(),
                Some(entries) => serde_json::from_str(entries.get())
                    .map_err(|_| wrong(message!("'{}' is not a list", list.member)))?,
            };
            for entry in entries {
                match read(entry) {
                    _ if fetched.entries.len() == list.most => break,
                    Ok((key, entry, notices)) if keys.insert(key.clone()) => {
                        fetched.entries.push(entry);
                        fetched.notices.extend(notices);
                    }
                    Ok((key, ..)) => twice.push(format!("{second} '{}'", clean(&key, 100))),
                    Err(reason) => fetched.notices.push(reason),
                }
            }
            fetched.ttl_ms = member(&members, "ttlMs");
            let next = member::<String>(&members, "nextCursor");
            Ok::<_, HubError>(next.filter(|_| fetched.entries.len() < list.most))
        })?;
        let Some(next) = next else {
            fetched.notices.append(&mut twice);
            cut = None;
            break;
        };
        params = Params::new().with("cursor", &next);
        if cursors.contains(&next) {
            // Some servers say with an empty cursor that the list ends. Pages that came again have told nothing about the keys.
            cut = (!next.is_empty()).then(|| format!("{name} did not end: its cursor came again"));
            break;
        }
        cursors.insert(next);
    }
    fetched.notices.splice(0..0, cut);
    Ok(fetched)
}

type Members<'a> = HashMap<String, &'a RawValue>;

/// A member of a page, if it is what it should be.
fn member<'a, T: Deserialize<'a>>(members: &Members<'a>, name: &str) -> Option<T> {
    members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}
