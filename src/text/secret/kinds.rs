//! Secrets that are known by their form: the keys and tokens of services, private keys, signed tokens.

use aho_corasick::AhoCorasick;
use regex::Regex;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

/// The kinds: a text of this form, which has one of these parts in it. Of two that fit at the same place, the first one counts.
///
/// A text is searched once for all parts together, and then only for the forms whose part it has. One expression for all forms
/// would be slow: some begin with any letter.
#[rustfmt::skip]
const KINDS: &[(&str, &[&str], &str)] = &[
    ("private_key", &["-----BEGIN "], r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"),
    ("jwt", &["eyJ"], r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),
    ("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab", &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glffct-", "glimt-", "glagent-", "gloas-", "GR1348941"], r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|ffct|imt|agent|oas)-[A-Za-z0-9_.-]{16,}|GR1348941[A-Za-z0-9_-]{20}"),
    ("anthropic", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{16,}"),
    ("openrouter", &["sk-or-"], r"\bsk-or-[A-Za-z0-9_-]{16,}"),
    ("openai", &["sk-"], r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    ("aws_access_key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("slack", &["xox", "xapp-"], r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    ("slack_webhook", &["hooks.slack.com/"], r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/+-]{8,}"),
    ("stripe", &["_live_", "_test_", "_prod_", "whsec_"], r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}"),
    ("google_api_key", &["AIza"], r"AIza[A-Za-z0-9_-]{30,}"),
    ("google_oauth", &["ya29.", "GOCSPX-", "1//0"], r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{20,}"),
    ("npm", &["npm_"], r"npm_[A-Za-z0-9]{30,}"),
    ("pypi", &["pypi-"], r"pypi-[A-Za-z0-9_-]{20,}"),
    ("huggingface", &["hf_"], r"hf_[A-Za-z0-9]{20,}"),
    ("sendgrid", &["SG."], r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("twilio", &["SK", "AC"], r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ("telegram", &[":AA"], r"\b(?:bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("discord_webhook", &["/api/webhooks/"], r"https://(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}"),
    ("discord", &["."], r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("shopify", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("square", &["sq0atp-", "sq0csp-", "EAAA"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}|EAAA[A-Za-z0-9_-]{56,}"),
    ("digitalocean", &["doo_v1_", "dop_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{32,}"),
    ("databricks", &["dapi"], r"\bdapi[0-9a-f]{32}(?:-[0-9])?"),
    ("linear", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    ("notion", &["ntn_", "secret_"], r"ntn_[A-Za-z0-9]{20,}|\bsecret_[A-Za-z0-9]{40,}"),
    ("new_relic", &["NRAK-", "NRJS-", "NRII-"], r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{16,}"),
    ("mailgun", &["key-"], r"\bkey-[0-9a-f]{32}\b"),
    ("mailchimp", &["-us"], r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    ("azure", &["AccountKey=", "SharedAccessKey=", "7Q~"], r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}={0,2}|\b[A-Za-z0-9]{3}7Q~[A-Za-z0-9_.~-]{31}"),
    ("docker", &["dckr_"], r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("atlassian", &["ATATT3", "ATBB"], r"ATATT3[A-Za-z0-9_=-]{20,}|\bATBB[A-Za-z0-9_=-]{32,}"),
    ("vault", &["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("age", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("groq", &["gsk_"], r"gsk_[A-Za-z0-9]{20,}"),
    ("replicate", &["r8_"], r"\br8_[A-Za-z0-9]{30,}"),
    ("perplexity", &["pplx-"], r"pplx-[A-Za-z0-9]{30,}"),
    ("figma", &["figd_", "figo_", "figp_"], r"fig[dop]_[A-Za-z0-9_-]{20,}"),
    ("airtable", &["pat"], r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("doppler", &["dp."], r"\bdp\.(?:pt|st|sa|ct)\.[A-Za-z0-9_.-]{20,}"),
    ("postman", &["PMAK-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{30,}"),
    ("grafana", &["glsa_", "glc_"], r"glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,}"),
    ("sentry", &["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9+/=_-]{20,}"),
    ("terraform", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    // Models and search for them.
    ("xai", &["xai-"], r"\bxai-[A-Za-z0-9]{20,}"),
    ("tavily", &["tvly-"], r"\btvly-[A-Za-z0-9_-]{16,}"),
    ("nvidia", &["nvapi-"], r"\bnvapi-[A-Za-z0-9_-]{20,}"),
    ("cerebras", &["csk-"], r"\bcsk-[A-Za-z0-9]{24,}"),
    ("fireworks", &["fw_"], r"\bfw_[A-Za-z0-9]{20,}"),
    ("anyscale", &["esecret_"], r"\besecret_[A-Za-z0-9]{20,}"),
    ("cohere", &["co_"], r"\bco_[A-Za-z0-9]{40}\b"),
    ("langsmith", &["lsv2_"], r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("pinecone", &["pcsk_"], r"\bpcsk_[A-Za-z0-9_]{30,}"),
    ("jina", &["jina_"], r"\bjina_[A-Za-z0-9_-]{30,}"),
    ("firecrawl", &["fc-"], r"\bfc-[0-9a-f]{32}\b"),
    ("apify", &["apify_api_"], r"\bapify_api_[A-Za-z0-9]{30,}"),
    ("e2b", &["e2b_"], r"\be2b_[0-9a-f]{40}"),
    ("bedrock", &["ABSK", "bedrock-api-key-"], r"\bABSK[A-Za-z0-9+/]{60,}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{20,}"),
    // Hosting, databases and delivery.
    ("supabase", &["sbp_", "sb_secret_"], r"\bsbp_(?:v0_)?[0-9a-f]{40}|\bsb_secret_[A-Za-z0-9_-]{20,}"),
    ("fly", &["FlyV1 ", "fm1a_", "fm1r_", "fm2_", "fo1_"], r"\bFlyV1 [A-Za-z0-9_+/=,-]{20,}|\bfm(?:1[ar]|2)_[A-Za-z0-9+/]{40,}={0,3}|\bfo1_[A-Za-z0-9_-]{40,}"),
    ("heroku", &["HRKU-"], r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    ("netlify", &["nfp_", "nfc_", "nfo_", "nfu_"], r"\bnf[pcou]_[A-Za-z0-9]{36,}"),
    ("render", &["rnd_"], r"\brnd_[A-Za-z0-9]{20,}"),
    ("neon", &["napi_", "npg_"], r"\bnapi_[a-z0-9]{40,}|\bnpg_[A-Za-z0-9]{12,}"),
    ("planetscale", &["pscale_"], r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{30,}"),
    ("vercel", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"\bvc[piark]_[A-Za-z0-9]{24,}"),
    ("cloudflare", &["v1.0-"], r"\bv1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("alibaba", &["LTAI"], r"\bLTAI[A-Za-z0-9]{16,}"),
    ("yandex", &["AQVN"], r"\bAQVN[A-Za-z0-9_-]{35,}"),
    ("tailscale", &["tskey-"], r"\btskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    ("pulumi", &["pul-"], r"\bpul-[0-9a-f]{40}"),
    ("prefect", &["pnu_"], r"\bpnu_[A-Za-z0-9]{36}"),
    ("infracost", &["ico-"], r"\bico-[A-Za-z0-9]{32}"),
    ("dynatrace", &["dt0"], r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("clickhouse", &["4b1d"], r"\b4b1d[A-Za-z0-9]{38}\b"),
    ("openshift", &["sha256~"], r"\bsha256~[A-Za-z0-9_-]{43}"),
    ("circleci", &["CCIPAT_", "CCIPRJ_"], r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9_]{20,}"),
    ("buildkite", &["bkua_"], r"\bbkua_[0-9a-f]{40}"),
    ("harness", &["pat.", "sat."], r"\b[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("octopus", &["API-"], r"\bAPI-[A-Z0-9]{26,}\b"),
    // Packages and code.
    ("artifactory", &["AKCp", "cmVmd"], r"\bAKCp[A-Za-z0-9]{60,}|\bcmVmd[A-Za-z0-9]{59}\b"),
    ("nuget", &["oy2"], r"\boy2[a-z0-9]{43}\b"),
    ("crates", &["cio"], r"\bcio[A-Za-z0-9]{32}\b"),
    ("rubygems", &["rubygems_"], r"\brubygems_[0-9a-f]{48}"),
    ("clojars", &["CLOJARS_"], r"\bCLOJARS_[0-9a-f]{60}"),
    ("sourcegraph", &["sgp_"], r"\bsgp_(?:(?:[0-9a-f]{16}|local)_)?[0-9a-f]{40}"),
    ("sonar", &["squ_", "sqp_", "sqa_"], r"\bsq[upa]_[0-9a-f]{40}"),
    ("readme", &["rdme_"], r"\brdme_[a-z0-9]{70}"),
    // Mail, messages, payment and people.
    ("sendinblue", &["xkeysib-"], r"\bxkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend", &["re_"], r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("asana", &["1/", "2/"], r"\b[12]/[0-9]{13,17}(?:/[0-9]{13,17})?:[0-9a-f]{32}\b"),
    ("typeform", &["tfp_"], r"\btfp_[A-Za-z0-9_.=-]{40,}"),
    ("teams_webhook", &[".webhook.office.com/"], r"https://[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}"),
    ("facebook", &["EAA"], r"\bEAA[A-Za-z0-9]{80,}"),
    ("dropbox", &["sl."], r"\bsl\.[A-Za-z0-9_=-]{120,}"),
    ("mapbox", &["k.eyJ"], r"\b[sp]k\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{20,}"),
    ("posthog", &["phx_"], r"\bphx_[A-Za-z0-9]{32,}"),
    ("shippo", &["shippo_"], r"\bshippo_(?:live|test)_[0-9a-fA-F]{40}"),
    ("duffel", &["duffel_"], r"\bduffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    ("easypost", &["EZAK", "EZTK"], r"\bEZ[AT]K[A-Za-z0-9]{54}"),
    ("flutterwave", &["FLWSECK"], r"\bFLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?"),
    ("plaid", &["access-sandbox-", "access-development-", "access-production-"], r"\baccess-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}"),
    ("adobe", &["p8e-"], r"\bp8e-[A-Za-z0-9_-]{32}"),
    ("frameio", &["fio-u-"], r"\bfio-u-[A-Za-z0-9_=-]{60,}"),
    ("maxmind", &["_mmk"], r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    ("onepassword", &["ops_eyJ", "A3-"], r"\bops_eyJ[A-Za-z0-9+/_=-]{100,}|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b"),
];

/// No text of any form is shorter.
const SHORTEST: usize = 14;

struct KnownForms {
    /// Finds the parts of all kinds.
    parts: AhoCorasick,
    /// The kind of each part, by its place among the kinds.
    owners: Vec<usize>,
    forms: Vec<Regex>,
}

/// `None` if a form cannot be compiled; a test compiles them all.
static FORMS: LazyLock<Option<KnownForms>> = LazyLock::new(|| {
    let parts =
        KINDS.iter().enumerate().flat_map(|(at, (_, parts, _))| parts.iter().map(move |part| (at, part)));
    let (owners, parts): (Vec<usize>, Vec<&&str>) = parts.unzip();
    // The end of a word is one for ASCII letters. By Unicode's letters the search would be slow in every text that has others.
    let forms = KINDS.iter().map(|(_, _, form)| Regex::new(&form.replace(r"\b", r"(?-u:\b)")).ok());
    Some(KnownForms { parts: AhoCorasick::new(parts).ok()?, owners, forms: forms.collect::<Option<_>>()? })
});

impl KnownForms {
    /// The places among the kinds of those that can be in this text.
    fn possible(&self, text: &str) -> BTreeSet<usize> {
        self.parts.find_overlapping_iter(text).map(|found| self.owners[found.pattern()]).collect()
    }
}

/// The places of a text that have the form of a secret, in order, each with its kind.
pub fn known_secrets(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let Some(known) = FORMS.as_ref().filter(|_| text.len() >= SHORTEST) else { return Vec::new() };
    let next = |kind: usize, at: usize| known.forms[kind].find_at(text, at).map(|found| found.range());
    let mut places: Vec<(usize, Range<usize>)> =
        known.possible(text).into_iter().filter_map(|kind| Some((kind, next(kind, 0)?))).collect();
    let mut secrets = Vec::new();
    // The first one, and of several there the first kind; then those that begin after it.
    while let Some((kind, found)) = places.iter().min_by_key(|(kind, found)| (found.start, *kind)).cloned() {
        places = places
            .into_iter()
            .filter_map(|(kind, place)| match place.start < found.end {
                true => Some((kind, next(kind, found.end)?)),
                false => Some((kind, place)),
            })
            .collect();
        secrets.push((found, KINDS[kind].0));
    }
    secrets
        .retain(|(found, _)| !is_words(&text[found.clone()]) && !is_in_a_file(text.as_bytes(), found.start));
    secrets
}

/// `sk-learn-contrib-imbalanced-learning`: no key has neither digits nor capitals.
fn is_words(text: &str) -> bool {
    !text.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
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
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    #[test]
    fn every_form_is_published() {
        let page = include_str!("../../../docs/how-to/cassettes.md");
        let missing: Vec<&str> = KINDS
            .iter()
            .map(|(kind, ..)| *kind)
            .filter(|kind| !page.contains(&format!("`{kind}`")))
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn every_form_compiles() {
        assert!(FORMS.is_some());
    }

    #[test]
    fn a_text_of_a_form_has_a_part_of_its_kind() {
        let mut runner = TestRunner::deterministic();
        for (at, (kind, parts, form)) in KINDS.iter().enumerate() {
            let plain = form.replace(r"\b", "").replace(r"\z", "");
            let texts = proptest::string::string_regex(&plain).unwrap();
            for _ in 0..200 {
                let text = texts.new_tree(&mut runner).unwrap().current();
                assert!(parts.iter().any(|part| text.contains(part)), "{kind}: {text}");
                assert!(text.len() >= SHORTEST, "{kind}: {text}");
                assert!(FORMS.as_ref().unwrap().possible(&text).contains(&at));
            }
        }
    }

    #[test]
    fn the_letters_around_a_secret_may_be_of_any_script() {
        let key = format!("sk-{}", "a1B2".repeat(8));
        for text in [format!("密钥{key}。"), format!("é{key} é"), format!("key {key}")] {
            assert_eq!(known_secrets(&text).len(), 1, "{text}");
        }
        let two = format!("{key} and AKIA{} and {key}", "ABCD".repeat(4));
        assert_eq!(
            known_secrets(&two).iter().map(|(_, kind)| *kind).collect::<Vec<_>>(),
            ["openai", "aws_access_key", "openai"]
        );
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
            "sk-learn-contrib-imbalanced-learning-package",
            "AKIA",
        ] {
            assert_eq!(known_secrets(text), [], "{text}");
        }
    }
}
