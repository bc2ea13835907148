//! What an attempt passes before its tool is called: the limits, the cassette that is in, and the ledger.

use super::drive::overloaded;
use crate::hub::{EffectRecorder, Hub, PlannedRun, not_recorded};
use std::sync::Arc;
use tokio::sync::oneshot;
use toolhub_registry::identity::CallContent;
use toolhub_store::cassette::OuterCall;
use toolhub_types::blocking;
use toolhub_types::error::Result;
use toolhub_types::limit::{self, Lender, Passage, Permits};

impl PlannedRun {
    /// Whether nothing is in the way of this candidate.
    pub fn is_free(&self, hub: &Hub, slot: usize) -> bool {
        let is_told = self.recorded.is_some() || self.missed.is_some() || self.recorder_of(slot).is_some();
        !is_told && hub.is_unlimited(&self.candidates[slot])
    }

    /// Whether its row has to be told what the call sends.
    pub fn wants_content(&self, slot: usize) -> bool {
        self.recorder_of(slot).is_some_and(|recorder| !recorder.knows_call())
    }

    /// What writes its row, before anything is sent. A recording has no effects.
    pub(crate) fn recorder_of(&self, slot: usize) -> Option<&Arc<EffectRecorder>> {
        let recorder = self.recorder.as_ref()?;
        let is_made = !self.is_replayed && self.missed.is_none();
        let may_act = is_made && !self.candidates[slot].spec().effects.are_harmless();
        may_act.then_some(recorder)
    }

    /// Lets this candidate through; from here on it is recorded, and however it ends, it has its row. `around` has the slots
    /// that it may borrow, and `outer` is the recorded call around it. Dropping the future leaves the queue. A runtime is
    /// needed only if the content is large.
    pub fn admit(
        &mut self,
        hub: &Hub,
        slot: usize,
        content: Option<CallContent>,
        (around, outer): (Option<Arc<Lender>>, Option<OuterCall>),
    ) -> impl Future<Output = Result<Permits>> + Send + use<> {
        let candidate = self.candidates[slot].clone();
        let (gates, recorder) = (hub.gates(&candidate), self.recorder_of(slot).cloned());
        let is_large = content.as_ref().is_some_and(CallContent::is_large);
        if let (Some(recorder), Some(content)) = (&recorder, content) {
            *recorder.asked.content.lock() = Some(content);
        }
        let missed = self.missed.as_ref().map_or(Ok(()), |miss| Err(miss.count()));
        if let Some(call) = &self.recorded {
            self.recordings.insert(slot, call.attempt(&candidate, outer.as_ref()));
        }
        async move {
            missed?;
            if let Some(recorder) = recorder.clone().filter(|_| is_large) {
                // The rows of others would wait for its digest on the thread of the ledger.
                blocking::on_blocking_thread(move || recorder.asked.digests()).await;
            }
            let name = &candidate.spec().name;
            let (granted, grant) = oneshot::channel();
            let permits = match limit::pass(gates, around.as_deref(), |permits| drop(granted.send(permits))) {
                Passage::Through(permits) => Some(permits),
                Passage::Full => None,
                Passage::Waiting(_way) => grant.await.ok().flatten(),
            };
            let permits = permits.ok_or_else(|| overloaded(name))?;
            let Some(recorder) = recorder else { return Ok(permits) };
            let closed = not_recorded(name, &"it is closed".into());
            let (written, is_written) = oneshot::channel();
            recorder.write(slot, &candidate, |end| drop(written.send(end)));
            is_written.await.unwrap_or(Err(closed)).map(|()| permits)
        }
    }
}
