//! Who starts together, who comes next, and what ends it.

use super::*;

#[test]
fn a_race_starts_three_and_the_rest_one_by_one_after_the_whole_batch_failed() {
    let mut hand = Hand::new(rules(Strategy::First), 6);
    assert_eq!(hand.starts(), [0, 1, 2]);
    for slot in [1, 0] {
        hand.failed(slot, 10);
        assert_eq!(hand.starts(), NONE, "a failure does not end a race, nor does it let the next one in");
        assert_eq!(hand.run.decision(), None);
    }
    hand.failed(2, 20);
    assert_eq!(hand.starts(), [3]);
    hand.failed(3, 30);
    assert_eq!(hand.starts(), [4]);
    hand.failed(4, 40);
    assert_eq!(hand.starts(), [5]);
    hand.failed(5, 50);
    hand.assert_finished(Decision::Exhausted);
    assert_eq!(hand.winners(), NONE);
}

#[test]
fn the_first_success_wins_and_the_others_are_asked_to_stop() {
    let mut hand = Hand::new(rules(Strategy::First), 5);
    hand.starts();
    hand.failed(0, 5);
    assert!(hand.succeeded(2, 10));
    assert_eq!(hand.stops(), [1]);
    assert_eq!(hand.winners(), [2]);
    assert_eq!(hand.run.decision(), Some(Decision::Won));
    assert!(!hand.run.is_finished(), "the loser is awaited");
    hand.run.stopped(1);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.fates(5), [Fate::Failed, Fate::Stopped, Fate::Succeeded, Fate::NotTried, Fate::NotTried]);
}

#[test]
fn a_winner_at_once_leaves_those_that_were_not_begun_alone() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    assert_eq!(hand.next_start(), Some(0));
    hand.succeeded(0, 0);
    assert_eq!(hand.stops(), NONE, "nobody else was begun, so there is nobody to stop");
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.fates(3), [Fate::Succeeded, Fate::NotTried, Fate::NotTried]);
    assert_eq!(hand.run.duration(1, hand.at(100)), None);
}

#[test]
fn an_unresolved_auto_is_a_race() {
    let mut hand = Hand::new(rules(Strategy::Auto), 4);
    assert_eq!(hand.starts(), [0, 1, 2]);
    hand.succeeded(1, 10);
    assert_eq!(hand.stops(), [0, 2]);
}

#[test]
fn all_waits_for_the_whole_batch_and_keeps_every_success() {
    let mut hand = Hand::new(rules(Strategy::All), 5);
    assert_eq!(hand.starts(), [0, 1, 2]);
    hand.succeeded(1, 10);
    hand.failed(0, 20);
    assert_eq!(hand.run.decision(), None, "one is still running");
    hand.succeeded(2, 30);
    assert_eq!(hand.stops(), NONE);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [1, 2]);
    assert_eq!(hand.fates(5)[3..], [Fate::NotTried, Fate::NotTried]);
}

#[test]
fn all_of_two_runs_both() {
    let mut hand = Hand::new(rules(Strategy::All), 2);
    assert_eq!(hand.starts(), [0, 1]);
    hand.succeeded(1, 10);
    assert_eq!(hand.run.decision(), None);
    hand.succeeded(0, 20);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [0, 1]);
}

#[test]
fn all_goes_on_one_by_one_until_the_first_success_when_the_whole_batch_failed() {
    let mut hand = Hand::new(rules(Strategy::All), 6);
    hand.starts();
    (0..3).for_each(|slot| {
        hand.failed(slot, 10);
    });
    assert_eq!(hand.starts(), [3]);
    hand.failed(3, 20);
    assert_eq!(hand.starts(), [4]);
    hand.succeeded(4, 30);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [4]);
    assert_eq!(hand.run.fate(5), Fate::NotTried);
}

#[test]
fn all_gives_what_it_has_when_the_slowest_times_out() {
    let mut hand = Hand::with_timeouts(rules(Strategy::All), &[SECOND, SECOND, SECOND]);
    hand.starts();
    hand.succeeded(0, 10);
    hand.failed(1, 20);
    hand.tick(SECOND);
    assert_eq!(hand.stops(), [2]);
    assert_eq!(hand.run.decision(), Some(Decision::Won));
    hand.run.stopped(2);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [0]);
}

#[test]
fn fallback_tries_one_after_another() {
    let mut hand = Hand::new(rules(Strategy::Fallback), 3);
    assert!(hand.run.is_sequential());
    assert_eq!(hand.starts(), [0]);
    hand.failed(0, 10);
    assert_eq!(hand.starts(), [1]);
    hand.succeeded(1, 20);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.fates(3), [Fate::Failed, Fate::Succeeded, Fate::NotTried]);
}

#[test]
fn a_batch_of_one_or_none_is_a_fallback() {
    for batch in [0, 1] {
        for strategy in [Strategy::First, Strategy::All] {
            let mut hand = Hand::new(Rules { batch, ..rules(strategy) }, 2);
            assert_eq!(hand.starts(), [0], "{strategy:?} with a batch of {batch}");
            hand.failed(0, 10);
            assert_eq!(hand.starts(), [1]);
            hand.succeeded(1, 20);
            hand.assert_finished(Decision::Won);
        }
    }
}

#[test]
fn no_candidates_is_over_at_once() {
    for strategy in Strategy::ALL {
        Hand::new(Rules { deadline: Some(ms(5)), ..rules(strategy) }, 0).assert_finished(Decision::Exhausted);
    }
}

#[test]
fn resting_candidates_come_only_after_all_healthy_ones_failed_and_then_one_by_one() {
    let mut hand = Hand::new(Rules { healthy: 2, ..rules(Strategy::First) }, 4);
    assert_eq!(hand.starts(), [0, 1], "there would be room for a third, but it is resting");
    hand.failed(0, 10);
    assert_eq!(hand.starts(), NONE);
    hand.failed(1, 20);
    assert_eq!(hand.starts(), [2]);
    hand.failed(2, 30);
    assert_eq!(hand.starts(), [3]);
    hand.succeeded(3, 40);
    hand.assert_finished(Decision::Won);
}

#[test]
fn all_does_not_wait_for_resting_candidates() {
    let mut hand = Hand::new(Rules { healthy: 2, ..rules(Strategy::All) }, 4);
    assert_eq!(hand.starts(), [0, 1]);
    hand.failed(0, 10);
    hand.succeeded(1, 20);
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.fates(4)[2..], [Fate::NotTried, Fate::NotTried]);
}

#[test]
fn when_all_candidates_rest_they_are_tried_one_by_one() {
    for strategy in [Strategy::First, Strategy::All] {
        let mut hand = Hand::new(Rules { healthy: 0, ..rules(strategy) }, 3);
        assert_eq!(hand.starts(), [0], "{strategy:?}");
        hand.failed(0, 10);
        assert_eq!(hand.starts(), [1]);
        hand.succeeded(1, 20);
        hand.assert_finished(Decision::Won);
    }
}
