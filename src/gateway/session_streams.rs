//! The standing streams of legacy sessions. They end with the session: when its time is over, and when its client ends it on
//! this replica.

use crate::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// A session, and how many streams it has.
type OpenStreams = HashMap<Arc<str>, (CancellationToken, usize)>;

#[derive(Clone, Default)]
pub struct SessionStreams(Arc<Mutex<OpenStreams>>);

impl SessionStreams {
    /// A stream of this session, which expires at `expires`, in seconds since 1970.
    pub fn open(&self, session: &Arc<str>, expires: u64) -> SessionStream {
        let mut all = self.0.lock();
        let (ended, count) = all.entry(session.clone()).or_default();
        *count += 1;
        SessionStream { streams: self.clone(), session: session.clone(), ended: ended.clone(), expires }
    }

    /// Ends the streams of a session.
    pub fn end(&self, session: &str) {
        let ended = self.0.lock().remove(session);
        if let Some((ended, _)) = ended {
            ended.cancel();
        }
    }
}

/// Dropping it closes the stream.
pub struct SessionStream {
    streams: SessionStreams,
    session: Arc<str>,
    ended: CancellationToken,
    expires: u64,
}

impl SessionStream {
    /// Returns when the session is over.
    pub async fn over(&self) {
        let expires = UNIX_EPOCH + Duration::from_secs(self.expires);
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        let _ = tokio::time::timeout(left, self.ended.cancelled()).await;
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let mut all = self.streams.0.lock();
        // After its end the id may have been used again.
        let Some((_, count)) = all.get_mut(&self.session).filter(|_| !self.ended.is_cancelled()) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            all.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn streams_end_with_their_session_and_nothing_stays() {
        let (streams, own, other) = (SessionStreams::default(), Arc::from("own"), Arc::from("other"));
        let later = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 1_000;
        let first = streams.open(&own, later);
        let second = streams.open(&own, later);
        let foreign = streams.open(&other, later);
        drop(first);
        streams.end("own");
        second.over().await;
        assert!(!foreign.ended.is_cancelled());
        drop((second, foreign));
        assert!(streams.0.lock().is_empty());
        streams.open(&own, later - 2_000).over().await;
    }
}
