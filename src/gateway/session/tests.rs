use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolhub_types::error::Result;

const KEY: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";

fn sessions(secrets: &[&str]) -> Sessions {
    with(SessionKeys::new(secrets.iter().copied()), SESSION_LIFETIME)
}

fn with(keys: Result<SessionKeys>, session_lifetime: Duration) -> Sessions {
    let session_keys = Some(Arc::new(keys.unwrap()));
    Sessions::new(&GatewayOptions { session_keys, session_lifetime, ..GatewayOptions::default() }).unwrap()
}

fn claims() -> SessionClaims {
    let capabilities = json!({"elicitation": {"form": {}}, "roots": {}, "unknown": {"a": 1}});
    SessionClaims::new("2025-11-25", &capabilities, "ann", "ops")
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

#[test]
fn any_replica_with_the_key_opens_an_id_and_reads_all_it_needs() {
    let id = sessions(&[KEY]).seal(claims(), at(0)).unwrap();
    let opened = sessions(&[KEY]).open(&id, "ann", "ops", at(SESSION_LIFETIME.as_secs() - 1)).unwrap();
    let opened = &opened.claims;
    assert_eq!((opened.version.as_str(), opened.principal.as_str()), ("2025-11-25", "ann"));
    assert_eq!(*opened.capabilities, json!({"elicitation": {"form": {}}, "roots": {}}));
    assert!(id.len() < 400 && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
}

#[test]
fn two_sessions_of_the_same_client_have_different_ids() {
    let sessions = sessions(&[KEY]);
    assert_ne!(sessions.seal(claims(), at(0)).unwrap(), sessions.seal(claims(), at(0)).unwrap());
}

#[test]
fn expired_foreign_and_ended_ids_are_refused() {
    let sessions = sessions(&[KEY]);
    let id = sessions.seal(claims(), at(0)).unwrap();
    let expired = sessions.open(&id, "ann", "ops", at(SESSION_LIFETIME.as_secs()));
    assert_eq!(expired, Err(SessionRefusal::Expired));
    assert_eq!(sessions.open(&id, "bob", "ops", at(1)), Err(SessionRefusal::Foreign));
    assert_eq!(sessions.open(&id, "ann", "", at(1)), Err(SessionRefusal::Foreign));
    // Another principal cannot end it either.
    assert_eq!(sessions.end(&id, "bob", "ops", at(1)), Err(SessionRefusal::Foreign));
    sessions.end(&id, "ann", "ops", at(1)).unwrap();
    assert_eq!(sessions.open(&id, "ann", "ops", at(1)), Err(SessionRefusal::Ended));
    assert_eq!(sessions.end(&id, "ann", "ops", at(1)), Err(SessionRefusal::Ended));
}

#[test]
fn an_id_of_another_gateway_is_refused() {
    let id = sessions(&[OTHER]).seal(claims(), at(0)).unwrap();
    assert_eq!(sessions(&[KEY]).open(&id, "ann", "ops", at(0)), Err(SessionRefusal::Forged));
    let random = with(SessionKeys::random(), SESSION_LIFETIME);
    assert_eq!(random.open(&id, "ann", "ops", at(0)), Err(SessionRefusal::Forged));
}

#[test]
fn ids_of_a_replaced_key_are_accepted_for_the_grace() {
    let sessions = sessions(&[KEY]);
    let old = sessions.seal(claims(), at(0)).unwrap();
    sessions.keys.rotate(OTHER, Duration::from_secs(60), at(10)).unwrap();
    let new = sessions.seal(claims(), at(10)).unwrap();
    assert!(sessions.open(&old, "ann", "ops", at(69)).is_ok());
    assert_eq!(sessions.open(&old, "ann", "ops", at(70)), Err(SessionRefusal::Forged));
    assert!(sessions.open(&new, "ann", "ops", at(70)).is_ok());
    // A replica that was started with the new key first and the old one second accepts both.
    let replica = super::tests::sessions(&[OTHER, KEY]);
    assert!(
        replica.open(&old, "ann", "ops", at(70)).is_ok() && replica.open(&new, "ann", "ops", at(70)).is_ok()
    );
}

#[test]
fn an_id_that_was_verified_before_is_refused_when_it_expires_or_its_key_goes() {
    let sessions = sessions(&[KEY]);
    let id = sessions.seal(claims(), at(0)).unwrap();
    let open = |second| sessions.open(&id, "ann", "ops", at(second)).map(drop);
    assert_eq!(open(1), Ok(()));
    assert_eq!(sessions.open(&id, "bob", "ops", at(1)).map(drop), Err(SessionRefusal::Foreign));
    assert_eq!(open(SESSION_LIFETIME.as_secs()), Err(SessionRefusal::Expired));
    sessions.keys.rotate(OTHER, Duration::from_secs(60), at(10)).unwrap();
    assert_eq!(open(11), Ok(()));
    assert_eq!(open(70), Err(SessionRefusal::Forged));
    assert_eq!(open(11), Ok(()), "the clock went back");
    sessions.keys.rotate(&OTHER.repeat(2), Duration::ZERO, at(12)).unwrap();
    assert_eq!(open(12), Err(SessionRefusal::Forged));
}

#[test]
fn few_of_many_sessions_are_remembered() {
    let sessions = sessions(&[KEY]);
    let ids: Vec<String> = (0..3_000).map(|_| sessions.seal(claims(), at(0)).unwrap()).collect();
    for id in &ids {
        assert!(sessions.open(id, "ann", "ops", at(1)).is_ok());
        assert!(sessions.open(&ids[0], "ann", "ops", at(1)).is_ok());
    }
    assert!(sessions.keys.verified.lock().len() <= 1_000);
    let forged = format!("{}x", ids[0]);
    assert_eq!(sessions.open(&forged, "ann", "ops", at(1)).map(drop), Err(SessionRefusal::Forged));
}

#[test]
fn nothing_ends_before_its_time() {
    let late = at(0) + Duration::from_millis(900);
    let sessions = with(SessionKeys::new([KEY]), Duration::from_secs(2));
    let id = sessions.seal(claims(), late).unwrap();
    assert!(sessions.open(&id, "ann", "ops", late + Duration::from_millis(1_999)).is_ok());
    assert_eq!(sessions.open(&id, "ann", "ops", at(3)).map(drop), Err(SessionRefusal::Expired));
    sessions.keys.rotate(OTHER, Duration::from_millis(500), late).unwrap();
    assert!(sessions.open(&id, "ann", "ops", late + Duration::from_millis(400)).is_ok());
    assert_eq!(sessions.open(&id, "ann", "ops", at(2)).map(drop), Err(SessionRefusal::Forged));
    sessions.keys.rotate(&OTHER.repeat(2), Duration::MAX, late).unwrap();
}

#[test]
fn a_second_rotation_does_not_prolong_the_first_grace() {
    let sessions = sessions(&[KEY]);
    let old = sessions.seal(claims(), at(0)).unwrap();
    sessions.keys.rotate(OTHER, Duration::from_secs(10), at(0)).unwrap();
    sessions.keys.rotate(&OTHER.repeat(2), Duration::from_secs(100), at(5)).unwrap();
    assert!(sessions.open(&old, "ann", "ops", at(9)).is_ok());
    assert_eq!(sessions.open(&old, "ann", "ops", at(10)), Err(SessionRefusal::Forged));
}

#[test]
fn a_short_secret_is_refused_without_showing_it() {
    let error = SessionKeys::new(["hunter2"]).err().unwrap();
    assert!(error.message.contains("at least 32") && !error.message.contains("hunter2"), "{}", error.message);
}

#[test]
fn a_client_that_says_much_of_itself_still_gets_a_short_id() {
    let much = json!({"elicitation": {"x": "y".repeat(5_000)}, "sampling": {}});
    let claims = SessionClaims::new("2025-11-25", &much, "", "");
    assert_eq!(*claims.capabilities, json!({"elicitation": {}, "sampling": {}}));
    let id = sessions(&[KEY]).seal(claims, at(0)).unwrap();
    assert!(id.len() < 1000, "{}", id.len());
    assert!(sessions(&[KEY]).open(&id, "", "", at(0)).is_ok());
}

proptest! {
    #[test]
    fn a_changed_id_never_opens(at_byte in any::<prop::sample::Index>(), bit in 0u8..8) {
        let sessions = sessions(&[KEY]);
        let id = sessions.seal(claims(), at(0)).unwrap();
        let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(&id).unwrap();
        let position = at_byte.index(bytes.len());
        bytes[position] ^= 1 << bit;
        let changed = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        prop_assert_eq!(sessions.open(&changed, "ann", "ops", at(0)), Err(SessionRefusal::Forged));
        // Nor one that is cut off, or goes on.
        let cut = &id[..at_byte.index(id.len())];
        prop_assert_eq!(sessions.open(cut, "ann", "ops", at(0)), Err(SessionRefusal::Forged));
        prop_assert_eq!(sessions.open(&format!("{id}AAAA"), "ann", "ops", at(0)), Err(SessionRefusal::Forged));
    }

    #[test]
    fn any_text_is_refused_as_an_id(text in ".{0,300}") {
        prop_assert_eq!(sessions(&[KEY]).open(&text, "", "", at(0)), Err(SessionRefusal::Forged));
    }

    #[test]
    fn any_principal_and_view_open_their_own_session(principal in ".{0,40}", view in ".{0,20}") {
        let sessions = sessions(&[KEY]);
        let claims = SessionClaims::new("2025-06-18", &Value::Null, &principal, &view);
        let id = sessions.seal(claims, at(0)).unwrap();
        prop_assert!(sessions.open(&id, &principal, &view, at(0)).is_ok());
    }
}

fn level(name: &str) -> LogLevel {
    LogLevel::parse(name).unwrap()
}

#[test]
fn levels_are_kept_for_a_limited_number_of_sessions_and_none_is_taken_from_others() {
    let sessions = Sessions::new(&GatewayOptions::default()).unwrap();
    let set = |principal: &str, session: String, name: &str| {
        sessions.levels.lock().insert(principal, Arc::from(session), level(name));
    };
    set("bob", "0".to_owned(), "debug");
    for number in 0..MOST_SESSIONS + 10 {
        set("ann", format!("{number:09}"), "error");
    }
    assert_eq!(sessions.levels.lock().values().count(), MOST_SESSIONS);
    let last = format!("{:09}", MOST_SESSIONS + 9);
    let of = |principal: &str, session: &str| sessions.levels.lock().get(principal, session).copied();
    assert_eq!((of("ann", &last), of("bob", "0")), (Some(level("error")), Some(level("debug"))));
    assert_eq!(of("ann", "0"), None, "a session belongs to its caller");
}

#[test]
fn the_lowest_level_is_the_one_that_any_session_wants() {
    let sessions = Sessions::new(&GatewayOptions::default()).unwrap();
    assert_eq!(sessions.lowest_level(), None);
    for (session, name, lowest) in [
        ("a", "error", "error"),
        ("b", "debug", "debug"),
        ("b", "debug", "debug"),
        ("b", "warning", "warning"),
    ] {
        sessions.levels.lock().insert("ann", Arc::from(session), level(name));
        assert_eq!(sessions.lowest_level(), Some(lowest));
    }
    sessions.levels.lock().remove("ann", "b").unwrap();
    assert_eq!(sessions.lowest_level(), Some("error"));
}
