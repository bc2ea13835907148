//! Pages of lists. A list has the order of its names, and the cursor of a page is the last name that it shows: a caller learns
//! nothing from it that is not on the page, any replica continues it, and a name that is gone since still has its place.

use crate::rpc::{RpcError, RpcParams, must_be};
use base64::prelude::*;
use serde_json::{Map, Value};
use std::borrow::Cow;

pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// The page after the cursor of a request, of at most `size` names.
pub fn page<T>(
    params: &RpcParams,
    size: usize,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> Cow<'_, str>,
) -> Result<Page<T>, RpcError> {
    let after = last_name(params)?;
    let follows = |item: &T| after.as_deref().is_none_or(|after| *name(item) > *after);
    let mut items: Vec<T> = all.into_iter().filter(follows).collect();
    items.sort_by(|one, other| name(one).cmp(&name(other)));
    let Some(last) = items.get(size.max(1) - 1).map(|last| name(last).into_owned()) else {
        return Ok(Page { items, next: None });
    };
    // Servers may list a name twice. Namesakes share a page: the next one begins after their name.
    let end = items.partition_point(|item| *name(item) <= *last);
    let next = (end < items.len()).then(|| BASE64_URL_SAFE_NO_PAD.encode(&last));
    items.truncate(end);
    Ok(Page { items, next })
}

/// The result of a list, from the items of a page under their `name`.
pub fn listed(name: &str, items: Value, next: Option<String>) -> Map<String, Value> {
    let next = next.map(|cursor| ("nextCursor".to_owned(), Value::String(cursor)));
    [(name.to_owned(), items)].into_iter().chain(next).collect()
}

/// The last name of the page before, in an encoding that keeps any name one word.
fn last_name(params: &RpcParams) -> Result<Option<String>, RpcError> {
    let cursor = match params.get("cursor") {
        None | Some(Value::Null) => return Ok(None),
        Some(cursor) => cursor.as_str().and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok()),
    };
    let name = cursor.and_then(|bytes| String::from_utf8(bytes).ok());
    name.map(Some).ok_or_else(|| must_be("cursor", "the 'nextCursor' of an earlier page"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    fn page_after(cursor: Option<&str>, names: &BTreeSet<String>, size: usize) -> Page<String> {
        let params = json!({"cursor": cursor}).as_object().unwrap().clone();
        page(&RpcParams::from(params), size, names.iter().rev().cloned(), |name| Cow::Borrowed(name)).unwrap()
    }

    fn names(most: usize) -> impl Strategy<Value = BTreeSet<String>> {
        proptest::collection::btree_set(".{0,3}", 0..most)
    }

    proptest! {
        /// Before each page some names go and others come.
        #[test]
        fn a_list_that_changes_shows_what_stays_once_and_in_order(
            stays in names(40),
            moves in proptest::collection::vec(names(12), 1..12),
            size in 1usize..6,
        ) {
            let (mut shown, mut cursor) = (Vec::new(), None);
            for round in 0.. {
                let listed: BTreeSet<String> = stays.union(&moves[round % moves.len()]).cloned().collect();
                let Page { items, next } = page_after(cursor.as_deref(), &listed, size);
                prop_assert!(items.len() <= size);
                shown.extend(items);
                cursor = next;
                if cursor.is_none() {
                    break;
                }
            }
            prop_assert!(shown.is_sorted_by(|one, other| one < other), "{shown:?}");
            prop_assert!(stays.iter().all(|name| shown.contains(name)), "{stays:?} {shown:?}");
        }

        /// Any name that a caller makes up gives the same page, whether a hidden tool has it or none.
        #[test]
        fn a_hidden_name_and_an_unknown_one_continue_alike(
            all in names(30), is_shown: u32, size in 1usize..6, made_up in ".{0,3}",
        ) {
            let shows = |(at, _): &(usize, &String)| is_shown >> (at % 32) & 1 == 1;
            let view: BTreeSet<String> = all.iter().enumerate().filter(shows).map(|(_, name)| name.clone()).collect();
            for name in all.iter().chain([&made_up]) {
                let cursor = BASE64_URL_SAFE_NO_PAD.encode(name);
                let expected: Vec<String> = view.iter().filter(|one| *one > name).take(size).cloned().collect();
                prop_assert_eq!(page_after(Some(&cursor), &view, size).items, expected);
            }
        }
    }

    #[test]
    fn namesakes_share_a_page() {
        let listed = ["b", "a", "b", "c", "b"];
        let first =
            page(&RpcParams::from(serde_json::Map::new()), 2, listed, |name| Cow::Borrowed(*name)).unwrap();
        assert_eq!(first.items, ["a", "b", "b", "b"]);
        let cursor = RpcParams::from(json!({"cursor": first.next}).as_object().unwrap().clone());
        let last = page(&cursor, 2, listed, |name| Cow::Borrowed(*name)).unwrap();
        assert_eq!((last.items, last.next), (vec!["c"], None));
    }
}
