//! Resources and prompts of the servers behind a gateway: pages, views, changes, subscriptions, questions.

use crate::gateway::client::Http;
use crate::gateway::world::{World, initialize, modern, modern_with, request};
use crate::support::no_upstreams::NoUpstreams;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use toolhub::error::{ErrorKind, HubError, UpstreamError};
use toolhub::gateway::{Gateway, GatewayOptions, SubscribedResource, Upstreams, View, Views};
use toolhub::model::{ChangedOffer, OfferKind};
use toolhub::offers::OfferQuery;
use toolhub::pattern::PatternList;
use toolhub::plan::{CallSources, LookUpRequest, ServerSet, Unreachable};
use toolhub::principal::Principal;
use toolhub::tool::{AskCaller, BoxFuture, CallContextExtras};

/// One server, `notes`, with five resources and a prompt that asks.
struct Notes {
    none: NoUpstreams,
    subscribers: Arc<AtomicUsize>,
}

struct Subscriber(Arc<AtomicUsize>);

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl CallSources for Notes {
    fn servers(&self) -> Option<&dyn ServerSet> {
        self.none.servers()
    }

    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        self.none.look_up(request)
    }
}

impl Upstreams for Notes {
    fn listed<'a>(&'a self, view: &'a View, patience: Option<Duration>) -> BoxFuture<'a, Vec<Arc<str>>> {
        self.none.listed(view, patience)
    }

    fn want_log_level(&self, level: Option<&'static str>) -> BoxFuture<'_, ()> {
        self.none.want_log_level(level)
    }

    fn set_only_client(&self, client: Option<AskCaller>) {
        self.none.set_only_client(client);
    }

    fn roots_changed(&self) -> BoxFuture<'_, ()> {
        self.none.roots_changed()
    }

    fn log(&self, server: &str, level: &str, text: &str) {
        self.none.log(server, level, text);
    }

    fn server_states(&self) -> Vec<Value> {
        self.none.server_states()
    }

    fn instructions(&self, server: &str) -> Option<String> {
        self.none.instructions(server)
    }

    fn extensions(&self, view: &View) -> Map<String, Value> {
        self.none.extensions(view)
    }

    fn may_have(&self, view: &View, capability: &str) -> bool {
        let kind = if capability == "prompts" { OfferKind::Prompts } else { OfferKind::Resources };
        capability != "completions" && view.shows(kind, "notes")
    }

    fn offers<'a>(
        &'a self,
        _: &'a View,
        _: &'a Arc<Principal>,
        kind: OfferKind,
        _: bool,
    ) -> BoxFuture<'a, Vec<Value>> {
        let listed = match kind {
            OfferKind::Prompts => vec![json!({"name": "ask"})],
            OfferKind::ResourceTemplates => Vec::new(),
            OfferKind::Resources => {
                (0..5).map(|n| json!({"uri": format!("note://{n}"), "x-own": 1.5})).collect()
            }
        };
        Box::pin(std::future::ready(listed))
    }

    fn ask_offer<'a>(
        &'a self,
        _: &'a View,
        query: &'a OfferQuery,
        extras: &'a CallContextExtras,
    ) -> BoxFuture<'a, Result<Map<String, Value>, HubError>> {
        Box::pin(async move {
            let mut answer = Map::new();
            match (query.method(), query.key()) {
                ("resources/read", "note://refused") => {
                    let upstream = UpstreamError { message: "No!".to_owned(), data: Some(json!([1])) };
                    return Err(HubError {
                        code: Some(-31000),
                        upstream: Some(Arc::new(upstream)),
                        ..HubError::new(ErrorKind::Rpc, "MCP error: No!")
                    });
                }
                ("resources/read", "note://0") => {
                    answer.insert("contents".to_owned(), json!([{"uri": query.key(), "text": "zero"}]));
                    answer.insert("cacheScope".to_owned(), json!("public"));
                }
                ("prompts/get", "ask") => {
                    let Some(ask) = &extras.ask else { return Ok(answer) };
                    let asked = json!({"message": "Who?", "requestedSchema": {"type": "object"}});
                    let said = ask.ask("elicitation/create", asked).await;
                    let said = said.map_err(|(_, why)| HubError::new(ErrorKind::NotAllowed, why))?;
                    answer.insert("messages".to_owned(), json!([said]));
                }
                _ => return Err(HubError::new(ErrorKind::NotFound, "There is none.")),
            }
            Ok(answer)
        })
    }

    fn subscribe<'a>(
        &'a self,
        _: &'a View,
        _: &'a Arc<Principal>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<SubscribedResource, HubError>> {
        self.subscribers.fetch_add(1, Ordering::AcqRel);
        let guard = Subscriber(self.subscribers.clone());
        let subscribed = SubscribedResource::new(Arc::from("notes"), uri.to_owned(), guard);
        Box::pin(std::future::ready(Ok(subscribed)))
    }
}

struct Served {
    world: World,
    subscribers: Arc<AtomicUsize>,
}

fn served(options: GatewayOptions) -> Served {
    let mut world = World::new();
    let subscribers = Arc::default();
    let hub = world.gateway.hub.clone();
    let notes = Notes { none: NoUpstreams, subscribers: Arc::clone(&subscribers) };
    world.gateway = Arc::new(Gateway::new(hub, Arc::new(notes), options).unwrap());
    Served { world, subscribers }
}

const READ: [(&str, &str); 1] = [("mcp-name", "note://0")];

#[tokio::test]
async fn lists_come_in_pages_and_keep_what_the_hub_does_not_know() {
    let served = served(GatewayOptions { page_size: 3, ..GatewayOptions::default() });
    let mut client = served.world.client().await;
    let first = client.post(&modern(1, "resources/list", json!({})), &[]).await.json();
    let first = &first["result"];
    assert_eq!(first["resources"].as_array().unwrap().len(), 3);
    assert_eq!(first["resources"][0].to_string(), r#"{"uri":"note://0","x-own":1.5}"#);
    assert_eq!((&first["ttlMs"], &first["cacheScope"]), (&json!(0), &json!("private")));
    let cursor = json!({"cursor": first["nextCursor"]});
    let last = client.post(&modern(2, "resources/list", cursor), &[]).await.json();
    assert_eq!(last["result"]["resources"][1]["uri"], "note://4");
    assert_eq!(last["result"].get("nextCursor"), None);
    let wrong = client.post(&modern(3, "resources/list", json!({"cursor": "x"})), &[]).await.json();
    assert_eq!(wrong["error"]["code"], -32602);
}

#[tokio::test]
async fn contents_are_private_and_errors_are_those_of_the_server() {
    let served = served(GatewayOptions::default());
    let mut client = served.world.client().await;
    let read = |uri: &str| modern(1, "resources/read", json!({"uri": uri}));
    let found = client.post(&read("note://0"), &READ).await.json();
    assert_eq!(found["result"]["contents"][0]["text"], "zero");
    assert_eq!(found["result"]["cacheScope"], "private", "callers may see different things");
    let refused = client.post(&read("note://refused"), &[("mcp-name", "note://refused")]).await.json();
    assert_eq!(refused["error"], json!({"code": -31000, "message": "No!", "data": [1]}));
    let missing = client.post(&read("note://9"), &[("mcp-name", "note://9")]).await;
    let expected = json!({"code": -32602, "message": "Resource not found", "data": {"uri": "note://9"}});
    assert_eq!((missing.status, &missing.json()["error"]), (400, &expected));
    let legacy = client.post(&request(2, "resources/read", json!({"uri": "note://9"})), &[]).await;
    assert_eq!((legacy.status, &legacy.json()["error"]["code"]), (200, &json!(-32002)));
}

#[tokio::test]
async fn a_prompt_may_ask_its_client() {
    let served = served(GatewayOptions::default());
    let mut client = served.world.client().await;
    let get = |params: Value| modern_with(json!({"elicitation": {}}), 1, "prompts/get", params);
    let named = [("mcp-name", "ask")];
    let asked = client.post(&get(json!({"name": "ask"})), &named).await.json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = &asked["result"]["requestState"];
    let answers = json!({"question": {"action": "decline"}});
    let again = json!({"name": "ask", "requestState": state, "inputResponses": answers});
    let got = client.post(&get(again), &named).await.json();
    assert_eq!(got["result"]["messages"][0]["action"], "decline");
    // An answer that is given before it is asked for.
    let early = client.post(&get(json!({"name": "ask", "inputResponses": answers})), &named).await.json();
    assert_eq!(early["result"]["messages"][0]["action"], "decline");
    let useless = json!({"question": 5, "other": {}});
    let asked = client.post(&get(json!({"name": "ask", "inputResponses": useless})), &named).await.json();
    assert_eq!(asked["result"]["resultType"], "input_required");
    let cannot = client.post(&modern(2, "prompts/get", json!({"name": "ask"})), &named).await;
    assert_eq!((cannot.status, &cannot.json()["error"]["code"]), (400, &json!(-32021)));
}

#[tokio::test]
async fn a_limited_view_has_no_resources_unless_it_names_their_server() {
    let patterns = |given: &[&str]| Some(Arc::new(PatternList::new(given.iter().copied())));
    let closed = View { name: "closed".into(), tools: patterns(&["sum"]), ..View::default() };
    let open = View { name: "open".into(), resources: patterns(&["no*"]), ..closed.clone() };
    let views = Views::new(View::everything(), [closed, open]).unwrap();
    let served = served(GatewayOptions { views: Some(views), ..GatewayOptions::default() });
    let everything = View::everything();
    assert!(everything.shows(OfferKind::Prompts, "notes"));
    let seen = |name: &str| {
        served.world.gateway.identity.views.load().of_path(
            &format!("/mcp/{name}"),
            "/mcp",
            &served.world.gateway.identity.anonymous,
        )
    };
    let (closed, open) = (seen("closed").unwrap(), seen("open").unwrap());
    assert!(!closed.shows(OfferKind::Resources, "notes") && !closed.shows(OfferKind::Prompts, "notes"));
    assert!(open.shows(OfferKind::ResourceTemplates, "notes") && !open.shows(OfferKind::Resources, "files"));
    assert!(!open.shows(OfferKind::Prompts, "notes"));
}

#[tokio::test]
async fn clients_hear_of_changes_and_of_resources_that_they_subscribed_to() {
    let served = served(GatewayOptions::default());
    let address = served.world.serve().await;
    let mut legacy = Http::connect(address).await;
    let opened = legacy.post(&initialize("2025-11-25"), &[]).await;
    let capabilities = &opened.json()["result"]["capabilities"];
    assert_eq!(capabilities["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!(
        (&capabilities["prompts"], capabilities.get("completions")),
        (&json!({"listChanged": true}), None)
    );
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let own = [("mcp-session-id", session.as_str())];
    let subscribe = |method: &str| request(1, method, json!({"uri": "note://1"}));
    assert_eq!(legacy.post(&subscribe("resources/subscribe"), &own).await.json()["result"], json!({}));
    assert_eq!(served.subscribers.load(Ordering::Acquire), 1);
    let mut stream = Http::connect(address).await;
    stream.send("GET", &[("accept", "text/event-stream"), own[0]], b"").await;
    stream.head().await;

    let mut client = Http::connect(address).await;
    let wanted = json!({"promptsListChanged": true, "resourceSubscriptions": ["note://2"]});
    let listen = modern(9, "subscriptions/listen", json!({"notifications": wanted}));
    client.send_post(&listen, &[]).await;
    client.head().await;
    assert_eq!(client.event().await["params"]["notifications"], wanted);

    let server: Arc<str> = Arc::from("notes");
    let content = |uri: &str| ChangedOffer::Content(Arc::from(uri));
    let signals = &served.world.gateway.hub.own_offers.signals;
    let of_another = signals.of_caller(Arc::from("token:other"));
    for change in [ChangedOffer::List(OfferKind::Resources), content("note://2")] {
        of_another.send(&server, change);
    }
    for change in [
        ChangedOffer::List(OfferKind::Resources),
        content("note://3"),
        content("note://2"),
        content("note://1"),
        ChangedOffer::List(OfferKind::Prompts),
    ] {
        signals.send(&server, change);
    }
    let heard = [stream.event().await, stream.event().await, stream.event().await];
    let heard: Vec<&Value> = heard.iter().map(|message| &message["method"]).collect();
    let expected = [
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/prompts/list_changed",
    ];
    assert_eq!(heard, expected);
    let updated = client.event().await;
    let meta = json!({"io.modelcontextprotocol/subscriptionId": 9});
    assert_eq!(updated["params"], json!({"uri": "note://2", "_meta": meta}));
    assert_eq!(client.event().await["method"], "notifications/prompts/list_changed");

    assert_eq!(legacy.post(&subscribe("resources/unsubscribe"), &own).await.json()["result"], json!({}));
    assert_eq!(served.subscribers.load(Ordering::Acquire), 1, "the modern client still listens");
}
