//! Metrics in the text format of Prometheus. Names are those of the OpenTelemetry conventions for MCP and GenAI, written as
//! Prometheus writes them: `mcp.server.operation.duration` is `mcp_server_operation_duration_seconds`.
//!
//! The operator sees what all callers did together; a caller sees what it did itself.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::time::Duration;
use toolhub_types::sync::{Arc, Mutex};

/// The upper ends of the buckets in seconds, as the conventions advise.
const BUCKETS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Operations beyond this number of series are counted together, so that metrics stay bounded.
const MOST_SERIES: usize = 5_000;
/// The same for one caller.
const MOST_SERIES_OF_CALLER: usize = 100;
/// The callers that are counted apart.
const MOST_CALLERS: usize = 500;
/// What stands for the tool of those.
const OTHER: &str = "_other";

/// What was done, as the labels of a series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationLabels {
    /// A method of the protocol. Methods that are not known must be given as `_other`: clients choose their names.
    pub method: &'static str,
    /// A tool that exists and that the caller sees; empty otherwise.
    pub tool: String,
    /// `tool_error`, the kind of an error, or a JSON-RPC code; empty for a success.
    pub error: String,
    pub version: &'static str,
}

#[derive(Clone, Default)]
struct DurationHistogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl DurationHistogram {
    fn observe(&mut self, seconds: f64) {
        for (bucket, end) in self.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= end);
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn write(&self, text: &mut String, name: &str, labels: &str) {
        let separator = if labels.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        for (bucket, end) in self.buckets.iter().zip(BUCKETS) {
            let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"{end}\"}} {bucket}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels}{separator}le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(text, "{name}_sum{{{labels}}} {}", self.sum);
        let _ = writeln!(text, "{name}_count{{{labels}}} {}", self.count);
    }
}

/// What is counted elsewhere, at the moment of a request for the metrics: name, type, meaning and value.
pub type MetricsRow = (&'static str, &'static str, &'static str, usize);

type OperationSeries = BTreeMap<OperationLabels, DurationHistogram>;

fn observe(series: &mut OperationSeries, most: usize, mut operation: OperationLabels, duration: Duration) {
    if series.len() >= most && !series.contains_key(&operation) {
        operation.tool = OTHER.to_owned();
    }
    series.entry(operation).or_default().observe(duration.as_secs_f64());
}

#[derive(Default)]
struct MetricsTables {
    operations: OperationSeries,
    /// By the id of the principal.
    of_callers: HashMap<Arc<str>, OperationSeries>,
    /// By the status of the answer.
    refusals: BTreeMap<u16, u64>,
    sessions: DurationHistogram,
}

/// What the gateway has done since it started.
#[derive(Default)]
pub struct Metrics(Mutex<MetricsTables>);

impl Metrics {
    /// Counts an operation of a caller, named by the id of its principal. The anonymous one is not counted apart.
    pub fn operation(&self, operation: OperationLabels, caller: &Arc<str>, duration: Duration) {
        let mut tables = self.0.lock();
        if !caller.is_empty() {
            let of_callers = &mut tables.of_callers;
            if of_callers.len() >= MOST_CALLERS && !of_callers.contains_key(caller) {
                let dropped = of_callers.keys().next().cloned();
                dropped.and_then(|dropped| of_callers.remove(&dropped));
            }
            let own = of_callers.entry(caller.clone()).or_default();
            observe(own, MOST_SERIES_OF_CALLER, operation.clone(), duration);
        }
        observe(&mut tables.operations, MOST_SERIES, operation, duration);
    }

    /// A request that was refused before it was read, with the status of the answer.
    pub fn refused(&self, status: u16) {
        *self.0.lock().refusals.entry(status).or_default() += 1;
    }

    /// A session that its client ended.
    pub fn session_ended(&self, lived: Duration) {
        self.0.lock().sessions.observe(lived.as_secs_f64());
    }

    /// The metrics of one caller as text: what it did itself.
    pub fn text_of(&self, caller: &str) -> String {
        let tables = self.0.lock();
        let mut text =
            String::from("# Only your own requests. The operator sees all with the token for metrics.\n");
        write_operations(&mut text, tables.of_callers.get(caller).unwrap_or(&OperationSeries::new()));
        text
    }

    /// All metrics as text.
    pub fn text(&self, others: &[MetricsRow]) -> String {
        const SESSIONS: &str = "mcp_server_session_duration_seconds";
        let mut text = String::new();
        let tables = self.0.lock();
        write_operations(&mut text, &tables.operations);
        head(&mut text, SESSIONS, "histogram", "Life of sessions that their clients ended.");
        tables.sessions.write(&mut text, SESSIONS, "");
        const REFUSALS: &str = "toolhub_gateway_refusals_total";
        head(&mut text, REFUSALS, "counter", "Requests that no method has read.");
        for (status, count) in &tables.refusals {
            let _ = writeln!(text, "{REFUSALS}{{http_response_status_code=\"{status}\"}} {count}");
        }
        for (name, kind, help, value) in others {
            let name = format!("toolhub_gateway_{name}");
            head(&mut text, &name, kind, help);
            let _ = writeln!(text, "{name} {value}");
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn write_operations(text: &mut String, series: &OperationSeries) {
    const OPERATIONS: &str = "mcp_server_operation_duration_seconds";
    head(text, OPERATIONS, "histogram", "Duration of requests as the gateway received them.");
    for (operation, histogram) in series {
        histogram.write(text, OPERATIONS, &labels(operation));
    }
}

fn labels(operation: &OperationLabels) -> String {
    let mut labels = format!("mcp_method_name=\"{}\"", operation.method);
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(labels, ",{name}=\"{}\"", escaped(value));
        }
    };
    add("gen_ai_tool_name", &operation.tool);
    add("gen_ai_operation_name", if operation.method == "tools/call" { "execute_tool" } else { "" });
    add("error_type", &operation.error);
    add("mcp_protocol_version", operation.version);
    labels
}

/// As the text format wants it in the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(tool: &str, error: &str) -> OperationLabels {
        OperationLabels {
            method: "tools/call",
            tool: tool.to_owned(),
            error: error.to_owned(),
            version: "2025-11-25",
        }
    }

    fn anyone() -> Arc<str> {
        Arc::from("")
    }

    #[test]
    fn a_caller_sees_its_own_requests_only() {
        let (metrics, ann, bob) = (Metrics::default(), Arc::from("token:ann"), Arc::from("token:bob"));
        metrics.operation(call("pay", ""), &ann, Duration::ZERO);
        metrics.operation(call("read", ""), &bob, Duration::ZERO);
        let (own, all) = (metrics.text_of("token:ann"), metrics.text(&[]));
        assert!(own.contains("\"pay\"") && !own.contains("\"read\"") && !own.contains("toolhub_gateway"));
        assert!(all.contains("\"pay\"") && all.contains("\"read\"") && !all.contains("token:"));
        assert!(!metrics.text_of("token:eve").contains("_bucket"));
    }

    #[test]
    fn callers_are_bounded() {
        let metrics = Metrics::default();
        for number in 0..MOST_CALLERS + 10 {
            let caller = Arc::from(format!("jwt:{number}"));
            for tool in 0..MOST_SERIES_OF_CALLER + if number == 0 { 5 } else { 0 } {
                metrics.operation(call(&format!("tool{tool}"), ""), &caller, Duration::ZERO);
            }
        }
        let tables = metrics.0.lock();
        assert_eq!(tables.of_callers.len(), MOST_CALLERS);
        assert!(tables.of_callers.values().all(|own| own.len() <= MOST_SERIES_OF_CALLER + 1));
    }

    #[test]
    fn a_series_has_the_names_of_the_conventions() {
        let metrics = Metrics::default();
        metrics.operation(call("add", ""), &anyone(), Duration::from_millis(20));
        metrics.operation(call("add", ""), &anyone(), Duration::from_millis(300));
        metrics.operation(call("add", "timeout"), &anyone(), Duration::from_secs(30));
        metrics.refused(429);
        let text = metrics.text(&[("connections", "gauge", "Open connections.", 3)]);
        let labels =
            "mcp_method_name=\"tools/call\",gen_ai_tool_name=\"add\",gen_ai_operation_name=\"execute_tool\"";
        let rest = "mcp_protocol_version=\"2025-11-25\"";
        for line in [
            format!("mcp_server_operation_duration_seconds_bucket{{{labels},{rest},le=\"0.01\"}} 0"),
            format!("mcp_server_operation_duration_seconds_bucket{{{labels},{rest},le=\"0.02\"}} 1"),
            format!("mcp_server_operation_duration_seconds_bucket{{{labels},{rest},le=\"+Inf\"}} 2"),
            format!(
                "mcp_server_operation_duration_seconds_count{{{labels},error_type=\"timeout\",{rest}}} 1"
            ),
            "toolhub_gateway_refusals_total{http_response_status_code=\"429\"} 1".to_owned(),
            "toolhub_gateway_connections 3".to_owned(),
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
    }

    #[test]
    fn series_are_bounded() {
        let metrics = Metrics::default();
        for number in 0..MOST_SERIES + 100 {
            metrics.operation(call(&format!("tool{number}"), ""), &anyone(), Duration::ZERO);
        }
        assert_eq!(metrics.0.lock().operations.len(), MOST_SERIES + 1);
        assert!(metrics.text(&[]).contains("gen_ai_tool_name=\"_other\""));
    }

    proptest! {
        #[test]
        fn any_name_of_a_tool_is_one_label(tool in "(?s).{0,40}") {
            let metrics = Metrics::default();
            metrics.operation(call(&tool, ""), &anyone(), Duration::ZERO);
            let text = metrics.text(&[]);
            let lines = text.split('\n').filter(|line| line.starts_with("mcp_server_operation_duration_seconds_bucket"));
            prop_assert_eq!(lines.count(), BUCKETS.len() + 1);
        }
    }
}
