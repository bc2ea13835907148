//! Lists that come in pages: tools, skills, resources and prompts.
//!
//! A list that does not end is cut; a cursor that comes again ends it.

use super::connection::{Connection, RequestExtras};
use super::convert::protocol;
use super::message::Params;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use toolhub_types::aside::heavy;
use toolhub_types::error::HubError;

pub const MAX_PAGES: usize = 400;

/// Which list to fetch.
pub struct PagedList {
    pub method: &'static str,
    /// The member of a page that has its entries.
    pub member: &'static str,
    pub meta: Map<String, Value>,
}

/// One page: its entries as they came, and its other members.
pub struct ListPage<'a> {
    pub entries: Vec<&'a RawValue>,
    members: HashMap<String, &'a RawValue>,
}

impl ListPage<'_> {
    /// A member of the page, if it is what it should be.
    pub fn member<'a, T: Deserialize<'a>>(&'a self, name: &str) -> Option<T> {
        self.members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }
}

/// How a list ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ListEnd {
    /// With its last page, or because nothing more is taken.
    Complete,
    /// Its cursor came again. Some servers say with an empty cursor that the list ends.
    CursorAgain {
        is_empty: bool,
    },
    TooManyPages,
}

/// Fetches the pages of a list one by one. `take` takes the entries of a page, and says whether it wants more.
pub async fn fetch(
    connection: &Connection,
    list: PagedList,
    mut take: impl FnMut(ListPage<'_>) -> bool,
) -> Result<ListEnd, HubError> {
    let mut cursors = HashSet::new();
    let mut params = Params::new();
    for _ in 0..MAX_PAGES {
        let extras = RequestExtras { meta: list.meta.clone(), ..RequestExtras::default() };
        let raw = connection.request(list.method, params, extras).await?;
        let next = heavy(raw.get().len(), || {
            let page = read(&raw, &list)?;
            let next = page.member::<String>("nextCursor");
            let wants_more = take(page);
            Ok::<_, HubError>(next.filter(|_| wants_more))
        })?;
        let Some(next) = next else { return Ok(ListEnd::Complete) };
        params = Params::new().with("cursor", &next);
        let is_empty = next.is_empty();
        if !cursors.insert(next) {
            return Ok(ListEnd::CursorAgain { is_empty });
        }
    }
    Ok(ListEnd::TooManyPages)
}

fn read<'a>(raw: &'a RawValue, list: &PagedList) -> Result<ListPage<'a>, HubError> {
    let members: HashMap<String, &RawValue> =
        serde_json::from_str(raw.get()).map_err(|error| protocol(format!("{}: {error}", list.method)))?;
    let entries = match members.get(list.member).filter(|raw| raw.get() != "null") {
        None => Vec::new(),
        Some(entries) => serde_json::from_str(entries.get())
            .map_err(|_| protocol(format!("{}: '{}' is not a list", list.method, list.member)))?,
    };
    Ok(ListPage { entries, members })
}
