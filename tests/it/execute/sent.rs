//! Whether something was sent, in every order of what may happen.

use super::*;
use std::sync::Arc;
use toolhub::tool::SentFlag;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Send,
    /// Nothing of it has left.
    TakeBack,
    /// The driver looks at the clock, and nothing is due.
    Tick,
    Timeout,
    Cancel,
    Close,
    Fail,
}

const ALL: [Event; 7] =
    [Event::Send, Event::TakeBack, Event::Tick, Event::Timeout, Event::Cancel, Event::Close, Event::Fail];

fn orders(of: &[Event]) -> Vec<Vec<Event>> {
    if of.is_empty() {
        return vec![vec![]];
    }
    let first = |at: usize| {
        let mut rest = of.to_vec();
        let event = rest.remove(at);
        orders(&rest).into_iter().map(move |order| [vec![event], order].concat())
    };
    (0..of.len()).flat_map(first).collect()
}

/// What the sender of the first candidate has seen.
#[derive(Default)]
struct Wire {
    is_written: bool,
    /// What the run had said when it ended the candidate.
    verdict: Option<bool>,
}

fn happens(hand: &mut Hand, flag: &SentFlag, wire: &mut Wire, event: Event) {
    match event {
        Event::Send => {
            let may = flag.may_begin();
            assert_eq!(may, wire.verdict.is_none(), "a candidate may send until it has ended");
            wire.is_written |= may;
        }
        Event::TakeBack => {
            flag.reopen();
            wire.is_written &= wire.verdict.is_some();
        }
        Event::Tick => hand.tick(1),
        Event::Timeout => hand.tick(100),
        Event::Cancel => hand.cancel(2),
        Event::Close => hand.close(2),
        Event::Fail => _ = hand.failed(0, 2),
    }
    if wire.verdict.is_none() && hand.run.fate(0) != Fate::Running {
        wire.verdict = Some(hand.run.never_sent(0));
    }
}

#[test]
fn in_every_order_the_verdict_is_what_the_wire_has_seen() {
    let orders = orders(&ALL);
    assert_eq!(orders.len(), 5_040);
    for order in orders {
        let rules = Rules { guarded: true, ..rules(Strategy::Fallback) };
        let mut hand = Hand::with_timeouts(rules, &[100, 100]);
        assert_eq!(hand.starts_only(), [0]);
        let flag: Arc<SentFlag> = hand.run.share_flag(0);
        let mut wire = Wire::default();
        for event in &order {
            happens(&mut hand, &flag, &mut wire, *event);
            let next = hand.starts_only();
            assert!(next.is_empty() || !wire.is_written, "{order:?}: another one after effects");
        }
        assert_eq!(wire.verdict, Some(!wire.is_written), "{order:?}");
        assert_eq!(hand.run.never_sent(0), !wire.is_written, "{order:?}: it does not change afterwards");
        assert!(!flag.may_begin(), "{order:?}: it has ended");
    }
}

#[test]
fn what_was_marked_before_the_flag_is_shared_stays_marked() {
    let mut hand = Hand::new(rules(Strategy::First), 1);
    assert_eq!(hand.starts_only(), [0]);
    assert!(hand.run.begin_here(0));
    assert!(hand.run.share_flag(0).was_sent() && !hand.run.never_sent(0));
}
