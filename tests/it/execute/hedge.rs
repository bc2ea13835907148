//! Hedging: the second candidate starts only when the first is late.

use super::*;

fn hedged(count: usize) -> Hand {
    Hand::new(Rules { hedge_after: Some(ms(200)), ..rules(Strategy::First) }, count)
}

#[test]
fn the_second_starts_when_the_first_has_not_answered_by_then_and_the_third_after_another_wait() {
    let mut hand = hedged(5);
    assert_eq!(hand.starts(), [0]);
    assert_eq!(hand.wake_at(), Some(200));
    hand.tick(199);
    assert_eq!(hand.starts(), NONE);
    hand.tick(200);
    assert_eq!(hand.starts(), [1]);
    assert_eq!(hand.wake_at(), Some(400));
    hand.tick(400);
    assert_eq!(hand.starts(), [2]);
    assert_eq!(hand.wake_at(), Some(30 * SECOND), "the batch is out: only the timeouts are left");
    hand.succeeded(1, 500);
    assert_eq!(hand.stops(), [0, 2]);
}

#[test]
fn a_late_tick_starts_one_candidate_not_all_that_would_have_been_due() {
    let mut hand = hedged(3);
    hand.starts();
    hand.tick(10 * SECOND);
    assert_eq!(hand.starts(), [1]);
    assert_eq!(hand.wake_at(), Some(10 * SECOND + 200));
}

#[test]
fn an_answer_in_time_means_that_no_other_starts() {
    let mut hand = hedged(3);
    hand.starts();
    hand.succeeded(0, 199);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.fates(3)[1..], [Fate::NotTried, Fate::NotTried]);
}

#[test]
fn the_second_starts_at_once_when_the_first_fails() {
    let mut hand = hedged(3);
    hand.starts();
    hand.failed(0, 50);
    assert_eq!(hand.starts(), [1]);
    assert_eq!(hand.wake_at(), Some(250), "the wait for the third counts from the second's start");
}

#[test]
fn the_second_starts_at_once_when_the_first_times_out() {
    let mut hand =
        Hand::with_timeouts(Rules { hedge_after: Some(ms(200)), ..rules(Strategy::First) }, &[100, 100]);
    hand.starts();
    hand.tick(100);
    assert_eq!(hand.stops(), [0]);
    assert_eq!(hand.starts(), [1]);
}

#[test]
fn after_a_failed_batch_there_is_no_hedge() {
    let mut hand = hedged(5);
    hand.starts();
    (0..3).for_each(|slot| {
        hand.failed(slot, 10);
        hand.starts();
    });
    assert_eq!(hand.run.fate(3), Fate::Running);
    assert_eq!(hand.wake_at(), Some(10 + 30 * SECOND));
}

#[test]
fn a_resting_candidate_is_not_a_hedge() {
    let mut hand = Hand::new(Rules { hedge_after: Some(ms(200)), healthy: 1, ..rules(Strategy::First) }, 2);
    hand.starts();
    hand.tick(200);
    assert_eq!(hand.starts(), NONE);
    hand.failed(0, 300);
    assert_eq!(hand.starts(), [1]);
}

#[test]
fn all_is_not_hedged() {
    let mut hand = Hand::new(Rules { hedge_after: Some(ms(200)), ..rules(Strategy::All) }, 3);
    assert_eq!(hand.starts(), [0, 1, 2]);
}

#[test]
fn no_wait_at_all_is_a_plain_race() {
    let mut hand = Hand::new(Rules { hedge_after: Some(ms(0)), ..rules(Strategy::First) }, 4);
    assert_eq!(hand.starts(), [0, 1, 2]);
    assert_eq!(hand.wake_at(), Some(30 * SECOND));
}

#[test]
fn a_rejected_first_is_replaced_at_once() {
    let mut hand = hedged(3);
    assert_eq!(hand.next_start(), Some(0));
    hand.rejected(0, 0);
    assert_eq!(hand.starts(), [1]);
    assert_eq!(hand.wake_at(), Some(200));
}

#[test]
fn a_rejected_hedge_is_replaced_at_once() {
    let mut hand = hedged(4);
    hand.starts();
    hand.tick(200);
    assert_eq!(hand.next_start(), Some(1));
    hand.rejected(1, 200);
    assert_eq!(hand.starts(), [2], "the hedge is due; that its first choice did not fit changes nothing");
}

#[test]
fn a_rejected_last_hedge_is_replaced_while_the_first_still_runs() {
    let mut hand = Hand::new(Rules { hedge_after: Some(ms(200)), batch: 2, ..rules(Strategy::First) }, 3);
    hand.starts();
    hand.tick(200);
    assert_eq!(hand.next_start(), Some(1));
    hand.rejected(1, 200);
    hand.tick(400);
    assert_eq!(hand.starts(), [2], "a candidate that was never started must not use up the hedge");
}
