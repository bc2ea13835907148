use super::ConnectReason::{Call, List, User};
use super::*;
use crate::mcp::backoff::{LIST_STARTS_WITHIN, MOST_LIST_STARTS};
use proptest::prelude::*;
use toolhub_types::error::ErrorKind;

type Machine = Lifecycle<u64, u64>;

const SECOND: Duration = Duration::from_secs(1);

fn refused() -> HubError {
    HubError::new(ErrorKind::Connect, "connection refused")
}

fn gone() -> HubError {
    HubError::new(ErrorKind::Closed, "the server has forgotten the session")
}

/// Asks for a connection, and gives the generation of the attempt that was started for it.
fn start(machine: &mut Machine, reason: ConnectReason, now: Instant) -> Option<u64> {
    let mut started = None;
    let _ = machine.want(reason, now, |generation, _| {
        started = Some(generation);
        generation
    });
    started
}

fn ready(now: Instant) -> Machine {
    let mut machine = Machine::new(false);
    assert_eq!(start(&mut machine, Call, now), Some(1));
    assert_eq!(machine.connected(1, 1, ProtocolHint::Legacy, now), Ok(()));
    machine
}

#[test]
fn requests_that_come_together_share_one_attempt() {
    let now = Instant::now();
    let mut machine = Machine::new(false);
    assert_eq!(start(&mut machine, Call, now), Some(1));
    assert_eq!(start(&mut machine, User, now), None);
    assert_eq!(machine.want(Call, now, |_, _| 9), Ok(&LifeStage::Connecting(1)));
    assert_eq!(machine.connected(1, 10, ProtocolHint::Modern, now), Ok(()));
    assert_eq!(machine.want(Call, now, |_, _| 9), Ok(&LifeStage::Ready { session: 10, since: now }));
}

#[test]
fn a_disabled_server_is_never_started() {
    let now = Instant::now();
    let mut machine = Machine::new(true);
    assert_eq!(machine.want(User, now, |_, _| 9), Err(Unavailable::Disabled));
}

#[test]
fn failures_back_off_unless_a_user_insists() {
    let now = Instant::now();
    let mut machine = Machine::new(false);
    for generation in 1..=2 {
        assert_eq!(start(&mut machine, Call, now), Some(generation), "the first failure may be chance");
        machine.failed(generation, refused(), now);
    }
    let unavailable = machine.want(Call, now, |_, _| 9).unwrap_err();
    let Unavailable::BackingOff { wait, failures: 2, last } = unavailable else {
        panic!("{unavailable:?}");
    };
    assert_eq!((last.error, last.at, last.lived), (refused(), now, None));
    assert_eq!(machine.backoff.wait(now), Some(wait));
    assert_eq!(start(&mut machine, Call, now + wait), Some(3), "the pause is over");
    machine.failed(3, refused(), now);
    assert_eq!(start(&mut machine, User, now), Some(4));
}

#[test]
fn a_hint_is_used_until_an_attempt_with_it_fails() {
    let now = Instant::now();
    let mut machine = ready(now);
    assert_eq!(machine.take_lost(now + 20 * SECOND, |_| Some(gone())), Some((1, 20 * SECOND)));
    let mut hints = Vec::new();
    for generation in 2..=3 {
        let _ = machine.want(User, now, |generation, hint| {
            hints.push(hint);
            generation
        });
        machine.failed(generation, refused(), now);
    }
    assert_eq!(hints, [Some(ProtocolHint::Legacy), None]);
}

#[test]
fn a_session_that_is_lost_soon_counts_as_a_failure() {
    let now = Instant::now();
    let mut machine = ready(now);
    assert_eq!(machine.take_lost(now, |_| None), None);
    for generation in 2..=3 {
        assert!(machine.take_lost(now + SECOND, |_| Some(gone())).is_some());
        let _ = start(&mut machine, User, now);
        assert!(machine.connected(generation, generation, ProtocolHint::Legacy, now).is_ok());
    }
    assert!(machine.backoff.wait(now + SECOND).is_some());
    assert_eq!(machine.take_lost(now + 60 * SECOND, |_| Some(gone())), Some((3, 60 * SECOND)));
    assert_eq!(machine.backoff.wait(now + 60 * SECOND), None, "a long life makes up for the failures");
}

#[test]
fn failures_are_counted_from_the_last_answer() {
    let mut now = Instant::now();
    let mut machine = ready(now);
    for generation in 1..10 {
        machine.answered();
        now += SECOND / 10;
        assert!(machine.take_lost(now, |_| Some(gone())).is_some());
        assert_eq!(machine.backoff.wait(now), None, "it worked until now");
        assert_eq!(start(&mut machine, Call, now), Some(generation + 1));
        assert!(machine.connected(generation + 1, generation + 1, ProtocolHint::Legacy, now).is_ok());
    }
    assert!(machine.take_lost(now, |_| Some(gone())).is_some());
    machine.answered();
    assert_eq!(
        machine.backoff.failures, 2,
        "a late answer of a lost session says nothing about the next one"
    );
}

#[test]
fn an_idle_session_is_taken_once_and_is_not_a_failure() {
    let now = Instant::now();
    let mut machine = ready(now);
    assert_eq!(machine.take_idle(0), None, "the timer of an earlier session");
    assert_eq!((machine.take_idle(1), machine.take_idle(1)), (Some(1), None));
    assert_eq!(machine.backoff.wait(now), None);
    assert!(machine.is_current(1), "a list that the session fetched still counts");
    machine.listed(1, Some(refused()));
    assert_eq!(machine.error.as_ref(), None, "the end cut its list short");
    assert_eq!(start(&mut machine, Call, now), Some(2));
    assert!(!machine.is_current(1));
}

#[test]
fn an_attempt_that_ends_after_close_has_no_effect() {
    let now = Instant::now();
    let mut machine = Machine::new(false);
    assert_eq!(start(&mut machine, Call, now), Some(1));
    assert_eq!(machine.close(), LifeStage::Connecting(1));
    assert_eq!(machine.connected(1, 10, ProtocolHint::Modern, now), Err(10));
    machine.failed(1, refused(), now);
    machine.listed(1, Some(refused()));
    assert!(machine.is_closed() && !machine.is_current(1) && machine.error.as_ref().is_none());
    assert_eq!(machine.want(User, now, |_, _| 9), Ok(&LifeStage::Closed));
    assert_eq!(machine.close(), LifeStage::Closed);
}

#[test]
fn the_error_of_a_list_is_shown_until_a_list_works() {
    let now = Instant::now();
    let mut machine = ready(now);
    machine.listed(1, Some(refused()));
    assert_eq!(machine.error.as_ref(), Some(&refused()));
    machine.listed(0, None);
    assert_eq!(
        machine.error.as_ref(),
        Some(&refused()),
        "a list of an earlier session says nothing about this one"
    );
    machine.listed(1, None);
    assert_eq!(machine.error.as_ref(), None);
}

/// A server that is lost the moment it has announced a change, and look-ups that miss a tool ten times a second.
#[test]
fn a_server_that_crashes_is_started_for_its_list_at_most_three_times_in_ten_seconds() {
    for (hint, is_failure) in
        [(None, true), (None, false), (Some(ProtocolHint::Modern), true), (Some(ProtocolHint::Legacy), false)]
    {
        let begin = Instant::now();
        let mut machine = Machine::new(false);
        let mut starts = Vec::new();
        for tenth in 0..600 {
            let now = begin + SECOND * tenth / 10;
            let Some(generation) = start(&mut machine, List, now) else { continue };
            // Without a hint the server is started again for the older handshake.
            starts.extend([now].repeat(if machine.hint.is_some() { 1 } else { 2 }));
            match hint {
                Some(hint) => {
                    assert!(machine.connected(generation, 1, hint, now).is_ok());
                    match is_failure {
                        true => assert!(machine.take_lost(now, |_| Some(gone())).is_some()),
                        false => assert!(machine.take_idle(generation).is_some()),
                    }
                }
                None => machine.failed(generation, refused(), now),
            }
        }
        assert!(starts.len() > 4, "it is not given up for good");
        for first in &starts {
            let window = starts.iter().filter(|at| *at >= first && **at < *first + LIST_STARTS_WITHIN);
            assert!(window.count() <= MOST_LIST_STARTS, "{hint:?} {is_failure}");
        }
    }
}

#[test]
fn an_attempt_for_the_list_alone_waits_after_the_first_failure_and_a_call_does_not() {
    let now = Instant::now();
    let mut machine = Machine::new(false);
    assert_eq!(start(&mut machine, Call, now), Some(1));
    machine.failed(1, refused(), now);
    assert!(matches!(machine.want(List, now, |_, _| 9), Err(Unavailable::BackingOff { failures: 1, .. })));
    assert_eq!(start(&mut machine, Call, now), Some(2));
    assert_eq!(machine.connected(2, 2, ProtocolHint::Modern, now), Ok(()));
    machine.answered();
    assert_eq!(machine.take_idle(2), Some(2));
    for generation in 3..=5 {
        assert_eq!(start(&mut machine, List, now), Some(generation));
        assert!(machine.connected(generation, 1, ProtocolHint::Modern, now).is_ok());
        assert_eq!(machine.take_idle(generation), Some(1));
    }
    let limit = Unavailable::ListedOften { wait: LIST_STARTS_WITHIN };
    assert_eq!(machine.want(List, now, |_, _| 9), Err(limit));
    assert_eq!(start(&mut machine, Call, now), Some(6), "a call is not limited");
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Want(ConnectReason),
    Connected(u64),
    Failed(u64),
    Lost,
    Idle(u64),
    Close,
    Wait(u64),
}

fn input() -> impl Strategy<Value = Input> {
    let generation = || 0..8_u64;
    prop_oneof![
        4 => prop_oneof![Just(Call), Just(List), Just(User)].prop_map(Input::Want),
        2 => generation().prop_map(Input::Connected),
        2 => generation().prop_map(Input::Failed),
        1 => Just(Input::Lost),
        1 => generation().prop_map(Input::Idle),
        1 => Just(Input::Close),
        1 => (0..40_000_u64).prop_map(Input::Wait),
    ]
}

proptest! {
    /// Whatever happens in whichever order: every session that goes in comes out exactly once, there is never
    /// more than one of them, and nothing starts after close.
    #[test]
    fn attempts_and_sessions_are_never_lost_or_doubled(inputs in prop::collection::vec(input(), 0..60)) {
        let mut now = Instant::now();
        let (mut machine, mut held, mut next, mut closed) = (Lifecycle::<u64, u64>::new(false), None, 0_u64, false);
        for input in inputs {
            match input {
                Input::Want(reason) => {
                    let before = held;
                    if let Ok(LifeStage::Ready { session: kept, .. } | LifeStage::Connecting(kept)) = machine.want(reason, now, |_, _| {
                        next += 1;
                        next
                    }) {
                        prop_assert!(!closed);
                        prop_assert_eq!(*kept, before.unwrap_or(next));
                        held = Some(*kept);
                    } else {
                        prop_assert_eq!(before, None);
                    }
                }
                Input::Connected(generation) => {
                    next += 1;
                    let (attempt, latest) = (held.filter(|_| machine.is_connecting()), machine.generation);
                    match machine.connected(generation, next, ProtocolHint::Modern, now) {
                        Ok(()) => {
                            prop_assert_eq!(held, attempt.filter(|_| generation == latest));
                            prop_assert!(held.replace(next).is_some());
                        }
                        Err(back) => prop_assert_eq!(back, next),
                    }
                }
                Input::Failed(generation) => {
                    let ends = machine.is_connecting() && generation == machine.generation;
                    machine.failed(generation, refused(), now);
                    prop_assert!(!ends || held.take().is_some() && !machine.is_connecting());
                }
                Input::Lost => {
                    if let Some((session, _)) = machine.take_lost(now, |_| Some(gone())) {
                        prop_assert_eq!(held.take(), Some(session));
                    }
                }
                Input::Idle(generation) => {
                    if let Some(session) = machine.take_idle(generation) {
                        prop_assert_eq!(held.take(), Some(session));
                    }
                }
                Input::Close => {
                    closed = true;
                    match machine.close() {
                        LifeStage::Idle | LifeStage::Closed => prop_assert_eq!(held, None),
                        LifeStage::Connecting(kept) | LifeStage::Ready { session: kept, .. } => {
                            prop_assert_eq!(held.take(), Some(kept));
                        }
                    }
                }
                Input::Wait(millis) => now += Duration::from_millis(millis),
            }
            prop_assert_eq!(machine.is_closed(), closed);
        }
    }
}
