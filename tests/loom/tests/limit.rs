//! Gates: no order of steps loses a permit, lets one too many in, or leaves a waiter without an answer.

use loom::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use toolhub_loom::limit::{Gate, Passage, Permits, pass};
use toolhub_loom::{Happening, explore};

/// How many are inside, as the calls themselves count.
#[derive(Default)]
struct Inside(AtomicUsize);

impl Inside {
    fn enter(&self, capacity: usize) {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) < capacity, "one too many is inside");
    }

    fn leave(&self, permits: Permits) {
        thread::yield_now();
        self.0.fetch_sub(1, Ordering::Relaxed);
        drop(permits);
    }
}

/// Goes through the gates as a call does: at once, or when it is notified. Panics if a gate is full.
fn go_through(
    gates: Vec<Arc<Gate>>,
    inside: Arc<Inside>,
    capacity: usize,
    passed: Arc<Happening>,
) -> Passage {
    let (later, inside_later) = (passed.clone(), inside.clone());
    let passage = pass(gates, None, move |permits| {
        inside_later.enter(capacity);
        inside_later.leave(permits.expect("no gate is full"));
        later.notify();
    });
    match passage {
        Passage::Through(permits) => {
            inside.enter(capacity);
            inside.leave(permits);
            passed.notify();
            Passage::Through(Permits::default())
        }
        Passage::Waiting(wait) => Passage::Waiting(wait),
        Passage::Full => panic!("no gate is full"),
    }
}

fn is_free(gate: &Arc<Gate>) -> bool {
    matches!(pass([gate.clone()], None, |_| {}), Passage::Through(_))
}

#[test]
fn one_at_a_time_and_all_get_through() {
    explore(3, || {
        let (gate, inside) = (Gate::new(1, 10), Arc::new(Inside::default()));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let (gate, inside) = (gate.clone(), inside.clone());
                thread::spawn(move || {
                    let passed = Arc::new(Happening::default());
                    let waiting = go_through(vec![gate], inside, 1, passed.clone());
                    passed.wait();
                    drop(waiting);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_free(&gate));
    });
}

/// Two gates, entered in the same order by all: no permit of the first stays behind.
#[test]
fn two_gates_are_passed_one_after_the_other() {
    explore(2, || {
        let (narrow, wide, inside) = (Gate::new(1, 10), Gate::new(2, 10), Arc::new(Inside::default()));
        let threads: Vec<_> = (0..3)
            .map(|n| {
                let gates = if n == 0 { vec![wide.clone()] } else { vec![narrow.clone(), wide.clone()] };
                let inside = inside.clone();
                thread::spawn(move || {
                    let passed = Arc::new(Happening::default());
                    let waiting = go_through(gates, inside, 2, passed.clone());
                    passed.wait();
                    drop(waiting);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(is_free(&narrow) && is_free(&wide));
    });
}

/// A waiter gives up at the moment when the permit is handed to it: the permit goes on to the next one.
#[test]
fn a_waiter_that_gives_up_passes_the_permit_on() {
    explore(3, || {
        let gate = Gate::new(1, 10);
        let Passage::Through(first) = pass([gate.clone()], None, |_| {}) else { panic!("the gate is free") };
        let quitter = pass([gate.clone()], None, drop);
        let passed = Arc::new(Happening::default());
        let patient = go_through(vec![gate.clone()], Arc::default(), 1, passed.clone());
        let giving_up = thread::spawn(move || drop(quitter));
        let releasing = thread::spawn(move || drop(first));
        passed.wait();
        drop(patient);
        giving_up.join().unwrap();
        releasing.join().unwrap();
        assert!(is_free(&gate));
    });
}

/// Giving up between two gates, while the second one admits.
#[test]
fn giving_up_between_two_gates_leaves_both_free() {
    explore(3, || {
        let (narrow, wide) = (Gate::new(1, 10), Gate::new(1, 10));
        let Passage::Through(first) = pass([wide.clone()], None, |_| {}) else { panic!("the gate is free") };
        let quitter = pass([narrow.clone(), wide.clone()], None, drop);
        let giving_up = thread::spawn(move || drop(quitter));
        let releasing = thread::spawn(move || drop(first));
        giving_up.join().unwrap();
        releasing.join().unwrap();
        assert!(is_free(&narrow) && is_free(&wide));
    });
}

/// An inner call borrows the slot of the outer one while the outer one ends.
#[test]
fn a_borrowed_slot_is_free_when_both_have_ended() {
    explore(3, || {
        let gate = Gate::new(1, 10);
        let Passage::Through(outer) = pass([gate.clone()], None, |_| {}) else { panic!("the gate is free") };
        let lender = outer.lender(None);
        let inner = {
            let gate = gate.clone();
            thread::spawn(move || {
                let passed = Arc::new(Happening::default());
                let later = passed.clone();
                match pass([gate], Some(&lender), move |permits| {
                    drop(permits);
                    later.notify();
                }) {
                    Passage::Through(permits) => drop(permits),
                    Passage::Waiting(wait) => {
                        passed.wait();
                        drop(wait);
                    }
                    Passage::Full => panic!("no gate is full"),
                }
            })
        };
        let passed = Arc::new(Happening::default());
        let stranger = go_through(vec![gate.clone()], Arc::default(), 1, passed.clone());
        drop(outer);
        passed.wait();
        drop(stranger);
        inner.join().unwrap();
        assert!(is_free(&gate));
    });
}
