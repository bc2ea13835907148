use super::*;
use proptest::prelude::*;
use serde_json::json;

/// Tokens that another implementation (PyJWT) has made.
fn fixture() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/jwt.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn options(fixture: &Value) -> JwtOptions {
    JwtOptions {
        keys: fixture["jwks"].to_string(),
        issuer: "https://issuer.example".to_owned(),
        audience: vec!["https://gateway.example/mcp".to_owned()],
        algorithms: JwtAlgorithm::all(),
        scopes: Vec::new(),
        principal_claim: "sub".to_owned(),
        view_claim: None,
    }
}

fn verify(options: JwtOptions, token: &str, seconds: u64) -> Result<Arc<Principal>, AuthenticationRefusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let verifier = JwtVerifier::new(options).unwrap();
    runtime.block_on(verifier.verify(token, UNIX_EPOCH + Duration::from_secs(seconds)))
}

/// When the tokens of the fixture hold.
const NOW: u64 = 1_850_000_000;

#[test]
fn tokens_of_another_implementation_hold_in_every_accepted_algorithm() {
    let fixture = fixture();
    let valid = fixture["valid"].as_object().unwrap();
    assert_eq!(valid.len(), JwtAlgorithm::NAMES.len());
    for (algorithm, token) in valid {
        let principal = verify(options(&fixture), token.as_str().unwrap(), NOW).unwrap();
        assert_eq!((&*principal.id, &principal.view), ("jwt:ann", &None), "{algorithm}");
        assert_eq!(principal.upstream_tokens, UpstreamTokens::default());
        // Another one is not accepted.
        let others = JwtAlgorithm::NAMES.into_iter().filter(|one| one != algorithm);
        let others = others.filter_map(JwtAlgorithm::parse).collect();
        let only_others = JwtOptions { algorithms: others, ..options(&fixture) };
        assert!(verify(only_others, token.as_str().unwrap(), NOW).is_err(), "{algorithm}");
    }
}

#[test]
fn forged_tokens_are_refused() {
    let fixture = fixture();
    for (how, token) in fixture["forged"].as_object().unwrap() {
        let refused = verify(options(&fixture), token.as_str().unwrap(), NOW);
        assert!(matches!(refused, Err(AuthenticationRefusal::Invalid(_))), "{how}: {refused:?}");
    }
}

#[test]
fn tokens_with_wrong_claims_are_refused_with_the_reason() {
    let fixture = fixture();
    for (how, why) in [
        ("iss", "another issuer"),
        ("no_iss", "another issuer"),
        ("iss_list", "another issuer"),
        ("aud", "another audience"),
        ("aud_list", "another audience"),
        ("no_aud", "another audience"),
        ("expired", "has expired"),
        ("exp_text", "no expiry time"),
        ("no_exp", "no expiry time"),
        ("nbf", "does not hold yet"),
        ("nbf_text", "does not hold yet"),
        ("no_sub", "names no subject"),
        ("sub_empty", "names no subject"),
        ("sub_number", "names no subject"),
    ] {
        match verify(options(&fixture), fixture["wrong"][how].as_str().unwrap(), NOW) {
            Err(AuthenticationRefusal::Invalid(text)) => assert!(text.contains(why), "{how}: {text}"),
            other => panic!("{how}: {other:?}"),
        }
    }
}

#[test]
fn a_token_holds_until_its_last_second_and_a_little_longer() {
    let fixture = fixture();
    let token = fixture["valid"]["ES256"].as_str().unwrap();
    for (seconds, holds) in
        [(1_900_000_029, true), (1_900_000_030, false), (1_799_999_970, true), (1_799_999_969, false)]
    {
        assert_eq!(verify(options(&fixture), token, seconds).is_ok(), holds, "{seconds}");
    }
}

#[test]
fn a_remembered_token_expires_too() {
    let fixture = fixture();
    let token = fixture["valid"]["ES256"].as_str().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let verifier = JwtVerifier::new(options(&fixture)).unwrap();
    let at = |seconds| runtime.block_on(verifier.verify(token, UNIX_EPOCH + Duration::from_secs(seconds)));
    let first = at(NOW).unwrap();
    assert!(Arc::ptr_eq(&first, &at(NOW + 1).unwrap()));
    assert!(at(1_900_000_030).is_err());
}

#[test]
fn a_key_id_may_be_missing_when_only_one_key_fits() {
    let fixture = fixture();
    let token = fixture["others"]["without_kid"].as_str().unwrap();
    assert!(verify(options(&fixture), token, NOW).is_ok());
    let mut twice = fixture.clone();
    let mut second = fixture["jwks"]["keys"][1].clone();
    second["kid"] = json!("p256-2");
    twice["jwks"]["keys"].as_array_mut().unwrap().push(second);
    assert!(verify(options(&twice), token, NOW).is_err());
}

#[test]
fn a_key_is_used_only_for_what_it_says() {
    let fixture = fixture();
    let token = fixture["valid"]["ES256"].as_str().unwrap();
    for (field, value) in [("use", json!("enc")), ("alg", json!("ES384")), ("key_ops", json!(["sign"]))] {
        let mut changed = fixture.clone();
        changed["jwks"]["keys"][1][field] = value;
        assert!(verify(options(&changed), token, NOW).is_err(), "{field}");
    }
    let mut said = fixture.clone();
    said["jwks"]["keys"][1]["alg"] = json!("ES256");
    said["jwks"]["keys"][1]["key_ops"] = json!(["verify"]);
    assert!(verify(options(&said), token, NOW).is_ok());
}

#[test]
fn scopes_and_the_claim_of_a_view_are_required_when_they_are_configured() {
    let fixture = fixture();
    let token = |name: &str| fixture["others"][name].as_str().unwrap().to_owned();
    let scoped =
        || JwtOptions { scopes: vec!["tools:call".into(), "tools:list".into()], ..options(&fixture) };
    assert!(verify(scoped(), fixture["valid"]["RS256"].as_str().unwrap(), NOW).is_ok());
    assert!(verify(scoped(), &token("scp"), NOW).is_ok());
    let refused = verify(scoped(), &token("without_scopes"), NOW);
    assert_eq!(refused, Err(AuthenticationRefusal::Scopes("tools:call tools:list".to_owned())));
    let viewed = || JwtOptions { view_claim: Some("view".into()), ..options(&fixture) };
    let principal = verify(viewed(), &token("view"), NOW).unwrap();
    assert_eq!(principal.view.as_deref(), Some("ops"));
    let refused = verify(viewed(), fixture["valid"]["RS256"].as_str().unwrap(), NOW);
    assert_eq!(refused, Err(AuthenticationRefusal::Invalid("the token names no view")));
}

#[test]
fn issuer_and_audience_are_required() {
    let fixture = fixture();
    let without = [
        JwtOptions { issuer: String::new(), ..options(&fixture) },
        JwtOptions { audience: Vec::new(), ..options(&fixture) },
        JwtOptions { audience: vec![String::new()], ..options(&fixture) },
    ];
    for options in without {
        assert!(JwtVerifier::new(options).err().unwrap().message.contains("'issuer' and 'audience'"));
    }
}

#[test]
fn keys_that_cannot_be_read_are_no_fault_of_the_token() {
    let fixture = fixture();
    let token = fixture["valid"]["ES256"].as_str().unwrap();
    for keys in [
        "{".to_owned(),
        "{\"keys\": []}".to_owned(),
        "/nowhere/keys.json".to_owned(),
        "http://issuer.example/keys".to_owned(),
    ] {
        let refused = verify(JwtOptions { keys, ..options(&fixture) }, token, NOW);
        assert!(matches!(refused, Err(AuthenticationRefusal::Unavailable)), "{refused:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_refused_as_a_token(text in "[A-Za-z0-9_.=-]{0,200}") {
        prop_assert!(verify(options(&fixture()), &text, NOW).is_err());
    }

    #[test]
    fn a_changed_token_is_refused(algorithm in 0usize..9, at in any::<prop::sample::Index>(), bit in 0u8..6) {
        let fixture = fixture();
        let valid = fixture["valid"].as_object().unwrap();
        let token = valid.values().nth(algorithm).unwrap().as_str().unwrap();
        let mut parts: Vec<Vec<u8>> =
            token.split('.').map(|part| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
        let position = at.index(parts.iter().map(Vec::len).sum());
        let mut left = position;
        for part in &mut parts {
            if left < part.len() {
                part[left] ^= 1 << bit;
                break;
            }
            left -= part.len();
        }
        let changed: Vec<String> = parts.iter().map(|part| BASE64_URL_SAFE_NO_PAD.encode(part)).collect();
        prop_assert!(verify(options(&fixture), &changed.join("."), NOW).is_err());
    }
}
