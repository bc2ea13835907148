//! L1, limits on how much runs at once, without a runtime.
//!
//! A [`Gate`] admits a fixed number; the others queue in order. A callback reports admission, on the thread that released the
//! permit. Permits are handed directly to the next waiter, so late arrivals cannot barge.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Notify = Box<dyn FnOnce(Permit) + Send>;

pub struct Gate {
    capacity: usize,
    max_waiting: usize,
    state: Mutex<GateState>,
}

#[derive(Default)]
struct GateState {
    inside: usize,
    waiting: VecDeque<(Arc<AtomicBool>, Notify)>,
}

/// A slot; dropping it admits the next waiter.
pub struct Permit {
    gate: Arc<Gate>,
}

/// A position in the queue; dropping it gives it up.
pub struct Ticket {
    gone: Arc<AtomicBool>,
}

pub enum GateEntry {
    In(Permit),
    Queued(Ticket),
    /// The queue is full.
    Full,
}

impl Gate {
    pub fn new(capacity: usize, max_waiting: usize) -> Arc<Self> {
        Arc::new(Gate { capacity: capacity.max(1), max_waiting, state: Mutex::default() })
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Enters at once, or queues; `notify` is called later with the permit, outside of any lock of ours.
    pub fn enter(self: &Arc<Self>, notify: impl FnOnce(Permit) + Send + 'static) -> GateEntry {
        let mut state = self.state.lock();
        if state.inside < self.capacity {
            state.inside += 1;
            return GateEntry::In(Permit { gate: self.clone() });
        }
        if state.waiting.len() >= self.max_waiting {
            // Tickets that were dropped are still queued; remove them before refusing.
            state.waiting.retain(|(gone, _)| !gone.load(Ordering::Acquire));
            if state.waiting.len() >= self.max_waiting {
                return GateEntry::Full;
            }
        }
        let gone = Arc::new(AtomicBool::new(false));
        state.waiting.push_back((gone.clone(), Box::new(notify)));
        GateEntry::Queued(Ticket { gone })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut state = self.gate.state.lock();
            loop {
                match state.waiting.pop_front() {
                    Some((gone, _)) if gone.load(Ordering::Acquire) => continue,
                    Some((_, notify)) => break Some(notify),
                    None => {
                        state.inside -= 1;
                        break None;
                    }
                }
            }
        };
        if let Some(notify) = next {
            notify(Permit { gate: self.gate.clone() });
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Release);
    }
}

/// Permits of several gates, entered narrowest first, so that no call holds a slot of a wide gate while it waits for a
/// narrow one.
#[derive(Default)]
pub struct Permits(Vec<Permit>);

/// The result of entering several gates.
pub enum Passage {
    Through(Permits),
    Waiting(PassageWait),
    Full,
}

/// A call that waits at a gate; dropping it gives up all slots and queue positions.
pub struct PassageWait(Arc<Mutex<WaitPath>>);

struct WaitPath {
    gates: VecDeque<Arc<Gate>>,
    held: Permits,
    ticket: Option<Ticket>,
    abandoned: bool,
    done: Option<Box<dyn FnOnce(Option<Permits>) + Send>>,
}

/// Enters all gates. `done` is called only if this has to wait: with the permits, or with `None` if a later gate is full.
pub fn pass(
    gates: impl IntoIterator<Item = Arc<Gate>>,
    done: impl FnOnce(Option<Permits>) + Send + 'static,
) -> Passage {
    let way = Arc::new(Mutex::new(WaitPath {
        gates: gates.into_iter().collect(),
        held: Permits::default(),
        ticket: None,
        abandoned: false,
        done: Some(Box::new(done)),
    }));
    match walk(&way) {
        WalkStep::Through(permits) => Passage::Through(permits),
        WalkStep::Full => Passage::Full,
        WalkStep::Waits => Passage::Waiting(PassageWait(way)),
    }
}

enum WalkStep {
    Through(Permits),
    Waits,
    Full,
}

fn walk(way: &Arc<Mutex<WaitPath>>) -> WalkStep {
    loop {
        let mut state = way.lock();
        let Some(gate) = state.gates.front().cloned() else {
            return WalkStep::Through(std::mem::take(&mut state.held));
        };
        let on = way.clone();
        match gate.enter(move |permit| go_on(on, permit)) {
            GateEntry::In(permit) => {
                state.gates.pop_front();
                state.held.0.push(permit);
            }
            GateEntry::Queued(ticket) => {
                state.ticket = Some(ticket);
                return WalkStep::Waits;
            }
            GateEntry::Full => return WalkStep::Full,
        }
    }
}

fn go_on(way: Arc<Mutex<WaitPath>>, permit: Permit) {
    {
        let mut state = way.lock();
        if state.abandoned {
            drop(state);
            return drop(permit);
        }
        state.ticket = None;
        state.gates.pop_front();
        state.held.0.push(permit);
    }
    let answer = match walk(&way) {
        WalkStep::Waits => return,
        WalkStep::Through(permits) => Some(permits),
        WalkStep::Full => None,
    };
    let done = way.lock().done.take();
    if let Some(done) = done {
        done(answer);
    }
}

impl Drop for PassageWait {
    fn drop(&mut self) {
        let (held, ticket, done) = {
            let mut way = self.0.lock();
            way.abandoned = true;
            (std::mem::take(&mut way.held), way.ticket.take(), way.done.take())
        };
        // Dropped outside the lock: a freed permit may call the next waiter at once.
        drop((held, ticket, done));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn through(passage: Passage) -> Option<Permits> {
        match passage {
            Passage::Through(permits) => Some(permits),
            _ => None,
        }
    }

    #[test]
    fn a_freed_place_goes_to_the_one_who_waited_longest() {
        let gate = Gate::new(1, 10);
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = through(pass([gate.clone()], |_| {}));
        assert!(first.is_some());
        let waiting: Vec<_> = (0..3)
            .map(|n| {
                let order = order.clone();
                pass([gate.clone()], move |permits| {
                    order.lock().push(n);
                    drop(permits);
                })
            })
            .collect();
        assert!(waiting.iter().all(|w| matches!(w, Passage::Waiting(_))));
        drop(first);
        assert_eq!(*order.lock(), vec![0, 1, 2]);
        assert!(through(pass([gate], |_| {})).is_some(), "all permits are free again");
    }

    #[test]
    fn who_gives_up_is_passed_over_and_makes_room_in_the_queue() {
        let gate = Gate::new(1, 1);
        let inside = through(pass([gate.clone()], |_| {}));
        let called = Arc::new(AtomicUsize::new(0));
        let count = called.clone();
        let quitter = pass([gate.clone()], move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert!(matches!(pass([gate.clone()], |_| {}), Passage::Full));
        drop(quitter);
        let patient = pass([gate.clone()], drop);
        assert!(matches!(patient, Passage::Waiting(_)));
        drop(inside);
        assert_eq!(called.load(Ordering::Relaxed), 0);
        assert!(through(pass([gate], |_| {})).is_some());
    }

    #[test]
    fn giving_up_between_two_gates_frees_the_first() {
        let (narrow, wide) = (Gate::new(1, 10), Gate::new(1, 10));
        let outside = through(pass([wide.clone()], |_| {}));
        let way = pass([narrow.clone(), wide.clone()], |_| {});
        assert!(matches!(way, Passage::Waiting(_)));
        assert!(matches!(pass([narrow.clone()], |_| {}), Passage::Waiting(_)));
        drop(way);
        assert!(through(pass([narrow], |_| {})).is_some());
        drop(outside);
        assert!(through(pass([wide], |_| {})).is_some());
    }
}
