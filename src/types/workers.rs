//! L1, the threads of a pool: which wait, which work, which were given up. It does not know what they run.
//!
//! When the caller of a running call gives up, the call is abandoned: its thread no longer counts as a worker and may be
//! replaced. A thread that waits for another call steps aside, and may be replaced meanwhile. Both kinds are bounded, see
//! [`PoolLimits`].
//!
//! A thread claims a call in two steps: it takes it from the queue, and begins it when it is ready to run it. Until it has
//! begun the caller can give it up without a trace, and a call whose time is over never begins. So the caller knows whether
//! it ran. A call that is given up leaves the queue, and its arguments are dropped, at once.
//!
//! No wake-up is lost: whatever lets a queued call run either comes back to [`WorkerPool::take`] on its own thread, or wakes
//! a thread there; and a thread takes a call that may run before it considers to end.

use crate::sync::waiting::{Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// Calls that run at once, without those that were abandoned or have stepped aside.
    pub running: usize,
    /// A tool that has abandoned calls starts no other if, with the calls that run, there might be more of them than this.
    pub abandoned: usize,
    /// Threads in all.
    pub threads: usize,
    /// A thread that waited this long for a call ends.
    pub idle_for: Duration,
    /// Calls that wait for one another, each inside the one before.
    pub nested: usize,
}

/// Why a call is refused instead of queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolRefusal {
    /// This number of abandoned calls still run, some of them of the same tool.
    Abandoned(usize),
    /// All threads are taken by abandoned calls and by calls that wait for others.
    Threads(usize),
    /// The call is inside this number of others that wait for it, each on a thread: a recursion that does not end.
    Nested(usize),
}

/// A call in the queue.
pub trait QueuedCall {
    /// What an abandoned call holds until it ends.
    type AbandonedResources;
    /// Its stage, which says whether it is still wanted.
    fn stage(&self) -> &CallStage<Self::AbandonedResources>;
    /// After this moment it must not begin.
    fn latest_start(&self) -> Option<Instant>;
    /// Whether calls of the same tool were abandoned and still run.
    fn has_abandoned(&self) -> bool;
    /// Asked once, immediately before it begins. False if its caller does not want it any more.
    fn may_begin(&self) -> bool {
        true
    }
    /// Reports that it will not begin. Called outside the locks.
    fn refuse(self, refusal: PoolRefusal);
}

/// Where a call is. Changed only while the state of its pool is locked, so that the counts there agree with it.
pub struct CallStage<K>(Mutex<Stage<K>>);

enum Stage<K> {
    /// With its place in the queue.
    Queued(u64),
    /// Taken from the queue by a thread that has not begun it yet.
    Taken,
    Running,
    /// Running, and waiting for another call.
    Aside,
    /// Running, but its caller has given up. `K` is released when it really ends.
    Abandoned(K),
    /// It will never begin: its caller has given up before, or its time was over.
    Withdrawn,
    Over,
}

impl<K> Default for CallStage<K> {
    fn default() -> Self {
        CallStage(Mutex::new(Stage::Queued(0)))
    }
}

impl<K> CallStage<K> {
    fn lock(&self) -> MutexGuard<'_, Stage<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has ended, or will never begin.
    pub fn is_over(&self) -> bool {
        matches!(*self.lock(), Stage::Over | Stage::Withdrawn)
    }

    /// Whether it runs although its caller has given up.
    pub fn is_abandoned(&self) -> bool {
        matches!(*self.lock(), Stage::Abandoned(_))
    }
}

/// How a call ended.
pub enum CallEnd<K> {
    /// Its caller waits for it.
    Wanted,
    /// Its caller has given up; what was kept until now.
    Unwanted(K),
    /// Its end was reported before.
    Over,
}

/// What became of a call whose caller gave up.
#[derive(Debug, PartialEq, Eq)]
pub enum Abandonment<K> {
    /// It never ran, and never will.
    NotStarted(K),
    /// It runs on, and holds what was kept.
    RunsOn,
    /// It had ended before.
    Ended(K),
}

struct PoolState<J> {
    /// By the place in the queue, which only grows.
    queue: BTreeMap<u64, J>,
    last_place: u64,
    /// All threads, whatever they do.
    threads: usize,
    /// Threads that wait for a call. One that was woken counts as idle until it takes the call.
    idle: usize,
    running: usize,
    abandoned: usize,
    aside: usize,
    stopped: bool,
}

impl<J> PoolState<J> {
    /// Threads that take calls.
    fn workers(&self) -> usize {
        self.threads - self.abandoned - self.aside
    }
}

pub struct WorkerPool<J> {
    limits: PoolLimits,
    state: Mutex<PoolState<J>>,
    work: Condvar,
}

impl<J: QueuedCall> WorkerPool<J> {
    pub fn new(limits: PoolLimits) -> Self {
        let state = PoolState {
            queue: BTreeMap::new(),
            last_place: 0,
            threads: 0,
            idle: 0,
            running: 0,
            abandoned: 0,
            aside: 0,
            stopped: false,
        };
        WorkerPool { limits, state: Mutex::new(state), work: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState<J>> {
        // Each change of the counts is complete, so they are right even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a call that is inside this number of calls that wait for it. Ask [`WorkerPool::needs_thread`] afterwards.
    pub fn add(&self, call: J, around: usize) -> Result<(), PoolRefusal> {
        if around >= self.limits.nested {
            return Err(PoolRefusal::Nested(around));
        }
        let has_abandoned = call.has_abandoned();
        let mut state = self.lock();
        if has_abandoned && state.abandoned >= self.limits.abandoned {
            return Err(PoolRefusal::Abandoned(state.abandoned));
        }
        if state.workers() == 0 && state.threads >= self.limits.threads {
            // Several recursions at once take all threads before one of them reaches the limit.
            let is_recursion = around >= self.limits.running;
            return Err(if is_recursion {
                PoolRefusal::Nested(around)
            } else {
                PoolRefusal::Threads(state.threads)
            });
        }
        state.last_place += 1;
        let place = state.last_place;
        *call.stage().lock() = Stage::Queued(place);
        state.queue.insert(place, call);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Whether a queued call needs another thread. If so the thread is counted: start one that calls
    /// [`WorkerPool::take`], or report [`WorkerPool::thread_ended`].
    pub fn needs_thread(&self) -> bool {
        let mut state = self.lock();
        let needed = state.queue.len() > state.idle
            && state.workers() < self.limits.running
            && state.threads < self.limits.threads;
        state.threads += usize::from(needed);
        needed
    }

    /// Waits for a call that is still wanted, which the thread has to [`WorkerPool::begin`]; `None` when the thread should
    /// end. It is not counted any more then.
    pub fn take(&self) -> Option<J> {
        let mut state = self.lock();
        let mut waited_in_vain = false;
        loop {
            if state.stopped {
                state.threads -= 1;
                return None;
            }
            if state.running < self.limits.running
                && let Some((_, call)) = state.queue.pop_first()
            {
                let Err(refusal) = self.claim(&mut state, &call) else { return Some(call) };
                // Dropped and reported outside the lock, because that may run code of the user.
                drop(state);
                match refusal {
                    Some(refusal) => call.refuse(refusal),
                    None => drop(call),
                }
                state = self.lock();
                continue;
            }
            // A thread that returned from an abandoned call may be one too many.
            if waited_in_vain || state.workers() > self.limits.running {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            let (locked, wait) =
                self.work.wait_timeout(state, self.limits.idle_for).unwrap_or_else(PoisonError::into_inner);
            (state, waited_in_vain) = (locked, wait.timed_out());
            state.idle -= 1;
        }
    }

    /// Takes a call for a thread. The error is the refusal to report; `None` if nobody wants the call any more.
    fn claim(&self, state: &mut PoolState<J>, call: &J) -> Result<(), Option<PoolRefusal>> {
        let mut stage = call.stage().lock();
        if !matches!(*stage, Stage::Queued(_)) || is_late(call) {
            *stage = Stage::Withdrawn;
            return Err(None);
        }
        // Other calls may have been abandoned since it was queued, and those that run now may be.
        if call.has_abandoned() && state.abandoned + state.running >= self.limits.abandoned {
            *stage = Stage::Withdrawn;
            return Err(Some(PoolRefusal::Abandoned(state.abandoned)));
        }
        *stage = Stage::Taken;
        state.running += 1;
        Ok(())
    }

    /// The thread is ready to run the call that it took. False if the call must not run any more; take another then.
    pub fn begin(&self, call: &J) -> bool {
        let mut state = self.lock();
        let mut stage = call.stage().lock();
        // The clock is read under the lock: a caller that found its time over and then asked is answered the same.
        match *stage {
            Stage::Taken if is_late(call) || !call.may_begin() => {
                *stage = Stage::Withdrawn;
                state.running -= 1;
                false
            }
            Stage::Taken => {
                *stage = Stage::Running;
                true
            }
            _ => false,
        }
    }

    /// A call has ended on its thread, which comes back to [`WorkerPool::take`] or reports its own end.
    pub fn end(&self, call: &CallStage<J::AbandonedResources>) -> CallEnd<J::AbandonedResources> {
        let mut state = self.lock();
        match std::mem::replace(&mut *call.lock(), Stage::Over) {
            Stage::Taken | Stage::Running => {
                state.running -= 1;
                CallEnd::Wanted
            }
            Stage::Aside => {
                state.aside -= 1;
                CallEnd::Wanted
            }
            Stage::Abandoned(kept) => {
                state.abandoned -= 1;
                CallEnd::Unwanted(kept)
            }
            Stage::Queued(_) | Stage::Withdrawn | Stage::Over => CallEnd::Over,
        }
    }

    /// The caller gives up. A call that has begun keeps `kept` until it ends; otherwise it is given back.
    pub fn abandon(
        &self,
        call: &CallStage<J::AbandonedResources>,
        kept: J::AbandonedResources,
    ) -> Abandonment<J::AbandonedResources> {
        let mut state = self.lock();
        let mut stage = call.lock();
        let mut unwanted = None;
        match *stage {
            Stage::Queued(place) => unwanted = state.queue.remove(&place),
            Stage::Withdrawn => {}
            Stage::Taken => state.running -= 1,
            Stage::Running | Stage::Aside => {
                match *stage {
                    Stage::Aside => state.aside -= 1,
                    _ => state.running -= 1,
                }
                *stage = Stage::Abandoned(kept);
                state.abandoned += 1;
                self.wake_for_queue(&state);
                return Abandonment::RunsOn;
            }
            Stage::Abandoned(_) | Stage::Over => return Abandonment::Ended(kept),
        }
        *stage = Stage::Withdrawn;
        self.wake_for_queue(&state);
        drop((stage, state));
        // Outside the locks, because that may run code of the user.
        drop(unwanted);
        Abandonment::NotStarted(kept)
    }

    /// The thread of this call waits for another call. False if it does not count anyway; then it must not step back.
    pub fn step_aside(&self, call: &CallStage<J::AbandonedResources>) -> bool {
        let mut state = self.lock();
        let mut stage = call.lock();
        let counts = matches!(*stage, Stage::Running);
        if counts {
            *stage = Stage::Aside;
            state.running -= 1;
            state.aside += 1;
            self.wake_for_queue(&state);
        }
        counts
    }

    /// The thread of this call goes on. For a while more calls than the limit may run; no other starts meanwhile.
    pub fn step_back(&self, call: &CallStage<J::AbandonedResources>) {
        let mut state = self.lock();
        let mut stage = call.lock();
        if matches!(*stage, Stage::Aside) {
            *stage = Stage::Running;
            state.aside -= 1;
            state.running += 1;
        }
    }

    /// A thread that was counted ended without being asked to, or could not be started.
    pub fn thread_ended(&self) {
        let mut state = self.lock();
        state.threads -= 1;
        // It may have been woken for a call that it did not take.
        self.wake_for_queue(&state);
    }

    fn wake_for_queue(&self, state: &PoolState<J>) {
        if !state.queue.is_empty() {
            self.work.notify_one();
        }
    }

    /// Ends all threads after their calls; what was queued.
    pub fn stop(&self) -> Vec<J> {
        let mut state = self.lock();
        state.stopped = true;
        let queued = std::mem::take(&mut state.queue);
        drop(state);
        self.work.notify_all();
        queued.into_values().collect()
    }

    /// (threads that take calls, idle ones, abandoned ones)
    pub fn counts(&self) -> (usize, usize, usize) {
        let state = self.lock();
        // A thread that was woken and has not taken its call yet is not idle any more.
        (state.workers(), state.idle.saturating_sub(state.queue.len()), state.abandoned)
    }
}

fn is_late(call: &impl QueuedCall) -> bool {
    call.latest_start().is_some_and(|at| at <= Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Clone, Default)]
    struct Call(
        Arc<CallStage<&'static str>>,
        Option<Instant>,
        Arc<AtomicBool>,
        Arc<Mutex<Option<PoolRefusal>>>,
    );

    impl QueuedCall for Call {
        type AbandonedResources = &'static str;
        fn stage(&self) -> &CallStage<&'static str> {
            &self.0
        }

        fn latest_start(&self) -> Option<Instant> {
            self.1
        }

        fn has_abandoned(&self) -> bool {
            self.2.load(Ordering::Relaxed)
        }

        fn refuse(self, refusal: PoolRefusal) {
            *self.3.lock().unwrap() = Some(refusal);
        }
    }

    fn of_hanging_tool() -> Call {
        Call(Arc::default(), None, Arc::new(AtomicBool::new(true)), Arc::default())
    }

    fn pool(running: usize, abandoned: usize, threads: usize) -> WorkerPool<Call> {
        let idle_for = Duration::from_secs(3_600);
        WorkerPool::new(PoolLimits { running, abandoned, threads, idle_for, nested: 5 })
    }

    /// As a new thread would: it is counted and takes a call.
    fn started(pool: &WorkerPool<Call>) -> Call {
        assert!(pool.needs_thread());
        let call = pool.take().expect("a call is queued");
        assert!(pool.begin(&call));
        call
    }

    #[test]
    fn a_thread_over_the_limit_takes_a_call_that_may_run_before_it_ends() {
        let pool = pool(1, 10, 10);
        let (stuck, next) = (Call::default(), Call::default());
        pool.add(stuck.clone(), 0).unwrap();
        let running = started(&pool);
        assert_eq!(pool.abandon(&running.0, "kept"), Abandonment::RunsOn);
        pool.add(next, 0).unwrap();
        // A replacement is started for it, but the old thread comes back first: two threads, one too many.
        assert!(pool.needs_thread());
        assert!(matches!(pool.end(&stuck.0), CallEnd::Unwanted("kept")));
        let taken = pool.take().expect("the call that waits comes before the end of the thread");
        assert!(pool.begin(&taken));
        assert!(pool.take().is_none(), "the other thread is one too many");
        assert!(matches!(pool.end(&taken.0), CallEnd::Wanted));
        assert_eq!(pool.counts(), (1, 0, 0));
    }

    #[test]
    fn a_tool_with_abandoned_calls_is_refused_at_the_limit_and_others_are_not() {
        let pool = pool(2, 2, 10);
        for _ in 0..2 {
            pool.add(Call::default(), 0).unwrap();
            let call = started(&pool);
            assert_eq!(pool.abandon(&call.0, ""), Abandonment::RunsOn);
        }
        assert_eq!(pool.add(of_hanging_tool(), 0), Err(PoolRefusal::Abandoned(2)));
        assert_eq!(pool.add(Call::default(), 0), Ok(()));
    }

    #[test]
    fn a_pool_whose_threads_are_all_taken_refuses_at_once() {
        let pool = pool(1, 10, 2);
        for _ in 0..2 {
            pool.add(Call::default(), 0).unwrap();
            let call = started(&pool);
            assert!(pool.step_aside(&call.0));
        }
        assert_eq!(pool.add(Call::default(), 0), Err(PoolRefusal::Threads(2)));
    }

    #[test]
    fn a_call_inside_too_many_others_is_refused_as_a_recursion() {
        let pool = pool(2, 10, 4);
        assert_eq!(pool.add(Call::default(), 5), Err(PoolRefusal::Nested(5)));
        for around in 0..4 {
            pool.add(Call::default(), around).unwrap();
            let call = started(&pool);
            assert!(pool.step_aside(&call.0));
        }
        // The threads are taken: by recursions if this call is inside one, by other calls if it is not.
        assert_eq!(pool.add(Call::default(), 2), Err(PoolRefusal::Nested(2)));
        assert_eq!(pool.add(Call::default(), 1), Err(PoolRefusal::Threads(4)));
    }

    #[test]
    fn a_call_that_is_given_up_while_it_waits_for_another_counts_once() {
        let pool = pool(1, 10, 10);
        let call = Call::default();
        pool.add(call.clone(), 0).unwrap();
        started(&pool);
        assert!(pool.step_aside(&call.0));
        assert_eq!(pool.abandon(&call.0, "kept"), Abandonment::RunsOn);
        assert_eq!(pool.counts(), (0, 0, 1));
        pool.step_back(&call.0);
        assert!(!pool.step_aside(&call.0));
        assert!(matches!(pool.end(&call.0), CallEnd::Unwanted("kept")));
        assert_eq!(pool.counts(), (1, 0, 0));
    }

    #[test]
    fn a_queued_call_without_a_caller_leaves_the_queue_at_once() {
        let pool = pool(1, 10, 10);
        let (unwanted, wanted) = (Call::default(), Call::default());
        pool.add(unwanted.clone(), 0).unwrap();
        pool.add(wanted.clone(), 0).unwrap();
        assert_eq!(pool.abandon(&unwanted.0, "kept"), Abandonment::NotStarted("kept"));
        assert_eq!(Arc::strong_count(&unwanted.0), 1, "the pool does not hold it any more");
        assert!(Arc::ptr_eq(&started(&pool).0, &wanted.0));
    }

    #[test]
    fn calls_begin_in_the_order_in_which_they_were_queued() {
        let pool = pool(1, 10, 10);
        let calls: Vec<Call> = (0..5).map(|_| Call::default()).collect();
        calls.iter().for_each(|call| pool.add(call.clone(), 0).unwrap());
        assert_eq!(pool.abandon(&calls[2].0, ""), Abandonment::NotStarted(""));
        assert!(pool.needs_thread());
        for at in [0, 1, 3, 4] {
            let call = pool.take().expect("a call is queued");
            assert!(pool.begin(&call) && Arc::ptr_eq(&call.0, &calls[at].0));
            assert!(matches!(pool.end(&call.0), CallEnd::Wanted));
        }
    }

    #[test]
    fn a_call_that_was_taken_can_be_withdrawn_until_it_begins() {
        let pool = pool(1, 10, 10);
        let (unwanted, wanted) = (Call::default(), Call::default());
        pool.add(unwanted.clone(), 0).unwrap();
        assert!(pool.needs_thread());
        let taken = pool.take().expect("a call is queued");
        assert_eq!(pool.abandon(&unwanted.0, "kept"), Abandonment::NotStarted("kept"));
        assert!(!pool.begin(&taken), "its caller was told that it never ran");
        pool.add(wanted.clone(), 0).unwrap();
        let taken = pool.take().expect("its place is free again");
        assert!(pool.begin(&taken) && Arc::ptr_eq(&taken.0, &wanted.0));
        assert_eq!(pool.abandon(&wanted.0, "kept"), Abandonment::RunsOn);
    }

    #[test]
    fn a_call_whose_time_is_over_never_begins() {
        let pool = pool(1, 10, 10);
        let (late, wanted) =
            (Call(Arc::default(), Some(Instant::now()), Arc::default(), Arc::default()), Call::default());
        pool.add(late.clone(), 0).unwrap();
        pool.add(wanted.clone(), 0).unwrap();
        assert!(Arc::ptr_eq(&started(&pool).0, &wanted.0));
        assert_eq!(pool.abandon(&late.0, "kept"), Abandonment::NotStarted("kept"));
    }

    #[test]
    fn calls_that_were_queued_before_the_limit_was_reached_are_refused_at_their_turn() {
        let pool = pool(1, 2, 10);
        let queued = [Call::default(), of_hanging_tool(), of_hanging_tool(), Call::default()];
        queued.iter().for_each(|call| pool.add(call.clone(), 0).unwrap());
        for call in &queued[..2] {
            assert!(Arc::ptr_eq(&started(&pool).0, &call.0));
            assert_eq!(pool.abandon(&call.0, ""), Abandonment::RunsOn);
        }
        assert!(Arc::ptr_eq(&started(&pool).0, &queued[3].0), "another tool still runs");
        assert_eq!(*queued[2].3.lock().unwrap(), Some(PoolRefusal::Abandoned(2)));
        assert_eq!(pool.counts().2, 2);
    }
}
