//! What an attempt passes before its tool is called: the limits, the cassette that is in, and the ledger.

use super::drive::overloaded;
use crate::hub::{EffectRecorder, Hub, PlannedRun, not_recorded};
use std::sync::Arc;
use tokio::sync::oneshot;
use toolhub_registry::identity::CallContent;
use toolhub_store::cassette::{OpenRecording, OuterCall};
use toolhub_types::blocking;
use toolhub_types::error::Result;
use toolhub_types::limit::{self, Lender, Passage, Permits};

/// An attempt that may call its tool.
pub struct AdmittedAttempt {
    pub permits: Permits,
    pub open_recording: Option<OpenRecording>,
}

impl AdmittedAttempt {
    /// Goes on, or ends with an error.
    pub(super) fn if_allowed(self, allowed: Result<()>) -> Result<Self> {
        if let Err(error) = allowed {
            if let Some(open_recording) = self.open_recording {
                open_recording.end(&Some(Err(error.clone())));
            }
            return Err(error);
        }
        Ok(self)
    }
}

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
    fn recorder_of(&self, slot: usize) -> Option<&Arc<EffectRecorder>> {
        let recorder = self.recorder.as_ref()?;
        let may_act = !self.is_replayed && !self.candidates[slot].spec().effects.are_harmless();
        may_act.then_some(recorder)
    }

    /// Lets this candidate through. `around` has the slots that it may borrow, and `outer` is the recorded call around it.
    /// Dropping the future leaves the queue. A runtime is needed only if the content is large.
    pub fn admit(
        &self,
        hub: &Hub,
        slot: usize,
        content: CallContent,
        (around, outer): (Option<Arc<Lender>>, Option<OuterCall>),
    ) -> impl Future<Output = Result<AdmittedAttempt>> + Send + use<> {
        let candidate = self.candidates[slot].clone();
        let (gates, recorder) = (hub.gates(&candidate), self.recorder_of(slot).cloned());
        let (missed, recorded) = (self.missed.clone(), self.recorded.clone());
        async move {
            let name = &candidate.spec().name;
            let (granted, grant) = oneshot::channel();
            let permits = match limit::pass(gates, around.as_deref(), |permits| drop(granted.send(permits))) {
                Passage::Through(permits) => Some(permits),
                Passage::Full => None,
                Passage::Waiting(_way) => grant.await.ok().flatten(),
            };
            let permits = permits.ok_or_else(|| overloaded(name))?;
            if let Some(miss) = missed {
                return Err(miss.count());
            }
            let open_recording = recorded.map(|call| call.attempt(&candidate, outer.as_ref()));
            let admitted = AdmittedAttempt { permits, open_recording };
            let Some(recorder) = recorder else { return Ok(admitted) };
            let closed = not_recorded(name, &"it is closed".into());
            let (written, is_written) = oneshot::channel();
            let is_large = content.is_large();
            let write = move || recorder.write((slot, &candidate), content, |end| drop(written.send(end)));
            match is_large {
                // Its digest takes a while.
                true => drop(blocking::on_blocking_thread(write).await),
                false => write(),
            }
            admitted.if_allowed(is_written.await.unwrap_or(Err(closed)))
        }
    }
}
