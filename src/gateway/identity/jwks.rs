//! The public keys of a token issuer (JWKS, RFC 7517): read from a file, from a URL that the user configured, or from text.
//!
//! An address in a token (`jku`, `x5u`) is never followed. A key is only used for the algorithms of its own type, so a public
//! RSA key can never serve as the secret of an HMAC.

use crate::identity::invalid;
use base64::prelude::*;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;
use std::time::{Duration, Instant};
use toolhub_protocol::net;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Result, clip};
use toolhub_types::sync::{Arc, Mutex};

/// Keys are read again when they are older than this. Until they are, the old ones count, so that nobody waits for the issuer.
const FRESH: Duration = Duration::from_secs(300);
/// Nobody has tried to read the keys for this long: a key may have been taken back meanwhile, and callers wait for the reading.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// An unknown key id reads the keys again. After a reading that did not find it there is none for this long, which limits the
/// rate of readings caused by forged ids. A reading that found it causes no pause, so keys may be rotated at any time.
const REFRESH_PAUSE: Duration = Duration::from_secs(10);
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_SET: usize = 1 << 20;
/// Smaller RSA keys can be broken.
const SMALLEST_MODULUS: usize = 256;

/// An algorithm that is accepted; all of them are asymmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JwtAlgorithm(&'static str);

impl JwtAlgorithm {
    pub const NAMES: [&str; 9] =
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

    pub fn all() -> Vec<Self> {
        JwtAlgorithm::NAMES.map(JwtAlgorithm).to_vec()
    }

    pub fn parse(name: &str) -> Option<Self> {
        JwtAlgorithm::NAMES.into_iter().find(|known| *known == name).map(JwtAlgorithm)
    }

    fn rsa(self) -> Option<&'static RsaParameters> {
        Some(match self.0 {
            "RS256" => &signature::RSA_PKCS1_2048_8192_SHA256,
            "RS384" => &signature::RSA_PKCS1_2048_8192_SHA384,
            "RS512" => &signature::RSA_PKCS1_2048_8192_SHA512,
            "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
            "PS384" => &signature::RSA_PSS_2048_8192_SHA384,
            "PS512" => &signature::RSA_PSS_2048_8192_SHA512,
            _ => return None,
        })
    }
}

enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// The bytes of the key, and the name of its only algorithm.
    Curve(&'static str, &'static dyn signature::VerificationAlgorithm, Vec<u8>),
}

/// One public key of a set.
pub(super) struct PublicKey {
    id: Option<String>,
    /// The only algorithm it is for, if it says so.
    algorithm: Option<JwtAlgorithm>,
    material: KeyMaterial,
}

impl PublicKey {
    /// `None` for a key that does not verify signatures, or is of a type that is not known here: sets may contain such keys.
    fn read(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &str| BASE64_URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|what| what != "sig") {
            return None;
        }
        let operations = jwk.get("key_ops").and_then(Value::as_array);
        if operations.is_some_and(|all| !all.iter().any(|one| one == "verify")) {
            return None;
        }
        let algorithm = match text("alg") {
            Some(name) => Some(JwtAlgorithm::parse(name)?),
            None => None,
        };
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == length && y.len() == length).then(|| [&[4u8][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let (modulus, exponent) = (bytes("n")?, bytes("e")?);
                // ring takes numbers without leading zeros; some issuers write them.
                let trim =
                    |number: Vec<u8>| number.into_iter().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
                let (modulus, exponent) = (trim(modulus), trim(exponent));
                (modulus.len() >= SMALLEST_MODULUS).then_some(KeyMaterial::Rsa { modulus, exponent })?
            }
            ("EC", Some("P-256")) => {
                KeyMaterial::Curve("ES256", &signature::ECDSA_P256_SHA256_FIXED, point(32)?)
            }
            ("EC", Some("P-384")) => {
                KeyMaterial::Curve("ES384", &signature::ECDSA_P384_SHA384_FIXED, point(48)?)
            }
            ("OKP", Some("Ed25519")) => {
                let key = bytes("x").filter(|x| x.len() == 32)?;
                KeyMaterial::Curve("EdDSA", &signature::ED25519, key)
            }
            _ => return None,
        };
        Some(PublicKey { id: text("kid").map(str::to_owned), algorithm, material })
    }

    fn takes(&self, algorithm: JwtAlgorithm) -> bool {
        let is_of_type = match self.material {
            KeyMaterial::Rsa { .. } => algorithm.rsa().is_some(),
            KeyMaterial::Curve(only, ..) => algorithm.0 == only,
        };
        is_of_type && self.algorithm.is_none_or(|only| only == algorithm)
    }

    pub(super) fn verifies(&self, algorithm: JwtAlgorithm, signed: &[u8], signature: &[u8]) -> bool {
        match (&self.material, algorithm.rsa()) {
            (KeyMaterial::Rsa { modulus, exponent }, Some(parameters)) => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, signed, signature).is_ok()
            }
            (KeyMaterial::Curve(only, verify, key), None) if algorithm.0 == *only => {
                UnparsedPublicKey::new(*verify, key).verify(signed, signature).is_ok()
            }
            _ => false,
        }
    }
}

/// The keys of an issuer at one time.
pub(super) struct KeySet(Vec<PublicKey>);

impl KeySet {
    pub(super) fn read(text: &[u8]) -> Result<Self> {
        let unreadable = |why: Message| invalid(message!("The key set (JWKS) cannot be read: {}.", why));
        let Ok(set) = serde_json::from_slice::<Value>(text) else {
            return unreadable(message!("it is not JSON"));
        };
        let Some(keys) = set.get("keys").and_then(Value::as_array) else {
            return unreadable(message!("it has no 'keys' list"));
        };
        match keys.iter().filter_map(PublicKey::read).collect::<Vec<_>>() {
            keys if keys.is_empty() => unreadable(message!("it has no public key that verifies signatures")),
            keys => Ok(KeySet(keys)),
        }
    }

    /// The keys that a token may have been signed with. A token without a key id fits a set with one key of its type.
    pub(super) fn fitting(&self, id: Option<&str>, algorithm: JwtAlgorithm) -> Option<&PublicKey> {
        let mut fitting = self.0.iter().filter(|key| key.takes(algorithm));
        match id {
            Some(id) => fitting.find(|key| key.id.as_deref() == Some(id)),
            None => {
                let only = fitting.next();
                only.filter(|_| fitting.next().is_none())
            }
        }
    }
}

/// The keys at their source: an address (https, or http to this machine), the set itself, or the path of a file.
async fn read_source(source: &str) -> Result<KeySet> {
    let text = source.trim_start();
    let begins = |start: &str| text.get(..start.len()).is_some_and(|s| s.eq_ignore_ascii_case(start));
    if begins("{") {
        return KeySet::read(source.as_bytes());
    }
    let (place, read) = match begins("https://") || begins("http://") {
        true => {
            let shown = source.split(['?', '#']).next().unwrap_or_default();
            (shown, net::fetch(source, LONGEST_SET, FETCH_TIMEOUT).await)
        }
        false => (source, std::fs::read(source).map_err(|error| error.to_string())),
    };
    let failed = |why: String| {
        let text = message!("The key set at '{}' cannot be read: {}.", clip(place), why);
        HubError::new(ErrorKind::Connect, text)
    };
    KeySet::read(&read.map_err(failed)?)
}

#[derive(Default)]
struct CachedKeys {
    keys: Option<Arc<KeySet>>,
    read_at: Option<Instant>,
    /// The last reading that failed, or did not find what it was made for.
    last_miss_at: Option<Instant>,
}

/// The keys of an issuer, kept and read again. Keys that were read once stay in use while the source cannot be reached.
pub(super) struct Jwks {
    source: String,
    cached: Mutex<CachedKeys>,
    /// Held while the keys are read: concurrent requests wait for one reading.
    reading: Arc<tokio::sync::Mutex<()>>,
}

impl Jwks {
    pub(super) fn new(source: String) -> Self {
        Jwks { source, cached: Mutex::default(), reading: Arc::default() }
    }

    /// The keys; `is_unknown` asks whether they lack what a token needs, in which case they are read again first.
    pub(super) async fn keys(self: &Arc<Self>, is_unknown: impl Fn(&KeySet) -> bool) -> Result<Arc<KeySet>> {
        if let Some((keys, is_stale)) = self.usable(&is_unknown) {
            if is_stale {
                self.refresh();
            }
            return Ok(keys);
        }
        let _reading = self.reading.lock().await;
        match self.usable(&is_unknown) {
            Some((keys, _)) => Ok(keys),
            None => self.read(is_unknown).await,
        }
    }

    /// Reads the keys in the background, unless somebody does.
    fn refresh(self: &Arc<Self>) {
        let Ok(reading) = self.reading.clone().try_lock_owned() else { return };
        let jwks = self.clone();
        tokio::spawn(async move {
            // The old keys count as long as there are no others.
            let _ = jwks.read(|_| false).await;
            drop(reading);
        });
    }

    /// The lock `reading` is held.
    async fn read(&self, is_unknown: impl Fn(&KeySet) -> bool) -> Result<Arc<KeySet>> {
        let read = read_source(&self.source).await;
        let mut cached = self.cached.lock();
        let is_miss = read.as_ref().map_or(true, &is_unknown);
        cached.last_miss_at = is_miss.then(Instant::now);
        match (read, &cached.keys) {
            (Ok(keys), _) => {
                let keys = Arc::new(keys);
                cached.read_at = Some(Instant::now());
                cached.keys = Some(keys.clone());
                Ok(keys)
            }
            (Err(_), Some(keys)) => Ok(keys.clone()),
            (Err(error), None) => Err(error),
        }
    }

    /// The cached keys, and whether they should be read again; `None` if they must be read first.
    fn usable(&self, is_unknown: &impl Fn(&KeySet) -> bool) -> Option<(Arc<KeySet>, bool)> {
        let cached = self.cached.lock();
        let keys = cached.keys.clone()?;
        let within = |moment: Option<Instant>, limit| moment.is_some_and(|moment| moment.elapsed() < limit);
        let is_unknown = is_unknown(&keys);
        let is_fresh = within(cached.read_at, FRESH) && !is_unknown;
        if is_fresh || within(cached.last_miss_at, REFRESH_PAUSE) {
            return Some((keys, false));
        }
        let is_usable = !is_unknown && within(cached.read_at.max(cached.last_miss_at), FORGOTTEN);
        is_usable.then_some((keys, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn request(listener: &TcpListener) -> TcpStream {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        assert!(stream.read(&mut head).await.unwrap() > 0);
        stream
    }

    async fn answer(mut stream: TcpStream, id: &str) {
        let set =
            serde_json::json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": id, "x": "A".repeat(43)}]});
        let (body, kind) = (set.to_string(), "application/json");
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    }

    fn lacks(id: &'static str) -> impl Fn(&KeySet) -> bool {
        move |keys| keys.fitting(Some(id), JwtAlgorithm("EdDSA")).is_none()
    }

    /// Keys that were read `age` ago, from an issuer of which the test is the server.
    async fn read_keys(age: Duration) -> (Arc<Jwks>, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let jwks = Arc::new(Jwks::new(url));
        let (keys, ()) = tokio::join!(jwks.keys(lacks("first")), async {
            answer(request(&listener).await, "first").await;
        });
        assert!(!lacks("first")(&keys.unwrap()));
        let moment = Instant::now().checked_sub(age).unwrap();
        jwks.cached.lock().read_at = Some(moment);
        (jwks, listener)
    }

    #[tokio::test]
    async fn nobody_waits_for_an_issuer_that_hangs_while_its_keys_are_known() {
        let (jwks, listener) = read_keys(FRESH * 2).await;
        for _ in 0..3 {
            tokio::select! {
                biased;
                keys = jwks.keys(lacks("first")) => assert!(!lacks("first")(&keys.unwrap())),
                _ = request(&listener) => panic!("the caller waits for the issuer"),
            }
        }
        // One reading is under way, and what it brings is used.
        let hanging = request(&listener).await;
        assert!(!lacks("first")(&jwks.keys(lacks("first")).await.unwrap()));
        answer(hanging, "second").await;
        drop(jwks.reading.lock().await);
        assert!(!lacks("second")(&jwks.keys(lacks("second")).await.unwrap()));
    }

    #[tokio::test]
    async fn a_failed_reading_keeps_the_keys_and_is_followed_by_a_pause() {
        let (jwks, listener) = read_keys(FRESH * 2).await;
        jwks.keys(lacks("first")).await.unwrap();
        drop(request(&listener).await);
        drop(jwks.reading.lock().await);
        assert!(!lacks("first")(&jwks.keys(lacks("first")).await.unwrap()));
        // The lock is free: there is no other reading.
        assert!(jwks.reading.try_lock().is_ok());
    }

    #[tokio::test]
    async fn an_unknown_key_and_forgotten_keys_are_waited_for() {
        for (age, wanted) in [(Duration::ZERO, "second"), (FORGOTTEN * 2, "first")] {
            let (jwks, listener) = read_keys(age).await;
            let (keys, ()) = tokio::join!(jwks.keys(lacks(wanted)), async {
                answer(request(&listener).await, "second").await;
            });
            assert!(!lacks("second")(&keys.unwrap()));
        }
    }
}
