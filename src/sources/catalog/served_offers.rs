//! Resources and prompts of servers as the clients of a gateway see them.
//!
//! A URI or name that only one server has stays as it is. One that several servers have is told apart by its server
//! ([`own_key`]), and so is every interface of an app: the tools name it in that way. These forms are understood at any time, so that a client that knows one from an earlier list can still use
//! it. What the hub has itself keeps its key, because it is always there.

use super::Servers;
use super::name_space::{NameSpaces, own_key};
use super::offers::{
    FoundOffer, LIST_PATIENCE, OfferOwner, OfferedBy, SilentAre, for_caller, key_of, not_asked, too_late,
};
use crate::mcp::offers;
use crate::mcp::server::Server;
use crate::mcp::skills;
use crate::mcp::subscriptions;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use toolhub_engine::offers::OfferQuery;
use toolhub_engine::served::{SubscribedResource, View};
use toolhub_protocol::{APPS_SCHEME, TASKS_EXTENSION};
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::model::OfferKind;
use toolhub_types::principal::Principal;
use toolhub_types::tool::CallContextExtras;

/// How long a server may take to list or read what it offers.
const OFFER_TIMEOUT: Duration = Duration::from_secs(30);

impl Servers {
    fn shown(&self, view: &View, kind: OfferKind) -> Vec<Arc<Server>> {
        let shows = |server: &Arc<Server>| !server.config().disabled && view.shows(kind, server.id());
        self.all().into_iter().filter(shows).collect()
    }

    /// Whether a server that the view shows has this capability, or may have it.
    pub fn may_have(&self, view: &View, capability: &str) -> bool {
        let kind = if capability == "prompts" { OfferKind::Prompts } else { OfferKind::Resources };
        let mut shown = self.shown(view, kind);
        if capability == "completions" {
            shown.extend(self.shown(view, OfferKind::Prompts));
        }
        shown.iter().any(|server| server.declares(capability) != Some(false))
    }

    /// The extensions that servers of the view have declared. Tasks and skills end at the hub.
    pub fn extensions(&self, view: &View) -> Map<String, Value> {
        let declared =
            self.shown(view, OfferKind::Resources).into_iter().flat_map(|server| server.extensions());
        let mut all = Map::new();
        for (name, settings) in
            declared.filter(|(name, _)| ![TASKS_EXTENSION, skills::EXTENSION].contains(&&**name))
        {
            all.entry(name).or_insert(settings);
        }
        all
    }

    /// The offers of the servers that the view shows, as this caller may see them. A server that cannot list its offers, or is
    /// closed to the caller, hides those of no other. `is_own`: whether the hub itself answers for a key.
    pub async fn served_offers(
        &self,
        view: &View,
        caller: &Arc<Principal>,
        kind: OfferKind,
        again: bool,
        is_own: &(dyn Fn(&str) -> bool + Sync),
    ) -> Vec<Value> {
        let (shown, _) = for_caller(self.shown(view, kind), Some(caller));
        let (known, unknown) = match again {
            true => shown.into_iter().partition(|server| offers::known(server, kind).is_some()),
            false => (Vec::new(), shown),
        };
        let mut lists: Vec<OfferedBy> =
            self.list_offers(unknown, kind, SilentAre::LeftAlone, LIST_PATIENCE).await;
        let known = known.into_iter().filter_map(|server: Arc<Server>| {
            let listed = self.own_names(&server, kind, &offers::known(&server, kind)?.offers);
            Some((server.id().clone(), Ok(listed)))
        });
        lists.extend(known);
        // The order of the configuration, whatever was known before.
        let place: HashMap<Arc<str>, usize> =
            self.all().iter().enumerate().map(|(place, server)| (server.id().clone(), place)).collect();
        lists.sort_by_key(|(id, _)| place.get(id).copied().unwrap_or(usize::MAX));
        told_apart(kind, lists, &self.name_spaces(), is_own)
    }

    /// Passes a request of a client on to the server that has what it names.
    pub async fn ask_served(
        &self,
        view: &View,
        query: &OfferQuery,
        extras: &CallContextExtras,
    ) -> Result<Map<String, Value>, HubError> {
        let until = Instant::now() + OFFER_TIMEOUT;
        let caller = extras.principal.as_ref();
        let found = self.find_served(view, query.kinds(), query.key(), caller, until).await?;
        let limit = (until, OFFER_TIMEOUT);
        self.ask_server(&found, query, extras, limit).await
    }

    /// Subscribes to the changes of a resource, on the connection of the caller.
    pub async fn subscribe_served(
        &self,
        view: &View,
        caller: &Arc<Principal>,
        uri: &str,
    ) -> Result<SubscribedResource, HubError> {
        let until = Instant::now() + OFFER_TIMEOUT;
        let found = self.find_served(view, OfferKind::READ, uri, Some(caller), until).await?;
        offers::check_uri(&found.server, &found.key)?;
        let subscribed = timeout_at(until, subscriptions::subscribe(&found.server, &found.key)).await;
        let guard = subscribed.unwrap_or_else(|_| Err(too_late(&found.server, uri, OFFER_TIMEOUT)))?;
        Ok(SubscribedResource::new(found.server.id().clone(), found.key, guard))
    }

    async fn find_served(
        &self,
        view: &View,
        kinds: &[OfferKind],
        asked: &str,
        caller: Option<&Arc<Principal>>,
        until: Instant,
    ) -> Result<FoundOffer, HubError> {
        let kind = kinds.first().copied().unwrap_or(OfferKind::Resources);
        let (shown, closed) = for_caller(self.shown(view, kind), caller);
        let what = if kind == OfferKind::Prompts { "prompt" } else { "resource" };
        let refuse = |kind, text| Err(HubError::new(kind, text).with_outcome(Outcome::NotSent));
        let missing = || format!("No server lists the {what} '{}'.", clip(asked));
        let among = (shown.clone(), closed);
        match self.find_owner(among, kinds, asked, SilentAre::LeftAlone, until).await {
            OfferOwner::One(found) => Ok(found),
            OfferOwner::Hidden => refuse(ErrorKind::NotFound, missing()),
            OfferOwner::Several(several) => {
                let names: Vec<String> = several
                    .iter()
                    .map(|one| format!("'{}'", clip(&own_key(kind, one.id(), asked))))
                    .collect();
                let text = format!(
                    "Several servers have the {what} '{}'; name it {}.",
                    clip(asked),
                    names.join(" or ")
                );
                refuse(ErrorKind::InvalidArguments, text)
            }
            OfferOwner::Unknown(Some((id, error))) => Err(not_asked(what, asked, &id, error)),
            OfferOwner::Unknown(None) => {
                // A server may have resources that it does not list, such as those that its tools link to.
                let mut having = shown.iter().filter(|one| one.declares(kind.capability()) == Some(true));
                match (having.next(), having.next()) {
                    (Some(only), None) => Ok(FoundOffer { server: only.clone(), key: asked.to_owned() }),
                    _ => refuse(ErrorKind::NotFound, missing()),
                }
            }
        }
    }
}

/// One list of all; what several servers have, or the hub too, gets the name of its server.
fn told_apart(
    kind: OfferKind,
    lists: Vec<OfferedBy>,
    spaces: &NameSpaces,
    is_own: &dyn Fn(&str) -> bool,
) -> Vec<Value> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for offer in lists.iter().filter_map(|(_, listed)| listed.as_ref().ok()).flatten() {
        *counts.entry(key_of(kind, offer).to_owned()).or_default() += 1;
    }
    let mut all = Vec::new();
    for (id, listed) in lists {
        for mut offer in listed.unwrap_or_default() {
            let key = key_of(kind, &offer);
            let is_shared = counts.get(key).is_some_and(|count| *count > 1) || is_own(key);
            if is_shared || kind != OfferKind::Prompts && key.starts_with(APPS_SCHEME) {
                let told = own_key(kind, &id, key);
                // With servers 'a' and 'a__b', the prompt 'b__c' of 'a' has no name of its own.
                if spaces.trespassed(kind, &id, &told).is_some() {
                    continue;
                }
                offer[kind.key()] = Value::from(told);
            }
            all.push(offer);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by(id: &str, offers: Value) -> OfferedBy {
        (Arc::from(id), Ok(offers.as_array().cloned().unwrap()))
    }

    #[test]
    fn only_what_several_servers_have_is_renamed() {
        let lists = vec![
            by("alpha", json!([{"name": "review", "x": 1.5}, {"name": "own"}])),
            by("beta", json!([{"name": "review"}])),
            (Arc::from("broken"), Err(HubError::new(ErrorKind::Closed, "gone"))),
        ];
        let all = told_apart(OfferKind::Prompts, lists, &NameSpaces(Vec::new()), &|_| false);
        assert_eq!(
            json!(all).to_string(),
            r#"[{"name":"alpha__review","x":1.5},{"name":"own"},{"name":"beta__review"}]"#
        );
        let lists = vec![by("a b", json!([{"uri": "note://x"}])), by("c", json!([{"uri": "note://x"}]))];
        let uris: Vec<Value> = told_apart(OfferKind::Resources, lists, &NameSpaces(Vec::new()), &|_| false)
            .iter()
            .map(|one| one["uri"].clone())
            .collect();
        assert_eq!(uris, ["toolhub://a%20b/note://x", "toolhub://c/note://x"]);
        let lists = vec![by("a", json!([{"name": "p"}]))];
        let own = told_apart(OfferKind::Prompts, lists, &NameSpaces(Vec::new()), &|key| key == "p");
        assert_eq!(own, [json!({"name": "a__p"})]);
    }
}
