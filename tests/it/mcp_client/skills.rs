//! Skills that a server serves: listed, not prefetched, verified when read, under the server's label.

use crate::mcp_client::world::World;
use serde_json::{Value, json};
use toolhub::error::{ErrorKind, HubError};
use toolhub::model::Source;
use toolhub::sources::mcp::callbacks::Host;

async fn skilled() -> World {
    let world = World::new("skills");
    world.connect().await;
    world
}

async fn refusal(world: &World, skill: &str) -> HubError {
    world.call(skill, json!({})).await.unwrap_err()
}

fn skills_of(world: &World) -> Vec<String> {
    let snapshot = world.hub.registry.load();
    let all = snapshot.entries().flat_map(|(_, entry)| entry.candidates.iter());
    all.filter(|one| one.source == Source::Skills).map(|one| one.spec().name.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_are_listed_under_the_servers_label_and_nothing_is_read_ahead() {
    let world = skilled().await;
    let expected = ["s/greet", "s/live", "s/stale", "s/forged", "s/longer", "s/shifty", "s/lost"];
    assert_eq!(skills_of(&world), expected, "both pages; bad entries cost only themselves");
    let snapshot = world.hub.registry.load();
    let greet = &snapshot.get("s/greet").unwrap().candidates[0];
    assert_eq!((greet.source, greet.server.as_deref(), greet.priority), (Source::Skills, Some("s"), 1));
    assert_eq!(&*greet.spec().description, "Greet politely");
    assert!(snapshot.get("echo").is_some(), "the tools are there too");
    assert_eq!(world.received("skills/list").len(), 2, "a cursor that comes again ends the list");
    assert!(world.received("resources/read").is_empty());
    let notices = world.server().info().notices;
    assert_eq!(notices.iter().filter(|notice| notice.contains("skill")).count(), 3, "{notices:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_gives_the_instructions_and_what_else_there_is() {
    let world = skilled().await;
    let expected = json!({"name": "greet", "server": "s", "instructions": "# Greet\nSay hello.\n",
        "folder": "skill://acme/greet", "resources": ["templates/letter.md", "logo.bin"]});
    assert_eq!(world.call("s/greet", json!({})).await.unwrap(), expected);
    assert_eq!(world.received("resources/read").len(), 1);
    let live = world.call("s/live", json!({})).await.unwrap();
    assert_eq!((&live["instructions"], &live["resources"]), (&json!("It is now."), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_skill_are_read_by_their_path_and_no_others() {
    let world = skilled().await;
    let letter = world.call("s/greet", json!({"file": "templates/letter.md"})).await.unwrap();
    assert_eq!((&letter["text"], &letter["server"]), (&json!("Dear {name}"), &json!("s")));
    let logo = world.call("s/greet", json!({"file": "logo.bin"})).await.unwrap();
    assert_eq!((&logo["blob"], &logo["mimeType"]), (&json!("/wA="), &json!("image/x")));
    assert_eq!(world.call("s/live", json!({"file": "today.md"})).await.unwrap()["text"], json!("sunny"));
    let before = world.received("resources/read").len();
    for (skill, path) in
        [("s/greet", "other.md"), ("s/greet", "../live/SKILL.md"), ("s/live", "../greet/SKILL.md")]
    {
        let error = world.call(skill, json!({"file": path})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArguments, "{path}: {}", error.message);
    }
    assert_eq!(world.received("resources/read").len(), before, "nothing was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_as_listed_is_refused_by_name() {
    let world = skilled().await;
    for (skill, why) in [("forged", "digest"), ("longer", "5 were listed"), ("shifty", "'description'")] {
        let error = refusal(&world, &format!("s/{skill}")).await;
        assert_eq!(error.kind, ErrorKind::Protocol);
        assert!(error.message.contains(&format!("The skill '{skill}'")), "{}", error.message);
        assert!(error.message.contains(why), "{}", error.message);
    }
    assert_eq!(refusal(&world, "s/lost").await.kind, ErrorKind::Rpc);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skill_that_changed_is_asked_for_once_more() {
    let world = skilled().await;
    assert_eq!(world.call("s/stale", json!({})).await.unwrap()["instructions"], json!("new"));
    assert_eq!(world.received("skills/get").len(), 1);
    world.until("it is listed again", |world| world.received("skills/list").len() == 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_leave_with_their_server_and_patterns_hold_for_them() {
    let world = skilled().await;
    world.add("other", "skills", json!({"include": ["gr*"]}));
    world.connect().await;
    assert!(skills_of(&world).contains(&"other/greet".to_owned()));
    assert!(!skills_of(&world).contains(&"other/live".to_owned()));
    world.servers.remove("s");
    assert_eq!(skills_of(&world), ["other/greet"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_say_so_is_not_asked_for_skills() {
    let world = World::with("modern", json!({}), Host::default());
    world.connect().await;
    assert!(world.received("skills/list").is_empty());
}
