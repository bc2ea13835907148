//! L1, limits on how much runs at once, without a runtime.
//!
//! A [`Gate`] admits a fixed number; the others queue in order. A callback reports admission, on the thread that released the
//! permit. Permits are handed directly to the next waiter, so late arrivals cannot barge.
//!
//! A call that is made inside another one may borrow its slots ([`Lender`]): otherwise the outer call would wait for the inner
//! one, which waits for the slot of the outer one. A slot is lent to one inner call at a time, and is free again when both
//! have ended.

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, OnceLock, Weak};
use std::collections::VecDeque;

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

/// Admission to one gate; dropping it admits the next waiter.
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

    /// Enters if there is a free slot.
    fn try_enter(self: &Arc<Self>) -> Option<Permit> {
        let mut state = self.state.lock();
        let is_free = state.inside < self.capacity;
        state.inside += usize::from(is_free);
        is_free.then(|| Permit { gate: self.clone() })
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

/// A slot of a gate: the call's own, or borrowed from the call around it.
struct GateSlot {
    /// The gate whose limit it counts for.
    gate: Arc<Gate>,
    /// Where inner calls wait for this slot; made at first need.
    lent: OnceLock<Arc<Gate>>,
    _permit: Permit,
    /// Whose slot it is, if it is borrowed: free only when both have ended.
    _lender: Option<Arc<GateSlot>>,
}

impl GateSlot {
    fn lent(&self) -> &Arc<Gate> {
        self.lent.get_or_init(|| Gate::new(1, self.gate.max_waiting))
    }
}

/// The slots of one call, entered narrowest first, so that no call holds a slot of a wide gate while it waits for a narrow
/// one.
#[derive(Default)]
pub struct Permits(Vec<Arc<GateSlot>>);

impl Permits {
    /// Gives back all slots but those of this gate.
    pub fn keep_only(&mut self, gate: Option<&Arc<Gate>>) {
        self.0.retain(|slot| gate.is_some_and(|gate| Arc::ptr_eq(gate, &slot.gate)));
    }

    /// What calls inside this one may borrow: these slots, and those of the calls around it.
    pub fn lender(&self, outer: Option<Arc<Lender>>) -> Arc<Lender> {
        Arc::new(Lender { slots: self.0.iter().map(Arc::downgrade).collect(), outer })
    }
}

/// Slots that can be borrowed as long as their call holds them.
pub struct Lender {
    slots: Vec<Weak<GateSlot>>,
    outer: Option<Arc<Lender>>,
}

impl Lender {
    fn slot_of(&self, gate: &Arc<Gate>) -> Option<Arc<GateSlot>> {
        let mut held = self.slots.iter().filter_map(Weak::upgrade);
        let own = held.find(|slot| Arc::ptr_eq(&slot.gate, gate));
        own.or_else(|| self.outer.as_ref()?.slot_of(gate))
    }
}

/// The result of entering several gates.
pub enum Passage {
    Through(Permits),
    Waiting(PassageWait),
    Full,
}

/// A call that waits at a gate; dropping it gives up all slots and queue positions.
pub struct PassageWait(Arc<Mutex<WaitPath>>);

/// One gate on the way, and the slot behind it that may be borrowed.
#[derive(Clone)]
struct Entrance {
    gate: Arc<Gate>,
    lender: Option<Arc<GateSlot>>,
}

struct WaitPath {
    entrances: VecDeque<Entrance>,
    held: Permits,
    ticket: Option<Ticket>,
    /// `None` once it was called, or the call has given up.
    done: Option<Box<dyn FnOnce(Option<Permits>) + Send>>,
}

impl WaitPath {
    /// The first gate on the way has admitted the call.
    fn admitted(&mut self, permit: Permit) {
        if let Some(Entrance { gate, lender }) = self.entrances.pop_front() {
            // A borrowed slot has a permit of the lender's own gate.
            let is_own = Arc::ptr_eq(&permit.gate, &gate);
            let lender = lender.filter(|_| !is_own);
            self.held.0.push(Arc::new(GateSlot {
                gate,
                lent: OnceLock::new(),
                _permit: permit,
                _lender: lender,
            }));
        }
    }
}

/// Enters all gates, or borrows their slots from the call around this one. `done` is called only if this has to wait: with
/// the permits, or with `None` if a later gate is full.
pub fn pass(
    gates: impl IntoIterator<Item = Arc<Gate>>,
    around: Option<&Lender>,
    done: impl FnOnce(Option<Permits>) + Send + 'static,
) -> Passage {
    let entrance = |gate: Arc<Gate>| Entrance { lender: around.and_then(|one| one.slot_of(&gate)), gate };
    let path = Arc::new(Mutex::new(WaitPath {
        entrances: gates.into_iter().map(entrance).collect(),
        held: Permits::default(),
        ticket: None,
        done: Some(Box::new(done)),
    }));
    match walk(&path) {
        None => Passage::Waiting(PassageWait(path)),
        Some(None) => Passage::Full,
        Some(Some(permits)) => Passage::Through(permits),
    }
}

/// Goes on to the next gate that it has to wait at; `None` if there is one. Otherwise the permits, or `None` if a gate is full.
fn walk(path: &Arc<Mutex<WaitPath>>) -> Option<Option<Permits>> {
    loop {
        let mut state = path.lock();
        let Some(Entrance { gate, lender }) = state.entrances.front().cloned() else {
            return Some(Some(std::mem::take(&mut state.held)));
        };
        let on = path.clone();
        let notify = move |permit| go_on(on, permit);
        let entered = match &lender {
            None => gate.enter(notify),
            // A free slot comes first: inner calls may use what the limit allows.
            Some(lender) => match gate.try_enter() {
                Some(permit) => GateEntry::In(permit),
                None => lender.lent().enter(notify),
            },
        };
        match entered {
            GateEntry::In(permit) => state.admitted(permit),
            GateEntry::Queued(ticket) => {
                state.ticket = Some(ticket);
                return None;
            }
            GateEntry::Full => return Some(None),
        }
    }
}

fn go_on(path: Arc<Mutex<WaitPath>>, permit: Permit) {
    {
        let mut state = path.lock();
        if state.done.is_none() {
            drop(state);
            return drop(permit);
        }
        state.ticket = None;
        state.admitted(permit);
    }
    let Some(answer) = walk(&path) else { return };
    let done = path.lock().done.take();
    if let Some(done) = done {
        done(answer);
    }
}

impl Drop for PassageWait {
    fn drop(&mut self) {
        let (held, ticket, done, entrances) = {
            let mut path = self.0.lock();
            let entrances = std::mem::take(&mut path.entrances);
            (std::mem::take(&mut path.held), path.ticket.take(), path.done.take(), entrances)
        };
        // Dropped outside the lock: a freed permit may call the next waiter at once.
        drop((held, ticket, done, entrances));
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
    fn a_freed_slot_goes_to_the_longest_waiter() {
        let gate = Gate::new(1, 10);
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = through(pass([gate.clone()], None, |_| {}));
        assert!(first.is_some());
        let waiting: Vec<_> = (0..3)
            .map(|n| {
                let order = order.clone();
                pass([gate.clone()], None, move |permits| {
                    order.lock().push(n);
                    drop(permits);
                })
            })
            .collect();
        assert!(waiting.iter().all(|w| matches!(w, Passage::Waiting(_))));
        drop(first);
        assert_eq!(*order.lock(), vec![0, 1, 2]);
        assert!(through(pass([gate], None, |_| {})).is_some(), "all permits are free again");
    }

    #[test]
    fn who_gives_up_is_passed_over_and_makes_room_in_the_queue() {
        let gate = Gate::new(1, 1);
        let inside = through(pass([gate.clone()], None, |_| {}));
        let called = Arc::new(AtomicUsize::new(0));
        let count = called.clone();
        let quitter = pass([gate.clone()], None, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert!(matches!(pass([gate.clone()], None, |_| {}), Passage::Full));
        drop(quitter);
        let patient = pass([gate.clone()], None, drop);
        assert!(matches!(patient, Passage::Waiting(_)));
        drop(inside);
        assert_eq!(called.load(Ordering::Relaxed), 0);
        assert!(through(pass([gate], None, |_| {})).is_some());
    }

    #[test]
    fn giving_up_between_two_gates_frees_the_first() {
        let (narrow, wide) = (Gate::new(1, 10), Gate::new(1, 10));
        let outside = through(pass([wide.clone()], None, |_| {}));
        let way = pass([narrow.clone(), wide.clone()], None, |_| {});
        assert!(matches!(way, Passage::Waiting(_)));
        assert!(matches!(pass([narrow.clone()], None, |_| {}), Passage::Waiting(_)));
        drop(way);
        assert!(through(pass([narrow], None, |_| {})).is_some());
        drop(outside);
        assert!(through(pass([wide], None, |_| {})).is_some());
    }

    #[test]
    fn an_inner_call_borrows_the_slot_of_the_outer_one() {
        let gate = Gate::new(1, 10);
        let outer = through(pass([gate.clone()], None, |_| {})).unwrap();
        let lender = outer.lender(None);
        let inner = through(pass([gate.clone()], Some(&lender), |_| {})).unwrap();
        // One at a time, and the inner call lends what it has borrowed.
        assert!(matches!(pass([gate.clone()], Some(&lender), |_| {}), Passage::Waiting(_)));
        let innermost = through(pass([gate.clone()], Some(&inner.lender(Some(lender.clone()))), |_| {}));
        assert!(innermost.is_some());
        assert!(matches!(pass([gate.clone()], None, |_| {}), Passage::Waiting(_)));
        // The slot is free when all have ended, in any order.
        drop(outer);
        assert!(matches!(pass([gate.clone()], None, |_| {}), Passage::Waiting(_)));
        drop(innermost);
        drop(inner);
        assert!(matches!(pass([gate.clone()], Some(&lender), |_| {}), Passage::Through(_)));
        assert!(through(pass([gate], None, |_| {})).is_some());
    }

    #[test]
    fn an_inner_call_takes_a_free_slot_before_it_borrows() {
        let gate = Gate::new(2, 10);
        let outer = through(pass([gate.clone()], None, |_| {})).unwrap();
        let lender = outer.lender(None);
        let inner = through(pass([gate.clone()], Some(&lender), |_| {}));
        assert!(inner.is_some());
        assert!(matches!(pass([gate.clone()], None, |_| {}), Passage::Waiting(_)), "both slots are taken");
        drop(inner);
        drop(outer);
        assert!(through(pass([gate], Some(&lender), |_| {})).is_some());
    }

    #[test]
    fn only_the_slots_of_one_gate_remain() {
        let (own, shared) = (Gate::new(1, 10), Gate::new(1, 10));
        let mut permits = through(pass([own.clone(), shared.clone()], None, |_| {})).unwrap();
        permits.keep_only(Some(&own));
        assert!(through(pass([shared], None, |_| {})).is_some());
        assert!(matches!(pass([own.clone()], None, |_| {}), Passage::Waiting(_)));
        permits.keep_only(None);
        assert!(through(pass([own], None, |_| {})).is_some());
    }
}
