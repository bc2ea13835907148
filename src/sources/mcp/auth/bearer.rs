//! A bearer token that the user has.

use super::{Credentials, Secret, bearer_header};
use std::sync::Arc;
use toolhub_types::error::HubError;
use toolhub_types::tool::BoxFuture;

/// Gives the token for one request.
pub type TokenFunction = Arc<dyn Fn() -> BoxFuture<'static, Result<String, HubError>> + Send + Sync>;

pub struct Bearer(TokenSource);

enum TokenSource {
    /// The whole header, checked once.
    Fixed(Secret),
    /// Called for each request and never cached: the function knows how long its token is valid.
    Asked(TokenFunction),
}

impl Bearer {
    pub fn fixed(token: &str) -> Result<Self, HubError> {
        Ok(Bearer(TokenSource::Fixed(Secret::new(bearer_header(token)?))))
    }

    pub fn asked(function: TokenFunction) -> Self {
        Bearer(TokenSource::Asked(function))
    }
}

impl Credentials for Bearer {
    fn authorization<'a>(&'a self) -> BoxFuture<'a, Result<Option<String>, HubError>> {
        Box::pin(async move {
            match &self.0 {
                TokenSource::Fixed(header) => Ok(Some(header.expose().to_owned())),
                TokenSource::Asked(function) => bearer_header(&function().await?).map(Some),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn a_fixed_token_is_sent_with_its_scheme_once() {
        for given in ["abc", " Bearer abc\n", "bearer  abc"] {
            let bearer = Bearer::fixed(given).unwrap();
            assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer abc");
            assert!(!bearer.refused("", 401, None).await.unwrap());
        }
    }

    #[tokio::test]
    async fn a_function_is_asked_for_each_request() {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let bearer = Bearer::asked(Arc::new(move || {
            let n = counter.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move { Ok(format!("t{n}")) })
        }));
        assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer t0");
        assert_eq!(bearer.authorization().await.unwrap().unwrap(), "Bearer t1");
    }

    #[tokio::test]
    async fn a_token_that_would_break_the_header_is_refused_and_not_shown() {
        for bad in ["", "s3cret\r\nX-Evil: 1", "s3cret token", "s3crét"] {
            let error = Bearer::fixed(bad).err().unwrap();
            assert!(error.message.contains("bearer token") && !error.message.contains("s3c"), "{error}");
        }
    }
}
