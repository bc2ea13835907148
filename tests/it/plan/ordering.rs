//! The calls of one message are made in its order, whatever is known of their tools when it comes.

use super::*;
use proptest::prelude::*;
use toolhub::plan::MessageOrder;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    Harmless,
    Acting,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Done,
    Failed,
    Lost,
    Forbidden,
}

#[derive(Clone, Debug)]
struct Scene {
    class: Class,
    end: End,
    /// How long its server takes to list it; `None`: it is listed already.
    listed_after: Option<u64>,
    takes: u64,
}

impl Scene {
    fn acts(&self) -> bool {
        self.class != Class::Harmless
    }

    fn double(&self, name: &str) -> Double {
        let double = match self.end {
            End::Done | End::Forbidden => Double::answering(name, "done"),
            End::Failed => Double::failing(name, ErrorKind::ToolError),
            End::Lost => Double::failing(name, ErrorKind::Closed),
        };
        let effects = match self.class {
            Class::Harmless => Effects::harmless(Evidence::Registration),
            Class::Acting => Effects::may_act(Evidence::Registration),
            Class::Unknown => Effects::UNKNOWN,
        };
        double.after(self.takes).of(Source::Mcps).server(name).with(|spec| spec.effects = effects)
    }
}

fn scenes() -> impl Strategy<Value = Vec<Scene>> {
    let class = prop_oneof![Just(Class::Harmless), Just(Class::Acting), Just(Class::Unknown)];
    let end = prop_oneof![4 => Just(End::Done), 1 => Just(End::Failed), 1 => Just(End::Lost), 1 => Just(End::Forbidden)];
    let scene = (class, end, proptest::option::of(0u64..50), 0u64..50);
    let scene = scene.prop_map(|(class, end, listed_after, takes)| Scene { class, end, listed_after, takes });
    proptest::collection::vec(scene, 1..8)
}

/// Makes all calls at once; each has a tool and a server of its own name.
async fn make(world: &World, scenes: &[Scene]) -> Vec<Made> {
    let order = MessageOrder::new(scenes.len());
    let calls = scenes.iter().enumerate().map(|(place, scene)| {
        let name = format!("s{place}");
        match scene.listed_after {
            None => drop(world.stage.add(scene.double(&name))),
            Some(after) => world.server(&name, Duration::from_millis(after)).lists(scene.double(&name)),
        }
        let allowed: &[&str] = if scene.end == End::Forbidden { &["other"] } else { &["*"] };
        let request = CallRequest {
            permissions: Some(ask(allowed, false)),
            turn: Some(order.turn(place, name.as_str().into())),
            ..routed(&name, Some(&name))
        };
        world.call(request)
    });
    // All of them are made before the first one begins, as a driver of a message does.
    futures_util::future::join_all(calls.collect::<Vec<_>>()).await
}

proptest! {
    #[test]
    fn any_message_is_made_in_its_order(scenes in scenes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let world = runtime.block_on(async { World::new(hub()) });
        let results = runtime.block_on(make(&world, &scenes));
        let log: Vec<String> = world.stage.log().into_iter().map(|(_, act)| act).collect();
        let at = |what: &str, place: usize| log.iter().position(|act| *act == format!("{what} s{place}"));
        let mut stopped = false;
        for (place, scene) in scenes.iter().enumerate() {
            let kind = results[place].outcome.as_ref().err().map(|error| error.kind);
            if scene.end == End::Forbidden {
                prop_assert_eq!((kind, at("start", place)), (Some(ErrorKind::NotAllowed), None));
                stopped = true;
                continue;
            }
            if scene.acts() && stopped {
                prop_assert_eq!((kind, at("start", place)), (Some(ErrorKind::NotSent), None));
                prop_assert_eq!(error(&results[place]).outcome, Outcome::NotSent);
                continue;
            }
            let began = at("start", place);
            prop_assert!(began.is_some());
            for (earlier, other) in scenes[..place].iter().enumerate() {
                if scene.acts() || other.acts() {
                    prop_assert!(at("end", earlier) < began, "{place} began before {earlier} had ended: {log:?}");
                }
            }
            stopped = stopped || (scene.acts() && scene.end == End::Lost);
        }
    }
}

fn one(class: Class, takes: u64) -> Scene {
    Scene { class, end: End::Done, listed_after: None, takes }
}

#[tokio::test(start_paused = true)]
async fn harmless_calls_run_together() {
    let world = World::new(hub());
    make(&world, &[one(Class::Harmless, 20), one(Class::Harmless, 10), one(Class::Harmless, 30)]).await;
    assert_eq!((world.stage.most_at_once(), world.stage.elapsed()), (3, 30));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_an_earlier_one_is_not_listed_yet() {
    let world = World::new(hub());
    let late = Scene { listed_after: Some(40), ..one(Class::Acting, 10) };
    make(&world, &[late, one(Class::Harmless, 0)]).await;
    let log: Vec<_> = world.stage.log();
    assert_eq!(log[..2], [(40, "start s0".to_owned()), (50, "end s0".to_owned())]);
    assert_eq!(log[2], (50, "start s1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_lets_later_ones_go_on_but_nothing_that_acts() {
    let world = World::new(hub());
    for name in ["reads", "writes"] {
        let class = if name == "reads" { Class::Harmless } else { Class::Acting };
        world.stage.add(one(class, 0).double(name));
    }
    let order = MessageOrder::new(3);
    let call = |place: usize, name: &str| {
        world.call(CallRequest { turn: Some(order.turn(place, name.into())), ..routed(name, None) })
    };
    let (given_up, read, write) = (call(0, "writes"), call(1, "reads"), call(2, "writes"));
    drop(given_up);
    let (read, write) = tokio::join!(read, write);
    assert_eq!(value(&read), json!("done"));
    assert_eq!(
        error(&write).message,
        "Tool 'writes' was not called: 'writes', called earlier in the same message, may have run (outcome unknown). \
         Make the call again if it is still wanted."
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_bounds_the_wait_for_a_turn() {
    let world = World::new(hub());
    world.stage.add(one(Class::Acting, 9_000).double("slow"));
    world.stage.add(one(Class::Acting, 0).double("quick"));
    let order = MessageOrder::new(2);
    let first = CallRequest { turn: Some(order.turn(0, "slow".into())), ..routed("slow", None) };
    let options = CallOptions { deadline: Some(secs(2)), ..CallOptions::default() };
    let second = CallRequest { options, turn: Some(order.turn(1, "quick".into())), ..routed("quick", None) };
    let late = async {
        let result = world.call(second).await;
        (result, world.stage.elapsed())
    };
    let (_, (result, when)) = tokio::join!(world.call(first), late);
    assert_eq!(
        (error(&result).kind, error(&result).outcome, when),
        (ErrorKind::Timeout, Outcome::NotSent, 2_000)
    );
    assert_eq!(world.stage.started(), ["slow"]);
}
