//! A future that is begun in place and moves: it ends once, on one thread at a time, whenever it is woken or aborted.

use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use toolhub_loom::inline_task::{InlineTask, MovableFuture, TaskRuntime};
use toolhub_loom::{Happening, explore};

/// A runtime that gives each future a thread.
struct Threads;

#[derive(Default)]
struct Thread {
    aborted: AtomicBool,
    is_woken: Mutex<bool>,
    changed: Condvar,
}

impl Thread {
    fn sleep(&self) {
        let mut is_woken = self.is_woken.lock().unwrap();
        while !*is_woken {
            is_woken = self.changed.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }
}

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        *self.is_woken.lock().unwrap() = true;
        self.changed.notify_one();
    }
}

impl TaskRuntime for Threads {
    type Running = Arc<Thread>;

    fn run(&self, mut future: MovableFuture) -> Arc<Thread> {
        let running = Arc::<Thread>::default();
        let own = running.clone();
        thread::spawn(move || {
            let waker = Waker::from(own.clone());
            while !own.aborted.load(Ordering::SeqCst)
                && future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending()
            {
                own.sleep();
            }
        });
        running
    }

    fn abort(running: Arc<Thread>) {
        running.aborted.store(true, Ordering::SeqCst);
        running.wake();
    }

    fn inside<T>(&self, step: impl FnOnce() -> T) -> T {
        step()
    }
}

/// Something that happens once, and who waits for it.
#[derive(Default)]
struct Event(Mutex<(bool, Option<Waker>)>);

impl Event {
    fn happen(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.inspect(Waker::wake_by_ref);
    }
}

/// Counts that the future ends, and that it is dropped whatever happens.
struct Ending {
    ended: AtomicUsize,
    is_polled: AtomicBool,
    dropped: Happening,
}

struct DropGuard(Arc<Ending>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.dropped.notify();
    }
}

fn future(event: Arc<Event>, ending: Arc<Ending>) -> MovableFuture {
    let guard = DropGuard(ending);
    Box::pin(poll_fn(move |context| {
        let ending = &guard.0;
        assert!(!ending.is_polled.swap(true, Ordering::SeqCst), "polled on two threads at once");
        let mut state = event.0.lock().unwrap();
        let polled = if state.0 {
            ending.ended.fetch_add(1, Ordering::SeqCst);
            Poll::Ready(())
        } else {
            state.1 = Some(context.waker().clone());
            Poll::Pending
        };
        drop(state);
        ending.is_polled.store(false, Ordering::SeqCst);
        polled
    }))
}

fn ending() -> Arc<Ending> {
    let (ended, is_polled) = (AtomicUsize::new(0), AtomicBool::new(false));
    Arc::new(Ending { ended, is_polled, dropped: Happening::default() })
}

#[test]
fn a_task_ends_whenever_it_is_woken() {
    explore(4, || {
        let (event, ending) = (Arc::new(Event::default()), ending());
        let waking = event.clone();
        let other = thread::spawn(move || waking.happen());
        let task = InlineTask::start(Threads, future(event, ending.clone()));
        ending.dropped.wait();
        assert_eq!(ending.ended.load(Ordering::SeqCst), 1);
        other.join().unwrap();
        drop(task);
    });
}

#[test]
fn a_task_that_is_aborted_while_it_is_woken_lets_its_future_go() {
    explore(4, || {
        let (event, ending) = (Arc::new(Event::default()), ending());
        let waking = event.clone();
        let other = thread::spawn(move || waking.happen());
        let task = InlineTask::start(Threads, future(event, ending.clone()));
        task.abort();
        ending.dropped.wait();
        assert!(ending.ended.load(Ordering::SeqCst) <= 1);
        other.join().unwrap();
    });
}

#[test]
fn a_task_that_starts_elsewhere_ends_or_is_aborted() {
    explore(4, || {
        let (event, ending) = (Arc::new(Event::default()), ending());
        let waking = event.clone();
        let other = thread::spawn(move || waking.happen());
        let task = InlineTask::start_elsewhere(Threads, future(event, ending.clone()));
        other.join().unwrap();
        task.abort();
        ending.dropped.wait();
        assert!(ending.ended.load(Ordering::SeqCst) <= 1);
    });
}
