//! Cursors of lists: where the next page begins, in a form that tells its reader nothing.
//!
//! A page ends at a position among all tools, or all tasks, so that nothing is skipped when others come or go. The number itself
//! would tell a caller how many there are that it must not see. A cursor is therefore encrypted, for one list of one caller:
//!
//! ```text
//! cursor = base64url( nonce ‖ AES-128-GCM(key, nonce, position, with the list and the caller) )
//! nonce  = the beginning of HMAC-SHA256(another key, position, the list and the caller)
//! ```
//!
//! The nonce comes of what is encrypted, so the same page has the same cursor each time, and no nonce is used for two texts.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// A nonce, a position and a tag.
const LENGTH: usize = NONCE_LEN + 8 + 16;

/// Whose list a cursor belongs to.
#[derive(Clone, Copy, Debug)]
pub struct CursorPlace<'a> {
    /// The method that lists.
    pub list: &'static str,
    pub principal: &'a str,
    pub view: &'a str,
}

impl CursorPlace<'_> {
    /// A text that no other place has.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for part in [self.list, self.principal, self.view] {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        text
    }
}

/// The keys of the cursors that come of one secret.
#[derive(Clone)]
pub struct CursorKey {
    secret: LessSafeKey,
    nonce: hmac::Key,
}

impl CursorKey {
    /// `derived` gives the 32 bytes that belong to a label.
    pub fn new(derived: impl Fn(&[u8]) -> hmac::Tag) -> Option<Self> {
        let secret = derived(b"toolhub cursor 1");
        let secret = UnboundKey::new(&AES_128_GCM, secret.as_ref().get(..AES_128_GCM.key_len())?).ok()?;
        let nonce = hmac::Key::new(hmac::HMAC_SHA256, derived(b"toolhub cursor nonce 1").as_ref());
        Some(CursorKey { secret: LessSafeKey::new(secret), nonce })
    }

    pub fn seal(&self, place: CursorPlace<'_>, position: u64) -> Option<String> {
        let (place, mut text) = (place.text(), position.to_be_bytes().to_vec());
        let mut nonce = hmac::Context::with_key(&self.nonce);
        nonce.update(&text);
        nonce.update(&place);
        let mut sealed = nonce.sign().as_ref().get(..NONCE_LEN)?.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        self.secret.seal_in_place_append_tag(nonce, Aad::from(place), &mut text).ok()?;
        sealed.extend_from_slice(&text);
        Some(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The position that this key has sealed for the place.
    pub fn open(&self, place: CursorPlace<'_>, cursor: &str) -> Option<u64> {
        // Longer texts are not decoded at all.
        if cursor.len() > 2 * LENGTH {
            return None;
        }
        let mut sealed = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let text = self.secret.open_in_place(nonce, Aad::from(place.text()), text).ok()?;
        Some(u64::from_be_bytes((&*text).try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: CursorPlace<'_> = CursorPlace { list: "tools/list", principal: "ann", view: "reading" };

    fn key(secret: &[u8]) -> CursorKey {
        let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
        CursorKey::new(|label| hmac::sign(&root, label)).unwrap()
    }

    #[test]
    fn a_cursor_belongs_to_one_list_of_one_caller() {
        let key = key(b"secret");
        let cursor = key.seal(PLACE, 7).unwrap();
        assert_eq!(key.open(PLACE, &cursor), Some(7));
        assert_eq!(key.seal(PLACE, 7), Some(cursor.clone()), "the same page has the same cursor");
        for other in [
            CursorPlace { list: "tasks/list", ..PLACE },
            CursorPlace { principal: "bob", ..PLACE },
            CursorPlace { view: "writing", ..PLACE },
            CursorPlace { principal: "annr", view: "eading", ..PLACE },
        ] {
            assert_eq!(key.open(other, &cursor), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_says_nothing_of_its_position(one: u64, other: u64) {
            let key = key(b"secret");
            let (first, second) = (key.seal(PLACE, one).unwrap(), key.seal(PLACE, other).unwrap());
            prop_assert_eq!(first.len(), second.len());
            prop_assert_eq!(first == second, one == other);
            prop_assert_eq!(key.open(PLACE, &first), Some(one));
        }

        #[test]
        fn what_was_changed_or_made_up_opens_nothing(position: u64, at in 0usize..48, text in "[A-Za-z0-9_=.-]{0,90}") {
            let key = key(b"secret");
            let mut cursor = key.seal(PLACE, position).unwrap().into_bytes();
            let at = at % cursor.len();
            cursor[at] = if cursor[at] == b'A' { b'B' } else { b'A' };
            prop_assert_eq!(key.open(PLACE, std::str::from_utf8(&cursor).unwrap()), None);
            prop_assert_eq!(key.open(PLACE, &text), None);
        }
    }
}
