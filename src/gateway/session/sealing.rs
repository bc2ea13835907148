//! Texts that the gateway hands out and gets back: their holder cannot read them, and each opens at its own place only.
//!
//! ```text
//! text  = base64url( nonce ‖ AES-128-GCM(key, nonce, content, with the place) )
//! nonce = the beginning of HMAC-SHA256(another key, content and place)
//! ```
//!
//! A place says for whom and for what a text is: the request and the caller of a state ([`crate::kept::RequestState`]). The nonce
//! comes of what is encrypted, so the same content has the same text each time, and no nonce is used for two contents.

use base64::prelude::*;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// The keys of one purpose that come of one secret.
#[derive(Clone)]
pub struct SealingKey {
    secret: LessSafeKey,
    nonce: hmac::Key,
}

impl SealingKey {
    /// `derived` gives the 32 bytes that belong to a label.
    pub fn new(purpose: &str, derived: impl Fn(&[u8]) -> hmac::Tag) -> Option<Self> {
        let secret = derived(format!("toolhub {purpose} 1").as_bytes());
        let secret = UnboundKey::new(&AES_128_GCM, secret.as_ref().get(..AES_128_GCM.key_len())?).ok()?;
        let nonce = derived(format!("toolhub {purpose} nonce 1").as_bytes());
        let nonce = hmac::Key::new(hmac::HMAC_SHA256, nonce.as_ref());
        Some(SealingKey { secret: LessSafeKey::new(secret), nonce })
    }

    pub fn seal(&self, place: &[&str], content: &[u8]) -> Option<String> {
        let (place, mut content) = (joined(place), content.to_vec());
        let mut nonce = hmac::Context::with_key(&self.nonce);
        nonce.update(&content);
        nonce.update(&place);
        let mut sealed = nonce.sign().as_ref().get(..NONCE_LEN)?.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        self.secret.seal_in_place_append_tag(nonce, Aad::from(place), &mut content).ok()?;
        sealed.extend_from_slice(&content);
        Some(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    /// What this key has sealed for the place.
    pub fn open(&self, place: &[&str], text: &str) -> Option<Vec<u8>> {
        let mut sealed = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce, content) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let content = self.secret.open_in_place(nonce, Aad::from(joined(place)), content).ok()?;
        Some(content.to_vec())
    }
}

/// A text that no other place has.
fn joined(place: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    for part in place {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part.as_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: [&str; 3] = ["tools/list", "ann", "reading"];

    fn key(purpose: &str) -> SealingKey {
        let root = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
        SealingKey::new(purpose, |label| hmac::sign(&root, label)).unwrap()
    }

    #[test]
    fn a_text_belongs_to_one_place_and_one_purpose() {
        let text = key("cursor").seal(&PLACE, b"content").unwrap();
        assert_eq!(key("cursor").open(&PLACE, &text).unwrap(), b"content");
        assert_eq!(key("cursor").seal(&PLACE, b"content"), Some(text.clone()), "the same each time");
        assert_eq!(key("state").open(&PLACE, &text), None);
        for other in [
            ["tasks/list", "ann", "reading"],
            ["tools/list", "bob", "reading"],
            ["tools/list", "ann", "writing"],
            ["tools/list", "annr", "eading"],
        ] {
            assert_eq!(key("cursor").open(&other, &text), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_says_nothing_of_its_content(one: [u8; 8], other: [u8; 8]) {
            let key = key("cursor");
            let (first, second) = (key.seal(&PLACE, &one).unwrap(), key.seal(&PLACE, &other).unwrap());
            prop_assert_eq!(first.len(), second.len());
            prop_assert_eq!(first == second, one == other);
            prop_assert_eq!(key.open(&PLACE, &first).unwrap(), one);
        }

        #[test]
        fn any_content_comes_back(content in prop::collection::vec(any::<u8>(), 0..300), place in ".{0,40}") {
            let text = key("state").seal(&[&place], &content).unwrap();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(key("state").open(&[&place], &text).unwrap(), content);
        }

        #[test]
        fn what_was_changed_or_made_up_opens_nothing(content: [u8; 8], at in 0usize..48, text in "[A-Za-z0-9_=.-]{0,90}") {
            let key = key("cursor");
            let mut changed = key.seal(&PLACE, &content).unwrap().into_bytes();
            let at = at % changed.len();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            prop_assert_eq!(key.open(&PLACE, std::str::from_utf8(&changed).unwrap()), None);
            prop_assert_eq!(key.open(&PLACE, &text), None);
        }
    }
}
