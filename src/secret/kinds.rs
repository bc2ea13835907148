//! Secrets that are known by their form: the keys and tokens of services, private keys, signed tokens.

use regex::Regex;
use std::sync::LazyLock;

/// The kinds and their forms. Of two that fit at the same place, the first one counts.
#[rustfmt::skip]
const KINDS: &[(&str, &str)] = &[
    ("private_key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"),
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),
    ("github", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab", r"gl(?:pat|dt|rt|ptt|cbt|ft|soat)-[A-Za-z0-9_-]{16,}"),
    ("anthropic", r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    ("openrouter", r"\bsk-or-[A-Za-z0-9_-]{16,}"),
    ("openai", r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    ("aws_access_key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    ("slack_webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9_/+-]{8,}"),
    ("stripe", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}"),
    ("google_api_key", r"AIza[A-Za-z0-9_-]{30,}"),
    ("google_oauth", r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{20,}"),
    ("npm", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi", r"pypi-[A-Za-z0-9_-]{20,}"),
    ("huggingface", r"hf_[A-Za-z0-9]{20,}"),
    ("sendgrid", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("twilio", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ("telegram", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("discord_webhook", r"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}"),
    ("discord", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("shopify", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("square", r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{56,}"),
    ("digitalocean", r"do[opr]_v1_[0-9a-f]{32,}"),
    ("databricks", r"\bdapi[0-9a-f]{32}(?:-[0-9])?"),
    ("linear", r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    ("notion", r"ntn_[A-Za-z0-9]{20,}|\bsecret_[A-Za-z0-9]{40,}"),
    ("new_relic", r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{16,}"),
    ("mailgun", r"\bkey-[0-9a-f]{32}\b"),
    ("mailchimp", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    ("azure", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}={0,2}|\b[A-Za-z0-9]{3}7Q~[A-Za-z0-9_.~-]{31}"),
    ("docker", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("atlassian", r"ATATT3[A-Za-z0-9_=-]{20,}"),
    ("vault", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("age", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("groq", r"gsk_[A-Za-z0-9]{20,}"),
    ("replicate", r"\br8_[A-Za-z0-9]{30,}"),
    ("perplexity", r"pplx-[A-Za-z0-9]{30,}"),
    ("figma", r"fig[dop]_[A-Za-z0-9_-]{20,}"),
    ("airtable", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("doppler", r"\bdp\.(?:pt|st|sa|ct)\.[A-Za-z0-9_.-]{20,}"),
    ("postman", r"PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    ("grafana", r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,}"),
    ("sentry", r"sntry[su]_[A-Za-z0-9+/=_-]{20,}"),
    ("terraform", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
];

struct KnownForms {
    any: Regex,
    each: Vec<(&'static str, Regex)>,
}

/// `None` if a form cannot be compiled; a test compiles them all.
static FORMS: LazyLock<Option<KnownForms>> = LazyLock::new(|| {
    let all: Vec<String> = KINDS.iter().map(|(_, form)| format!("(?:{form})")).collect();
    let each = KINDS.iter().map(|(kind, form)| Some((*kind, Regex::new(&format!("^(?:{form})$")).ok()?)));
    Some(KnownForms { any: Regex::new(&all.join("|")).ok()?, each: each.collect::<Option<_>>()? })
});

/// The places of a text that have the form of a secret, in order, each with its kind.
pub fn known_secrets(text: &str) -> Vec<(std::ops::Range<usize>, &'static str)> {
    let Some(forms) = &*FORMS else { return Vec::new() };
    let kind = |found: &str| {
        forms.each.iter().find(|(_, form)| form.is_match(found)).map_or("token", |(kind, _)| *kind)
    };
    let found = forms.any.find_iter(text).filter(|found| !is_in_a_file(text.as_bytes(), found.start()));
    found.map(|found| (found.range(), kind(found.as_str()))).collect()
}

/// A run of this many characters of Base64 is an image or another file, in which any form occurs by chance.
const FILE: usize = 512;

fn is_in_a_file(text: &[u8], at: usize) -> bool {
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let before = text[..at].iter().rev().take(FILE).take_while(is_base64).count();
    before + text[at..].iter().take(FILE).take_while(is_base64).count() >= FILE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_compiles() {
        assert!(FORMS.is_some());
    }

    #[test]
    fn a_file_in_base64_is_left_alone() {
        let key = format!("AKIA{}", "ABCD".repeat(4));
        assert_eq!(known_secrets(&format!("{key} and more")).len(), 1);
        assert_eq!(known_secrets(&format!("{}{key}{}", "iVBORw0K".repeat(40), "AAAA".repeat(60))), []);
    }

    #[test]
    fn ordinary_text_has_none() {
        for text in [
            "sk-1",
            "risk-averse and task-oriented-programming",
            "https://hooks.slack.com/docs",
            "eyJ.eyJ.",
            "key-value",
            "AKIA",
        ] {
            assert_eq!(known_secrets(text), [], "{text}");
        }
    }
}
