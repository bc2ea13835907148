//! A signed statement instead of a secret: `private_key_jwt` (RFC 7523).

use super::super::{Secret, denied};
use super::clock::now;
use super::random::{base64url, random};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use toolhub_types::error::HubError;

pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Seconds for which a statement holds: it is made for one request.
const LIFETIME: u64 = 300;

enum Key {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

/// "I am this client", for this issuer alone.
pub(super) fn assertion(pem: &Secret, client_id: &str, issuer: &str) -> Result<String, HubError> {
    let key = Key::read(pem).ok_or_else(|| {
        denied("The private_key cannot be read; give an EC P-256 or RSA key as PKCS #8 PEM ('BEGIN PRIVATE KEY').")
    })?;
    let algorithm = match key {
        Key::Ec(_) => "ES256",
        Key::Rsa(_) => "RS256",
    };
    let header = json!({"alg": algorithm, "typ": "JWT"});
    let time = now();
    let claims = json!({
        "iss": client_id, "sub": client_id, "aud": issuer, "iat": time, "exp": time + LIFETIME, "jti": random()?,
    });
    let signed =
        format!("{}.{}", base64url(header.to_string().as_bytes()), base64url(claims.to_string().as_bytes()));
    let signature = key.sign(signed.as_bytes()).ok_or_else(|| denied("The private_key cannot sign."))?;
    Ok(format!("{signed}.{}", base64url(&signature)))
}

impl Key {
    fn read(pem: &Secret) -> Option<Self> {
        let (_, rest) = pem.expose().split_once("-----BEGIN PRIVATE KEY-----")?;
        let (body, _) = rest.split_once("-----END PRIVATE KEY-----")?;
        let body: String = body.split_whitespace().collect();
        let der = BASE64_STANDARD.decode(body).ok()?;
        let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, &SystemRandom::new());
        ec.map(Key::Ec).or_else(|_| RsaKeyPair::from_pkcs8(&der).map(Key::Rsa)).ok()
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Key::Ec(key) => key.sign(&random, message).ok().map(|signature| signature.as_ref().to_vec()),
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};

    fn pem(der: &[u8]) -> Secret {
        let body = BASE64_STANDARD.encode(der);
        Secret::new(format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"))
    }

    #[test]
    fn the_signature_holds_and_the_claims_name_both_sides() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).unwrap();
        let jwt = assertion(&pem(der.as_ref()), "me", "https://issuer.example").unwrap();
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref());
        public.verify(signed.as_bytes(), &signature).unwrap();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!("me"), &json!("https://issuer.example")));
    }

    #[test]
    fn a_key_of_another_kind_is_refused_without_showing_it() {
        for key in ["", "hunter2", "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"] {
            let error = assertion(&Secret::new(key), "me", "x").unwrap_err();
            assert!(error.message.contains("PKCS #8") && !error.message.contains("hunter2"));
        }
    }
}
