//! Timeouts, the deadline, the grace for losers, and when to wake.

use super::*;

#[test]
fn a_candidate_that_runs_too_long_is_asked_to_stop_and_the_race_goes_on() {
    let mut hand = Hand::with_timeouts(rules(Strategy::First), &[100, 300]);
    hand.starts();
    assert_eq!(hand.wake_at(), Some(100));
    hand.tick(99);
    assert_eq!(hand.stops(), NONE);
    hand.tick(100);
    assert_eq!(hand.stops(), [0]);
    assert_eq!(hand.run.fate(0), Fate::TimedOut);
    assert_eq!(hand.run.duration(0, hand.at(900)), Some(ms(100)));
    assert_eq!(hand.run.decision(), None);
    hand.succeeded(1, 150);
    assert_eq!(hand.winners(), [1]);
}

#[test]
fn a_timeout_counts_from_the_candidates_own_start() {
    let mut hand = Hand::with_timeouts(rules(Strategy::Fallback), &[100, 100]);
    hand.starts();
    hand.tick(100);
    assert_eq!(hand.starts(), [1]);
    assert_eq!(hand.run.expires(1), Some(hand.at(200)));
    assert_eq!(hand.wake_at(), Some(200));
    hand.tick(200);
    assert_eq!(hand.run.decision(), Some(Decision::Exhausted));
    assert_eq!(hand.fates(2), [Fate::TimedOut, Fate::TimedOut]);
}

#[test]
fn the_deadline_ends_everything_however_much_is_left_to_try() {
    let mut hand = Hand::new(Rules { deadline: Some(ms(500)), ..rules(Strategy::First) }, 6);
    hand.starts();
    assert_eq!(hand.wake_at(), Some(500));
    assert_eq!(hand.run.expires(0), Some(hand.at(500)), "the deadline comes before the timeout");
    hand.failed(1, 100);
    hand.tick(500);
    assert_eq!(hand.stops(), [0, 2]);
    hand.run.stopped(0);
    hand.run.stopped(2);
    hand.assert_finished(Decision::DeadlinePassed);
    assert_eq!(hand.run.fate(0), Fate::Stopped);
}

#[test]
fn all_keeps_what_came_before_the_deadline() {
    let mut hand = Hand::new(Rules { deadline: Some(ms(500)), ..rules(Strategy::All) }, 3);
    hand.starts();
    hand.succeeded(1, 100);
    hand.tick(500);
    assert_eq!(hand.stops(), [0, 2]);
    assert_eq!(hand.winners(), [1]);
}

#[test]
fn losers_are_awaited_no_longer_than_the_grace() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    hand.starts();
    hand.succeeded(0, 100);
    assert_eq!(hand.stops(), [1, 2]);
    hand.run.stopped(1);
    assert!(!hand.run.is_finished());
    assert_eq!(hand.wake_at(), Some(100 + SECOND));
    hand.tick(99 + SECOND);
    assert!(!hand.run.is_finished());
    hand.tick(100 + SECOND);
    hand.assert_finished(Decision::Won);
}

#[test]
fn losers_that_go_at_once_end_the_wait_at_once() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    hand.starts();
    hand.succeeded(0, 100);
    hand.run.stopped(2);
    hand.run.stopped(2);
    assert!(!hand.run.is_finished(), "one that goes twice is still one");
    hand.run.stopped(1);
    hand.assert_finished(Decision::Won);
}

#[test]
fn one_that_timed_out_earlier_is_awaited_too() {
    let mut hand = Hand::with_timeouts(rules(Strategy::Fallback), &[100, 1_000]);
    hand.starts();
    hand.tick(100);
    hand.starts();
    hand.succeeded(1, 200);
    assert!(!hand.run.is_finished());
    hand.run.stopped(0);
    hand.assert_finished(Decision::Won);
}

#[test]
fn without_grace_nothing_is_awaited() {
    let mut hand = Hand::new(Rules { grace: ms(0), ..rules(Strategy::First) }, 2);
    hand.starts();
    hand.succeeded(0, 100);
    assert_eq!(hand.stops(), [1], "it is still stopped");
    hand.tick(100);
    hand.assert_finished(Decision::Won);
}

#[test]
fn late_answers_are_dropped_and_count_as_gone() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    hand.starts();
    hand.succeeded(0, 100);
    assert!(!hand.succeeded(1, 101));
    assert!(!hand.failed(2, 102));
    hand.assert_finished(Decision::Won);
    assert_eq!(hand.winners(), [0]);
    assert_eq!(hand.fates(3)[1..], [Fate::Stopped, Fate::Stopped]);
}

#[test]
fn an_answer_after_the_timeout_does_not_win() {
    let mut hand = Hand::with_timeouts(rules(Strategy::Fallback), &[100, 1_000]);
    hand.starts();
    hand.tick(100);
    hand.starts();
    assert!(!hand.succeeded(0, 110));
    assert_eq!(hand.run.decision(), None);
    assert_eq!(hand.run.fate(0), Fate::TimedOut);
}

#[test]
fn cancel_stops_all_and_starts_none() {
    let mut hand = Hand::new(rules(Strategy::First), 5);
    hand.starts();
    hand.failed(0, 10);
    hand.cancel(20);
    assert_eq!(hand.stops(), [1, 2]);
    assert!(!hand.succeeded(1, 30));
    hand.run.stopped(2);
    hand.assert_finished(Decision::Cancelled);
    assert_eq!(hand.winners(), NONE);
}

#[test]
fn cancel_before_anybody_was_begun_is_over_at_once() {
    let mut hand = Hand::new(rules(Strategy::First), 3);
    hand.cancel(0);
    assert_eq!(hand.stops(), NONE);
    hand.assert_finished(Decision::Cancelled);
    assert_eq!(hand.fates(3), [Fate::NotTried; 3]);
}

#[test]
fn cancel_after_the_decision_changes_nothing() {
    let mut hand = Hand::new(rules(Strategy::First), 2);
    hand.starts();
    hand.succeeded(0, 10);
    hand.cancel(20);
    hand.run.stopped(1);
    hand.assert_finished(Decision::Won);
}

#[test]
fn a_tick_that_comes_early_or_twice_does_nothing() {
    let mut hand = Hand::with_timeouts(rules(Strategy::Fallback), &[100, 100]);
    hand.starts();
    for _ in 0..3 {
        hand.tick(50);
        assert_eq!((hand.starts(), hand.stops(), hand.wake_at()), (vec![], vec![], Some(100)));
    }
    hand.tick(100);
    assert_eq!((hand.starts(), hand.stops()), (vec![1], vec![0]));
    hand.tick(100);
    assert_eq!((hand.starts(), hand.stops(), hand.wake_at()), (vec![], vec![], Some(200)));
}

#[test]
fn timeouts_of_zero_end_after_as_many_ticks_as_there_are_candidates() {
    let mut hand = Hand::with_timeouts(Rules { grace: ms(0), ..rules(Strategy::Fallback) }, &[0; 20]);
    let mut ticks = 0;
    while hand.run.wake_at().is_some() {
        hand.starts();
        hand.stops();
        hand.tick(0);
        ticks += 1;
        assert!(ticks <= 22, "a busy loop");
    }
    hand.assert_finished(Decision::Exhausted);
    assert_eq!(hand.fates(20), [Fate::TimedOut; 20]);
}

/// "Without limit" is often written as the longest duration there is.
#[test]
fn the_longest_durations_mean_never() {
    let endless = Rules {
        hedge_after: Some(Duration::MAX),
        deadline: Some(Duration::MAX),
        grace: Duration::MAX,
        ..rules(Strategy::First)
    };
    let now = Instant::now();
    let mut run = Run::new(endless, [Duration::MAX; 3], now);
    assert_eq!(run.next_action(), Action::Start(0));
    assert!(run.wake_at().is_none_or(|at| at > now + Duration::from_secs(10 * 365 * 24 * 3600)));
    run.tick(now + Duration::from_secs(3600));
    assert_eq!(run.decision(), None);
    assert!(run.failed(0, true, now));
    assert_eq!(run.next_action(), Action::Start(1));
    assert!(run.succeeded(1, now));
    assert!(run.is_finished());
}

#[test]
fn without_time_nothing_starts() {
    for strategy in [Strategy::First, Strategy::All, Strategy::Fallback] {
        let mut hand = Hand::new(Rules { deadline: Some(ms(0)), ..rules(strategy) }, 3);
        assert_eq!(hand.next_start(), None);
        hand.assert_finished(Decision::DeadlinePassed);
        assert!((0..3).all(|slot| hand.run.never_sent(slot)));
    }
}

#[test]
fn a_call_that_began_too_long_ago_starts_nothing() {
    let mut hand = Hand::new(Rules { deadline: Some(ms(500)), ..rules(Strategy::First) }, 3);
    let begun = hand.begun - ms(500);
    hand.run.count_from(begun, hand.begun);
    assert_eq!(hand.next_start(), None);
    hand.assert_finished(Decision::DeadlinePassed);
}

#[test]
fn a_deadline_that_passes_while_arguments_are_checked_starts_nothing() {
    let mut hand = Hand::new(Rules { deadline: Some(ms(500)), ..rules(Strategy::Fallback) }, 2);
    assert_eq!(hand.next_start(), Some(0));
    let (early, late) = (hand.at(499), hand.at(500));
    assert!(!hand.run.refuse_late(Some(0), early));
    assert!(hand.run.refuse_late(Some(0), late));
    assert_eq!(hand.run.fate(0), Fate::NotTried);
    assert!(hand.run.never_sent(0));
    hand.assert_finished(Decision::DeadlinePassed);
}

#[test]
fn a_deadline_that_passes_in_the_queue_starts_nothing() {
    let mut hand = Hand::new(Rules { deadline: Some(ms(500)), ..rules(Strategy::Fallback) }, 2);
    assert_eq!(hand.next_start(), Some(0));
    let late = hand.at(500);
    assert!(hand.run.refuse_late(None, late));
    assert_eq!(hand.run.next_stop(), Some(0));
    hand.run.stopped(0);
    assert!(hand.run.never_sent(0));
    hand.assert_finished(Decision::DeadlinePassed);
}
