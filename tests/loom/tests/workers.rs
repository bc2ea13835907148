//! A pool of threads: no order of steps loses a call, runs one twice, or leaves a count wrong.

use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use toolhub_loom::workers::{
    Abandonment, CallEnd, CallStage, PoolLimits, PoolRefusal, QueuedCall, WorkerPool,
};
use toolhub_loom::{Happening, explore};

/// What a call does on its thread.
#[derive(Clone, Copy)]
enum Work {
    Instant,
    /// Runs until the test lets it end.
    Stuck,
    /// Makes another call and waits for it.
    Nested,
}

struct Call {
    work: Work,
    stage: CallStage<()>,
    runs: AtomicUsize,
    /// The call has ended, or its caller has given up.
    ended: Happening,
    released: Happening,
}

impl Call {
    fn new(work: Work) -> Arc<Self> {
        let (ended, released) = (Happening::default(), Happening::default());
        Arc::new(Call { work, stage: CallStage::default(), runs: AtomicUsize::new(0), ended, released })
    }
}

struct Queued(Arc<Call>);

impl QueuedCall for Queued {
    type AbandonedResources = ();

    fn stage(&self) -> &CallStage<()> {
        &self.0.stage
    }

    fn latest_start(&self) -> Option<Instant> {
        None
    }

    fn has_abandoned(&self) -> bool {
        false
    }

    fn refuse(self, refusal: PoolRefusal) {
        panic!("no limit is reached: {refusal:?}");
    }
}

struct Pool {
    workers: WorkerPool<Queued>,
    threads: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    fn new(running: usize) -> Arc<Self> {
        let limits = PoolLimits {
            running,
            abandoned: 10,
            threads: 10,
            idle_for: std::time::Duration::MAX,
            nested: 10,
        };
        Arc::new(Pool { workers: WorkerPool::new(limits), threads: std::sync::Mutex::default() })
    }

    /// As `bindings::pool` does it: queue the call, then start a thread if one is needed.
    fn submit(self: &Arc<Self>, call: &Arc<Call>) {
        assert!(self.workers.add(Queued(call.clone()), 0).is_ok());
        self.start_thread_if_needed();
    }

    fn start_thread_if_needed(self: &Arc<Self>) {
        if self.workers.needs_thread() {
            let pool = self.clone();
            let thread = thread::spawn(move || pool.work());
            self.threads.lock().unwrap().push(thread);
        }
    }

    fn work(self: &Arc<Self>) {
        while let Some(queued) = self.workers.take() {
            if !self.workers.begin(&queued) {
                continue;
            }
            let Queued(call) = queued;
            call.runs.fetch_add(1, Ordering::Relaxed);
            match call.work {
                Work::Instant => {}
                Work::Stuck => call.released.wait(),
                Work::Nested => {
                    let inner = Call::new(Work::Instant);
                    let is_aside = self.workers.step_aside(&call.stage);
                    self.start_thread_if_needed();
                    self.submit(&inner);
                    inner.ended.wait();
                    if is_aside {
                        self.workers.step_back(&call.stage);
                    }
                    assert!(inner.runs.load(Ordering::Relaxed) <= 1);
                }
            }
            match self.workers.end(&call.stage) {
                CallEnd::Wanted => call.ended.notify(),
                CallEnd::Unwanted(()) => {}
                CallEnd::Over => panic!("the end of a call was reported twice"),
            }
        }
    }

    fn abandon(self: &Arc<Self>, call: &Call) -> Abandonment<()> {
        let abandonment = self.workers.abandon(&call.stage, ());
        self.start_thread_if_needed();
        abandonment
    }

    /// Ends all threads; no call may be left in the queue.
    fn close(&self) {
        assert_eq!(self.workers.stop().len(), 0);
        self.join();
    }

    fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(self.workers.counts(), (0, 0, 0));
    }
}

#[test]
fn every_call_runs_once() {
    explore(3, || {
        let pool = Pool::new(1);
        let calls = [Call::new(Work::Instant), Call::new(Work::Instant)];
        let other = {
            let (pool, call) = (pool.clone(), calls[1].clone());
            thread::spawn(move || pool.submit(&call))
        };
        pool.submit(&calls[0]);
        other.join().unwrap();
        for call in &calls {
            call.ended.wait();
            assert_eq!(call.runs.load(Ordering::Relaxed), 1);
        }
        pool.close();
    });
}

/// The thread of an abandoned call comes back while the next call waits: it takes that call before it may end.
#[test]
fn a_call_behind_an_abandoned_one_runs() {
    explore(3, || {
        let pool = Pool::new(1);
        let (stuck, next) = (Call::new(Work::Stuck), Call::new(Work::Instant));
        pool.submit(&stuck);
        stuck.released.notify();
        pool.abandon(&stuck);
        pool.submit(&next);
        next.ended.wait();
        assert_eq!(next.runs.load(Ordering::Relaxed), 1);
        pool.close();
    });
}

/// A call gives up while another one is queued behind it, before its thread has even started.
#[test]
fn a_caller_that_gives_up_never_takes_the_wake_up_of_another() {
    explore(3, || {
        let pool = Pool::new(1);
        let (unwanted, wanted) = (Call::new(Work::Instant), Call::new(Work::Instant));
        pool.submit(&unwanted);
        let other = {
            let (pool, call) = (pool.clone(), unwanted.clone());
            thread::spawn(move || pool.abandon(&call))
        };
        pool.submit(&wanted);
        wanted.ended.wait();
        let abandonment = other.join().unwrap();
        pool.close();
        // Its caller knows whether it ran.
        let runs = unwanted.runs.load(Ordering::Relaxed);
        assert_eq!(runs, usize::from(abandonment != Abandonment::NotStarted(())));
    });
}

/// A tool that calls a tool while its own caller gives up, and an instant call after it.
#[test]
fn nested_calls_that_time_out_leave_room_for_instant_ones() {
    explore(2, || {
        let pool = Pool::new(1);
        let (outer, next) = (Call::new(Work::Nested), Call::new(Work::Instant));
        pool.submit(&outer);
        pool.abandon(&outer);
        pool.submit(&next);
        next.ended.wait();
        assert_eq!(next.runs.load(Ordering::Relaxed), 1);
        // The inner call of the abandoned one may still be queued, and ends when the pool stops.
        for Queued(call) in pool.workers.stop() {
            call.ended.notify();
        }
        pool.join();
    });
}

/// While an outer call waits, other threads take its place. When it goes on there is one thread too many; the one that is
/// woken for the next call takes that call before it may end.
#[test]
fn a_thread_too_many_takes_the_call_that_it_was_woken_for() {
    explore(2, || {
        let pool = Pool::new(2);
        let outer = Call::new(Work::Instant);
        // This thread is the worker of the outer call.
        assert!(pool.workers.add(Queued(outer.clone()), 0).is_ok());
        assert!(pool.workers.needs_thread());
        let taken = pool.workers.take().unwrap();
        assert!(pool.workers.begin(&taken));
        assert!(pool.workers.step_aside(&outer.stage));
        let meanwhile = [Call::new(Work::Instant), Call::new(Work::Instant)];
        meanwhile.iter().for_each(|call| pool.submit(call));
        meanwhile.iter().for_each(|call| call.ended.wait());
        pool.workers.step_back(&outer.stage);
        let next = Call::new(Work::Instant);
        pool.submit(&next);
        next.ended.wait();
        assert!(matches!(pool.workers.end(&outer.stage), CallEnd::Wanted));
        pool.workers.thread_ended();
        pool.close();
    });
}

/// The next call has to wait for the outer one, and the only other thread was woken for it in vain. It runs as soon as the
/// caller of the outer call gives up.
#[test]
fn a_call_that_has_to_wait_runs_when_another_is_abandoned() {
    explore(3, || {
        let pool = Pool::new(1);
        let outer = Call::new(Work::Instant);
        assert!(pool.workers.add(Queued(outer.clone()), 0).is_ok());
        assert!(pool.workers.needs_thread());
        let taken = pool.workers.take().unwrap();
        assert!(pool.workers.begin(&taken));
        assert!(pool.workers.step_aside(&outer.stage));
        let inner = Call::new(Work::Instant);
        pool.submit(&inner);
        inner.ended.wait();
        pool.workers.step_back(&outer.stage);
        let next = Call::new(Work::Instant);
        pool.submit(&next);
        pool.abandon(&outer);
        next.ended.wait();
        assert!(matches!(pool.workers.end(&outer.stage), CallEnd::Unwanted(())));
        pool.workers.thread_ended();
        pool.close();
    });
}
