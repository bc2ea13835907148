//! What a server's requests are signed with, from its configuration.

use super::asking::Questions;
use crate::servers::MakeCredentials;
use std::sync::Arc;

pub fn maker(questions: Arc<Questions>) -> MakeCredentials {
    let _ = questions;
    Arc::new(|_config| Ok(None))
}
