//! Tools with effects go on only when nothing happened; arguments that do not fit start nothing.

use super::*;

fn guarded(strategy: Strategy, count: usize) -> Hand {
    Hand::new(Rules { guarded: true, ..rules(strategy) }, count)
}

#[test]
fn effects_end_after_a_failure_that_does_not_prove_that_nothing_happened() {
    let mut hand = guarded(Strategy::Fallback, 3);
    assert_eq!(hand.starts(), [0]);
    hand.failed(0, 10);
    hand.assert_finished(Decision::Exhausted);
    assert_eq!(hand.fates(3)[1..], [Fate::NotTried, Fate::NotTried]);
}

#[test]
fn effects_go_on_after_a_failure_that_proves_that_nothing_happened() {
    let mut hand = guarded(Strategy::Fallback, 3);
    hand.starts();
    hand.failed_before_anything_happened(0, 10);
    assert_eq!(hand.starts(), [1]);
    hand.succeeded(1, 20);
    hand.assert_finished(Decision::Won);
}

#[test]
fn effects_end_after_a_timeout_because_it_may_have_run() {
    let mut hand = Hand::with_timeouts(Rules { guarded: true, ..rules(Strategy::Fallback) }, &[100, 100]);
    hand.starts();
    hand.tick(100);
    assert_eq!(hand.stops(), [0]);
    assert_eq!(hand.starts(), NONE);
    hand.run.stopped(0);
    hand.assert_finished(Decision::Exhausted);
    assert_eq!(hand.fates(2), [Fate::TimedOut, Fate::NotTried]);
}

#[test]
fn effects_go_on_after_a_rejection_because_nothing_was_started() {
    let mut hand = guarded(Strategy::Fallback, 2);
    hand.starts();
    hand.rejected(0, 0);
    assert_eq!(hand.starts(), [1]);
}

#[test]
fn a_timeout_before_anything_was_sent_blocks_no_other() {
    let timeouts = &[100, 100, 100];
    let mut hand = Hand::with_timeouts(Rules { guarded: true, ..rules(Strategy::Fallback) }, timeouts);
    hand.starts_only();
    hand.tick(100);
    assert!(hand.run.never_sent(0));
    assert_eq!((hand.stops(), hand.starts_only()), (vec![0], vec![1]), "it waited for a place all the time");
    assert!(!hand.run.begin_here(0), "it must not begin any more");
    assert!(hand.run.begin_here(1));
    hand.tick(200);
    assert!(!hand.run.never_sent(1));
    assert_eq!((hand.stops(), hand.starts()), (vec![1], vec![]), "this one had got its place");
}

#[test]
fn one_without_effects_among_others_with_effects_blocks_no_other() {
    let timeouts = &[100, 100, 100, 100];
    let mut hand = Hand::with_timeouts(Rules { guarded: true, ..rules(Strategy::Fallback) }, timeouts);
    hand.run.set_harmless(0);
    hand.run.set_harmless(1);
    hand.starts();
    hand.failed(0, 10);
    assert_eq!(hand.starts(), [1]);
    hand.tick(110);
    assert_eq!(hand.starts(), [2]);
    hand.failed(2, 120);
    assert_eq!(hand.starts(), NONE, "this one may have had effects");
}

#[test]
fn a_race_that_the_caller_asked_for_in_spite_of_effects_is_not_extended() {
    let mut hand = guarded(Strategy::First, 5);
    hand.starts();
    hand.failed(0, 10);
    hand.failed_before_anything_happened(1, 20);
    assert_eq!(hand.run.decision(), None, "those that run may still win");
    hand.failed_before_anything_happened(2, 30);
    hand.assert_finished(Decision::Exhausted);
}

#[test]
fn a_failure_while_hedging_with_effects_starts_no_hedge_and_no_busy_loop() {
    let mut hand =
        Hand::new(Rules { guarded: true, hedge_after: Some(ms(200)), ..rules(Strategy::First) }, 3);
    hand.starts();
    hand.tick(200);
    assert_eq!(hand.starts(), [1]);
    hand.failed(0, 300);
    hand.tick(400);
    assert_eq!(hand.starts(), NONE);
    assert_eq!(hand.wake_at(), Some(200 + 30 * SECOND), "the hedge is off: next comes the timeout");
}

#[test]
fn rejected_candidates_are_replaced_in_the_batch_and_never_counted() {
    let mut hand = Hand::new(rules(Strategy::All), 6);
    assert_eq!(hand.next_start(), Some(0));
    assert_eq!(hand.next_start(), Some(1));
    hand.rejected(1, 0);
    assert_eq!(hand.starts(), [2, 3], "the batch is three that really run");
    hand.rejected(3, 0);
    assert_eq!(hand.starts(), [4]);
    assert_eq!(hand.fates(6)[1], Fate::Rejected);
    assert_eq!(hand.run.duration(1, hand.at(500)), None, "it never ran");
    for slot in [0, 2, 4] {
        hand.succeeded(slot, 10);
    }
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [0, 2, 4]);
    assert_eq!(hand.run.fate(5), Fate::NotTried);
}

#[test]
fn resting_candidates_do_not_replace_rejected_ones_while_others_run() {
    let mut hand = Hand::new(Rules { healthy: 2, ..rules(Strategy::First) }, 3);
    hand.next_start();
    hand.rejected(0, 0);
    assert_eq!(hand.starts(), [1]);
    hand.failed(1, 10);
    assert_eq!(hand.starts(), [2]);
}

#[test]
fn everybody_rejected_is_exhausted_without_a_start() {
    for strategy in [Strategy::First, Strategy::All, Strategy::Fallback] {
        let mut hand = Hand::new(rules(strategy), 5);
        let mut refused = 0;
        while let Some(slot) = hand.next_start() {
            hand.rejected(slot, 0);
            refused += 1;
        }
        assert_eq!(refused, 5, "{strategy:?}: each one was asked");
        hand.assert_finished(Decision::Exhausted);
        assert_eq!(hand.fates(5), [Fate::Rejected; 5]);
    }
}

#[test]
fn a_rejection_does_not_end_a_candidate_that_has_ended_already() {
    let mut hand = Hand::new(rules(Strategy::All), 2);
    hand.starts();
    hand.succeeded(0, 10);
    hand.rejected(0, 20);
    assert_eq!(hand.run.fate(0), Fate::Succeeded);
    assert_eq!(hand.run.decision(), None);
}

#[test]
fn a_rejection_after_the_stop_means_that_the_candidate_is_gone() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    hand.starts();
    hand.succeeded(0, 10);
    assert_eq!(hand.stops(), [1, 2]);
    hand.rejected(1, 20);
    hand.run.stopped(2);
    hand.assert_finished(Decision::Won);
}
