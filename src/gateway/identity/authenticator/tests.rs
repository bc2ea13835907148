use super::*;
use http::HeaderValue;
use std::time::{Duration, UNIX_EPOCH};
use toolhub_types::error::Result;

fn headers(values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn token(name: &str, token: &str, view: Option<&str>) -> StaticToken {
    let upstream_tokens = UpstreamTokens { common: Some(Secret::new("for-upstream")), ..Default::default() };
    StaticToken { name: name.into(), token: token.into(), view: view.map(Arc::from), upstream_tokens }
}

fn authenticator(options: AuthenticationOptions) -> Authenticator {
    Authenticator::new(options).unwrap()
}

async fn ask(
    authenticator: &Authenticator,
    values: &[&str],
) -> Result<Arc<Principal>, AuthenticationRefusal> {
    authenticator.authenticate(&headers(values), UNIX_EPOCH + Duration::from_secs(1_850_000_000)).await
}

#[tokio::test]
async fn without_options_everyone_is_anonymous() {
    let open = Authenticator::new(AuthenticationOptions::default()).unwrap();
    assert!(!open.is_closed());
    for values in [vec![], vec!["Bearer anything"], vec!["Basic x"]] {
        assert!(ask(&open, &values).await.unwrap().is_anonymous());
    }
}

#[tokio::test]
async fn a_static_token_names_its_principal_and_view() {
    let tokens = vec![token("ann", "s3cret-a", None), token("bob", "s3cret-b", Some("ops"))];
    let closed = authenticator(AuthenticationOptions { tokens, ..Default::default() });
    assert_eq!(&*ask(&closed, &["Bearer s3cret-a"]).await.unwrap().id, "token:ann");
    let bob = ask(&closed, &["bearer s3cret-b"]).await.unwrap();
    assert_eq!((&*bob.id, bob.view.as_deref()), ("token:bob", Some("ops")));
    // What goes upstream is not what came.
    assert_eq!(bob.upstream_tokens.for_server("any").unwrap().expose(), "for-upstream");
}

#[tokio::test]
async fn everything_else_is_refused() {
    let closed = authenticator(AuthenticationOptions {
        tokens: vec![token("ann", "s3cret", None)],
        ..Default::default()
    });
    assert_eq!(ask(&closed, &[]).await, Err(AuthenticationRefusal::Missing));
    for values in [
        vec!["Bearer s3cre"],
        vec!["Bearer s3crets"],
        vec!["Bearer S3CRET"],
        vec!["Bearer "],
        vec!["Bearer"],
        vec!["s3cret"],
        vec!["Basic s3cret"],
        vec!["Bearer s3cret x"],
        vec!["Bearer s3cret,"],
        vec!["Bearer s3cret", "Bearer s3cret"],
        vec!["Bearer s3cret", "Basic x"],
    ] {
        let refused = ask(&closed, &values).await.unwrap_err();
        assert_eq!(refused.status(), 401, "{values:?}");
        let challenge = closed.challenge(&refused, None).unwrap();
        assert!(challenge.starts_with("Bearer error=\"invalid_token\"") && !challenge.contains("s3cret"));
    }
}

#[test]
fn a_challenge_is_one_well_formed_header() {
    let metadata = Some("https://gateway.example/.well-known/oauth-protected-resource".to_owned());
    let closed = authenticator(AuthenticationOptions { resource_metadata: metadata, ..Default::default() });
    assert_eq!(
        closed.challenge(&AuthenticationRefusal::Missing, None).unwrap(),
        "Bearer resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource\""
    );
    let open = Authenticator::new(AuthenticationOptions::default()).unwrap();
    assert_eq!(open.challenge(&AuthenticationRefusal::Missing, None).unwrap(), "Bearer");
    let hostile = AuthenticationRefusal::Invalid("a\"b\\c\r\nX-Evil: 1 ü");
    assert_eq!(
        open.challenge(&hostile, None).unwrap(),
        "Bearer error=\"invalid_token\", error_description=\"abcX-Evil: 1 \""
    );
    let scopes = AuthenticationRefusal::Scopes("tools:call".to_owned());
    assert_eq!(scopes.status(), 403);
    assert_eq!(
        open.challenge(&scopes, None).unwrap(),
        "Bearer error=\"insufficient_scope\", scope=\"tools:call\""
    );
}

#[test]
fn an_empty_token_never_opens_a_gateway() {
    for bad in ["", " ", "two words", "naïve", "line\nbreak"] {
        let options = AuthenticationOptions { tokens: vec![token("ann", bad, None)], ..Default::default() };
        assert!(Authenticator::new(options).is_err(), "{bad:?}");
    }
}

#[test]
fn two_callers_never_have_the_same_token() {
    let tokens = vec![token("ann", "secret-of-ann", None), token("reader", "secret-of-ann", Some("reader"))];
    let options = AuthenticationOptions { tokens, ..Default::default() };
    let refused = Authenticator::new(options).err().map(|error| error.message.to_string());
    assert_eq!(refused.as_deref(), Some("'ann' and 'reader' have the same token; give each its own."));
}

fn by_header(headers: &HeaderMap, token: Option<&str>) -> BoxFuture<'static, Result<Option<Principal>>> {
    let (headers, token) = (headers.clone(), token.map(str::to_owned));
    Box::pin(async move {
        match token.as_deref() {
            Some("broken") => Err(HubError::new(ErrorKind::Auth, "x")),
            Some("nobody") => Ok(Some(Principal::anonymous())),
            Some(token) if token.starts_with("user-") => {
                Ok(Some(Principal { name: token[5..].into(), ..Principal::default() }))
            }
            // A function that hands on what it got.
            Some(token @ "own") => {
                let common = Some(Secret::new(token));
                let upstream_tokens = UpstreamTokens { common, ..UpstreamTokens::default() };
                Ok(Some(Principal { name: "ann".into(), upstream_tokens, ..Principal::default() }))
            }
            Some("late") => std::future::pending().await,
            None if headers.contains_key(AUTHORIZATION) => {
                Ok(Some(Principal { name: "basic".into(), ..Principal::default() }))
            }
            _ => Ok(None),
        }
    })
}

#[tokio::test]
async fn a_function_names_the_caller_or_refuses() {
    let options = AuthenticationOptions {
        tokens: vec![token("ann", "s3cret", None)],
        function: Some(Arc::new(by_header)),
        function_timeout: Some(Duration::from_millis(20)),
        ..Default::default()
    };
    let closed = authenticator(options);
    assert_eq!(&*ask(&closed, &["Bearer s3cret"]).await.unwrap().id, "token:ann");
    // A caller of the function never becomes one of the tokens.
    assert_eq!(&*ask(&closed, &["Bearer user-token:ann"]).await.unwrap().id, "user:token:ann");
    assert_eq!(ask(&closed, &[]).await, Err(AuthenticationRefusal::Missing));
    assert_eq!(ask(&closed, &["Bearer nobody"]).await.unwrap_err().status(), 401);
    assert_eq!(ask(&closed, &["Bearer broken"]).await.unwrap_err().status(), 503);
    assert_eq!(ask(&closed, &["Bearer late"]).await.unwrap_err().status(), 503);
    assert_eq!(ask(&closed, &["Bearer own"]).await.unwrap_err().status(), 401);
    assert_eq!(&*ask(&closed, &["Basic YW5uOng="]).await.unwrap().id, "user:basic");
    assert_eq!(ask(&closed, &["Basic YW5uOng=", "Bearer s3cret"]).await.unwrap_err().status(), 401);
}
