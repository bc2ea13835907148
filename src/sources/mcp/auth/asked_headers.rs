//! Headers that a function of the user gives for each request, by the caller of a gateway.

use super::{Credentials, GivenHeaders, Secret, denied};
use crate::web::{WrongHeader, checked_header};
use parking_lot::Mutex;
use reqwest::header::HeaderName;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use toolhub_text::message;
use toolhub_types::error::{HubError, clip, shown_seconds};
use toolhub_types::principal::Principal;
use toolhub_types::tool::BoxFuture;

/// Returns the headers of one request as a JSON object of texts, or null. There is no caller for lists of tools, and for calls
/// outside a gateway. The error is the reason of a failure.
pub type HeaderFunction =
    Arc<dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// How long the function may take.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_HEADERS: usize = 100;

/// Headers of HTTP and of the protocol, which the client sets itself.
const RESERVED: [&str; 12] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "last-event-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const PROTOCOL_PREFIX: &str = "mcp-";

/// The headers of one caller, or of the hub itself, for one server. The function is called for each request and its answer is
/// never cached: the function knows how long its tokens are valid.
pub struct AskedHeaders {
    server: Arc<str>,
    function: HeaderFunction,
    /// Replaced when the caller comes with newer claims.
    caller: Option<Mutex<Arc<Principal>>>,
}

impl AskedHeaders {
    /// The headers of the hub itself.
    pub fn new(server: Arc<str>, function: HeaderFunction) -> Self {
        AskedHeaders { server, function, caller: None }
    }

    async fn ask(&self) -> GivenHeaders {
        let caller = self.caller.as_ref().map(|caller| caller.lock().clone());
        let server = clip(&self.server);
        let asked = tokio::time::timeout(FUNCTION_TIMEOUT, (self.function)(caller.clone())).await;
        let given = asked.map_err(|_| {
            let limit = shown_seconds(FUNCTION_TIMEOUT.as_secs_f64());
            denied(message!("The headers function of server '{}' did not return within {} s.", server, limit))
        })?;
        let given = given.map_err(|why| {
            let why = caller.as_ref().map_or(why.clone(), |caller| caller.without_token(&why));
            denied(message!("The headers function of server '{}' failed: {}", server, why))
        })?;
        match (given, &caller) {
            (Value::Object(given), _) if given.len() > MOST_HEADERS => Err(denied(message!(
                "The headers function of server '{}' returned more than {} headers.",
                server,
                MOST_HEADERS
            ))),
            (Value::Object(given), _) => {
                given.iter().map(|(name, value)| self.checked(name, value, caller.as_deref())).collect()
            }
            (Value::Null, None) => Ok(Vec::new()),
            (Value::Null, Some(caller)) => Err(denied(message!(
                "Server '{}' is closed to '{}': its headers function returned None.",
                server,
                clip(&caller.id)
            ))),
            _ => Err(self.not_texts()),
        }
    }

    fn not_texts(&self) -> HubError {
        denied(message!(
            "The headers function of server '{}' must return a mapping of texts or None.",
            clip(&self.server)
        ))
    }

    /// No value is shown in an error: it may be a secret.
    fn checked(
        &self,
        name: &str,
        value: &Value,
        caller: Option<&Principal>,
    ) -> Result<(String, Secret), HubError> {
        let value = value.as_str().ok_or_else(|| self.not_texts())?;
        let (server, shown) = (clip(&self.server), clip(name));
        let is_ours = |name: &HeaderName| {
            RESERVED.contains(&name.as_str()) || name.as_str().starts_with(PROTOCOL_PREFIX)
        };
        Err(denied(match checked_header(name, value) {
            Err(WrongHeader::Value) => message!(
                "The headers function of server '{}' returned a value for '{}' that contains characters not allowed in a header.",
                server,
                shown
            ),
            Ok((name, _)) if !is_ours(&name) => {
                match caller.is_some_and(|caller| caller.shows_token(value)) {
                    true => message!(
                        "The headers function of server '{}' returned the caller's own token; caller tokens are never sent upstream.",
                        server
                    ),
                    false => return Ok((name.to_string(), Secret::new(value))),
                }
            }
            _ => message!(
                "The headers function of server '{}' returned the header '{}', which it may not set.",
                server,
                shown
            ),
        }))
    }
}

impl Credentials for AskedHeaders {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn headers<'a>(&'a self) -> Option<BoxFuture<'a, GivenHeaders>> {
        Some(Box::pin(self.ask()))
    }

    fn differ_by_caller(&self) -> bool {
        true
    }

    /// The function decides what is sent where there is no caller.
    fn serve_without_caller(&self) -> bool {
        true
    }

    fn of_caller(&self, principal: &Arc<Principal>) -> Result<Option<Arc<dyn Credentials>>, HubError> {
        let caller = Some(Mutex::new(principal.clone()));
        Ok(Some(Arc::new(AskedHeaders {
            server: self.server.clone(),
            function: self.function.clone(),
            caller,
        })))
    }

    fn called_by(&self, principal: &Arc<Principal>) {
        if let Some(caller) = &self.caller {
            *caller.lock() = principal.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn principal() -> Arc<Principal> {
        let subject_token = Some(Secret::new("token-of-the-client"));
        Arc::new(Principal { id: "user:ann".into(), subject_token, ..Principal::default() })
    }

    fn answering(answer: Result<Value, String>) -> AskedHeaders {
        let function: HeaderFunction = Arc::new(move |_| Box::pin(std::future::ready(answer.clone())));
        AskedHeaders::new(Arc::from("up"), function)
    }

    async fn asked(answer: Result<Value, String>) -> Result<Vec<(String, String)>, String> {
        let own = AskedHeaders { caller: Some(Mutex::new(principal())), ..answering(answer) };
        let headers = own.ask().await.map_err(|error| error.message.to_string())?;
        Ok(headers.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect())
    }

    #[tokio::test]
    async fn headers_are_those_of_the_function() {
        let given = asked(Ok(json!({"Authorization": "Bearer up", "X-Team": "7"}))).await.unwrap();
        assert_eq!(given.len(), 2);
        assert!(asked(Ok(json!({}))).await.unwrap().is_empty());
        assert!(answering(Ok(Value::Null)).ask().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused_and_not_shown() {
        for (answer, expected) in [
            (Ok(Value::Null), "is closed to 'user:ann'"),
            (Ok(json!(["a"])), "must return a mapping of texts"),
            (Ok(json!({"X-Hunter": 5})), "must return a mapping of texts"),
            (Ok(json!({"X-Hunter": "a\r\nX-Evil: hunter2"})), "contains characters not allowed in a header"),
            (Ok(json!({"Mcp-Session-Id": "hunter2"})), "'Mcp-Session-Id', which it may not set"),
            (Ok(json!({"content-length": "0"})), "'content-length', which it may not set"),
            (Ok(json!({"bad name": "hunter2"})), "which it may not set"),
            (Ok(json!({"Authorization": "Bearer token-of-the-client"})), "returned the caller's own token"),
            (Err("KeyError: token-of-the-client".to_owned()), "failed: KeyError: ***"),
        ] {
            let refused = asked(answer).await.unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("hunter2") && !refused.contains("token-of-the-client"), "{refused}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_function_that_does_not_return_is_given_up() {
        let function: HeaderFunction = Arc::new(|_| Box::pin(std::future::pending()));
        let error = AskedHeaders::new(Arc::from("up"), function).ask().await.unwrap_err();
        assert!(error.message.contains("did not return within 10 s"), "{error}");
    }

    #[tokio::test]
    async fn a_caller_is_asked_for_with_its_newest_claims() {
        let function: HeaderFunction = Arc::new(|caller| {
            let id = caller.map_or_else(String::new, |caller| caller.id.to_string());
            Box::pin(std::future::ready(Ok(json!({"X-Id": id}))))
        });
        let own = AskedHeaders::new(Arc::from("up"), function).of_caller(&principal()).unwrap().unwrap();
        let id = async || own.headers().unwrap().await.unwrap()[0].1.expose().to_owned();
        assert_eq!(id().await, "user:ann");
        own.called_by(&Arc::new(Principal { id: "user:anna".into(), ..Principal::default() }));
        assert_eq!(id().await, "user:anna");
    }

    proptest! {
        #[test]
        fn any_answer_is_one_header_or_refused(name in "(?s).{0,12}", value in "(?s).{0,20}") {
            let own = answering(Ok(Value::Null));
            if let Ok((name, value)) = own.checked(&name, &json!(value), None) {
                prop_assert!(!value.expose().contains(['\r', '\n', '\0']));
                prop_assert!(HeaderName::try_from(name.as_str()).is_ok());
            }
        }
    }
}
