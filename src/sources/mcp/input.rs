//! Input that a server requests in the middle of a request.

use super::host::MOST_QUESTIONS;
use super::inbox::Asked;
use super::message::Params;
use super::server::Server;
use serde_json::{Map, Value, json};
use toolhub_protocol::Era;
use toolhub_types::error::{ErrorKind, HubError, Outcome, clip};
use toolhub_types::tool::{AskCaller, QuestionAnswer, RoundQuestion, ServerRound};

/// What a server asks, and the state that it wants back with the answers.
pub type InputRequests = (Map<String, Value>, Option<String>);

/// Takes what is asked out of an answer.
pub fn requested(answer: &mut Map<String, Value>) -> InputRequests {
    let requests = match answer.remove("inputRequests") {
        Some(Value::Object(requests)) => requests,
        _ => Map::new(),
    };
    let state = match answer.remove("requestState") {
        Some(Value::String(state)) => Some(state),
        _ => None,
    };
    (requests, state)
}

/// The parameters of the request once more, with the answers and the state.
pub fn with_answers(mut params: Params, (answers, state): InputRequests) -> Params {
    if !answers.is_empty() {
        params = params.with("inputResponses", &answers);
    }
    match state {
        Some(state) => params.with("requestState", &state),
        None => params,
    }
}

/// Answers the requests of a server for input, and gives back its state with them. What is for the caller is asked at once, so
/// that it is asked once.
pub async fn gather(
    server: &Server,
    tool: &str,
    (requests, state): InputRequests,
    ask: Option<&AskCaller>,
) -> Result<InputRequests, HubError> {
    let callbacks = server.callbacks();
    let elsewhere = state.clone().map(|state| {
        let server = server.id().clone();
        ServerRound { server, requests: requests.clone(), state }
    });
    let keys: Vec<String> = requests.keys().cloned().collect();
    let mut responses = Map::new();
    let (mut elicitations, mut round) = (0, Vec::new());
    for (key, request) in requests {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        if method == "elicitation/create" {
            elicitations += 1;
            if elicitations > MOST_QUESTIONS {
                responses.insert(key, json!({"action": "decline"}));
                continue;
            }
        }
        let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
        if ask.is_some() && callbacks.is_for_caller(&method) {
            round.push(RoundQuestion { key, method, params });
            continue;
        }
        let answer = callbacks.answer(&method, params, Asked::Owner).await;
        responses.insert(key, given(server, tool, &method, answer)?);
    }
    if let Some(ask) = ask.filter(|_| !round.is_empty()) {
        let asked: Vec<(String, String)> =
            round.iter().map(|question| (question.key.clone(), question.method.clone())).collect();
        let answers = callbacks.ask_caller(ask, round, elsewhere).await;
        for ((key, method), answer) in asked.into_iter().zip(answers) {
            responses.insert(key, given(server, tool, &method, answer)?);
        }
    }
    // In the order of the requests.
    Ok((keys.into_iter().filter_map(|key| responses.remove_entry(&key)).collect(), state))
}

/// The questions with which a request goes on that was begun elsewhere. It is never sent without the server's own state: to a
/// server that does not know of states it would be a new request.
pub fn resumed(server: &Server, era: Era, begun: &ServerRound) -> Result<InputRequests, HubError> {
    if era == Era::Modern && begun.server == *server.id() {
        return Ok((begun.requests.clone(), Some(begun.state.clone())));
    }
    let text = format!(
        "The request was begun on server '{}', which cannot continue it here; send it again without 'requestState'.",
        begun.server
    );
    Err(HubError::new(ErrorKind::NotAllowed, text).with_outcome(Outcome::Unknown))
}

fn given(server: &Server, tool: &str, method: &str, answer: QuestionAnswer) -> Result<Value, HubError> {
    answer.map_err(|(_, why)| {
        let text = format!(
            "Tool '{}' on server '{}' needs input that this hub cannot give ({}: {why}).",
            clip(tool),
            server.id(),
            super::wire::clean(method, 60),
        );
        HubError::new(ErrorKind::NotAllowed, text)
    })
}
