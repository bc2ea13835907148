//! The server's tasks. The id of a task is its plan: it says how the task goes.

use crate::mcp_client::server::Server;
use serde_json::{Value, json};

impl Server {
    pub fn begin_task(&self, id: &Value, params: &Value) {
        let plan = &params["arguments"]["plan"];
        match self.mode.as_str() {
            "tasks" => self.answer(
                id,
                json!({"resultType": "task", "taskId": plan, "status": "working", "ttlMs": null, "pollIntervalMs": 1}),
            ),
            _ if params["task"].is_object() => self.answer(
                id,
                json!({"task": {"taskId": plan, "status": "working", "ttl": null, "pollInterval": 1}}),
            ),
            _ => self.refuse(id, -32601, "only as a task"),
        }
    }

    pub fn about_task(&self, method: &str, id: &Value, plan: &str) {
        let asked = self.heard("tasks/get").len();
        match (method, plan) {
            ("tasks/get", "gone") => self.refuse(id, -32602, "Task not found"),
            // The task outlives the process.
            ("tasks/get", "crashes") if self.starts() == 1 => std::process::exit(9),
            ("tasks/get", _) if self.mode == "tasks" => self.answer(id, self.modern_state(plan, asked)),
            ("tasks/get", _) => {
                let status = match (asked, plan) {
                    (1, _) | (_, "never") => "working",
                    (_, "asks") => "input_required",
                    _ => "completed",
                };
                self.answer(id, json!({"taskId": plan, "status": status, "ttl": null, "pollInterval": 1}));
            }
            ("tasks/result", "asks") => {
                self.say(&json!({"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {"message": "who?"}}));
                self.answer(id, json!({"content": [], "structuredContent": self.hear()}));
            }
            ("tasks/result", _) => self.answer(id, text("done")),
            _ => self.answer(id, json!({"resultType": "complete"})),
        }
    }

    fn modern_state(&self, plan: &str, asked: usize) -> Value {
        let mut task = match (plan, asked) {
            ("asks", _) => self.asking(asked),
            ("never" | "expires", _) | (_, 1) => json!({"status": "working"}),
            ("fails", _) => {
                json!({"status": "failed", "error": {"code": -32603, "message": "no\u{1b} disk"}})
            }
            ("tool_fails", _) => {
                let result = json!({"isError": true, "content": [{"type": "text", "text": "no disk"}]});
                json!({"status": "completed", "result": result})
            }
            ("is_cancelled", _) => json!({"status": "cancelled", "statusMessage": "by the owner"}),
            ("empty", _) => json!({"status": "completed"}),
            _ => json!({"status": "completed", "result": text("done")}),
        };
        task["taskId"] = json!(plan);
        task["resultType"] = json!("complete");
        task["ttlMs"] = if plan == "expires" { json!(1) } else { Value::Null };
        task["pollIntervalMs"] = json!(1);
        task
    }

    /// Shows its question once more after it was answered, since answers take their time; then asks another one.
    fn asking(&self, asked: usize) -> Value {
        let question = |text: &str| json!({"method": "elicitation/create", "params": {"message": text}});
        let answers = self.heard("tasks/update");
        match (answers.len(), asked) {
            (0, _) | (1, ..=2) => {
                json!({"status": "input_required", "inputRequests": {"who": question("who?")}})
            }
            (1, _) => {
                let both = json!({"who": question("who?"), "why": question("why?")});
                json!({"status": "input_required", "inputRequests": both})
            }
            _ => {
                let given: Vec<_> =
                    answers.iter().map(|answer| &answer["params"]["inputResponses"]).collect();
                json!({"status": "completed", "result": {"content": [], "structuredContent": given}})
            }
        }
    }

    pub fn refuse(&self, id: &Value, code: i64, message: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
