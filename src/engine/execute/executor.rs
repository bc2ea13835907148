//! The contract between the policy and a runtime, and the loop that carries the policy out.

use super::run::Action;

/// Carries out the actions of a [`super::Run`] on one runtime.
///
/// Two implementations: [`super::drive`] on tokio, and the binding's `Execution` on the caller's asyncio loop. Each holds
/// the run itself, because only it knows which lock the run is behind.
pub trait Executor {
    /// Where [`advance`] returns to the caller: a point to wait at, or the end.
    type Pause;
    type Error;

    /// Asks the run for its next action.
    fn next_action(&mut self) -> Action;

    /// Starts a candidate. A pause means that the caller itself has to run it.
    fn start(&mut self, slot: usize) -> Result<Option<Self::Pause>, Self::Error>;

    /// Continues a candidate that was admitted or suspended.
    fn resume(&mut self, slot: usize) -> Result<Option<Self::Pause>, Self::Error>;

    /// Asks a candidate to stop.
    fn stop(&mut self, slot: usize);

    /// Nothing is left to do until something happens.
    fn wait(&mut self) -> Result<Self::Pause, Self::Error>;

    /// The run is over.
    fn finish(&mut self) -> Result<Self::Pause, Self::Error>;
}

/// Does what the policy wants until it has to wait or is finished.
pub fn advance<E: Executor>(executor: &mut E) -> Result<E::Pause, E::Error> {
    loop {
        let paused = match executor.next_action() {
            Action::Stop(slot) => {
                executor.stop(slot);
                None
            }
            Action::Resume(slot) => executor.resume(slot)?,
            Action::Start(slot) => executor.start(slot)?,
            Action::Wait => return executor.wait(),
            Action::Finish => return executor.finish(),
        };
        if let Some(pause) = paused {
            return Ok(pause);
        }
    }
}
