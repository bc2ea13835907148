//! The changes that one client hears of: of its lists, and of the resources that it subscribed to.

use crate::Gateway;
use crate::kept::KeptCall;
use crate::session::OpenSession;
use futures_util::future::OptionFuture;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolhub_engine::hub::Hub;
use toolhub_engine::served::{SubscribedResource, View};
use toolhub_protocol::Era;
use toolhub_types::model::{ChangedOffer, OfferChange, OfferKind};
use toolhub_types::principal::Principal;
use toolhub_types::sync::{Arc, Mutex};

/// The lists whose changes a client wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedLists {
    pub tools: bool,
    pub resources: bool,
    pub prompts: bool,
}

impl WantedLists {
    fn wants(self, kind: OfferKind) -> bool {
        match kind {
            OfferKind::Resources | OfferKind::ResourceTemplates => self.resources,
            OfferKind::Prompts => self.prompts,
        }
    }
}

/// The tasks that a client hears of.
#[derive(Clone, Debug)]
pub enum WantedTasks {
    /// Those that this session has made.
    OfSession(Arc<str>),
    /// The modern client names them.
    These(HashSet<Arc<str>>),
}

impl WantedTasks {
    fn notice(&self, task: &KeptCall) -> Option<ChangeNotice> {
        match self {
            WantedTasks::OfSession(session)
                if task.owner.session.as_ref() == Some(session) && task.owner.era == Era::Legacy =>
            {
                Some(("notifications/tasks/status", Value::Object(task.summary())))
            }
            WantedTasks::These(ids) if task.id().is_some_and(|id| ids.contains(&id)) => {
                Some(("notifications/tasks", Value::Object(task.details())))
            }
            _ => None,
        }
    }
}

/// A notification: its method and its parameters.
pub type ChangeNotice = (&'static str, Value);

pub struct ClientChanges {
    /// The id of the principal.
    caller: Arc<str>,
    wanted: WantedLists,
    tools: ListChanges,
    offers: Receiver<OfferChange>,
    subscribed: ClientSubscriptions,
    /// `None` for a client that hears of no tasks.
    tasks: Option<(WantedTasks, Receiver<Arc<KeptCall>>)>,
    /// Changes that are still to be reported.
    due: VecDeque<ChangeNotice>,
}

impl ClientChanges {
    /// The changes that a client hears of, from now on.
    pub fn new(
        gateway: &Gateway,
        (view, principal): (&View, &Principal),
        (wanted, tasks): (WantedLists, Option<WantedTasks>),
        subscribed: ClientSubscriptions,
    ) -> Self {
        let hub = &gateway.hub;
        let tools =
            ListChanges { changes: hub.registry.watch(), seen: fingerprint(hub, view), settled_at: None };
        let tasks = tasks.map(|tasks| (tasks, gateway.kept.task_changes.subscribe()));
        let (caller, offers) = (principal.id.clone(), hub.own_offers.signals.watch());
        ClientChanges { caller, wanted, tools, offers, subscribed, tasks, due: VecDeque::new() }
    }

    /// Those that a client of the older protocol hears of: of all lists, and of what its session does.
    pub fn of_session(gateway: &Gateway, who: (&View, &Principal), session: Option<&Arc<str>>) -> Self {
        let subscribed = session.map(|session| gateway.sessions.subscriptions_of(&who.1.id, session));
        let tasks = session.map(|session| WantedTasks::OfSession(session.clone()));
        let lists = WantedLists { tools: true, resources: true, prompts: true };
        ClientChanges::new(gateway, who, (lists, tasks), subscribed.unwrap_or_default())
    }

    /// Returns after the next change that the client may know of. Dropping the future loses no change.
    pub async fn next(&mut self, hub: &Hub, view: &View) -> ChangeNotice {
        loop {
            if let Some(due) = self.due.pop_front() {
                return due;
            }
            let task_changed = self.tasks.as_mut().map(async |(wanted, changes)| {
                changes.recv().await.ok().and_then(|task| wanted.notice(&task))
            });
            tokio::select! {
                Some(notice) = OptionFuture::from(task_changed) => self.due.extend(notice),
                true = self.tools.next(hub, view), if self.wanted.tools => {
                    return ("notifications/tools/list_changed", json!({}));
                }
                // The hub holds the sender, so more will come.
                changed = self.offers.recv() => match changed {
                    Ok(change) => self.due.extend(self.notice(view, &change)),
                    // Some were missed, so the lists may have changed.
                    Err(_) => {
                        let kinds = [OfferKind::Resources, OfferKind::Prompts].into_iter();
                        self.due.extend(kinds.filter(|kind| self.wanted.wants(*kind)).map(list_changed));
                    }
                },
            }
        }
    }

    /// Changes on servers that the view does not show are not reported, nor are those of other callers.
    fn notice(&self, view: &View, change: &OfferChange) -> Option<ChangeNotice> {
        if change.caller.as_ref().is_some_and(|caller| *caller != self.caller) {
            return None;
        }
        match &change.what {
            ChangedOffer::List(kind) => {
                (self.wanted.wants(*kind) && view.shows(*kind, &change.server)).then(|| list_changed(*kind))
            }
            ChangedOffer::Content(uri) => {
                let own = self.subscribed.known_as(&change.server, uri)?;
                Some(("notifications/resources/updated", json!({"uri": own})))
            }
        }
    }
}

fn list_changed(kind: OfferKind) -> ChangeNotice {
    let method = match kind {
        OfferKind::Resources | OfferKind::ResourceTemplates => "notifications/resources/list_changed",
        OfferKind::Prompts => "notifications/prompts/list_changed",
    };
    (method, json!({}))
}

/// Changes come in groups, such as the tools of a server; clients hear of a group once.
const SETTLING: Duration = Duration::from_millis(50);

/// Waits for changes of what a view shows. Changes of other tools are not reported, because the caller must not know them.
struct ListChanges {
    changes: watch::Receiver<u64>,
    seen: u64,
    /// When the group of changes that has begun is over.
    settled_at: Option<Instant>,
}

impl ListChanges {
    /// Returns after the next change; false when there will be none. Dropping the future loses no change.
    async fn next(&mut self, hub: &Hub, view: &View) -> bool {
        loop {
            let settled_at = match self.settled_at {
                Some(at) => at,
                None if self.changes.changed().await.is_err() => return false,
                None => *self.settled_at.insert(Instant::now() + SETTLING),
            };
            tokio::time::sleep_until(settled_at).await;
            self.settled_at = None;
            self.changes.mark_unchanged();
            let now = fingerprint(hub, view);
            if std::mem::replace(&mut self.seen, now) != now {
                return true;
            }
        }
    }
}

/// Differs when the list of tools that the view shows differs.
fn fingerprint(hub: &Hub, view: &View) -> u64 {
    let snapshot = hub.registry.snapshot();
    let mut hasher = DefaultHasher::new();
    for tool in view.tools(&snapshot) {
        (tool.name, tool.changed_at()).hash(&mut hasher);
    }
    hasher.finish()
}

/// The streams of one session.
struct OpenStreams {
    ended: CancellationToken,
    changes: tokio::sync::Mutex<ClientChanges>,
    /// By number, oldest first. The last one reports.
    open: watch::Sender<Vec<u64>>,
}

/// They end with the session: when its time is over, and when its client ends it on this replica. A session may have several,
/// and each notification goes to one of them: the newest, because a client opens another one when it has lost the one before.
/// They share one [`ClientChanges`], so that none is lost when another stream takes over.
#[derive(Clone, Default)]
pub struct SessionStreams(Arc<Mutex<HashMap<Arc<str>, Arc<OpenStreams>>>>);

impl SessionStreams {
    /// A stream of this session, or of a client without one. `changes` are those of the first stream of the session.
    pub fn open(&self, session: Option<&OpenSession>, changes: ClientChanges) -> SessionStream {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let expires = session.map(|session| session.claims.expires);
        let alone = || Arc::from(format!("alone {number}"));
        let session: Arc<str> = session.map_or_else(alone, |session| session.id.clone());
        let mut all = self.0.lock();
        let new = || {
            let (ended, changes) = (CancellationToken::new(), tokio::sync::Mutex::new(changes));
            Arc::new(OpenStreams { ended, changes, open: watch::Sender::default() })
        };
        let own = all.entry(session.clone()).or_insert_with(new).clone();
        own.open.send_modify(|open| open.push(number));
        drop(all);
        SessionStream { streams: self.clone(), session, own, expires, number }
    }

    /// Ends the streams of a session.
    pub fn end(&self, session: &str) {
        let ended = self.0.lock().remove(session);
        if let Some(own) = ended {
            own.ended.cancel();
        }
    }
}

/// Dropping it closes the stream.
pub struct SessionStream {
    streams: SessionStreams,
    session: Arc<str>,
    own: Arc<OpenStreams>,
    /// In seconds since 1970.
    expires: Option<u64>,
    number: u64,
}

impl SessionStream {
    /// The next change that this stream has to report. Dropping the future loses no change.
    pub async fn next(&self, hub: &Hub, view: &View) -> ChangeNotice {
        let reports = |open: &Vec<u64>| open.last() == Some(&self.number);
        let (mut turn, mut over) = (self.own.open.subscribe(), self.own.open.subscribe());
        loop {
            // Never fails: this stream holds the sender.
            let _ = turn.wait_for(&reports).await;
            // The stream that has reported until now lets go at once.
            let mut changes = self.own.changes.lock().await;
            tokio::select! {
                biased;
                _ = over.wait_for(|open| !reports(open)) => {}
                notice = changes.next(hub, view) => return notice,
            }
        }
    }

    /// Returns when the session is over.
    pub async fn over(&self) {
        let Some(expires) = self.expires else { return self.own.ended.cancelled().await };
        let expires = UNIX_EPOCH + Duration::from_secs(expires);
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        let _ = tokio::time::timeout(left, self.own.ended.cancelled()).await;
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let mut all = self.streams.0.lock();
        self.own.open.send_modify(|open| open.retain(|number| *number != self.number));
        // After its end the id may have been used again.
        let is_known = all.get(&self.session).is_some_and(|own| Arc::ptr_eq(own, &self.own));
        let is_last = self.own.open.borrow().is_empty();
        if is_known && is_last {
            all.remove(&self.session);
        }
    }
}

/// The resources that one client may subscribe to.
pub const MOST_RESOURCES: usize = 1_000;

/// The subscriptions of one client, by the URI that it knows.
#[derive(Clone, Default)]
pub struct ClientSubscriptions(Arc<Mutex<HashMap<String, SubscribedResource>>>);

impl ClientSubscriptions {
    /// False when the client has too many.
    pub fn add(&self, uri: String, subscribed: SubscribedResource) -> bool {
        let mut all = self.0.lock();
        if all.len() >= MOST_RESOURCES && !all.contains_key(&uri) {
            return false;
        }
        all.insert(uri, subscribed);
        true
    }

    pub fn remove(&self, uri: &str) {
        let removed = self.0.lock().remove(uri);
        // Outside of the lock: ending a subscription may do more than forget it.
        drop(removed);
    }

    /// The URI under which the client knows this resource of a server, if it has subscribed to it.
    pub fn known_as(&self, server: &str, uri: &str) -> Option<String> {
        let all = self.0.lock();
        let is_it = |one: &&SubscribedResource| &*one.server == server && one.uri == uri;
        all.iter().find(|(_, one)| is_it(one)).map(|(own, _)| own.clone())
    }
}
