//! Tokens in a file.

use crate::mcp_auth::World;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use toolhub::sources::mcp::auth::{Credentials, OAuth, TokenStore};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("toolhub-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("state").join("tokens.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn with_file(world: &World, folder: &Folder) -> OAuth {
    let mut config = world.config();
    config.store = Arc::new(TokenStore::new(Some(folder.file())));
    OAuth::new(config).unwrap()
}

#[tokio::test]
async fn the_next_run_needs_no_login() {
    let (world, folder) = (World::new().await, Folder::new("next-run"));
    world.call(&with_file(&world, &folder)).await.unwrap();
    assert!(with_file(&world, &folder).authorization().await.unwrap().is_some());
    assert_eq!(world.call(&with_file(&world, &folder)).await.unwrap(), 200);
    assert_eq!(world.issuer.count("/authorize"), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let (world, folder) = (World::new().await, Folder::new("modes"));
    fs::create_dir_all(&folder.0).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    world.call(&with_file(&world, &folder)).await.unwrap();
    assert_eq!((mode(folder.file()), mode(folder.0.join("state"))), (0o600, 0o700));
    // A file that was made readable for all is replaced by one that is not.
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = TokenStore::new(Some(folder.file()));
    let token = store.load(&world.url()).unwrap().pop().unwrap();
    store.save(&token).unwrap();
    assert_eq!(mode(folder.file()), 0o600);
    let names: Vec<_> =
        fs::read_dir(folder.0.join("state")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{names:?}");
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_the_next_call_signs_in() {
    for (n, text) in
        ["", "{\"tokens\": [{\"access_token\": \"hunter2\"", "[]", "\u{0}\u{1}"].into_iter().enumerate()
    {
        let (world, folder) = (World::new().await, Folder::new(&format!("damaged-{n}")));
        fs::create_dir_all(folder.0.join("state")).unwrap();
        fs::write(folder.file(), text).unwrap();
        let oauth = with_file(&world, &folder);
        let error = world.fails(&oauth, &["tokens.json", "damaged", "sign in again"]).await;
        assert!(!error.message.contains("hunter2"), "{error}");
        let aside = fs::read_dir(folder.0.join("state")).unwrap().map(|entry| entry.unwrap().path());
        let aside = aside.into_iter().find(|path| path.to_string_lossy().contains(".broken-")).unwrap();
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
        assert_eq!(world.call(&oauth).await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_reported_and_the_token_used() {
    let (world, folder) = (World::new().await, Folder::new("unwritable"));
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("state"), "a file where the folder should be").unwrap();
    let mut config = world.config();
    config.store = Arc::new(TokenStore::new(Some(folder.file())));
    let oauth = OAuth::new(config).unwrap();
    world.fails(&oauth, &["tokens.json", "cannot be"]).await;
}

#[tokio::test]
async fn writers_do_not_lose_each_others_tokens() {
    let (world, folder) = (World::new().await, Folder::new("writers"));
    world.call(&with_file(&world, &folder)).await.unwrap();
    let store = TokenStore::new(Some(folder.file()));
    let token = store.load(&world.url()).unwrap().pop().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (store, mut token) = (TokenStore::new(Some(folder.file())), token.clone());
            token.server = format!("https://{n}.example/mcp");
            scope.spawn(move || store.save(&token).unwrap());
        }
    });
    for n in 0..8 {
        assert_eq!(store.load(&format!("https://{n}.example/mcp")).unwrap().len(), 1);
    }
}
