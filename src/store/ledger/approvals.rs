//! Approvals: each is bound to the digest of what was shown, is used once, and expires.

use super::owner::new_id;
use super::rows::shown;
use crate::time::now;
use crate::writer::OpenTables;
use ring::hmac;
use rusqlite::params;
use serde_json::Value;
use toolhub_text::{Message, message};
use toolhub_types::error::clip;

/// What is asked about, and what binds the answer.
#[derive(Clone, Debug)]
pub struct ApprovalQuestion {
    /// Of the identity of the call, its run, and the arguments that are shown. It is keyed before it is kept: values that may be
    /// secret are part of it.
    pub digest: String,
    /// Names and digests of the values that are not shown.
    pub values: Vec<(String, String)>,
    pub principal: String,
    pub run: Option<String>,
    pub tool: String,
    /// The readable text of the question.
    pub shown: String,
    /// In microseconds.
    pub lasts: i64,
    /// Without it, a call that nobody was ever asked about goes on.
    pub is_new_asked: bool,
}

/// What is known about the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// Given under this id, and used up by this.
    Approved(String),
    Denied(Option<String>),
    /// Asked, under this id.
    Pending(String),
    /// Nobody was ever asked, and nobody is.
    NeverAsked,
}

/// Uses an approval up, or asks for one.
pub fn ask(ledger: &OpenTables<'_>, question: &ApprovalQuestion) -> rusqlite::Result<ApprovalAnswer> {
    let key = key(ledger)?;
    let digest = format!("hmac-sha256:{}", keyed(&key, "question", &question.digest));
    let known: Option<(String, String, Option<String>)> = ledger.first(
        "SELECT id, state, reason FROM approvals
         WHERE digest = ?1 AND state IN ('pending', 'approved', 'denied') AND expires_at > ?2 ORDER BY asked_at LIMIT 1",
        params![digest, now()],
    )?;
    let mut was_asked = ledger.prepare_cached("SELECT 1 FROM approvals WHERE digest = ?1")?;
    match known {
        Some((id, state, _)) if state == "approved" => {
            ledger.execute("UPDATE approvals SET state = 'used' WHERE id = ?1", [&id])?;
            Ok(ApprovalAnswer::Approved(id))
        }
        Some((_, state, reason)) if state == "denied" => Ok(ApprovalAnswer::Denied(reason)),
        Some((id, ..)) => Ok(ApprovalAnswer::Pending(id)),
        // An answer that was used or has expired is not one for this call.
        None if !question.is_new_asked && !was_asked.exists([&digest])? => Ok(ApprovalAnswer::NeverAsked),
        None => {
            let ApprovalQuestion { values, principal, run, tool, lasts, .. } = question;
            let (id, shown) = (new_id(), format!("{}{}", question.shown, shown_values(&key, values)));
            ledger.run(
                "INSERT INTO approvals (id, digest, principal, run, tool, shown, state, asked_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'pending', ?7, ?8)",
                params![id, digest, principal, run, tool, shown, now(), now().saturating_add(*lasts)],
            )?;
            Ok(ApprovalAnswer::Pending(id))
        }
    }
}

/// The key of the digests in this store, made for its first question. Without it a short value could be guessed from its digest.
fn key(ledger: &OpenTables<'_>) -> rusqlite::Result<hmac::Key> {
    let known = || ledger.first("SELECT value FROM keys WHERE name = 'approvals'", []);
    let (key,): (Vec<u8>,) = match known()? {
        Some(key) => key,
        None => {
            // SQLite seeds its cipher from the system.
            ledger.execute("INSERT INTO keys VALUES ('approvals', randomblob(32))", [])?;
            known()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?
        }
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &key))
}

/// The keyed digest of a digest, in hexadecimal digits. `of` keeps those of different things apart.
fn keyed(key: &hmac::Key, of: &str, digest: &str) -> String {
    let tag = hmac::sign(key, format!("{of} {digest}").as_bytes());
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `, bound to the values of bank: DATABASE_URL (…ab12)`: people see which values count, and whether one is another than before.
fn shown_values(key: &hmac::Key, values: &[(String, String)]) -> String {
    let one = |(name, digest): &(String, String)| {
        let digits = keyed(key, "value", digest);
        format!("{name} (…{})", &digits[digits.len() - SHOWN_DIGITS..])
    };
    let values: Vec<_> = values.iter().map(one).collect();
    if values.is_empty() { String::new() } else { format!(", bound to the values of {}", values.join(", ")) }
}

/// The digits of a value's digest that people see: enough to notice another value, and too few to find it.
const SHOWN_DIGITS: usize = 4;

/// Answers a question, or says why it cannot be answered.
pub fn decide(
    ledger: &OpenTables<'_>,
    (id, principal): (&str, Option<&str>),
    approves: bool,
    reason: Option<&str>,
) -> rusqlite::Result<Result<(), Message>> {
    let state = if approves { "approved" } else { "denied" };
    let changed = ledger.execute(
        "UPDATE approvals SET state = ?2, reason = ?3, decided_at = ?4
         WHERE id = ?1 AND state = 'pending' AND expires_at > ?4 AND (?5 IS NULL OR principal = ?5)",
        params![id, state, reason, now(), principal],
    )?;
    match changed {
        0 => why_not(ledger, id, principal).map(Err),
        _ => Ok(Ok(())),
    }
}

fn why_not(ledger: &OpenTables<'_>, id: &str, principal: Option<&str>) -> rusqlite::Result<Message> {
    let sql = "SELECT state, expires_at FROM approvals WHERE id = ?1 AND (?2 IS NULL OR principal = ?2)";
    let known: Option<(String, i64)> = ledger.first(sql, params![id, principal])?;
    let id = clip(id);
    Ok(match known.as_ref().map(|(state, ends)| (state.as_str(), *ends <= now())) {
        None => message!("No call waits for approval '{}'.", id),
        Some(("used", _)) => message!("Approval '{}' was already used: its call was made.", id),
        Some(("older", _)) => message!(
            "Approval '{}' was asked for by an older version of toolhub; make the call again to ask again.",
            id
        ),
        Some(("denied", _)) => message!("Approval '{}' was already denied.", id),
        Some(("approved", false)) => message!("Approval '{}' was already given; it waits for its call.", id),
        Some(_) => message!("Approval '{}' has expired; make the call again to ask again.", id),
    })
}

/// The questions that wait, oldest first.
pub fn pending(ledger: &OpenTables<'_>, principal: Option<&str>) -> rusqlite::Result<Vec<Value>> {
    let mut query = ledger.prepare(
        "SELECT id, principal, run, tool, shown, digest, state, reason, asked_at / 1e6 AS asked_at,
                expires_at / 1e6 AS expires_at FROM approvals a
         WHERE state = 'pending' AND a.expires_at > ?1 AND (?2 IS NULL OR principal = ?2) ORDER BY a.asked_at, id",
    )?;
    query.query_map(params![now(), principal], shown)?.collect()
}
