//! Runs the call of a task to its end, and keeps what it came to until the task expires.

use super::table::ClientTasks;
use super::task::ClientTask;
use crate::conversation::{Conversation, ConversationStep, FinishedRequest};
use crate::operate::DrainPlace;
use std::sync::Arc;
use toolhub_types::tool::{QuestionAnswer, RoundQuestion};

/// Ends with the life of the task. A call that is still running then is cancelled. A drain waits for the call, whose `place`
/// this is, as for any other.
pub async fn drive(tasks: ClientTasks, task: Arc<ClientTask>, conversation: Conversation, place: DrainPlace) {
    tokio::select! {
        () = live(&tasks, &task, conversation, place) => {}
        () = tokio::time::sleep_until(task.expires) => {}
        () = task.removed.cancelled() => {}
    }
    tasks.remove(&task);
    // Whoever waits for its result waits for nothing.
    task.removed.cancel();
}

async fn live(tasks: &ClientTasks, task: &Arc<ClientTask>, conversation: Conversation, place: DrainPlace) {
    let mut changes = task.watch();
    let reports = async {
        while changes.changed().await.is_ok() {
            tasks.changed(task);
        }
    };
    let has_changed = tokio::select! {
        biased;
        has_changed = run(task, conversation) => has_changed,
        () = reports => false,
    };
    if has_changed {
        tasks.ended(task);
        tasks.changed(task);
    }
    drop(place);
    std::future::pending::<()>().await;
}

/// True when the call has ended the task; false when it was over already.
async fn run(task: &ClientTask, mut conversation: Conversation) -> bool {
    let mut round = 0;
    let finished = loop {
        match conversation.step().await {
            ConversationStep::Done(finished) => break *finished,
            ConversationStep::Asks => {
                round += 1;
                let open = conversation.open.iter();
                let questions: Vec<RoundQuestion> = open.flat_map(|round| round.open().cloned()).collect();
                task.ask(round, questions);
                tokio::select! {
                    answers = task.answers() => give(&mut conversation, answers),
                    result = &mut conversation.result => break result.unwrap_or_else(|_| FinishedRequest::lost()),
                }
            }
        }
    };
    let missing = conversation.missing.error().filter(|_| task.is_modern() && finished.is_failure);
    task.end(missing.map_or(finished.answer, Err), finished.is_failure)
}

fn give(conversation: &mut Conversation, answers: Vec<(String, QuestionAnswer)>) {
    for (key, answer) in answers {
        match (answer, &mut conversation.open) {
            (Ok(answer), _) => drop(conversation.given.insert(key, answer)),
            (Err(refusal), Some(round)) => round.refuse(&key, refusal),
            (Err(_), None) => {}
        }
    }
}
