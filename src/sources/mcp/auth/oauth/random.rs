//! Random values, PKCE, and the two encodings that OAuth uses.

use super::super::denied;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use toolhub_types::error::HubError;

/// 256 random bits as text that can stand in a URL.
pub(super) fn random() -> Result<String, HubError> {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| denied("Could not read random bytes from the OS."))?;
    Ok(base64url(&bytes))
}

pub(super) fn base64url(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The challenge of PKCE's method S256 for this verifier.
pub(super) fn s256(verifier: &str) -> String {
    base64url(digest(&SHA256, verifier.as_bytes()).as_ref())
}

/// `name=value&…` as a form is sent.
pub(super) fn form<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // Only the query of this URL is used: its writer is the form encoder that is already here.
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_one_of_rfc_7636() {
        assert_eq!(
            s256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
    }

    #[test]
    fn random_values_are_long_and_differ() {
        let (a, b) = (random().unwrap(), random().unwrap());
        assert!(a.len() == 43 && b.len() == 43 && a != b);
    }

    #[test]
    fn forms_keep_any_value() {
        assert_eq!(form([("a", "1 &2=ü+"), ("b", "")]), "a=1+%262%3D%C3%BC%2B&b=");
    }
}
