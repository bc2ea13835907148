use super::*;
use proptest::prelude::*;

fn admission() -> Admission {
    let limits = GatewayLimits { max_connections: 2, max_in_flight: 2, max_streams: 1, ..Default::default() };
    Admission::new(limits, || ())
}

fn id(name: &str) -> Arc<str> {
    name.into()
}

#[test]
fn a_principal_that_asks_for_too_much_does_not_disturb_another() {
    let admission = admission();
    let first = admission.enter(&id("ann"), PermitKind::Request).unwrap();
    let _second = admission.enter(&id("ann"), PermitKind::Request).unwrap();
    let refused = admission.enter(&id("ann"), PermitKind::Request).err().unwrap();
    assert_eq!(refused.seconds, 1);
    assert!(admission.enter(&id("bob"), PermitKind::Request).is_ok());
    // Streams are counted for themselves.
    let _stream = admission.enter(&id("ann"), PermitKind::Stream).unwrap();
    assert!(admission.enter(&id("ann"), PermitKind::Stream).is_err());
    assert_eq!(admission.running(), (2, 1));
    drop(first);
    assert!(admission.enter(&id("ann"), PermitKind::Request).is_ok());
}

#[test]
fn nothing_is_left_of_principals_that_are_gone() {
    let admission = admission();
    for number in 0..1000 {
        drop(admission.enter(&id(&number.to_string()), PermitKind::Request));
    }
    assert!(admission.running.lock().is_empty());
    assert_eq!(admission.running(), (0, 0));
}

#[test]
fn connections_are_counted() {
    let admission = admission();
    let connect = || admission.connections.enter(admission.most_connections());
    let first = connect().unwrap();
    let second = connect().unwrap();
    first.look().is_caller();
    second.look().is_caller();
    assert!(connect().is_none());
    drop(first);
    assert!(connect().is_some());
    assert_eq!(admission.connections.count(), 1);
}

#[test]
fn the_calls_of_a_view_are_refilled_evenly() {
    let admission = admission();
    let view = View { name: "ops".into(), calls_per_minute: Some(6), ..View::default() };
    let start = Instant::now();
    for _ in 0..6 {
        admission.spend(&id("ann"), &view, start).unwrap();
    }
    assert_eq!(admission.spend(&id("ann"), &view, start).unwrap_err().seconds, 10);
    // Another principal, and another view, have their own.
    admission.spend(&id("bob"), &view, start).unwrap();
    admission.spend(&id("ann"), &View { name: "x".into(), ..view.clone() }, start).unwrap();
    let later = start + Duration::from_secs(10);
    admission.spend(&id("ann"), &view, later).unwrap();
    assert!(admission.spend(&id("ann"), &view, later).is_err());
    assert!(admission.spend(&id("ann"), &View::everything(), later).is_ok());
}

proptest! {
    #[test]
    fn no_more_calls_than_the_budget_in_any_time(limit in 1u32..50, gaps in prop::collection::vec(0u64..5_000, 1..200)) {
        let admission = admission();
        let view = View { name: "v".into(), calls_per_minute: Some(limit), ..View::default() };
        let start = Instant::now();
        let (mut now, mut made) = (start, 0u64);
        for gap in gaps {
            now += Duration::from_millis(gap);
            match admission.spend(&id("ann"), &view, now) {
                Ok(()) => made += 1,
                Err(refused) => prop_assert!(refused.seconds >= 1 && refused.seconds <= 60),
            }
        }
        let minutes = (now - start).as_secs_f64() / 60.0;
        prop_assert!(made as f64 <= f64::from(limit) * (1.0 + minutes) + 1e-6);
    }
}
