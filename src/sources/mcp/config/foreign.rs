//! Keys that other clients write. What has a meaning for us is taken over; what would change the tools or
//! the access and is not done here is a warning; the rest is their own business.

use serde_json::Value;

use super::fields::Fields;
use super::options::ServerOptions;

/// How a client shows a server, what it asks its user, how it starts: nothing to us.
const SILENT: &[&str] = &[
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "comment",
    "description",
    "dev",
    "displayName",
    "extension",
    "extensionName",
    "gallery",
    "icon",
    "iconPath",
    "keepAlive",
    "keep_alive",
    "name",
    "provider",
    "sandbox",
    "sandboxEnabled",
    "settings",
    "source",
    "sseReadTimeout",
    "sse_read_timeout",
    "tags",
    "title",
    "trust",
    "version",
    "watchPaths",
];

const NOT_DONE: &[&str] = &[
    "authentication",
    "exclude_tags",
    "headersHelper",
    "include_tags",
    "targetAudience",
    "targetServiceAccount",
    "tcp",
];

/// Cline, Roo and Kilo count `timeout` in seconds, and these are their keys.
const OF_THOSE_WITH_SECONDS: &[&str] = &["alwaysAllow", "autoApprove", "disabledTools", "watchPaths"];

/// Whether the entry turns its server off, in the words of any client.
pub(super) fn is_off(fields: &mut Fields<'_, '_>) -> bool {
    let off = fields.flag("disabled") == Some(true);
    let on = ["enabled", "active", "isActive", "is_active"].map(|key| fields.flag(key));
    off || on.contains(&Some(false))
}

pub(super) fn read(fields: &mut Fields<'_, '_>, options: &mut ServerOptions) {
    timeout(fields, options);
    for key in ["includeTools", "enabledTools"] {
        if let Some(names) = fields.texts(key) {
            options.offer_only(names, fields, key);
        }
    }
    for key in ["excludeTools", "disabledTools"] {
        options.exclude.extend(fields.texts(key).unwrap_or_default());
    }
    match fields.value("tools") {
        // FastMCP: an object that gives tools other names and arguments.
        Some(Value::Object(tools)) if tools.is_empty() => {}
        Some(Value::Object(_)) => fields.warn("tools", NO_EFFECT),
        // Copilot: the tools to offer.
        Some(Value::String(all)) if all == "*" => {}
        Some(_) => {
            if let Some(names) = fields.texts("tools") {
                options.offer_only(names, fields, "tools");
            }
        }
        None => {}
    }
    if fields.text("authProviderType").is_some_and(|provider| provider != "dynamic_discovery") {
        fields.warn("authProviderType", NO_EFFECT);
    }
    for key in NOT_DONE {
        if fields.value(key).is_some() {
            fields.warn(key, NO_EFFECT);
        }
    }
    fields.ignore(SILENT);
}

const NO_EFFECT: &str = "belongs to another client and has no effect here.";

/// `timeout` is in milliseconds for FastMCP, Gemini and Claude Code, and in seconds for Cline and Roo, which
/// allow up to an hour. A timeout below a second is implausible, so a small number always means seconds.
fn timeout(fields: &mut Fields<'_, '_>, options: &mut ServerOptions) {
    let number = fields.value("timeout").and_then(Value::as_f64).unwrap_or_default();
    let theirs = OF_THOSE_WITH_SECONDS.iter().any(|key| fields.has(key));
    let timeout = if (theirs && number <= 3600.0) || number < 1000.0 {
        fields.duration("timeout", "seconds", 1.0)
    } else {
        fields.duration("timeout", "milliseconds", 0.001)
    };
    if !theirs && timeout.is_some() && number < 1000.0 {
        fields.warn(
            "timeout",
            format!(
                "is taken as {number} s; other clients count milliseconds, `toolhub.timeout` counts seconds."
            ),
        );
    }
    options.timeout = options.timeout.or(timeout);
}
