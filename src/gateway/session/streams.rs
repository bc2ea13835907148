//! The long-lived streams of legacy sessions. They end with the session: when its time is over, and when its client ends it on
//! this replica.
//!
//! A session may have several streams, and each notification goes to one of them: the newest, because a client opens another one
//! when it has lost the one before. They share one [`ClientChanges`], so that none is lost when another stream takes over.

use crate::session::{ChangeNotice, ClientChanges, OpenSession};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolhub_engine::hub::Hub;
use toolhub_engine::served::View;
use toolhub_types::sync::{Arc, Mutex};

struct OpenStreams {
    ended: CancellationToken,
    changes: Arc<tokio::sync::Mutex<ClientChanges>>,
    /// The streams by number, oldest first. The last one reports.
    open: watch::Sender<Vec<u64>>,
    next: u64,
}

#[derive(Clone, Default)]
pub struct SessionStreams(Arc<Mutex<HashMap<Arc<str>, OpenStreams>>>);

impl SessionStreams {
    /// A stream of this session, or of a client without one. `changes` are those of the first stream of the session.
    pub fn open(&self, session: Option<&OpenSession>, changes: ClientChanges) -> SessionStream {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let expires = session.map(|session| session.claims.expires);
        let alone = || Arc::from(format!("alone {}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let session: Arc<str> = session.map_or_else(alone, |session| session.id.clone());
        let mut all = self.0.lock();
        let own = all.entry(session.clone()).or_insert_with(|| OpenStreams {
            ended: CancellationToken::new(),
            changes: Arc::new(tokio::sync::Mutex::new(changes)),
            open: watch::Sender::new(Vec::new()),
            next: 0,
        });
        let number = own.next;
        own.next += 1;
        own.open.send_modify(|open| open.push(number));
        SessionStream {
            streams: self.clone(),
            session,
            ended: own.ended.clone(),
            expires,
            changes: own.changes.clone(),
            open: own.open.subscribe(),
            number,
        }
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
    ended: CancellationToken,
    /// In seconds since 1970.
    expires: Option<u64>,
    changes: Arc<tokio::sync::Mutex<ClientChanges>>,
    open: watch::Receiver<Vec<u64>>,
    number: u64,
}

impl SessionStream {
    /// The next change that this stream has to report. Dropping the future loses no change.
    pub async fn next(&self, hub: &Hub, view: &View) -> ChangeNotice {
        let reports = |open: &Vec<u64>| open.last() == Some(&self.number);
        let (mut turn, mut over) = (self.open.clone(), self.open.clone());
        loop {
            if turn.wait_for(&reports).await.is_err() {
                return std::future::pending().await;
            }
            // The stream that has reported until now lets go at once.
            let mut changes = self.changes.lock().await;
            tokio::select! {
                biased;
                _ = over.wait_for(|open| !reports(open)) => {}
                notice = changes.next(hub, view) => return notice,
            }
        }
    }

    /// Returns when the session is over.
    pub async fn over(&self) {
        let Some(expires) = self.expires else { return self.ended.cancelled().await };
        let expires = UNIX_EPOCH + Duration::from_secs(expires);
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        let _ = tokio::time::timeout(left, self.ended.cancelled()).await;
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let mut all = self.streams.0.lock();
        // After its end the id may have been used again.
        let Some(own) = all.get_mut(&self.session).filter(|_| !self.ended.is_cancelled()) else { return };
        own.open.send_modify(|open| open.retain(|number| *number != self.number));
        if own.open.borrow().is_empty() {
            all.remove(&self.session);
        }
    }
}
